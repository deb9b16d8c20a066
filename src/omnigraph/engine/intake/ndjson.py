"""Strict NDJSON graph records into typed rows: one JSON object per line, every failure with its physical line.

Lines of the usual shape go through Arrow's JSON reader, a type at a time (`ndjson_arrow`). A block in which that
reader meets anything doubtful is read again line by line with the full rules, so both ways give one answer.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

import numpy as np

from omnigraph.checkpoints import checkpoint
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.intake.inputs.lines import Lines, blocks, split_lines
from omnigraph.engine.intake.ndjson_arrow import read_usual_lines
from omnigraph.engine.intake.ndjson_records import read_lines
from omnigraph.engine.intake.records import (
    PLAIN,
    Decoded,
    Intake,
    RawRows,
    TypeRows,
    concat_rows,
    in_line_order,
    merge_decoded,
    place_order,
    type_rows,
)
from omnigraph.engine.intake.violations import Violation

BLOCK_BYTES = 4 << 20
# Below this many lines starting Arrow's reader costs more than it saves.
_FEW_LINES = 24


def decode_ndjson(
    data: bytes, catalog: Catalog, intake: Intake = PLAIN, *, first_line: int = 1, file: str | None = None
) -> Decoded:
    """Decode a whole input, or a piece of one that starts at a line; good rows and violations both come back."""
    parts: list[Decoded] = []
    for piece in blocks(data, BLOCK_BYTES):
        parts.append(_decode_block(piece, catalog, intake, first_line, file))
        first_line += parts[-1].lines
    return merge_decoded(parts)


def _decode_block(data: bytes, catalog: Catalog, intake: Intake, first: int, file: str | None) -> Decoded:
    checkpoint()
    data, garbled = _without_garbled_lines(data)
    lines = split_lines(data, first)
    raw: list[RawRows] = []
    rest = np.arange(len(lines))
    # Where absent properties keep their values, null and absent must differ, which Arrow's reader does not show.
    if len(lines) >= _FEW_LINES and (intake.existing is None or b"null" not in data):
        raw, rest = read_usual_lines(lines, catalog, file)
    slow, violations = read_lines(_indexed(lines, rest), catalog, file)
    for line in (first + before for before in garbled):
        violations.append(Violation("W019", f"line {line}: invalid UTF-8 text", line=line, file=file))
    return _typed([*raw, *slow], violations, intake, lines.physical)


def _without_garbled_lines(data: bytes) -> tuple[bytes, list[int]]:
    """The input with every line that is not UTF-8 blanked out, and how many lines come before each of those."""
    found: list[int] = []
    blanked: bytearray | None = None
    start = before = 0
    while True:
        try:
            codecs.utf_8_decode(memoryview(data)[start:], "strict", True)
        except UnicodeDecodeError as error:
            at = start + error.start
            begin, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
            end = len(data) if end < 0 else end
            before += data.count(b"\n", start, begin)
            found.append(before)
            blanked = bytearray(data) if blanked is None else blanked
            blanked[begin:end] = b" " * (end - begin)
            start = end
        else:
            return (data if blanked is None else bytes(blanked)), found


def _indexed(lines: Lines, indices: np.ndarray) -> Iterator[tuple[int, bytes]]:
    return ((int(lines.numbers[index]), lines.text(index)) for index in indices.tolist())


def _typed(raw: list[RawRows], violations: list[Violation], intake: Intake, lines: int) -> Decoded:
    grouped: dict[str, list[TypeRows]] = {}
    found = list(violations)
    for part in raw:
        rows, wrong = type_rows(part, intake)
        grouped.setdefault(part.info.table_key, []).append(rows)
        found += wrong
    types = {key: in_line_order(concat_rows(parts)) for key, parts in grouped.items()}
    return Decoded(types, tuple(sorted(found, key=place_order)), lines)
