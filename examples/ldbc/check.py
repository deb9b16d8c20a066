"""Ask every question in .gq and in SQL, at two scales and with two sets of parameters, and compare the answers."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
from generate import generate
from parameters import parameters
from store import QUERIES, load_duckdb, load_graph, plain, query_text, sql_text


def check(people: int, place: Path, wanted: list[str], *, seed: int = 1) -> tuple[int, int]:
    """How many answers were equal and how many were not; those are shown."""
    tables = generate(people, seed)
    equal, different = 0, 0
    with load_graph(tables, place) as graph, duckdb.connect() as connection:
        load_duckdb(tables, connection)
        for which in (0, 1):
            given = parameters(tables, which)
            for name in wanted:
                begin = time.process_time()
                ours = plain(answer(graph, name, given[name]))
                middle = time.process_time()
                theirs = plain(sql_answer(connection, name, given[name]))
                end = time.process_time()
                same = ours == theirs
                equal, different = equal + same, different + (not same)
                print(
                    f"{people:>7,} people, set {which}, {name:<5} {len(ours):>4} rows "
                    f"{(middle - begin) * 1000:9.1f} ms {(end - middle) * 1000:9.1f} ms SQL"
                    f"  {'' if same else 'DIFFERENT'}",
                    flush=True,
                )
                if not same:
                    _show(ours, theirs)
    return equal, different


def answer(graph: Any, name: str, given: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What the graph answers."""
    return graph.query(query_text(name), name=name, params=given).tuples()  # type: ignore[no-any-return]


def sql_answer(connection: duckdb.DuckDBPyConnection, name: str, given: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What DuckDB answers; its instants have no zone."""
    values = {key: value.replace(tzinfo=None) if isinstance(value, datetime) else value for key, value in given.items()}
    return list(connection.execute(sql_text(name), values).fetchall())


def _show(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> None:
    print(f"    {len(ours)} rows, {len(theirs)} from SQL")
    for mine, other in [pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]][:3]:
        print(f"    {mine}\n    {other}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("wanted", nargs="*", help="queries, such as ic5; all without any")
    options.add_argument("--people", type=int, nargs="+", default=[200, 1_000])
    chosen = options.parse_args()
    total, wrong = 0, 0
    for scale in chosen.people:
        with tempfile.TemporaryDirectory() as folder:
            good, bad = check(scale, Path(folder) / "ldbc.omni", chosen.wanted or list(QUERIES))
            total, wrong = total + good + bad, wrong + bad
    print(f"{total} answers, {wrong} different")
    sys.exit(1 if wrong else 0)
