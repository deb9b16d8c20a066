"""Random queries on random graphs: OmniGraph and DuckDB give the same rows in the same order.

The SQL comes from a translator of its own (`diff_sql`), which knows the documentation and nothing of the product. A failure
prints the seed; `OMNIGRAPH_DIFFERENTIAL_SEED=… pytest tests/differential` runs the same queries again, and
`make differential QUERIES=20000` runs more of them.
"""

from __future__ import annotations

import math
import os
import secrets
from datetime import date, datetime
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from diff_generator import Generator
from diff_sql import Translator
from diff_tree import Aggregate, Query, Record, Whole, to_text
from diff_world import PROPERTIES, World, make_world, shared

from omnigraph.compiler.diagnostics import TypeCheckError
from tests.thoroughness import EXPLORE

QUERIES = int(os.environ.get("OMNIGRAPH_DIFFERENTIAL_QUERIES", "2000"))
# What guards main asks the same queries every time; `make differential` and `make explore` ask new ones.
EXPLORED = EXPLORE or "OMNIGRAPH_DIFFERENTIAL_QUERIES" in os.environ
SEED = int(os.environ.get("OMNIGRAPH_DIFFERENTIAL_SEED") or (secrets.randbelow(10**9) if EXPLORED else 17))
BATCHES = 8
QUICK = 2  # batches of a quick run
PER_GRAPH = 50


@pytest.mark.parametrize(
    "batch",
    [pytest.param(batch, marks=[pytest.mark.slow] if batch >= QUICK else []) for batch in range(BATCHES)],
)
def test_every_query_gives_the_rows_that_duckdb_gives(batch: int, tmp_path: Path) -> None:
    wanted = -(-QUERIES // BATCHES)
    compared = refused = too_large = nonempty = graphs = 0
    while compared < wanted:
        seed = f"{SEED}-{batch}-{graphs}"
        world = make_world(Random(seed), tmp_path / str(graphs))
        generator, translator = Generator(Random(f"{seed} queries")), Translator(world)
        for number in range(min(PER_GRAPH, wanted - compared)):
            query = generator.query()
            text, params = to_text(query)
            try:
                found = world.graph.query(text, params=params).rows()
            except TypeCheckError:
                refused += 1
                continue
            sql = translator.query(query)
            try:
                expected = answer(world, query, sql)
            except duckdb.OutOfMemoryException:
                too_large += 1
                continue
            except duckdb.InternalException:  # a defect of DuckDB's own, after which its database is not used again
                too_large += 1
                break
            where = f"OMNIGRAPH_DIFFERENTIAL_SEED={SEED}, batch {batch}, graph {graphs}, query {number}"
            assert same(found, expected), f"{where}\n{text}\n{params}\n{sql}\nomnigraph: {found}\nduckdb:    {expected}"
            compared += 1
            nonempty += bool(found)
        world.db.close()
        world.graph.close()
        graphs += 1
    # A generator that makes little sense would compare nothing; a handful of queries says nothing about it.
    assert refused < compared
    assert too_large <= compared / 100
    assert nonempty > compared / 5 or compared < 200


def answer(world: World, query: Query, sql: str) -> list[dict[str, Any]]:
    """The rows of DuckDB, with values as OmniGraph prints them."""
    rows = world.db.execute(sql).fetchall()
    return [
        {
            column.name: _shown(world, query, column.expr, value)
            for column, value in zip(query.columns, row, strict=True)
        }
        for row in rows
    ]


def _shown(world: World, query: Query, expr: Any, value: Any) -> Any:
    if isinstance(expr, Aggregate) and isinstance(expr.arg, Whole | Record) and expr.function != "count":
        one = expr.function != "collect"
        found = [_shown(world, query, expr.arg, item) for item in ([value] if one else value)]
        return found[0] if one else found
    if isinstance(expr, Record) and value is not None:
        return {name: _shown(world, query, member, value[name]) for name, member in expr.members}
    if isinstance(expr, Whole) and value is not None:
        what = query.variables[expr.var]
        row = world.node(value["_t"], value["id"])
        names = shared(what.types, interface=what.interface is not None) if what.united else PROPERTIES[value["_t"]]
        kind = {"@type": value["_t"]} if what.united else {}
        kind |= {"from": row["src"], "to": row["dst"]} if what.kind == "edge" else {}
        return {"id": value["id"], **kind, **{name: _single(world, value["_t"], name, row[name]) for name in names}}
    found = _json(value)
    if isinstance(expr, Aggregate) and expr.function == "collect" and expr.distinct:
        return [item for at, item in enumerate(found) if item not in found[:at]]
    return found


def _single(world: World, kind: str, name: str, value: Any) -> Any:
    """A stored value as it comes out: an F32 was rounded."""
    if value is not None and PROPERTIES[kind][name][0] == "single":
        return world.db.execute("SELECT CAST(CAST(? AS FLOAT) AS DOUBLE)", [value]).fetchone()[0]  # type: ignore[index]
    return value


def _json(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat(timespec="milliseconds") + "Z"
        case date():
            return value.isoformat()
        case list() | tuple():
            return [_json(item) for item in value]
        case _:
            return value


def same(found: Any, expected: Any) -> bool:
    """Equal, types included, up to the last bits of a floating-point number."""
    if isinstance(found, float) and isinstance(expected, float):
        return found == expected or math.isclose(found, expected, rel_tol=1e-12)
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[name], expected[name]) for name in found)
    return type(found) is type(expected) and bool(found == expected)
