"""How a text file is written: its encoding, and the sign between its cells."""

from __future__ import annotations

import codecs
import csv
import io

from omnigraph.engine.intake.inputs.files import open_stream
from omnigraph.engine.intake.inputs.forms import format_of

_LOOK = 256 << 10
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", codecs.BOM_UTF32_LE: "utf-32"}
_SIGNS = (",", ";", "\t", "|")
_MOST_LINES = 200


def encoding_of(path: str) -> str | None:
    """The encoding of a file that is not UTF-8, by its mark or because UTF-8 cannot be; None for UTF-8."""
    with open_stream(path) as file:
        first = file.read(4)
        for mark, name in sorted(_MARKS.items(), key=lambda each: -len(each[0])):
            if first.startswith(mark):
                return name
        decoder = codecs.getincrementaldecoder("utf-8")()
        data = first
        try:
            while data:
                decoder.decode(data)
                data = file.read(1 << 20)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return None


def delimiter_of(path: str, encoding: str | None) -> str | None:
    """The sign between cells where the name of the file does not tell it: the one that cuts the first lines alike."""
    if format_of(path) != "csv" or ".tsv" in path:
        return None
    with open_stream(path) as file:
        text = file.read(_LOOK).decode(encoding or "utf-8-sig", "replace")
    lines = text.splitlines(keepends=True)[:_MOST_LINES]
    widths = {sign: _widths("".join(lines), sign, len(text) == _LOOK) for sign in _SIGNS}
    fitting = {sign: found[0] for sign, found in widths.items() if found and found[0] > 1 and len(set(found)) == 1}
    if fitting.get(",") or not fitting:
        return None
    return max(fitting, key=lambda sign: fitting[sign])


def _widths(text: str, sign: str, cut: bool) -> list[int]:
    try:
        found = [len(row) for row in csv.reader(io.StringIO(text), delimiter=sign) if row]
    except csv.Error:
        return []
    return found[:-1] if cut and len(found) > 2 else found
