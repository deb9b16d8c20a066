"""Columns of Arrow's view types, which Polars hands over, as plain ones: many of Arrow's functions know no views."""

from __future__ import annotations

import pyarrow as pa


def without_views(table: pa.Table) -> pa.Table:
    """The same rows; the table itself where it has no views."""
    schema = table.schema
    plain = schema_without_views(schema)
    return table if plain is schema else table.cast(plain)


def schema_without_views(schema: pa.Schema) -> pa.Schema:
    """The schema itself where it has no views."""
    fields = [field.with_type(_plain(field.type)) for field in schema]
    same = all(field.type == former.type for field, former in zip(fields, schema, strict=True))
    return schema if same else pa.schema(fields, schema.metadata)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.utf8()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_field(kind.value_field), kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(_field(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_field(kind.value_field))
    if pa.types.is_struct(kind):
        return pa.struct([_field(kind.field(at)) for at in range(kind.num_fields)])
    return kind


def _field(field: pa.Field) -> pa.Field:
    return field.with_type(_plain(field.type))
