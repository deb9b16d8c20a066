"""JSONL export of one view: every entity once, in one fixed order and spelling, as a stream of byte chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.engine.arrow import TableType, property_names, row_schema, table_types
from omnigraph.engine.json_values import IMAGE, json_texts
from omnigraph.engine.view import View
from omnigraph.errors import BadRequest
from omnigraph.storage.tables import TableHandle

_BATCH_ROWS = 8_192
_BLOB_BATCH_ROWS = 256
_ROW_ID = "_rowid"


def export_jsonl(view: View, types: Sequence[str] = ()) -> Iterator[bytes]:
    """The selected types (all when none is named) as whole lines: edge types before node types, entities by id."""
    for info in export_types(view.catalog, types):
        yield from _export_type(view, info)


def export_types(catalog: Catalog, names: Sequence[str] = ()) -> list[TableType]:
    """The types a filter selects, in export order; a name selects the node and the edge type that have it."""
    for name in names:
        if name not in catalog.nodes and name not in catalog.edges:
            raise BadRequest(f"unknown export type '{name}'")
    return [info for info in table_types(catalog).values() if not names or info.name in names]


def record_lines(info: TableType, rows: pa.RecordBatch) -> bytes:
    """Rows in the row schema as lines of JSON, each ended by a newline."""
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


def _export_type(view: View, info: TableType) -> Iterator[bytes]:
    entry = view.find(info)
    if entry is None or not entry.row_count:
        return
    physical = view.columns(info)
    table = view.table(info)
    stored = [column for column in physical.values() if column is not None]
    # Sorting carries only what is small; blobs are fetched for one batch of rows at a time, in their final order.
    size = _BLOB_BATCH_ROWS if info.blobs else _BATCH_ROWS
    wanted = [*stored, _ROW_ID] if info.blobs else stored
    for batch in table.batches(wanted, batch_size=size, order_by=["id"]):
        for start in range(0, batch.num_rows, size):
            yield record_lines(info, _rows(info, table, batch.slice(start, size), physical))


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
            data = table.read_blobs(column, batch.column(_ROW_ID))
            arrays.append(pa.array(data, field.type))
        else:
            arrays.append(batch.column(column))
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)


def _text_bytes(lines: pa.Array) -> bytes:
    """The texts of an array one after the other; they lie so in memory already."""
    offsets = np.frombuffer(lines.buffers()[1], np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return bytes(lines.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0])))
