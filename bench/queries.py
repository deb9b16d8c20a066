"""Traversals against other engines on one social graph, the same answers from all; then what OmniGraph's cost follows.

`--size large` uses 1,000,000 people and 10,000,000 edges instead of 100,000 and 1,000,000. Stores are kept under
`OMNIGRAPH_BENCH_HOME` (/tmp/omnigraph-bench), so that only the first run loads them.
`OMNIGRAPH_BENCH_PEERS=ladybug,duckdb` leaves the other peers out. Questions from some people have one process of each
engine in every of `OMNIGRAPH_BENCH_ROUNDS` rounds (3), engines by turns, since the figures of such short questions
differ from process to process; a question over everything has one of its own, and `OMNIGRAPH_BENCH_LIMIT` seconds (60)
in it.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from bench.measure import Measurement, median_ms
from bench.peers.engine import ANALYTICS, TRAVERSALS, Question
from bench.peers.registry import ENGINES, engine_class
from bench.query_page import COLD, section
from bench.report import circumstances, write_section
from bench.social import Size, chosen_size, handle, write_graph

_OURS = "omnigraph"
_COLD_RUNS = 3
_ROUNDS = int(os.environ.get("OMNIGRAPH_BENCH_ROUNDS", "3"))
_UNITS = ("ms", "cpu_ms")
_TIMEOUT = 1_800
_LIMIT = float(os.environ.get("OMNIGRAPH_BENCH_LIMIT", "60"))
_FLAT_QUERY = "query q($h: String) { match { $p: Person $p.handle < $h } return { $p.handle, $p.name, $p.age } }"
_POINT_ROWS = {
    "tiny": (1_000, 10_000),
    "default": (10_000, 1_000_000),
    "large": (10_000, 10_000_000),
    "huge": (10_000, 10_000_000),
}


@dataclass(frozen=True, slots=True)
class Rate:
    """Answers a second: the median of the processes, and the least and the greatest."""

    median: float
    spread: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one engine did in processes of its own; a case without times was not answered within the limit.

    A time, and a rate, is the median of the processes that were asked; the spread is the least and the greatest.
    """

    engine: str
    version: str
    cases: dict[str, dict[str, Any]]
    rates: dict[str, dict[str, Rate]]
    built: dict[str, float]
    insert: dict[str, float]
    cold_ms: float
    peak_mb: float
    remarks: str
    anon_mb: float = 0.0  # of the peak what is the process's own
    file_mb: float = 0.0  # … and what is mapped from files


def run() -> Iterator[Measurement]:
    """Every engine in turn, compared with ours; a table of all goes into the documentation."""
    size = chosen_size()
    write_graph(size)
    before = circumstances()
    outcomes = [_over_everything(outcome, size) for outcome in _by_turns(_chosen_peers(), size)]
    ours = outcomes[0]
    _check_answers(outcomes)
    for outcome in outcomes:
        yield from _measurements(outcome, ours, size)
    flat = dict(_flat(size))
    for rows, taken in flat.items():
        yield Measurement("queries", f"{rows:,} rows returned", taken, note=f"{taken * 1000 / rows:.2f} µs per row")
    points = dict(_points(size))
    smallest = next(iter(points.values()))
    for rows, taken in points.items():
        yield Measurement("queries", f"point look-up among {rows:,}", taken, "the smallest", taken / smallest)
    write_section(f"queries-{size.name}", section(size, outcomes, before, flat, points))


def _over_everything(outcome: Outcome, size: Size) -> Outcome:
    """With the other questions, each in a process of its own; the peak is that of the largest."""
    store, told = str(size.home / outcome.engine / "store"), str(size.data / "seeds.json")
    cases, peak = dict(outcome.cases), outcome.peak_mb
    engine = engine_class(outcome.engine)(Path(store))
    for name in _names([question for question in ANALYTICS if engine.answers(question)]):
        try:
            found = json.loads(engine_process("measure", outcome.engine, store, told, name, seconds=_LIMIT))
        except subprocess.TimeoutExpired:
            cases[name] = {"late": _LIMIT}
            continue
        cases |= found["cases"]
        peak = max(peak, found["peak_mb"])
    return replace(outcome, cases=cases, peak_mb=peak)


def _names(questions: Sequence[Question]) -> list[str]:
    return [question.name for question in questions]


def _chosen_peers() -> list[str]:
    wanted = os.environ.get("OMNIGRAPH_BENCH_PEERS")
    return [name for name in ENGINES if name == _OURS or wanted is None or name in wanted.split(",")]


# --- one engine --------------------------------------------------------------------------------------


def _by_turns(names: list[str], size: Size) -> list[Outcome]:
    """What the engines do with questions from some people: all are loaded, then each has a process in every round."""
    for name in names:
        _load(name, size)
    sittings: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for number in range(_ROUNDS):
        first = number % len(names)  # none of them always follows the same one
        for name in (*names[first:], *names[:first]):
            sittings[name].append(_sitting(name, size, *_names(TRAVERSALS)))
    return [_outcome(name, size, sittings[name]) for name in names]


def outcome_of(name: str, size: Size, *questions: str) -> Outcome:
    """What one engine does with the graph of one size, in one process; all questions, or those that are named."""
    _load(name, size)
    return _outcome(name, size, [_sitting(name, size, *questions)])


def _load(name: str, size: Size) -> None:
    """Have the graph loaded, which is done once."""
    store = size.home / name / "store"
    built = store.parent / "built.json"
    if not built.exists():
        shutil.rmtree(store.parent, ignore_errors=True)
        store.parent.mkdir(parents=True)
        built.write_text(engine_process("build", name, str(store), str(size.data)), encoding="utf-8")


def _sitting(name: str, size: Size, *questions: str) -> dict[str, Any]:
    store, told = str(size.home / name / "store"), str(size.data / "seeds.json")
    found: dict[str, Any] = json.loads(engine_process("measure", name, store, told, *questions))
    return found


def _outcome(name: str, size: Size, sittings: Sequence[Mapping[str, Any]]) -> Outcome:
    store, told = size.home / name / "store", str(size.data / "seeds.json")
    first = sittings[0]
    return Outcome(
        name,
        importlib.metadata.version(ENGINES[name][2]),
        {case: _together(name, case, [each["cases"][case] for each in sittings]) for case in first["cases"]},
        {
            case: {threads: _rate(each["rates"][case][threads] for each in sittings) for threads in rates}
            for case, rates in first["rates"].items()
        },
        json.loads((store.parent / "built.json").read_text(encoding="utf-8")),
        _inserts(name, store, told),
        _cold(name, store, told),
        max(each["peak_mb"] for each in sittings),
        first["remarks"],
        max(each["anon_mb"] for each in sittings),
        max(each["file_mb"] for each in sittings),
    )


def _together(name: str, case: str, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One question in several processes: the medians of their medians, and how far these are apart."""
    if any(each["answers"] != found[0]["answers"] for each in found):
        raise RuntimeError(f"{name} answers '{case}' differently from process to process")
    medians = {unit: statistics.median(each[unit] for each in found) for unit in _UNITS}
    spread = {unit: (min(each[unit] for each in found), max(each[unit] for each in found)) for unit in _UNITS}
    return {**found[0], **medians, "spread": spread}


def _rate(found: Iterable[float]) -> Rate:
    rates = sorted(found)
    return Rate(statistics.median(rates), (rates[0], rates[-1]))


def _cold(name: str, store: Path, told: str) -> float:
    """Wall time of a new process that opens the graph and answers one two-hop query, start of Python included."""
    times = []
    for number in range(_COLD_RUNS):
        begin = time.perf_counter()
        engine_process("cold", name, str(store), told, str(number))
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times)


def _inserts(name: str, store: Path, told: str) -> dict[str, float]:
    """On a copy, so that the next run finds the graph as it was."""
    copy = store.parent.with_name(f"{name}-copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(store.parent, copy, symlinks=True)
    try:
        found: dict[str, float] = json.loads(engine_process("writes", name, str(copy / store.name), told))
    finally:
        shutil.rmtree(copy)
    return found


def engine_process(*arguments: str, seconds: float = _TIMEOUT, env: Mapping[str, str] | None = None) -> str:
    """The last line that a process of one engine prints; it is ended when its time is over."""
    command = [sys.executable, "-m", "bench.peers", *arguments]
    # Compiled modules are kept, as they are where a package is installed: compiling ours takes more than a second.
    around = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **(env or {})}
    finished = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, env=around)
    if finished.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments[:2])} failed: {finished.stderr.strip()[-2_000:]}")
    return finished.stdout.strip().splitlines()[-1] if finished.stdout.strip() else ""


def _check_answers(outcomes: list[Outcome]) -> None:
    """An engine that answers something else is not faster but wrong; nothing is reported then."""
    ours = outcomes[0]
    for outcome in outcomes[1:]:
        for case, found in outcome.cases.items():
            if _both(found, ours.cases[case]) and found["answers"] != ours.cases[case]["answers"]:
                raise RuntimeError(f"{outcome.engine} and {ours.engine} answer '{case}' differently")


def _measurements(outcome: Outcome, ours: Outcome, size: Size) -> Iterator[Measurement]:
    note = f"{outcome.version}, {size.people:,} people, {size.knows:,} edges"
    for case, found in outcome.cases.items():
        if not _both(found, ours.cases[case]):
            continue
        label = f"{outcome.engine}: {case}"
        ratio = found["cpu_ms"] / ours.cases[case]["cpu_ms"]
        yield Measurement("queries", label, found["ms"], _OURS, found["ms"] / ours.cases[case]["ms"], note)
        yield Measurement("queries", f"{label}, processor", found["cpu_ms"], _OURS, ratio, note)
    cold = outcome.cold_ms
    yield Measurement("queries", f"{outcome.engine}: {COLD}", cold, _OURS, cold / ours.cold_ms, note)


def _both(found: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    return "ms" in found and "ms" in ours


# --- what our cost follows ---------------------------------------------------------------------------


def _flat(size: Size) -> Iterator[tuple[int, float]]:
    """Results of growing size: rows, and the time for all of them."""
    import omnigraph

    with omnigraph.open(str(size.home / _OURS / "store")) as graph:
        rows = 1_000
        while rows <= size.people:
            ask = partial(graph.query, _FLAT_QUERY, params={"h": handle(rows)})
            if len(ask()) != rows:
                raise RuntimeError(f"{rows} rows were asked for, {len(ask())} came")
            yield rows, median_ms(ask, repeats=max(3, 50_000 // rows), warmup=1)
            rows *= 10


def _points(size: Size) -> Iterator[tuple[int, float]]:
    """One node by its key out of tables of different sizes."""
    import omnigraph

    query = "query q($k: String) { match { $i: Item { code: $k } } return { $i.label } }"
    for rows in _POINT_ROWS[size.name]:
        store = size.home / "points" / f"{rows}.omni"
        if not (store.parent / f"{rows}.done").exists():
            _build_items(store, rows)
        with omnigraph.open(str(store)) as graph:
            # Long enough that both have the column in memory; which takes more look-ups on the larger table.
            keys = (f"i{number * 7_919 % rows:08d}" for number in count())
            yield rows, median_ms(partial(_ask_next, graph, query, keys), repeats=500, warmup=1_500)


def _ask_next(graph: Any, query: str, keys: Iterator[str]) -> None:
    graph.query(query, params={"k": next(keys)})


def _build_items(store: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    import omnigraph

    shutil.rmtree(store, ignore_errors=True)
    store.parent.mkdir(parents=True, exist_ok=True)
    numbers = pa.array(range(rows)).cast(pa.utf8())
    codes = pc.binary_join_element_wise("i", pc.utf8_lpad(numbers, width=8, padding="0"), "")
    items = pa.table({"code": codes, "label": pc.binary_join_element_wise("Item", numbers, " ")})
    with omnigraph.init(str(store), "node Item { code: String @key  label: String }") as graph:
        graph.load(items, type="Item", runner="inline")
        graph.ensure_indices()
    (store.parent / f"{rows}.done").touch()
