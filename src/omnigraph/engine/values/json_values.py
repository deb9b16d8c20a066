"""Arrow columns as JSON, by column: query rows (ISO dates) and entity images (integer dates), as text or as values."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.values.arrow import INSTANT
from omnigraph.engine.values.spelling import iso_dates, iso_timestamps, json_floats, json_strings
from omnigraph.errors import Corrupt
from omnigraph.storage.lance.blob_cells import BLOB_CELL

BASE64_PREFIX = "base64:"

_SAFE_INTEGER = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Style:
    """How values are spelled where JSON leaves a choice."""

    dates: Literal["iso", "epoch"] = "iso"
    integers: Literal["native", "js_safe"] = "native"
    non_finite: Literal["text", "refuse"] = "text"


NATIVE = Style()
JS_SAFE = Style(integers="js_safe")
IMAGE = Style(dates="epoch", non_finite="refuse")


def json_rows(table: pa.Table | pa.RecordBatch, style: Style = NATIVE) -> list[dict[str, Any]]:
    """One dict of JSON values per row, members in column order."""
    columns = [json_values(column, style) for column in table.columns]
    names = table.schema.names
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] if columns else []


def json_values(column: pa.Array | pa.ChunkedArray, style: Style = NATIVE) -> list[Any]:
    """The values of a column as Python's JSON types."""
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in json_values(chunk, style)]
    kind = column.type
    whole = pa.types.is_integer(kind) and (style.integers == "native" or _small_integer(kind))
    if whole or pa.types.is_string(kind) or pa.types.is_boolean(kind):
        return list(column.to_pylist())
    # One renderer decides every spelling; what it wrote is read back.
    texts = json_texts(column, style).to_pylist()
    return list(json.loads(f"[{','.join(texts)}]"))


def json_objects(table: pa.Table, style: Style = NATIVE) -> pa.Array:
    """One compact JSON object per row as text, members in column order."""
    batches = table.combine_chunks().to_batches()
    parts = [_objects(batch.columns, table.column_names, style) for batch in batches]
    return pa.concat_arrays(parts) if parts else pa.array([], pa.utf8())


def json_texts(values: pa.Array, style: Style = NATIVE) -> pa.Array:
    """Each value of a column as JSON text; nulls become the text `null`."""
    return pc.fill_null(_texts(values, style, inside_vector=False), "null")


def _texts(values: pa.Array, style: Style, *, inside_vector: bool) -> pa.Array:
    kind = values.type
    types = pa.types
    if types.is_null(kind):
        return pa.nulls(len(values), pa.utf8())
    if types.is_string(kind):
        return json_strings(values)
    if types.is_floating(kind):
        return _floats(values, style, inside_vector=inside_vector)
    if types.is_integer(kind):
        return _integers(values, style)
    if types.is_boolean(kind):
        return values.cast(pa.utf8())
    if types.is_date32(kind):
        return json_strings(iso_dates(values)) if style.dates == "iso" else _integers(values.cast(pa.int32()), style)
    if types.is_date64(kind) or kind == INSTANT:
        if style.dates == "iso":
            return json_strings(iso_timestamps(values))
        return _integers(values.cast(pa.int64()), style)
    if types.is_large_binary(kind) or types.is_binary(kind):
        return _base64(values)
    if kind == BLOB_CELL:
        return pc.coalesce(_base64(pc.struct_field(values, "data")), json_strings(pc.struct_field(values, "uri")))
    if types.is_struct(kind):
        return _structs(values, style)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _lists(values, style)
    if types.is_large_string(kind) or types.is_dictionary(kind) or types.is_string_view(kind):
        return json_strings(values.cast(pa.utf8()))
    raise Corrupt(f"a column of type {kind} has no JSON form")


def _integers(values: pa.Array, style: Style) -> pa.Array:
    text = values.cast(pa.utf8())
    if style.integers == "native" or _small_integer(values.type):
        return text
    unsafe = pc.greater(values, pa.scalar(_SAFE_INTEGER, values.type))
    if not pa.types.is_unsigned_integer(values.type):
        unsafe = pc.or_(unsafe, pc.less(values, pa.scalar(-_SAFE_INTEGER, values.type)))
    return pc.if_else(unsafe, pc.binary_join_element_wise('"', text, '"', ""), text)


def _floats(values: pa.Array, style: Style, *, inside_vector: bool) -> pa.Array:
    finite = pc.is_finite(values)
    if pc.all(finite, min_count=0).as_py():
        return json_floats(values)
    if style.non_finite == "refuse":
        raise Corrupt("a stored float is not finite, so it has no JSON form")
    text = json_floats(pc.if_else(finite, values, None))
    if inside_vector:
        return text
    sign = pc.if_else(pc.greater(values, 0), '"Infinity"', '"-Infinity"')
    return pc.if_else(finite, text, pc.if_else(pc.is_nan(values), '"NaN"', sign))


def _base64(values: pa.Array) -> pa.Array:
    texts = (
        None if data is None else f'"{BASE64_PREFIX}{base64.b64encode(data).decode()}"' for data in values.to_pylist()
    )
    return pa.array(texts, pa.utf8())


def _lists(values: pa.Array, style: Style) -> pa.Array:
    vector = pa.types.is_fixed_size_list(values.type)
    items = pc.fill_null(_texts(values.flatten(), style, inside_vector=vector), "null")
    lengths = pc.fill_null(pc.list_value_length(values), 0).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, items), ",")
    wrapped = pc.binary_join_element_wise("[", joined, "]", "")
    return pc.if_else(values.is_valid(), wrapped, None)


def _structs(values: pa.Array, style: Style) -> pa.Array:
    members = [values.field(position) for position in range(values.type.num_fields)]
    return pc.if_else(values.is_valid(), _objects(members, [field.name for field in values.type], style), None)


def _objects(columns: Sequence[pa.Array], names: Sequence[str], style: Style) -> pa.Array:
    if not columns:
        return pa.array([], pa.utf8())
    parts: list[Any] = []
    for position, (name, column) in enumerate(zip(names, columns, strict=True)):
        opening = "{" if position == 0 else ","
        parts += [opening + json.dumps(name, ensure_ascii=False) + ":", json_texts(column, style)]
    return pc.binary_join_element_wise(*parts, "}", "")


def _small_integer(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) and kind.bit_width <= 32)
