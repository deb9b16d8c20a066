"""The reads of the LDBC benchmark (`examples/ldbc`) beside DuckDB, Ladybug and kuzu in one run, each in a process.

Times are of the processor, over all threads of an engine. `OMNIGRAPH_BENCH_PEOPLE` is the size of the network (1,000).
An engine that is not installed is left out (kuzu, which has ended, is in no group of ours: `uv pip install kuzu`), and
so is a question that has no Cypher text; an answer that differs from SQL's is marked.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.measure import Measurement
from bench.report import circumstances, markdown_table, write_section

EXAMPLE = Path(__file__).parent.parent / "examples" / "ldbc"
ENGINES = ("omnigraph", "duckdb", "ladybug", "kuzu")
PEOPLE = int(os.environ.get("OMNIGRAPH_BENCH_PEOPLE", "1000"))
_SECONDS = 0.5  # of measuring one question
_WARM = 2

_CHOICES = (
    "Each engine has the data as it likes it best, and answers in Python values. Reads are prepared in the graph "
    "engines; DuckDB for Python has no call for that, and SQL's `EXECUTE`, which takes no parameters there, took "
    "longer (a look-up with a literal 0.47 ms of processor time instead of 0.34). In SQL a message is a row with its "
    "author, the post that its thread begins with and the forum of that, all found when the data is loaded; the three "
    "graph engines follow the replies in each query. –: kuzu and Ladybug cannot ask it in one read. Their cheapest "
    "path takes the name of a stored property as the weight of a step and no expression, and the weights of these "
    "four reads are counted from messages or computed from the years of two people's studies. kuzu's ic1 is ≠ now and "
    "then: with several threads it returns the same rows in another order than its `ORDER BY` asks for (200 people: 4 "
    "of 300 runs with four threads, none of 300 with two, none of 300 with one)."
)

Ask = Callable[[str, dict[str, Any]], list[tuple[Any, ...]]]


def run() -> Iterator[Measurement]:
    """Every question on every engine; the table goes into the documentation."""
    before = circumstances()
    with tempfile.TemporaryDirectory() as folder:
        found = {name: _child(name, Path(folder)) for name in ENGINES if find_spec(name) is not None}
    ours = found["omnigraph"]
    for name, cases in found.items():
        for case, taken in cases.items():
            mine = ours[case]["ms"]
            note = "" if taken["answer"] == found["duckdb"][case]["answer"] else "another answer than SQL"
            yield Measurement("ldbc", f"{name}: {case}", taken["ms"], "omnigraph", taken["ms"] / mine, note)
    write_section(f"ldbc {PEOPLE}", _section(found, before))


def _child(name: str, folder: Path) -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-m", "bench.ldbc", name, str(folder / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1_800, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{name} failed: {done.stderr.strip()[-2_000:]}")
    answers: dict[str, dict[str, Any]] = json.loads(done.stdout.strip().splitlines()[-1])
    return answers


def _section(found: dict[str, dict[str, dict[str, Any]]], before: str) -> str:
    versions = {name: importlib.metadata.version(name) for name in found}
    head = ["processor ms", *(f"{name} {version}" for name, version in versions.items())]
    ours, sql = found["omnigraph"], found["duckdb"]
    rows = [[case, *(_cell(found[name].get(case), ours[case], sql[case]) for name in found)] for case in ours]
    text = (
        f"{before}. {_medians(found)} In brackets: how many times our time; above 1 we are faster. "
        "`≠`: another answer than SQL's."
    )
    title = f"### The reads of the LDBC benchmark, {PEOPLE:,} people"
    return "\n\n".join([title, text, _CHOICES, markdown_table(head, rows)])


def _medians(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """The middle of the ratios of each engine."""
    ours = found["omnigraph"]
    middles = {
        name: statistics.median(taken["ms"] / ours[case]["ms"] for case, taken in cases.items())
        for name, cases in found.items()
        if name != "omnigraph"
    }
    shown = ", ".join(f"{name} {middle:.2g}× over {len(found[name])}" for name, middle in middles.items())
    return f"Median: {shown}."


def _cell(taken: dict[str, Any] | None, ours: dict[str, Any], sql: dict[str, Any]) -> str:
    if taken is None:
        return "–"
    mark = "" if taken["answer"] == sql["answer"] else " ≠"
    ratio = "" if taken is ours else f" ({taken['ms'] / ours['ms']:.3g}×)"
    return f"{taken['ms']:,.1f}{ratio}{mark}"


# --- one engine, in a process of its own ---------------------------------------------------------------


def main(name: str, place: str) -> None:
    """Load the network into one engine, ask everything, print the times."""
    sys.path.insert(0, str(EXAMPLE))
    from generate import generate
    from parameters import parameters
    from store import QUERIES, plain

    tables = generate(PEOPLE)
    engine = {"omnigraph": _omnigraph, "duckdb": _duckdb}.get(name, partial(_cypher, name))
    ask = engine(tables, Path(place))
    found = {}
    given = parameters(tables, 0)
    for case in QUERIES:
        end = time.perf_counter() + _SECONDS
        answer = ask(case, given[case])
        if answer is None:
            continue
        for _ in range(_WARM):
            if time.perf_counter() < end:
                ask(case, given[case])
        times: list[float] = []
        end = time.perf_counter() + _SECONDS
        while not times or (len(times) < 30 and time.perf_counter() < end):
            begin = time.process_time()
            ask(case, given[case])
            times.append((time.process_time() - begin) * 1_000)
        found[case] = {"ms": statistics.median(times), "answer": json.dumps(plain(answer), default=_number)}
    print(json.dumps(found))


def _number(value: Any) -> Any:
    """Sums come as decimals from some engines, days as dates."""
    return str(value) if isinstance(value, date) else int(value)


def _omnigraph(tables: Any, place: Path) -> Ask:
    from store import load_graph, query_text

    graph = load_graph(tables, place)
    prepared: dict[str, Any] = {}

    def ask(case: str, given: dict[str, Any]) -> list[tuple[Any, ...]]:
        if case not in prepared:
            prepared[case] = graph.prepare(query_text(case), name=case)
        return prepared[case](given).tuples()  # type: ignore[no-any-return]

    return ask


def _duckdb(tables: Any, place: Path) -> Ask:
    import duckdb
    from check import sql_answer
    from store import load_duckdb

    connection = duckdb.connect(str(place))
    load_duckdb(tables, connection)
    return lambda case, given: sql_answer(connection, case, given)


def _cypher(name: str, tables: Any, place: Path) -> Callable[[str, dict[str, Any]], list[tuple[Any, ...]] | None]:
    from importlib import import_module

    from cypher_store import load_cypher
    from store import cypher_text

    engine = import_module(name)
    connection = engine.Connection(engine.Database(str(place)))
    load_cypher(tables, connection, place.parent)
    prepared: dict[str, Any] = {}

    def ask(case: str, given: dict[str, Any]) -> list[tuple[Any, ...]] | None:
        text = cypher_text(case)
        if text is None:
            return None
        values = {key: _plain_instant(value) for key, value in (given | _computed(given)).items() if f"${key}" in text}
        if case not in prepared:
            prepared[case] = connection.prepare(text)
        return [tuple(row) for row in connection.execute(prepared[case], values).get_all()]

    return ask


def _plain_instant(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _computed(given: dict[str, Any]) -> dict[str, Any]:
    """Moments that the Cypher texts take instead of computing them."""
    moments = {"until": given["end"]} if "end" in given else {}
    if "start" not in given:
        return moments
    start = given["start"]
    moments |= {"middle": start + timedelta(days=100), "last": start + timedelta(days=200)}
    return moments | ({"until": start + timedelta(days=given["days"])} if "days" in given else {})


if __name__ == "__main__":
    main(*sys.argv[1:])
