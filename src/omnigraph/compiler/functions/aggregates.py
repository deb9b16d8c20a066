"""The aggregates: what each takes, what it gives, and how it is documented."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AggregateInfo:
    """One aggregate. `takes`: Any, Value, Number, Ordered or Bool; `gives`: a type, T (that of its argument) or [T]."""

    name: str
    takes: str
    gives: str
    summary: str
    example: str
    answer: str
    more: tuple[str, ...] = ()


_ALL = (
    AggregateInfo(
        "count",
        "Any",
        "I64",
        "Rows whose value is not null; `count(*)` counts all.",
        "count(* where $h.alt > 1500)",
        "2",
    ),
    AggregateInfo("sum", "Number", "F64", "The sum.", "sum($h.alt)", "4800.0"),
    AggregateInfo("avg", "Number", "F64", "The mean.", "avg($h.alt)", "1600.0"),
    AggregateInfo("min", "Ordered", "T", "The smallest value.", "min($h.alt)", "1200"),
    AggregateInfo("max", "Ordered", "T", "The largest value.", "max($h.alt)", "1800"),
    AggregateInfo(
        "collect",
        "Value",
        "[T]",
        "The values, nodes or records as a list, in the order of rows.",
        "collect($h.alt)",
        "[1200, 1800, 1800]",
    ),
    AggregateInfo(
        "stddev",
        "Number",
        "F64",
        "The standard deviation of a sample; null for fewer than two values.",
        "round(stddev($h.alt), 1)",
        "346.4",
    ),
    AggregateInfo(
        "variance",
        "Number",
        "F64",
        "The variance of a sample; null for fewer than two values.",
        "round(variance($h.alt), 1)",
        "120000.0",
    ),
    AggregateInfo(
        "median", "Number", "F64", "The middle value, or the mean of the two in the middle.", "median($h.alt)", "1800.0"
    ),
    AggregateInfo(
        "percentile",
        "Number",
        "F64",
        "The value below which a share (0 to 1) of the values lies, interpolated between neighbours.",
        "percentile($h.alt, 0.25)",
        "1500.0",
        ("share",),
    ),
    AggregateInfo(
        "first",
        "Value",
        "T",
        "The value, node or record of the first row by the given key, else by the order of rows.",
        "first($h.code order $h.alt desc)",
        '"h2"',
    ),
    AggregateInfo(
        "last",
        "Value",
        "T",
        "The value, node or record of the last row by the given key, else by the order of rows.",
        "last($h.code order $h.alt)",
        '"h4"',
    ),
    AggregateInfo(
        "mode", "Value", "T", "The most frequent value; of several the one that comes first.", "mode($h.alt)", "1800"
    ),
    AggregateInfo("any", "Bool", "Bool", "Whether some value is true.", "any($h.alt > 1500)", "true"),
    AggregateInfo("all", "Bool", "Bool", "Whether no value is false.", "all($h.alt > 1500)", "false"),
)

AGGREGATES = {info.name: info for info in _ALL}
