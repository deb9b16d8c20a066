"""Rows as bodies: JSON, lines or Arrow, made in pieces so that limits and cancellation hold."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from starlette.responses import Response

from omnigraph.engine.read.shape.result import Result
from omnigraph.engine.values.json_values import JS_SAFE, NATIVE, json_objects
from omnigraph.errors import ResourceLimitExceeded
from omnigraph.memory.working import Reservation
from omnigraph.server.http.answers import ARROW, NDJSON, compact, raw_answer
from omnigraph.server.http.preferences import Preferences

SNAPSHOT_ID = "Omnigraph-Snapshot-Id"
QUERY_NAME = "Omnigraph-Query-Name"
_PIECE_BYTES = 1 << 20
_PIECE_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class Allowance:
    """What making one answer may take: `check` raises when it is to stop, `limit` is the largest body."""

    check: Callable[[], None]
    limit: int
    reservation: Reservation


def rendered(result: Result, target: Mapping[str, str | None], wanted: Preferences, allowance: Allowance) -> Response:
    """The rows in the form the client accepts; rows are joined as text, column by column, never one by one."""
    marks = {QUERY_NAME: result.query_name}  # a body of rows has no place for either
    if result.commit_id is not None:
        marks[SNAPSHOT_ID] = result.commit_id
    if wanted.arrow:
        return raw_answer(_arrow(result.table, allowance), headers=marks, kind=ARROW)
    mode = JS_SAFE if wanted.js_safe else NATIVE
    rows = (json_objects(piece, mode).to_pylist() for piece in _pieces(result.table))
    if wanted.lines:
        lines = ("".join(f"{row}\n" for row in piece).encode() for piece in rows)
        return raw_answer(_joined(lines, b"", allowance), headers=marks, kind=NDJSON)
    head: dict[str, Any] = {"query_name": result.query_name, "target": dict(target), "row_count": len(result)}
    if result.columns:
        head["columns"] = list(result.columns)
    commit = b"" if result.commit_id is None else b',"graph_commit_id":' + compact(result.commit_id)
    body = _joined((",".join(piece).encode() for piece in rows), b",", allowance)
    return raw_answer(compact(head)[:-1] + b',"rows":[' + body + b"]" + commit + b"}")


def _pieces(table: pa.Table) -> Iterator[pa.Table]:
    """The table in parts that take about the same time, whatever is in its rows."""
    rows = len(table)
    if rows <= _PIECE_ROWS and table.nbytes <= _PIECE_BYTES:
        yield table
        return
    size = max(1, min(_PIECE_ROWS, _PIECE_BYTES * rows // max(table.nbytes, 1)))
    for start in range(0, rows, size):
        yield table.slice(start, size)


def _joined(pieces: Iterator[bytes], between: bytes, allowance: Allowance) -> bytes:
    found: list[bytes] = []
    total = 0
    for piece in pieces:
        allowance.check()
        total += len(piece) + len(between)
        _require(total, allowance)
        found.append(piece)
    return between.join(found)


def _arrow(table: pa.Table, allowance: Allowance) -> bytes:
    stream = io.BytesIO()
    _require(table.nbytes, allowance)
    with pa.ipc.new_stream(stream, table.schema) as writer:
        for piece in _pieces(table):
            allowance.check()
            writer.write_table(piece)
            _require(stream.tell(), allowance)
    return stream.getvalue()


def _require(size: int, allowance: Allowance) -> None:
    """413 for an answer that is too large; both its parts and the whole are held at the end."""
    if size > allowance.limit:
        raise ResourceLimitExceeded("response_bytes", limit=allowance.limit, actual=size)
    if size > _PIECE_BYTES:
        allowance.reservation.need(2 * size)
