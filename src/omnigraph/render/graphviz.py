"""Layout by Graphviz: it gets the sizes of boxes and labels and returns their places and lines that go around boxes.

No text reaches it: fonts differ between machines, and with fixed sizes the same picture is laid out alike everywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from omnigraph.render.layout import MARGIN, Layout, Placed, Point, Route, box_size, label_size
from omnigraph.render.picture import Bundle, Picture

_INCH = 72.0  # Graphviz takes the sizes of nodes in inches and gives places in points
_LARGE = 800.0  # higher than most screens: a hub with many neighbours in one long row
_WIDE = 1.6  # what a screen and a page show well
_ROOM = 60.0  # more would spread a picture with one long label over many screens
_ONE_AT_A_TIME = threading.Lock()  # the library keeps state of its own between its calls


def installed() -> bool:
    """Whether the binding is there; its wheels contain Graphviz itself."""
    return find_spec("pygraphviz") is not None


def arrange(picture: Picture) -> Layout:
    """The best shaped one of layers from left to right or from top to bottom and, where those are large, of springs."""
    with _ONE_AT_A_TIME:
        found = [_arranged(picture, "dot", rankdir=direction) for direction in ("LR", "TB")]
        if min(map(_reach, found)) > _LARGE:
            # Graphviz's better way to part boxes, prism, is not built into the wheels of pygraphviz 2.0. Of its two
            # programs for springs, fdp lays the same picture out differently from call to call.
            found.append(_arranged(picture, "neato", overlap="voronoi", sep=_gap(picture), start="7"))
        return min(found, key=_reach)


def _gap(picture: Picture) -> str:
    """Room around each box for half of the widest label, so that none runs beneath the boxes it stands between."""
    widest = max((label_size(bundle)[0] for bundle in picture.bundles()), default=0.0)
    return f"+{max(8.0, min(widest / 2, _ROOM)):.0f},8"


def _reach(layout: Layout) -> float:
    """The size of the smallest screen that shows a layout whole."""
    return max(layout.width / _WIDE, layout.height)


def _arranged(picture: Picture, program: str, **options: str) -> Layout:
    import pygraphviz

    graph: Any = pygraphviz.AGraph(directed=True, strict=False)
    graph.graph_attr.update(splines="spline", nodesep="0.3", ranksep="0.45", **options)
    graph.node_attr.update(shape="box", fixedsize="true", label="")
    graph.edge_attr.update(arrowsize="0.8")
    names = {box.key: f"n{place}" for place, box in enumerate(picture.boxes)}
    for box in picture.boxes:
        width, height = box_size(box)
        graph.add_node(names[box.key], width=width / _INCH, height=height / _INCH)
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
