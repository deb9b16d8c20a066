"""Offsets in code points to the lines and UTF-16 columns of the protocol, and back."""

from __future__ import annotations

from lsprotocol import types

from omnigraph.compiler.source import Source, Span


def offset_of(text: str, position: types.Position) -> int:
    """The offset of a position; past the end of a line or of the text, that end."""
    lines = text.split("\n")
    if position.line >= len(lines):
        return len(text)
    start = sum(len(line) + 1 for line in lines[: position.line])
    units = 0
    for at, character in enumerate(lines[position.line]):
        if units >= position.character:
            return start + at
        units += _units(character)
    return start + len(lines[position.line])


def position_of(source: Source, offset: int) -> types.Position:
    """The position of an offset."""
    line, column = source.position(min(offset, len(source.text)))
    before = source.text[offset - column + 1 : offset]
    return types.Position(line - 1, sum(map(_units, before)))


def range_of(source: Source, span: Span | None) -> types.Range:
    """The range of a span; without one, the first character."""
    found = span or Span(0, 1)
    return types.Range(position_of(source, found.start), position_of(source, max(found.end, found.start)))


def whole(source: Source) -> types.Range:
    """The range of the whole text."""
    return range_of(source, Span(0, len(source.text)))


def _units(character: str) -> int:
    return 2 if ord(character) > 0xFFFF else 1
