"""The table of `bench/search.py` in `docs/benchmarks.md`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.report import circumstances, markdown_table
from bench.search_engines import BEHIND, EQUAL, FILTERED, HYBRID, TITLES, VECTOR, WORDS
from bench.search_one import GOOD

_CASES = (
    (VECTOR + GOOD, "vector top-10, recall of at least 0.95"),
    (FILTERED + GOOD, "the same among a tenth of the rows"),
    (BEHIND + GOOD, "the same behind a hop"),
    (VECTOR, "vector top-10, as the engine comes"),
    (FILTERED, "the same among a tenth of the rows"),
    (BEHIND, "the same behind a hop"),
    (WORDS, "BM25 top-10"),
    (HYBRID + GOOD, "hybrid top-10, vectors with recall of at least 0.95"),
    (HYBRID, "hybrid top-10, as the engine comes"),
    (EQUAL, "look-up by text equality"),
)
_COSTS = (
    ("load", "load, seconds"),
    ("load, processor", "load, seconds of processor time"),
    ("build", "building the indexes, seconds"),
    ("build, processor", "building the indexes, seconds of processor time"),
    ("MB", "peak memory, MB"),
)
_ENOUGH = 0.95
LOADS_WHILE_BUILDING = "tantivy"
OURS = "omnigraph"


def page(sittings: Mapping[int, Mapping[str, Any]], dim: int, seconds: float, began: str) -> str:
    """One table for each number of rows, and what did not finish."""
    parts = [
        f"Began {began}; ended {circumstances()}. One run, one engine after the other, medians of up to 40 calls after "
        "as many. In brackets: how many times our time the engine takes; below 1 we are behind, unless it finds less "
        f"than {_ENOUGH} of the neighbours where ours finds more. Every engine has the "
        f"same {seconds:.0f} s for loading, for each index and for the questions of one kind."
    ]
    for count, sitting in sittings.items():
        parts += [f"{count:,} rows of {dim} numbers:", _table(sitting)]
        parts += [_late(name, values, count, seconds) for name, values in sitting.items() if "late" in values]
    return "\n\n".join(parts)


def _table(sitting: Mapping[str, Any]) -> str:
    ours = sitting[OURS]
    rows = [[label, *(_case(values, ours, case) for values in sitting.values())] for case, label in _CASES]
    for cost, label in _COSTS:
        rows.append([label, *(_cost(name, values, ours, cost) for name, values in sitting.items())])
    return markdown_table(["ms", *(TITLES[name] for name in sitting)], [row for row in rows if any(row[1:])])


def _case(values: Mapping[str, Any], ours: Mapping[str, Any], case: str) -> str:
    taken, recall = values["ms"].get(case), values["recall"].get(case)
    if taken is None:
        return ""
    if recall is not None and case.endswith(GOOD) and recall < _ENOUGH:
        return f"not reached ({recall:.3f})"
    shown = "" if recall is None else f", recall {recall:.3f}"
    less = recall is not None and recall < _ENOUGH <= ours["recall"].get(case, 0.0)
    return f"{_number(taken)}{_beside(values, ours, taken, ours['ms'].get(case), less=less)}{shown}"


def _cost(name: str, values: Mapping[str, Any], ours: Mapping[str, Any], cost: str) -> str:
    if cost not in values or (cost.startswith("build") and "late" in values):
        return ""
    if cost.startswith("load") and name == LOADS_WHILE_BUILDING:
        return ""
    return f"{_number(values[cost])}{_beside(values, ours, values[cost], ours.get(cost))}"


def _beside(
    values: Mapping[str, Any], ours: Mapping[str, Any], taken: float, own: float | None, *, less: bool = False
) -> str:
    if values is ours or not own or not taken:
        return ""
    ratio = taken / own
    shown = f"{ratio:.2f}" if ratio < 1 else f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"
    if less:
        return f" ({shown}×, but finds less)"
    return f" (**{shown}×**)" if ratio < 1 else f" ({shown}×)"


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _late(name: str, values: Mapping[str, Any], count: int, seconds: float) -> str:
    late = values["late"]
    how = "failed" if late["failed"] else f"did not end within {seconds:.0f} s"
    return f"{TITLES[name]} with {count:,} rows: what comes after {late['after']} {how}."
