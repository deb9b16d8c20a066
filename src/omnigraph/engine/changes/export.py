"""JSONL export of one view: every entity once, in one fixed order and spelling, as a stream of byte chunks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.engine.changes.output_file import StrPath, output_file
from omnigraph.engine.values.arrow import TableType, property_names, row_schema, table_types
from omnigraph.engine.values.json_values import IMAGE, json_texts
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest
from omnigraph.storage.lance.blob_cells import external_uris
from omnigraph.storage.lance.tables import TableHandle, quote

_BATCH_ROWS = 8_192
# Lance sorts whole rows in memory and is then twice as fast; a larger table has only its ids sorted, and its rows taken
# in that order, many at a time because each take has a fixed cost.
_SORT_PART, _LEAST_SORTED, _MOST_SORTED = 1 / 32, 16 << 20, 256 << 20
_TAKE_ROWS = 65_536
_TAKE_PART, _LEAST_TAKEN, _MOST_TAKEN = 1 / 128, 4 << 20, 64 << 20
_BLOB_PART, _LEAST_BLOBS, _MOST_BLOBS = 1 / 256, 4 << 20, 32 << 20
_TEXT_WIDTH = 48
_ROW_ID = "_rowid"


def export_jsonl(view: View, types: Sequence[str] = ()) -> Iterator[bytes]:
    """The selected types (all when none is named) as whole lines: edge types before node types, entities by id."""
    for info in export_types(view.catalog, types):
        yield from export_type(view, info)


def write_export(view: View, target: StrPath | BinaryIO, types: Sequence[str] = ()) -> int:
    """Write JSON lines and return how many bytes; a file appears under its name only when it is complete."""
    export_types(view.catalog, types)  # an unknown type is refused before anything is created
    if not isinstance(target, str | os.PathLike):
        return _copy(view, target, types)
    with output_file(target) as file:
        return _copy(view, file, types)


def _copy(view: View, file: BinaryIO, types: Sequence[str]) -> int:
    written = 0
    for chunk in export_jsonl(view, types):
        file.write(chunk)
        written += len(chunk)
    return written


def export_types(catalog: Catalog, names: Sequence[str] = ()) -> list[TableType]:
    """The types a filter selects, in export order; a name selects the node and the edge type that have it."""
    for name in names:
        if name not in catalog.nodes and name not in catalog.edges:
            near = did_you_mean(name, [*catalog.nodes, *catalog.edges])
            raise BadRequest(f"unknown export type '{name}'{f'; {near}' if near else ''}")
    return [info for info in table_types(catalog).values() if not names or info.name in names]


def record_lines(info: TableType, rows: pa.RecordBatch) -> bytes:
    """Rows in the row schema as lines of JSON, each ended by a newline."""
    try:
        return _lines(info, rows)
    except pa.ArrowCapacityError:
        if rows.num_rows > 1:  # escapes can make a text six times as long
            half = rows.num_rows // 2
            return record_lines(info, rows.slice(0, half)) + record_lines(info, rows.slice(half))
        name = f"{info.name} '{rows.column('id')[0]}'"
        raise BadRequest(f"{name} is longer than 2 GiB as a line of JSON; export as parquet") from None


def _lines(info: TableType, rows: pa.RecordBatch) -> bytes:
    columns = {name: json_texts(rows.column(name), IMAGE) for name in rows.schema.names}
    parts: list[Any] = [_head(info)]
    if isinstance(info, EdgeType):
        parts += [columns["src"], ',"to":', columns["dst"], ',"data":{"id":']
    parts.append(columns["id"])
    for name in property_names(info):
        parts += [f",{json.dumps(name)}:", columns[name]]
    return _text_bytes(pc.binary_join_element_wise(*parts, "}}\n", ""))


def _head(info: TableType) -> str:
    if isinstance(info, EdgeType):
        return f'{{"edge":{json.dumps(info.name)},"from":'
    return f'{{"type":{json.dumps(info.name)},"data":{{"id":'


def export_type(view: View, info: TableType, *, low: str | None = None, high: str | None = None) -> Iterator[bytes]:
    """The entities of one type by id as lines; with bounds, those whose ids lie in [low, high)."""
    for rows in export_rows(view, info, low=low, high=high):
        yield record_lines(info, rows)


def export_rows(
    view: View, info: TableType, *, low: str | None = None, high: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The same as batches of rows, bytes of blobs read."""
    entry = view.find(info)
    if entry is None or not entry.row_count:
        return
    physical = view.columns(info)
    table = view.table(info)
    stored = [column for column in physical.values() if column is not None]
    blobs = [column for name in info.blobs if (column := physical[name]) is not None]
    bounds = [f"id {sign} {quote(end)}" for sign, end in ((">=", low), ("<", high)) if end is not None]
    inside = " AND ".join(bounds) or None
    count = table.count_rows(inside) if inside is not None else entry.row_count
    together = view.tables.memory.share(_BLOB_PART, least=_LEAST_BLOBS, most=_MOST_BLOBS)
    for batch in _by_id(table, stored, inside, row_count=count, width=_row_width(info)):
        for part in _slices(batch, blobs, together):
            yield _rows(info, table, part, physical)


def referring_columns(view: View, info: TableType) -> frozenset[str]:
    """The Blob properties of a type of which at least one value is a reference to an object outside the graph."""
    if view.find(info) is None or not info.blobs:
        return frozenset()
    table, physical = view.table(info), view.columns(info)
    stored = {name: column for name in info.blobs if (column := physical[name]) is not None}
    return frozenset(
        name
        for name, column in stored.items()
        if any(len(external_uris(batch.column(0))) for batch in table.batches([column]))
    )


def _by_id(
    table: TableHandle, stored: list[str], inside: str | None, *, row_count: int, width: int
) -> Iterator[pa.RecordBatch]:
    """Every row in ascending byte order of its id, with its row id; blobs as descriptors."""
    memory = table.address.root.memory
    if row_count * width <= memory.share(_SORT_PART, least=_LEAST_SORTED, most=_MOST_SORTED):
        yield from table.batches([*stored, _ROW_ID], inside, batch_size=_BATCH_ROWS, order_by=["id"])
        return
    keys = table.scan(["id", _ROW_ID], inside)
    ordered = keys[_ROW_ID].take(pc.sort_indices(keys["id"])).combine_chunks()
    taken = memory.share(_TAKE_PART, least=_LEAST_TAKEN, most=_MOST_TAKEN)
    size = max(1, min(_TAKE_ROWS, taken // width))
    for start in range(0, len(ordered), size):
        chunk = ordered.slice(start, size)
        rows = table.take_rows(chunk, stored)
        yield from rows.append_column(_ROW_ID, chunk).combine_chunks().to_batches()


def _row_width(info: TableType) -> int:
    """About how many bytes a row takes; texts and lists are guessed."""
    structural = 3 * _TEXT_WIDTH if isinstance(info, EdgeType) else _TEXT_WIDTH
    return structural + sum(4 * kind.dim if kind.dim is not None else _TEXT_WIDTH for kind in info.properties.values())


def _slices(batch: pa.RecordBatch, blobs: list[str], most: int) -> Iterator[pa.RecordBatch]:
    """Parts of a batch that have at most so many bytes, those of its blobs included; at least one row each."""
    total = np.zeros(batch.num_rows, np.int64)
    for column in batch.columns:
        total += _sizes(column)
    for column in blobs:
        sizes = pc.struct_field(batch.column(column), "size").cast(pa.int64())
        total += pc.fill_null(sizes, 0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(total)
    start = 0
    while start < batch.num_rows:
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
        stop = min(stop, start + _BATCH_ROWS)
        yield batch.slice(start, stop - start)
        start = stop


def _sizes(column: pa.Array) -> np.ndarray:
    """About how many bytes each value has: the length of a text, a word for anything else, all items of a list."""
    kind = column.type
    if pa.types.is_string(kind):
        return np.asarray(pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False), np.int64)
    if not (pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind)):
        return np.full(len(column), 8, np.int64)
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths)
    items = np.concatenate([[0], np.cumsum(_sizes(column.flatten()))])
    return np.asarray(items[ends] - items[ends - lengths], np.int64)


def _rows(
    info: TableType, table: TableHandle, batch: pa.RecordBatch, physical: dict[str, str | None]
) -> pa.RecordBatch:
    schema = row_schema(info)
    arrays = []
    for field in schema:
        column = physical[field.name]
        if column is None:
            arrays.append(pa.nulls(batch.num_rows, field.type))
        elif field.name in info.blobs:
            arrays.append(table.read_blobs(column, batch.column(_ROW_ID), batch.column(column)))
        else:
            arrays.append(batch.column(column))
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)


def _text_bytes(lines: pa.Array) -> bytes:
    """The texts of an array one after the other; they lie so in memory already."""
    offsets = np.frombuffer(lines.buffers()[1], np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return bytes(lines.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0])))
