"""Values that are the same for every row, and columns made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from omnigraph.engine.values.compare import Constant, typed_array


@dataclass(frozen=True, slots=True)
class Fixed:
    """A value that is the same for every row, in stored form: dates as days, date-times as milliseconds."""

    value: Constant | tuple[Constant, ...]


Operand: TypeAlias = pa.Array | Fixed


def broadcast(value: Any, kind: pa.DataType, length: int) -> pa.Array:
    """A column of one value, which its type represents exactly."""
    if value is None:
        return pa.nulls(length, kind)
    if isinstance(value, tuple):
        if pa.types.is_fixed_size_list(kind):
            return pa.repeat(pa.scalar(list(value), kind), length)
        items = typed_array(value, kind.value_type)
        one = pa.ListArray.from_arrays(pa.array([0, len(items)], pa.int32()), items)
        return one.take(pa.nulls(0, pa.int64())) if not length else pa.repeat(one[0], length)
    return pa.repeat(typed_array([value], kind)[0], length)


def stored(value: pa.Scalar) -> Constant | tuple[Constant, ...]:
    """A value of a column in stored form."""
    kind = value.type
    if not value.is_valid:
        return None
    if pa.types.is_date32(kind):
        return value.cast(pa.int32()).as_py()  # type: ignore[no-any-return]
    if pa.types.is_date64(kind):
        return value.value  # type: ignore[no-any-return]
    if pa.types.is_nested(kind):
        return tuple(stored(item) for item in value.values)  # type: ignore[misc]
    return value.as_py()  # type: ignore[no-any-return]
