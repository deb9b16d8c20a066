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


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one box to another, by their keys."""

    source: str
    target: str
    label: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Boxes in the order in which they were found, the centre first; `cut` says that some were left out."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    cut: bool = False

    def bundles(self) -> tuple[Arrow, ...]:
        """The arrows with those between the same two boxes, in the same direction, made one."""
        labels: dict[tuple[str, str], list[str]] = {}
        for arrow in self.arrows:
            labels.setdefault((arrow.source, arrow.target), []).append(arrow.label)
        return tuple(Arrow(source, target, ", ".join(names)) for (source, target), names in labels.items())
