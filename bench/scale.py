"""The questions of `bench/queries.py` on ten times the graph, ours only: what grows with the graph, and what does not.

`OMNIGRAPH_BENCH_SCALE=default,large` names the two sizes; without it they are `large` and `huge`: a million people with
ten million edges, and ten million with a hundred million, which take 12 GB of disk for data, graph and a copy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from bench.measure import Measurement
from bench.peers.engine import ANALYTICS, TRAVERSALS
from bench.queries import Outcome, outcome_of
from bench.report import circumstances, markdown_table, write_section
from bench.social import SIZES, Size, write_graph

# Triangles and what excludes an edge are left out: a call of those looks at every pair of edges.
_QUESTIONS = (*(each.name for each in TRAVERSALS), *(each.name for each in ANALYTICS[:9]))
_WRITES = {"ms": "insert one node and commit", "branch_ms": "create a branch"}


def run() -> Iterator[Measurement]:
    """Both sizes one after the other; the table goes into the documentation."""
    smaller, larger = (SIZES[name] for name in os.environ.get("OMNIGRAPH_BENCH_SCALE", "large,huge").split(","))
    before = circumstances()
    found = []
    for size in (smaller, larger):
        write_graph(size)
        found.append(outcome_of("omnigraph", size, *_QUESTIONS))
    few, many = found
    rows = [*_questions(few, many), *_writes(few, many)]
    for name, less, more in rows:
        yield Measurement("scale", name, more, f"{smaller.people:,} people", more / less)
    write_section("scale", _section(smaller, larger, before, rows, found))


def _questions(few: Outcome, many: Outcome) -> list[tuple[str, float, float]]:
    return [(name, case["cpu_ms"], many.cases[name]["cpu_ms"]) for name, case in few.cases.items()]


def _writes(few: Outcome, many: Outcome) -> list[tuple[str, float, float]]:
    cold = ("cold process, two hops", few.cold_ms, many.cold_ms)
    return [cold, *((name, few.insert[key], many.insert[key]) for key, name in _WRITES.items())]


def _section(
    smaller: Size, larger: Size, before: str, rows: list[tuple[str, float, float]], found: list[Outcome]
) -> str:
    table = [[name, _shown(less), _shown(more), f"{more / less:.2g}×"] for name, less, more in rows]
    for name, values in (
        ("peak memory of the questions, MiB", [each.peak_mb for each in found]),
        ("load with everything that it leaves built, s", [each.built["s"] for each in found]),
        ("disk, MB", [each.built["disk_mb"] for each in found]),
    ):
        table.append([name, *(f"{value:,.0f}" for value in values), f"{values[1] / values[0]:.2g}×"])
    sizes = [f"{size.people:,} people, {size.knows:,} edges" for size in (smaller, larger)]
    return "\n\n".join(
        [
            f"### {sizes[1]} beside {sizes[0]}",
            f"{before}. Median processor time of a call in ms; of the cold process and of writes the median time.",
            markdown_table(["", *sizes, ""], table),
        ]
    )


def _shown(milliseconds: float) -> str:
    return f"{milliseconds:,.3g}" if milliseconds < 1_000 else f"{milliseconds:,.0f}"
