"""JSON and Arrow values into typed property columns, a column at a time.

A column whose values are all right is converted by Arrow kernels. As soon as one is not, the per-value rules of
`json_value` look at each of them, so that there is one set of rules and every offender is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.types import FLOATING, INTEGER, PropType
from omnigraph.engine.intake.columns.json_value import Rejected, storage_value
from omnigraph.engine.intake.columns.temporal_columns import dates_from_text, datetimes_from_text
from omnigraph.engine.values.arrow import arrow_type
from omnigraph.policy.external_blobs import ExternalBlobPolicy
from omnigraph.storage.lance.blob_cells import BLOB_CELL, cells_of_bytes


@dataclass(frozen=True, slots=True)
class Offence:
    """A value that its property does not take, by row of the column; the column holds null there."""

    row: int
    code: str
    message: str


Converted: TypeAlias = tuple[pa.Array, list[Offence]]


def column_from_json(
    name: str, kind: PropType, values: Sequence[Any], allowed: ExternalBlobPolicy | None = None
) -> Converted:
    """Decoded JSON values (None for null or absent) as a column of the property's Arrow type.

    `allowed` says which URIs a Blob may refer to; without it, none.
    """
    plain = _uniform(kind, values)
    typed = None if plain is None else _typed(kind, plain)
    return (typed, []) if typed is not None else _one_by_one(name, kind, values, allowed)


def column_from_arrow(
    name: str, kind: PropType, values: pa.Array, allowed: ExternalBlobPolicy | None = None
) -> Converted:
    """An Arrow column of any fitting type (a data frame's, a parsed file's) as a column of the property's type."""
    if kind.scalar == "Blob" and are_cells(values.type):
        return _one_by_one(name, kind, [_cell_value(cell) for cell in values.to_pylist()], allowed)
    plain = _plain(kind, values)
    typed = _typed(kind, plain)
    return (typed, []) if typed is not None else _one_by_one(name, kind, _python_values(plain), allowed)


def column_from_storage(kind: PropType, values: Sequence[Any]) -> pa.Array:
    """Values in stored form (`json_value.storage_value`) as a column of the property's Arrow type."""
    if kind.dim is None and not kind.list and kind.scalar in _INTEGER_CARRIER:
        return pa.array(values, _INTEGER_CARRIER[kind.scalar]).cast(arrow_type(kind))
    if kind.list and kind.scalar in _INTEGER_CARRIER:
        return pa.array(values, pa.list_(_INTEGER_CARRIER[kind.scalar])).cast(arrow_type(kind))
    return pa.array(values, arrow_type(kind))


_INTEGER_CARRIER = {"Date": pa.int32(), "DateTime": pa.int64()}


def _one_by_one(name: str, kind: PropType, values: Sequence[Any], allowed: ExternalBlobPolicy | None) -> Converted:
    stored: list[Any] = []
    offences: list[Offence] = []
    for row, value in enumerate(values):
        try:
            stored.append(storage_value(name, kind, value, allowed))
        except Rejected as error:
            stored.append(None)
            offences.append(Offence(row, error.code, error.message))
    return column_from_storage(kind, stored), offences


# --- JSON to the Arrow type its values have by themselves ------------------------------------------------


def _uniform(kind: PropType, values: Sequence[Any]) -> pa.Array | None:
    """The values as plain Arrow when they share one JSON type, else None."""
    seen = set(map(type, values)) - {type(None)}
    if not seen:
        return pa.nulls(len(values))
    if seen == {list}:
        return _uniform_lists(kind, values)
    carrier = _carrier(kind, seen)
    if carrier is None:
        return None
    try:
        return pa.array(values, carrier)
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):  # too big, or lone surrogates: rules decide
        return None


def _carrier(kind: PropType, seen: set[type]) -> pa.DataType | None:
    if seen == {str}:
        return pa.utf8()
    if seen == {bool}:
        return pa.bool_()
    if kind.scalar in FLOATING or kind.dim is not None:
        return pa.float64() if seen <= {int, float} else None
    if seen == {int}:
        return pa.uint64() if kind.scalar == "U64" else pa.int64()
    return None


def _uniform_lists(kind: PropType, values: Sequence[Any]) -> pa.Array | None:
    items = list(chain.from_iterable(value for value in values if value is not None))
    if None in items:
        return None
    plain = _uniform(kind, items)
    if plain is None:
        return None
    lengths = np.fromiter((0 if value is None else len(value) for value in values), np.int32, len(values))
    return _lists(lengths, plain, pa.array([value is None for value in values]))


# --- plain Arrow to the property's type; None means that some value does not fit --------------------------


def _typed(kind: PropType, values: pa.Array) -> pa.Array | None:
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), arrow_type(kind))
    if kind.dim is not None:
        return _typed_vectors(kind.dim, values)
    if kind.list:
        return _typed_lists(kind, values)
    return _typed_scalars(kind.scalar, values)


def _typed_scalars(scalar: str, values: pa.Array) -> pa.Array | None:
    source = values.type
    try:
        if scalar in INTEGER and pa.types.is_integer(source):
            return values.cast(arrow_type(PropType(scalar)))
        if scalar in FLOATING and (pa.types.is_integer(source) or pa.types.is_floating(source)):
            return _finite(values.cast(pa.float64(), safe=False).cast(arrow_type(PropType(scalar)), safe=False))
        if scalar in _INTEGER_CARRIER:
            return _typed_temporal(scalar, values)
    except pa.ArrowInvalid:
        return None
    if scalar == "Blob":
        return cells_of_bytes(values) if pa.types.is_large_binary(source) else None
    return values if source == arrow_type(PropType(scalar)) else None


def _typed_temporal(scalar: str, values: pa.Array) -> pa.Array | None:
    if pa.types.is_string(values.type):
        return dates_from_text(values) if scalar == "Date" else datetimes_from_text(values)
    if pa.types.is_integer(values.type):
        return values.cast(_INTEGER_CARRIER[scalar]).cast(arrow_type(PropType(scalar)))
    return None


def _typed_lists(kind: PropType, values: pa.Array) -> pa.Array | None:
    if not _is_list(values.type):
        return None
    items = values.flatten()
    if items.null_count:
        return None
    typed = pa.nulls(0, arrow_type(PropType(kind.scalar))) if not len(items) else _typed_scalars(kind.scalar, items)
    return None if typed is None else _lists(_lengths(values), typed, values.is_null())


def _typed_vectors(dim: int, values: pa.Array) -> pa.Array | None:
    if not _is_list(values.type):
        return None
    lengths, missing = _lengths(values), values.is_null()
    valid = ~missing.to_numpy(zero_copy_only=False)
    if (lengths[valid] != dim).any():
        return None
    items = values.flatten()
    if items.null_count or not (pa.types.is_integer(items.type) or pa.types.is_floating(items.type)):
        return None
    if items.type != pa.float32():  # which is stored as it is, and not copied
        items = items.cast(pa.float64(), safe=False).cast(pa.float32(), safe=False)
    numbers = _finite(items)
    if numbers is None:
        return None
    if not valid.all():
        padded = np.zeros((len(values), dim), np.float32)
        padded[valid] = numbers.to_numpy().reshape(-1, dim)
        numbers = pa.array(padded.reshape(-1))
    return pa.FixedSizeListArray.from_arrays(numbers, type=pa.list_(pa.float32(), dim), mask=missing)


def _finite(values: pa.Array) -> pa.Array | None:
    return values if pc.all(pc.is_finite(values), min_count=0).as_py() else None


def _lists(lengths: np.ndarray, items: pa.Array, missing: pa.Array) -> pa.Array:
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), items, mask=missing)


def _lengths(values: pa.Array) -> np.ndarray:
    lengths: np.ndarray = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int32)


def _is_list(source: pa.DataType) -> bool:
    return bool(pa.types.is_list(source) or pa.types.is_large_list(source) or pa.types.is_fixed_size_list(source))


# --- foreign Arrow types to the ones JSON has -----------------------------------------------------------


def are_cells(source: pa.DataType) -> bool:
    """Whether this is how Parquet files and Spark frames of ours hold blobs that may be references.

    A member that no value of a JSON file has is missing from the type.
    """
    names = {field.name for field in source} if pa.types.is_struct(source) else set()
    return bool(names) and names <= set(BLOB_CELL.names)


def _cell_value(cell: Mapping[str, Any] | None) -> Any:
    """Bytes or their text, or a URI; a cell with both is not a value and stays what it is, to be refused."""
    given = [] if cell is None else [value for value in cell.values() if value is not None]
    return given[0] if len(given) == 1 else cell if given else None


def _python_values(values: pa.Array) -> list[Any]:
    """The values for the rules; decimals without a fraction are the whole numbers that they are."""
    if not _is_whole_decimal(_item_type(values.type)):
        return list(values.to_pylist())
    if _is_list(values.type):
        return [None if value is None else [_whole(item) for item in value] for value in values.to_pylist()]
    return [_whole(value) for value in values.to_pylist()]


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _item_type(source: pa.DataType) -> pa.DataType:
    return source.value_type if _is_list(source) else source


def _is_whole_decimal(source: pa.DataType) -> bool:
    """Whether this is how Spark holds U64, which none of its integers does."""
    return bool(pa.types.is_decimal(source)) and source.scale == 0


def _integers(values: pa.Array) -> pa.Array:
    """Decimals without a fraction as integers, where one type holds them all."""
    for wanted in (pa.int64(), pa.uint64()):
        try:
            return values.cast(wanted)
        except pa.ArrowInvalid:
            continue
    return values


def _plain(kind: PropType, values: pa.Array) -> pa.Array:
    """Undo encodings that carry no meaning, and turn calendar types into the integers they are."""
    source = values.type
    if _is_whole_decimal(source):
        return _integers(values)
    if pa.types.is_decimal(source) and kind.scalar in FLOATING:
        return values.cast(pa.utf8()).cast(pa.float64())  # the nearest, as for a number that is written in JSON
    if pa.types.is_dictionary(source):
        return _plain(kind, values.dictionary_decode())
    if pa.types.is_large_string(source) or pa.types.is_string_view(source):
        return values.cast(pa.utf8())
    if pa.types.is_binary(source) or pa.types.is_binary_view(source) or pa.types.is_fixed_size_binary(source):
        return values.cast(pa.large_binary()) if kind.scalar == "Blob" else values
    if kind.scalar in _INTEGER_CARRIER and not kind.list and pa.types.is_temporal(source):
        return _calendar(kind.scalar, values)
    if _is_list(source):
        items = _plain(PropType(kind.scalar), values.flatten())
        return values if items.null_count else _lists(_lengths(values), items, values.is_null())
    return values


def _calendar(scalar: str, values: pa.Array) -> pa.Array:
    source = values.type
    if pa.types.is_timestamp(source):
        # Sub-millisecond digits are dropped downwards, as the text rules do.
        millis = pc.floor_temporal(values.cast(pa.timestamp(source.unit)), unit="millisecond")
        numbers = millis.cast(pa.timestamp("ms")).cast(pa.int64())
    elif pa.types.is_date32(source):
        numbers = pc.multiply(values.cast(pa.int32()).cast(pa.int64()), 86_400_000)
    elif pa.types.is_date64(source):
        numbers = values.cast(pa.int64())
    else:
        return values
    if scalar == "DateTime":
        return numbers
    days = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False) // 86_400_000
    return pa.array(days, mask=numbers.is_null().to_numpy(zero_copy_only=False))
