"""Catalog types as Arrow: the stored schema of every table, the plain form in which rows are checked, the shown one.

Two schemas describe one type. The *stored* schema is what the dataset has, with Lance blob columns. The *row* schema is
the same with blobs as cells (bytes, or a URI); everything that decodes, checks or compares rows works on that one.
What leaves the engine is *shown*: a DateTime is stored as date64, which others take for a day, and shown as an instant.
"""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.compiler.types import PropType
from omnigraph.storage.lance.blob_cells import BLOB_CELL, stored_cells
from omnigraph.storage.lance.columns import blob_field, key_field, packed

PROPERTY_ID = "omnigraph.stable_property_id"
TableType: TypeAlias = NodeType | EdgeType
INSTANT = pa.timestamp("ms", tz="UTC")

_SCALARS: dict[str, pa.DataType] = {
    "String": pa.utf8(),
    "Bool": pa.bool_(),
    "I32": pa.int32(),
    "I64": pa.int64(),
    "U32": pa.uint32(),
    "U64": pa.uint64(),
    "F32": pa.float32(),
    "F64": pa.float64(),
    "Date": pa.date32(),
    "DateTime": pa.date64(),
    "Blob": BLOB_CELL,
}


def stored_schema(info: TableType) -> pa.Schema:
    """The schema of a type's dataset: id, endpoints, then properties by name."""
    ids = map(packed, _structural(info)) if isinstance(info, EdgeType) else _structural(info)
    return pa.schema([*ids, *(_stored_field(info, name) for name in property_names(info))])


def row_schema(info: TableType) -> pa.Schema:
    """The stored schema with blobs as cells."""
    return pa.schema([*_structural(info), *(_row_field(info, name) for name in property_names(info))])


def arrow_type(kind: PropType) -> pa.DataType:
    """The Arrow type of one property's values; blobs are cells."""
    if kind.dim is not None:
        return pa.list_(pa.float32(), kind.dim)
    if kind.members is not None:
        scalar = pa.struct([(name, arrow_type(each)) for name, each in kind.members])
    else:
        scalar = _SCALARS[kind.scalar]
    return pa.list_(scalar) if kind.list else scalar


def shown_type(kind: pa.DataType) -> pa.DataType:
    """The type under which values of a stored type leave the engine: instants instead of date64, at any depth."""
    if pa.types.is_date64(kind):
        return INSTANT
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(shown_type(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(shown_type(field.type)) for field in kind])
    return kind


def shown(values: pa.Array) -> pa.Array:
    """A column in the type that `shown_type` gives it; nothing is copied where nothing changes."""
    kind = shown_type(values.type)
    if kind == values.type:
        return values
    if pa.types.is_date64(values.type):
        return values.view(kind)  # both count milliseconds
    if pa.types.is_struct(kind):
        parts = [shown(values.field(at)) for at in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=values.is_null())
    if pa.types.is_struct(kind.value_type):
        return relisted(values, shown(values.flatten()))
    return values.cast(pa.list_(pa.int64())).cast(kind)


def relisted(lists: pa.Array, items: pa.Array) -> pa.Array:
    """The same lists of other items, one for each item of `lists.flatten()`."""
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lists.value_lengths().fill_null(0))])
    return pa.ListArray.from_arrays(offsets, items, mask=lists.is_null() if lists.null_count else None)


def property_names(info: TableType) -> list[str]:
    """Property names in column order."""
    return sorted(info.properties)


def to_stored(info: TableType, rows: pa.Table) -> pa.Table:
    """Rows of the row schema as rows of the stored schema."""
    schema = stored_schema(info)
    columns = [stored_cells(rows[f.name], f) if f.name in info.blobs else rows[f.name] for f in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def empty_rows(info: TableType) -> pa.Table:
    """No rows of a type, in the row schema."""
    return row_schema(info).empty_table()


def table_types(catalog: Catalog) -> dict[str, TableType]:
    """Every type that has a table, by table key, in key order."""
    found: list[TableType] = [*catalog.nodes.values(), *catalog.edges.values()]
    return {info.table_key: info for info in sorted(found, key=lambda info: info.table_key)}


def _structural(info: TableType) -> list[pa.Field]:
    endpoints = ["src", "dst"] if isinstance(info, EdgeType) else []
    return [key_field("id"), *(pa.field(name, pa.utf8(), nullable=False) for name in endpoints)]


def _stored_field(info: TableType, name: str) -> pa.Field:
    kind = info.properties[name]
    if kind.scalar == "Blob":
        return blob_field(name, nullable=kind.nullable, metadata=_identity(info, name))
    return _row_field(info, name)


def _row_field(info: TableType, name: str) -> pa.Field:
    kind = info.properties[name]
    return pa.field(name, arrow_type(kind), nullable=kind.nullable, metadata=_identity(info, name))


def _identity(info: TableType, name: str) -> dict[str, str]:
    return {PROPERTY_ID: str(info.property_ids.get(name, 0))}
