"""Layout without a library: springs along arrows, repulsion between boxes, and a last pass that parts what overlaps.

Lines are straight, so they may run beneath a box; `omnigraph[draw]` brings Graphviz, which leads them around.
"""

from __future__ import annotations

import numpy as np

from omnigraph.render.layout import Layout, Placed, Point, Route, box_size, label_size
from omnigraph.render.picture import Bundle, Picture

_ROUNDS = 400
_GAP = np.array([90.0, 56.0])  # between boxes, for the arrows and their labels
_BEND = 18.0


def arrange(picture: Picture) -> Layout:
    """Every box with its place, and straight lines between them."""
    if not picture.boxes:
        return Layout((), (), 48.0, 48.0)
    sizes = np.array([box_size(box) for box in picture.boxes], dtype=float).reshape(-1, 2)
    centres = _drawn_together(_parted(_relaxed(picture, sizes), sizes), sizes)
    bundles = picture.bundles()
    centres -= (centres - sizes / 2).min(axis=0) - 24
    extent = (centres + sizes / 2).max(axis=0) + 24
    extent[0] += max((label_size(each)[0] + 32 for each in bundles if each.source == each.target), default=0)
    placed = tuple(
        Placed(box, float(x), float(y), float(width), float(height))
        for box, (x, y), (width, height) in zip(picture.boxes, centres, sizes, strict=True)
    )
    by_key = {each.box.key: each for each in placed}
    pairs = {(each.source, each.target) for each in bundles}
    routes = tuple(_route(each, by_key, _BEND if (each.target, each.source) in pairs else 0.0) for each in bundles)
    return Layout(placed, routes, float(extent[0]), float(extent[1]))


def _route(bundle: Bundle, by_key: dict[str, Placed], bend: float) -> Route:
    source, target = by_key[bundle.source], by_key[bundle.target]
    if source is target:
        x, y, reach = source.x + source.width / 2, source.y, 26.0
        label = (x + reach + label_size(bundle)[0] / 2, y)
        return Route(bundle, ((x, y - 8), (x + reach, y - 34), (x + reach, y + 34), (x + 6, y + 10)), (x, y + 8), label)
    dx, dy = target.x - source.x, target.y - source.y
    length = max((dx * dx + dy * dy) ** 0.5, 1.0)
    # To its own right-hand side, so that an arrow and the opposite one part.
    turn = (source.x + target.x) / 2 - dy / length * bend, (source.y + target.y) / 2 + dx / length * bend
    start, tip = _border_point(source, turn), _border_point(target, turn)
    points = (start, _towards(start, turn), _towards(tip, turn), tip)
    return Route(bundle, points, tip, ((start[0] + tip[0]) / 4 + turn[0] / 2, (start[1] + tip[1]) / 4 + turn[1] / 2))


def _towards(point: Point, turn: Point) -> Point:
    """The second or third point of a cubic curve that is the quadratic one through `turn`."""
    return point[0] + (turn[0] - point[0]) * 2 / 3, point[1] + (turn[1] - point[1]) * 2 / 3


def _border_point(box: Placed, towards: Point) -> Point:
    """Where the line from a box's centre towards a point leaves its rectangle."""
    dx, dy = towards[0] - box.x, towards[1] - box.y
    if not dx and not dy:
        return box.x, box.y
    scale = min(box.width / 2 / abs(dx) if dx else 1e9, box.height / 2 / abs(dy) if dy else 1e9)
    return box.x + dx * scale, box.y + dy * scale


def _relaxed(picture: Picture, sizes: np.ndarray) -> np.ndarray:
    """A force layout whose spring length follows the size of the boxes."""
    count = len(picture.boxes)
    angle = np.arange(count) * 2.399963  # the golden angle spreads any number of points evenly
    ideal = float(sizes.max()) * 1.7 if count else 1.0
    points = np.sqrt(np.arange(count))[:, None] * ideal * np.column_stack([np.cos(angle), np.sin(angle)])
    number = {box.key: index for index, box in enumerate(picture.boxes)}
    ends = np.array([(number[arrow.source], number[arrow.target]) for arrow in picture.arrows], dtype=int).reshape(
        -1, 2
    )
    for turn in range(_ROUNDS):
        points = points + _step(points, ends, ideal) * (1 - turn / _ROUNDS)
    return np.asarray(points)


def _step(points: np.ndarray, ends: np.ndarray, ideal: float) -> np.ndarray:
    apart = points[:, None, :] - points[None, :, :]
    distance = np.sqrt((apart**2).sum(axis=2)) + 1e-6
    push = (apart * (ideal**2 / distance**3)[:, :, None]).sum(axis=1)
    pull = np.zeros_like(points)
    if len(ends):
        along = points[ends[:, 1]] - points[ends[:, 0]]
        strength = along * (np.sqrt((along**2).sum(axis=1)) / ideal / 12)[:, None]
        np.add.at(pull, ends[:, 0], strength)
        np.add.at(pull, ends[:, 1], -strength)
    move = push * ideal * 0.12 + pull - points * 0.01
    length = np.sqrt((move**2).sum(axis=1, keepdims=True)) + 1e-9
    return np.asarray(move * np.minimum(1, ideal * 0.2 / length))


def _drawn_together(points: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The same arrangement as small as boxes and the labels between them allow."""
    if len(points) < 2:
        return points
    apart = np.abs(points[:, None, :] - points[None, :, :])
    need = (sizes[:, None, :] + sizes[None, :, :]) / 2 + _GAP
    np.fill_diagonal(apart[:, :, 0], np.inf)
    # Two boxes are clear of each other on one axis or the other, whichever takes the smaller scale.
    scale = np.divide(need, apart, out=np.full_like(need, np.inf), where=apart > 0).min(axis=2)
    return points * min(1.0, float(scale[np.isfinite(scale)].max(initial=0.0)))


def _parted(points: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Push overlapping rectangles apart along the axis that costs least."""
    need = (sizes[:, None, :] + sizes[None, :, :]) / 2 + 18
    for _ in range(60):
        apart = points[:, None, :] - points[None, :, :]
        overlap = need - np.abs(apart)
        both = (overlap > 0).all(axis=2)
        np.fill_diagonal(both, False)
        if not both.any():
            break
        least = overlap.argmin(axis=2)
        shift = np.zeros_like(apart)
        rows, columns = np.nonzero(both)
        axis = least[rows, columns]
        side = np.where(apart[rows, columns, axis] == 0, np.sign(rows - columns), np.sign(apart[rows, columns, axis]))
        shift[rows, columns, axis] = side * overlap[rows, columns, axis] * 0.55
        points = points + shift.sum(axis=1)
    return points
