"""The questions of `bench/queries.py` on ten times the graph, ours only: what grows with the graph, and what does not.

`OMNIGRAPH_BENCH_SCALE=default,large` names the two sizes; without it they are `large` and `huge`: a million people with
ten million edges, and ten million with a hundred million, which take 12 GB of disk for data, graph and a copy. A
question over all of the graph has a process of its own and `OMNIGRAPH_BENCH_LIMIT` seconds (300); one that takes longer
is reported as such, and the others go on.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench.measure import Measurement
from bench.peers.engine import ANALYTICS, SEED, TRAVERSALS
from bench.queries import Outcome, engine_process, outcome_of
from bench.report import circumstances, markdown_table, write_section
from bench.social import SIZES, Size, write_graph

_OURS = "omnigraph"
_WRITES = {"ms": "insert one node and commit", "branch_ms": "create a branch"}
_LIMIT = float(os.environ.get("OMNIGRAPH_BENCH_LIMIT", "300"))
_LITTLE = "2GiB"


@dataclass(frozen=True, slots=True)
class _Scaled:
    """What one size took: traversals in one process, and each of the others in its own, or why it was not answered."""

    outcome: Outcome
    first: dict[str, dict[str, float]]
    whole: dict[str, dict[str, Any] | str]
    little: dict[str, dict[str, Any] | str]  # the same with little memory


def run() -> Iterator[Measurement]:
    """Both sizes one after the other; the table goes into the documentation."""
    smaller, larger = (SIZES[name] for name in os.environ.get("OMNIGRAPH_BENCH_SCALE", "large,huge").split(","))
    before = circumstances()
    few, many = (_scaled(size) for size in (smaller, larger))
    rows = [*_first_rows(few, many), *_rows(few.outcome, many.outcome)]
    for name, less, more in rows:
        yield Measurement("scale", name, more, f"{smaller.people:,} people", more / less)
    for name, case in many.whole.items():
        if not isinstance(case, str):
            yield Measurement("scale", name, case["cpu_ms"], note=f"{case['anon_mb']:.0f} MiB of its own")
    write_section("scale", _section(smaller, larger, before, rows, (few, many)))


def _scaled(size: Size) -> _Scaled:
    write_graph(size)
    outcome = outcome_of(_OURS, size, *(each.name for each in TRAVERSALS))
    store, told = str(size.home / _OURS / "store"), str(size.data / "seeds.json")
    seeds = [each.name for each in TRAVERSALS if each.starts == SEED]
    first = {name: json.loads(engine_process("first", _OURS, store, told, name)) for name in seeds}
    whole = {each.name: _alone(store, told, each.name) for each in ANALYTICS}
    little = {each.name: _alone(store, told, each.name, OMNIGRAPH_MEMORY=_LITTLE) for each in ANALYTICS}
    return _Scaled(outcome, first, whole, little)


def _alone(store: str, told: str, name: str, **env: str) -> dict[str, Any] | str:
    """One question in a process of its own; in words why there is no answer."""
    try:
        found = json.loads(engine_process("measure", _OURS, store, told, name, seconds=_LIMIT, env=env))
    except subprocess.TimeoutExpired:
        return f"not in {_LIMIT:.0f} s"
    except RuntimeError as error:
        return str(error).strip().splitlines()[-1][:80]
    return {**found["cases"][name], "anon_mb": found["anon_mb"], "file_mb": found["file_mb"]}


def _first_rows(few: _Scaled, many: _Scaled) -> list[tuple[str, float, float]]:
    medians = [(f"{name}, first half second", few.first[name], many.first[name]) for name in few.first]
    return [(name, less["cpu_ms"], more["cpu_ms"]) for name, less, more in medians]


def _rows(few: Outcome, many: Outcome) -> list[tuple[str, float, float]]:
    warm = [(name, case["cpu_ms"], many.cases[name]["cpu_ms"]) for name, case in few.cases.items()]
    writes = [(name, few.insert[key], many.insert[key]) for key, name in _WRITES.items()]
    return [*warm, ("cold process, two hops", few.cold_ms, many.cold_ms), *writes]


def _section(
    smaller: Size, larger: Size, before: str, rows: list[tuple[str, float, float]], found: tuple[_Scaled, _Scaled]
) -> str:
    table = [[name, _shown(less), _shown(more), f"{more / less:.2g}×"] for name, less, more in rows]
    outcomes = [each.outcome for each in found]
    for name, values in (
        ("peak memory of these questions, MiB, its own", [each.anon_mb for each in outcomes]),
        ("… mapped from files", [each.file_mb for each in outcomes]),
        ("load with everything that it leaves built, s", [each.built["s"] for each in outcomes]),
        ("disk, MB", [each.built["disk_mb"] for each in outcomes]),
    ):
        table.append([name, *(f"{value:,.0f}" for value in values), f"{values[1] / values[0]:.2g}×"])
    sizes = [f"{size.people:,} people, {size.knows:,} edges" for size in (smaller, larger)]
    return "\n\n".join(
        [
            f"### {sizes[1]} beside {sizes[0]}",
            f"{before}. Median processor time of a call in ms; of the cold process and of writes the median time.",
            markdown_table(["", *sizes, ""], table),
            "Over all of the graph, each in a process of its own: processor time of the first call, then of the next "
            f"ones, in ms; with the memory of a graph limited to {_LITTLE} the first call; and the peak of memory, "
            "MiB, its own and mapped.",
            markdown_table(["", *_heads(sizes)], [[each.name, *_cells(found, each.name)] for each in ANALYTICS]),
        ]
    )


def _heads(sizes: list[str]) -> list[str]:
    return [f"{size}: {head}" for size in sizes for head in ("ms", "MiB", f"{_LITTLE}, ms", f"{_LITTLE}, MiB")]


def _cells(found: tuple[_Scaled, _Scaled], name: str) -> Iterator[str]:
    for each in found:
        for case, little in ((each.whole[name], False), (each.little[name], True)):
            if isinstance(case, str):
                yield from (case, "")
                continue
            first = _shown(case["first_cpu_ms"])
            yield first if little else f"{first} / {_shown(case['cpu_ms'])}"
            yield f"{case['anon_mb']:,.0f} + {case['file_mb']:,.0f}"


def _shown(milliseconds: float) -> str:
    return f"{milliseconds:,.3g}" if milliseconds < 1_000 else f"{milliseconds:,.0f}"
