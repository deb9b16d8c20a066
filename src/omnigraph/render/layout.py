"""Where boxes stand: springs along arrows, repulsion between boxes, and a last pass that parts what overlaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omnigraph.render.picture import Box, Picture

_ROUNDS = 400
_LETTER, _LINE, _PAD = 6.6, 15.0, 10.0
_GAP = np.array([90.0, 56.0])  # between boxes, for the arrows and their labels


@dataclass(frozen=True, slots=True)
class Placed:
    """A box with its rectangle; `x` and `y` are its centre."""

    box: Box
    x: float
    y: float
    width: float
    height: float


def place(picture: Picture) -> tuple[tuple[Placed, ...], float, float]:
    """Every box with its place, and the size of the whole; the same picture is always placed in the same way."""
    sizes = np.array([_size(box) for box in picture.boxes], dtype=float).reshape(-1, 2)
    centres = _drawn_together(_parted(_relaxed(picture, sizes), sizes), sizes)
    corner = (centres - sizes / 2).min(axis=0) - 24
    centres -= corner
    extent = (centres + sizes / 2).max(axis=0) + 24
    extent[0] += max(
        (_LETTER * len(each.label) + 32 for each in picture.bundles() if each.source == each.target), default=0
    )
    placed = tuple(
        Placed(box, float(x), float(y), float(width), float(height))
        for box, (x, y), (width, height) in zip(picture.boxes, centres, sizes, strict=True)
    )
    return placed, float(extent[0]), float(extent[1])


def _size(box: Box) -> tuple[float, float]:
    widest = max(len(text) for text in (box.title, box.kind, *box.lines))
    rows = len(box.lines) + (1 if box.kind == box.title else 2)
    return widest * _LETTER + 2 * _PAD, rows * _LINE + 2 * _PAD - 4


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
