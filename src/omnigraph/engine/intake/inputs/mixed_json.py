"""JSON whose columns hold values of several kinds, which Arrow refuses: read value by value, such columns as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from omnigraph.engine.intake.inputs.table_stores import as_text, column_of
from omnigraph.errors import BadRequest

_BATCH_ROWS = 65_536
MIXED = b"mixed"  # in the metadata of a field whose values are of several kinds


def mixed_pieces(path: str, file: Any, in_text: frozenset[str], skip: int = 0) -> Iterator[pa.Table]:
    """The rows of a file of objects, one a line, from some row on."""
    rows = islice(_objects(path, file), skip, None)
    while batch := list(islice(rows, _BATCH_ROWS)):
        yield rows_table(batch, in_text)


def rows_table(rows: Sequence[Mapping[str, Any]], in_text: frozenset[str] = frozenset()) -> pa.Table:
    """Objects as a table; a column `in_text`, or of several kinds of values, is text."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    fields, arrays = [], []
    for name in names:
        values = [row.get(name) for row in rows]
        if name in in_text:
            arrays.append(pa.array([None if value is None else as_text(value) for value in values], pa.utf8()))
        else:
            arrays.append(column_of(values))
        texts = sum(isinstance(value, str) for value in values)
        known = sum(value is not None for value in values)
        mixed = pa.types.is_string(arrays[-1].type) and texts < known
        fields.append(pa.field(name, arrays[-1].type, metadata={MIXED: b"1"} if mixed else None))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _objects(path: str, file: Any) -> Iterator[Mapping[str, Any]]:
    held, number = b"", 0
    while True:
        data = file.read(1 << 20)
        lines = (held + data).split(b"\n")
        held = lines.pop() if data else b""
        for line in lines:
            number += 1
            if line.strip():
                yield _object(path, number, line)
        if not data:
            return


def _object(path: str, number: int, line: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise BadRequest(f"'{path}' line {number} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise BadRequest(f"'{path}' line {number} is not an object")
    return found
