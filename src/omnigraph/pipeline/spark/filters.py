"""Spark's filters as predicates for Lance, where both are sure to mean the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

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
_PLAIN = (pa.utf8(), pa.bool_(), pa.int32(), pa.int64(), pa.float32(), pa.float64())


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
    # Unsigned, calendar, binary and list columns are shown to Spark as other types than they are stored as.
    if schema.field(path[0]).type not in _PLAIN or "`" in stored:
        return None
    match found:
        case In():
            values = [_literal(value) for value in found.value]
            return None if None in values or not values else f"{name} IN ({', '.join(map(str, values))})"
        case StringStartsWith():
            return f"starts_with({name}, {quote(found.value)})"
    sign = _COMPARISONS.get(type(found))
    literal = _literal(getattr(found, "value", None))
    return None if sign is None or literal is None else f"{name} {sign} {literal}"


def _literal(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    return None
