"""Colours and ends of lines that every renderer shares."""

from __future__ import annotations

import zlib

from omnigraph.render.layout import Placed

_FILLS = ("#dbeafe", "#dcfce7", "#fef9c3", "#fce7f3", "#ede9fe", "#ffedd5", "#cffafe", "#e5e7eb")
INK, LINE, QUIET = "#1f2937", "#64748b", "#475569"


def fill(kind: str) -> str:
    """The colour of a kind: always the same for the same name."""
    return _FILLS[zlib.crc32(kind.encode()) % len(_FILLS)]


def border_point(box: Placed, x: float, y: float) -> tuple[float, float]:
    """Where the line from a box's centre towards a point leaves its rectangle."""
    dx, dy = x - box.x, y - box.y
    if not dx and not dy:
        return box.x, box.y
    scale = min(box.width / 2 / abs(dx) if dx else 1e9, box.height / 2 / abs(dy) if dy else 1e9)
    return box.x + dx * scale, box.y + dy * scale
