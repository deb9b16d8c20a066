"""The windows: values of a row among the rows of its group, in an order; aggregates with `per` are windows, too."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowInfo:
    """One window: how it is called, what it gives, and how it is documented."""

    name: str
    call: str
    gives: str
    summary: str
    example: str
    answer: str  # for the huts h1 to h4
    least: int = 0
    most: int = 0
    ordered: bool = False


_ALL = (
    WindowInfo(
        "row_number",
        "row_number([per …] [order …])",
        "I64",
        "The place of the row, from 1.",
        "row_number(order $h.alt desc)",
        "[3, 1, 4, 2]",
    ),
    WindowInfo(
        "rank",
        "rank([per …] order …)",
        "I64",
        "The place of the row, the same for equal keys, with gaps behind them.",
        "rank(order $h.alt desc)",
        "[3, 1, 4, 1]",
        ordered=True,
    ),
    WindowInfo(
        "dense_rank",
        "dense_rank([per …] order …)",
        "I64",
        "The same without gaps.",
        "dense_rank(order $h.alt desc)",
        "[2, 1, 3, 1]",
        ordered=True,
    ),
    WindowInfo(
        "lag",
        "lag(value[, n] [per …] order …)",
        "T",
        "The value of the row before, or of the n-th before; null where there is none.",
        "lag($h.alt order $h.code)",
        "[null, 1200, 1800, null]",
        1,
        2,
        ordered=True,
    ),
    WindowInfo(
        "lead",
        "lead(value[, n] [per …] order …)",
        "T",
        "The value of the row after, or of the n-th after; null where there is none.",
        "lead($h.alt order $h.code)",
        "[1800, null, 1800, null]",
        1,
        2,
        ordered=True,
    ),
    WindowInfo(
        "sum",
        "sum(value per … [order …])",
        "F64",
        "The sum over the group, or with an order up to the row; `count`, `avg`, `min` and `max` work alike.",
        "sum($h.alt per * order $h.code)",
        "[1200.0, 3000.0, 3000.0, 4800.0]",
        1,
        1,
    ),
)

WINDOWS = {info.name: info for info in _ALL}
# Aggregates that can be taken up to a row.
RUNNING = frozenset({"count", "sum", "avg", "min", "max"})
PLACES = frozenset(name for name in WINDOWS if name not in RUNNING)
