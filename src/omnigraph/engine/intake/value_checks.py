"""Checks that one row decides alone: required values, finite numbers, enums, ranges and patterns.

Pure functions of Arrow rows, so that executors run them unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import NodeType, Range
from omnigraph.compiler.types import FLOATING, PropType
from omnigraph.engine.intake.columns.json_value import missing_message
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.values.json_values import json_values


@dataclass(frozen=True, slots=True)
class Finding:
    """Rows that break one rule of one property; `message` says it about a value."""

    code: str
    property_name: str
    rows: np.ndarray
    message: str  # `{value}` stands for the offending value

    def text(self, rows: pa.Table, row: int) -> str:
        """The message for one of the rows."""
        value = json_values(rows[self.property_name].slice(row, 1))[0]
        return self.message.replace("{value}", str(value))


def value_findings(info: TableType, rows: pa.Table) -> list[Finding]:
    """Every rule of every property that some row breaks."""
    return [finding for finding in _findings(info, rows) if len(finding.rows)]


def _findings(info: TableType, rows: pa.Table) -> Iterator[Finding]:
    for name, kind in info.properties.items():
        column = rows[name]  # in its chunks: vectors and texts are most of a load, and need not be copied for a look
        if not kind.nullable and column.null_count:
            yield Finding("W001", name, _where(column.is_null()), f"{info.name}: {missing_message(name, kind)}")
        if kind.dim is not None or kind.scalar in FLOATING:
            yield Finding("W004", name, _not_finite(column), f"non-finite value in {info.name}.{name}")
        if kind.enum is not None:
            yield _enum_finding(info, name, kind, column)
    if isinstance(info, NodeType):
        for rule in info.ranges:
            yield _range_finding(info, rule, rows[rule.property])
        for check in info.checks:
            unmatched = pc.invert(pc.match_substring_regex(rows[check.property], check.pattern))
            message = (
                f"@check violation on {info.name}.{check.property}: value '{{value}}' does not match {check.pattern}"
            )
            yield Finding("W011", check.property, _where(unmatched), message)


def _enum_finding(info: TableType, name: str, kind: PropType, column: pa.ChunkedArray) -> Finding:
    members = pa.array(kind.enum, pa.utf8())
    foreign = pc.and_(column.is_valid(), pc.invert(pc.is_in(column, value_set=members)))
    return Finding("W006", name, _where(foreign), f"invalid enum value '{{value}}' for {info.name}.{name}")


def _range_finding(info: NodeType, rule: Range, column: pa.ChunkedArray) -> Finding:
    numbers = column.cast(pa.float64(), safe=False)
    inside: Any = pc.invert(pc.is_nan(numbers))
    if rule.min is not None:
        inside = pc.and_(inside, pc.greater_equal(numbers, float(rule.min)))
    if rule.max is not None:
        inside = pc.and_(inside, pc.less_equal(numbers, float(rule.max)))
    low = "" if rule.min is None else rule.min
    high = "" if rule.max is None else rule.max
    message = f"@range violation on {info.name}.{rule.property}: value {{value}} is outside {low}..{high}"
    return Finding("W010", rule.property, _where(pc.invert(inside)), message)


def _not_finite(column: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_floating(column.type):
        return _where(pc.invert(pc.is_finite(column)))
    found, before = [np.zeros(0, np.int64)], 0
    for chunk in column.chunks:
        finite = pc.is_finite(chunk.flatten())
        if not pc.all(finite, min_count=0).as_py():
            found.append(np.unique(pc.list_parent_indices(chunk).filter(pc.invert(finite)).to_numpy()) + before)
        before += len(chunk)
    return np.concatenate(found)


def _where(mask: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Positions that are true; null counts as false."""
    return np.flatnonzero(pc.fill_null(mask, fill_value=False).to_numpy(zero_copy_only=False))
