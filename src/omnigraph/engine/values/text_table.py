"""Rows as a table of text: numbers to the right with their decimal points aligned, everything else to the left."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_DECIMALS = 4
_LARGE, _SMALL = 1e15, 10**-_DECIMALS
_SMALLEST_WIDTH = 8


@dataclass(frozen=True, slots=True)
class TextLayout:
    """How wide a column may get, and whether longer cells are wrapped or cut."""

    max_width: int = 80
    wraps: bool = False


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column as it is shown: its name, its cells, and on which side they stand."""

    name: str
    cells: Sequence[str]
    numeric: bool = False


def value_column(name: str, values: Sequence[Any], texts: Sequence[str]) -> TextColumn:
    """A column of values with the text of each; numbers are shown as numbers, rounded to what can be read."""
    present = [value for value in values if value is not None]
    if not present or not all(type(value) in (int, float) for value in present):
        return TextColumn(name, list(map(_one_line, texts)))
    if all(type(value) is int for value in present):
        return TextColumn(name, texts, numeric=True)
    decimals = max(map(_decimals, present))
    shown = [text if value is None else _number(value, decimals) for value, text in zip(values, texts, strict=True)]
    return TextColumn(name, shown, numeric=True)


def text_table(columns: Sequence[TextColumn], layout: TextLayout) -> list[str]:
    """The lines of a table: names, a rule, rows."""
    widths = [_width(column, layout) for column in columns]
    sides = [column.numeric for column in columns]
    lines = [_joined([column.name for column in columns], widths, sides), "-+-".join("-" * width for width in widths)]
    for row in zip(*(column.cells for column in columns), strict=True):
        lines += _row_lines(row, widths, sides, layout)
    return lines


def _one_line(text: str) -> str:
    """A text that stays in its cell and tells a terminal nothing: control characters are written out."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _plain(value: float) -> bool:
    return math.isfinite(value) and (value == 0 or _SMALL <= abs(value) < _LARGE)


def _decimals(value: float) -> int:
    """How many digits after the point a number needs, up to those that are shown."""
    if not _plain(value) or value == int(value):
        return 1 if isinstance(value, float) else 0
    return len(f"{value:.{_DECIMALS}f}".rstrip("0").partition(".")[2])


def _number(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}" if _plain(value) else f"{value:.6g}"


def _width(column: TextColumn, layout: TextLayout) -> int:
    widest = max([_cells(column.name), *(min(_cells(cell), layout.max_width) for cell in column.cells)])
    return min(widest, max(layout.max_width, _SMALLEST_WIDTH))


def _row_lines(row: Sequence[str], widths: Sequence[int], sides: Sequence[bool], layout: TextLayout) -> Iterator[str]:
    if not layout.wraps:
        cut = [
            cell if _cells(cell) <= width else next(_pieces(cell, width - 1)) + "…"
            for cell, width in zip(row, widths, strict=True)
        ]
        yield _joined(cut, widths, sides)
        return
    chunks = [list(_pieces(cell, width)) or [""] for cell, width in zip(row, widths, strict=True)]
    for number in range(max(map(len, chunks))):
        yield _joined([parts[number] if number < len(parts) else "" for parts in chunks], widths, sides)


def _joined(cells: Sequence[str], widths: Sequence[int], sides: Sequence[bool]) -> str:
    padded = zip(cells, widths, sides, strict=True)
    return " | ".join(_padded(cell, width, right=right) for cell, width, right in padded)


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - _cells(text))
    return space + text if right else text + space


def _pieces(text: str, width: int) -> Iterator[str]:
    """A text in pieces that are at most so wide; at least one character each."""
    start = used = 0
    for at, each in enumerate(text):
        wide = _cells(each)
        if used + wide > width and at > start:
            yield text[start:at]
            start, used = at, 0
        used += wide
    if start < len(text):
        yield text[start:]


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes: two for a wide character, none for a mark on the one before.

    >>> _cells("Zoë"), _cells("李雷"), _cells("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(each) in ("Mn", "Me") else 2 if unicodedata.east_asian_width(each) in "WF" else 1
        for each in text
    )
