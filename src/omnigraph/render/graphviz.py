"""Layout by Graphviz: it gets the sizes of boxes and labels and returns their places and lines that go around boxes.

No text reaches it: fonts differ between machines, and with fixed sizes the same picture is laid out alike everywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from itertools import count
from typing import Any

from omnigraph.render.layout import MARGIN, Layout, Placed, Point, Route, box_size, label_size
from omnigraph.render.picture import Bundle, Picture

_INCH = 72.0  # Graphviz takes the sizes of nodes in inches and gives places in points
_LARGE = 800.0  # higher than most screens: a hub with many neighbours in one long row
_HUGE = 1200.0  # more than is read without scrolling, so that a label beneath a line or a box is the smaller evil
_WIDE = 1.6  # what a screen and a page show well
_MOST_PACKED = 400  # the time grows with the square of the boxes
_STEPS = 50  # on the way of a box to the middle
_ROOM = 60.0  # more would spread a picture with one long label over many screens
_ONE_AT_A_TIME = threading.Lock()  # the library keeps state of its own between its calls


def installed() -> bool:
    """Whether the binding is there; its wheels contain Graphviz itself."""
    return find_spec("pygraphviz") is not None


def arrange(picture: Picture) -> Layout:
    """The best shaped one of layers, from left to right or from top to bottom, and of springs where those are large."""
    with _ONE_AT_A_TIME:
        found = [_arranged(picture, "dot", rankdir=direction) for direction in ("LR", "TB")]
        if min(map(_reach, found)) > _LARGE:
            # Graphviz's better way to part boxes, prism, is not built into the wheels of pygraphviz 2.0. Of its two
            # programs for springs, fdp lays the same picture out differently from call to call.
            options = {"overlap": "voronoi", "sep": _gap(picture), "start": "7"}
            springs = _arranged(
                picture, "neato", None, **options, splines="line"
            )  # ways around boxes take most of the time
            if _reach(springs) > _HUGE and len(picture.boxes) <= _MOST_PACKED:
                found.append(_arranged(picture, "nop", _packed(picture, springs)))
            else:
                found.append(_arranged(picture, "neato", None, **options))
        return min(found, key=_reach)


def _gap(picture: Picture) -> str:
    """Room around each box for half of the widest label, so that none runs beneath the boxes it stands between."""
    widest = max((label_size(bundle)[0] for bundle in picture.bundles()), default=0.0)
    return f"+{max(8.0, min(widest / 2, _ROOM)):.0f},8"


def _packed(picture: Picture, layout: Layout) -> dict[str, Point]:
    """The places of boxes moved towards the middle, the nearest first, each as far as those before it leave room.

    Springs put a hub with sixty neighbours 4,100 points wide; packed it takes half of that. Lines are drawn again.
    """
    across = max((label_size(bundle)[0] for bundle in picture.bundles()), default=0.0)
    across, down = min(across, _ROOM) + 28.0, 34.0  # a label and the tip of an arrow
    middle_x = sum(each.x for each in layout.boxes) / len(layout.boxes)
    middle_y = sum(each.y for each in layout.boxes) / len(layout.boxes)
    done: list[tuple[float, float, Placed]] = []
    for each in sorted(layout.boxes, key=lambda box: ((box.x - middle_x) / _WIDE) ** 2 + (box.y - middle_y) ** 2):
        for step in count():  # further out than before, where those before it have come into its way
            x = middle_x + (each.x - middle_x) * step / _STEPS
            y = middle_y + (each.y - middle_y) * step / _STEPS
            if all(
                abs(x - left) >= (each.width + other.width) / 2 + across
                or abs(y - top) >= (each.height + other.height) / 2 + down
                for left, top, other in done
            ):
                break
        done.append((x, y, each))
    return {each.box.key: (x, -y) for x, y, each in done}  # Graphviz counts upwards


def _reach(layout: Layout) -> float:
    """The size of the smallest screen that shows a layout whole."""
    return max(layout.width / _WIDE, layout.height)


def _arranged(picture: Picture, program: str, places: Mapping[str, Point] | None = None, **options: str) -> Layout:
    """The picture as a program lays it out; `nop` leaves boxes at their `places` and draws lines around them."""
    import pygraphviz

    graph: Any = pygraphviz.AGraph(directed=True, strict=False)
    graph.graph_attr.update({"splines": "spline", "nodesep": "0.3", "ranksep": "0.45"} | options)
    graph.node_attr.update(shape="box", fixedsize="true", label="")
    graph.edge_attr.update(arrowsize="0.8")
    names = {box.key: f"n{place}" for place, box in enumerate(picture.boxes)}
    for box in picture.boxes:
        width, height = box_size(box)
        pinned = {} if places is None else {"pos": "{:.1f},{:.1f}".format(*places[box.key])}
        graph.add_node(names[box.key], width=width / _INCH, height=height / _INCH, **pinned)
    bundles = picture.bundles()
    for place, bundle in enumerate(bundles):
        graph.add_edge(names[bundle.source], names[bundle.target], key=str(place), label=_blank(bundle))
    graph.layout(prog=program)
    left, bottom, right, top = _numbers(graph.graph_attr["bb"])

    def shifted(point: Point) -> Point:
        return point[0] - left + MARGIN, top - point[1] + MARGIN  # Graphviz counts upwards

    boxes = []
    for box in picture.boxes:
        (place_of,) = _points(graph.get_node(names[box.key]).attr["pos"])
        boxes.append(Placed(box, *shifted(place_of), *box_size(box)))
    routes = []
    for place, bundle in enumerate(bundles):
        drawn = graph.get_edge(names[bundle.source], names[bundle.target], str(place)).attr
        tip, points = _spline(drawn["pos"])
        (label,) = _points(drawn["lp"])
        routes.append(Route(bundle, tuple(map(shifted, points)), shifted(tip), shifted(label)))
    return Layout(tuple(boxes), tuple(routes), right - left + 2 * MARGIN, top - bottom + 2 * MARGIN)


def _blank(bundle: Bundle) -> str:
    """A label of a certain size without any text, in Graphviz's own notation."""
    width, height = (f"{size:.0f}" for size in label_size(bundle))
    size = f'FIXEDSIZE="TRUE" WIDTH="{width}" HEIGHT="{height}"'
    bare = 'BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0"'
    return f"<<TABLE {bare} {size}><TR><TD {size}></TD></TR></TABLE>>"


def _spline(text: str) -> tuple[Point, list[Point]]:
    """The tip and the points of a line.

    >>> _spline("e,9,0 0,0 1,1 2,1 8,0")
    ((9.0, 0.0), [(0.0, 0.0), (1.0, 1.0), (2.0, 1.0), (8.0, 0.0)])
    """
    words = text.replace(";", " ").split()
    points = list(_points(" ".join(word for word in words if word[0] not in "es")))
    tips = [word[2:] for word in words if word.startswith("e,")]
    return (next(_points(tips[-1])) if tips else points[-1]), points


def _points(text: str) -> Iterator[Point]:
    for word in text.split():
        x, y, *_ = _numbers(word)
        yield x, y


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]
