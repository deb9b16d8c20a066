"""Where boxes, lines and labels stand: by Graphviz where it is installed, by springs of our own otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.render.picture import Box, Bundle, Picture

TITLE_LETTER, LETTER, LINE, PAD = 8.0, 6.8, 15.0, 10.0  # of the text in boxes, in a wide font
LABEL_LETTER, LABEL_LINE = 6.0, 13.0  # of the text beside lines
MARGIN = 16.0
Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Placed:
    """A box with its rectangle; `x` and `y` are its centre."""

    box: Box
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Route:
    """The way of a line: the points of cubic curves (first, then three per curve), the tip of its arrow, its label."""

    bundle: Bundle
    points: tuple[Point, ...]
    tip: Point
    label: Point


@dataclass(frozen=True, slots=True)
class Layout:
    """A whole picture, placed; the origin is its upper left corner."""

    boxes: tuple[Placed, ...]
    routes: tuple[Route, ...]
    width: float
    height: float


def lay_out(picture: Picture) -> Layout:
    """The same picture is always laid out in the same way."""
    from omnigraph.render import graphviz, springs

    return graphviz.arrange(picture) if picture.boxes and graphviz.installed() else springs.arrange(picture)


def box_size(box: Box) -> tuple[float, float]:
    """Width and height of a box with its text."""
    widest = max(len(box.title) * TITLE_LETTER, *(len(text) * LETTER for text in (box.kind, *box.lines)))
    rows = len(box.lines) + (1 if box.kind == box.title else 2)
    return widest + 2 * PAD, rows * LINE + 2 * PAD - 4


def label_size(bundle: Bundle) -> tuple[float, float]:
    """Width and height of the text beside a line."""
    return max(len(text) for text, _ in bundle.lines) * LABEL_LETTER + 6, len(bundle.lines) * LABEL_LINE + 2
