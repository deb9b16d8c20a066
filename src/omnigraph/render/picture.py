"""What there is to draw: boxes with a kind and a few lines, and labelled arrows between them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """One node of a picture; `kind` decides its colour and `lines` stand below its title."""

    key: str
    title: str
    kind: str
    lines: tuple[str, ...] = ()
    name: str = ""  # what it is looked up by, where the title is something else


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one box to another, by their keys: `count` edges of one kind; `lines` stand below its label."""

    source: str
    target: str
    label: str
    count: int = 1
    lines: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The label, with the number of edges where it is more than one.

        >>> Arrow("a", "b", "Knows").text, Arrow("a", "b", "Knows", 3).text
        ('Knows', 'Knows ×3')
        """
        return self.label if self.count == 1 else f"{self.label} ×{self.count}"


@dataclass(frozen=True, slots=True)
class Bundle:
    """Every arrow from one box to another, drawn as one line."""

    source: str
    target: str
    arrows: tuple[Arrow, ...]

    @property
    def lines(self) -> tuple[tuple[str, bool], ...]:
        """The text beside the line, row by row; True for labels, False for what stands below one."""
        return tuple(
            row for arrow in self.arrows for row in ((arrow.text, True), *((each, False) for each in arrow.lines))
        )


@dataclass(frozen=True, slots=True)
class Picture:
    """Boxes in the order in which they were found, the centre first; `cut` says that some were left out."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    cut: bool = False

    def bundles(self) -> tuple[Bundle, ...]:
        """The arrows with those between the same two boxes, in the same direction, made one."""
        found: dict[tuple[str, str], list[Arrow]] = {}
        for arrow in self.arrows:
            found.setdefault((arrow.source, arrow.target), []).append(arrow)
        return tuple(Bundle(source, target, tuple(arrows)) for (source, target), arrows in found.items())

    @property
    def edges(self) -> int:
        """How many edges the arrows stand for."""
        return sum(arrow.count for arrow in self.arrows)
