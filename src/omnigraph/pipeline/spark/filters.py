"""Spark's filters as predicates for Lance, where both are sure to mean the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from omnigraph.storage.lance.tables import quote

_COMPARISONS = {EqualTo: "=", GreaterThan: ">", GreaterThanOrEqual: ">=", LessThan: "<", LessThanOrEqual: "<="}
# Unsigned, calendar, binary and list columns are shown to Spark as other types than they are stored as.
_INTEGERS = {pa.int32(): 31, pa.int64(): 63}
# Spark compares floating columns in the wider type of both sides, Lance in the column's: up to here they are the same.
_WHOLE = {pa.float32(): 2**24, pa.float64(): 2**53}


def lance_predicate(found: Filter, columns: Mapping[str, str | None], schema: pa.Schema) -> str | None:
    """A predicate that keeps exactly the rows the filter keeps; None when Spark has to look itself."""
    path: Any = getattr(found, "attribute", ())
    stored = columns.get(path[0]) if len(path) == 1 else None
    if stored is None:
        return None
    name = f"`{stored}`"
    match found:
        case IsNull():
            return f"{name} IS NULL"
        case IsNotNull():
            return f"{name} IS NOT NULL"
    kind = schema.field(path[0]).type
    if "`" in stored:
        return None
    match found:
        case In():
            values = [_literal(value, kind) for value in found.value]
            return None if None in values or not values else f"{name} IN ({', '.join(map(str, values))})"
        case StringStartsWith():
            return f"starts_with({name}, {quote(found.value)})" if kind == pa.utf8() else None
    sign = _COMPARISONS.get(type(found))
    literal = _literal(getattr(found, "value", None), kind)
    return None if sign is None or literal is None else f"{name} {sign} {literal}"


def _literal(value: Any, kind: pa.DataType) -> str | None:
    """A value as Lance writes one of the column's type; None where Spark would convert one side first."""
    if isinstance(value, bool):
        return str(value).lower() if kind == pa.bool_() else None
    if isinstance(value, str):
        return quote(value) if kind == pa.utf8() else None
    if isinstance(value, int) and kind in _INTEGERS:
        return str(value) if -(2 ** _INTEGERS[kind]) <= value < 2 ** _INTEGERS[kind] else None
    if isinstance(value, int) and kind in _WHOLE:
        return str(value) if abs(value) <= _WHOLE[kind] else None
    if isinstance(value, float) and math.isfinite(value) and kind in _WHOLE:
        return repr(value) if kind == pa.float64() or float(np.float32(value)) == value else None
    return None
