"""The expression language on the huts: the engine, its definition by the naive evaluator, and the documented answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.temporal import DateTime
from omnigraph.ids import now_micros
from omnigraph.testing.graphs.expressions import CASES, aggregate_examples, examples, special_examples
from omnigraph.testing.graphs.huts import RECORDS
from omnigraph.testing.naive.constraints import Image
from omnigraph.testing.naive.evaluator import evaluate
from omnigraph.testing.naive.evaluator_values import close


@pytest.fixture(scope="module")
def image(huts: og.Graph) -> Image:
    catalog = huts.view().catalog
    found: dict[str, dict[str, dict[str, Any]]] = {f"node:{name}": {} for name in catalog.nodes}
    found |= {f"edge:{name}": {} for name in catalog.edges}
    for line in RECORDS.strip().splitlines():
        record = json.loads(line)
        data = record.get("data", {})
        if "edge" in record:
            info: Any = catalog.edges[record["edge"]]
            row = {"id": data["id"], "src": record["from"], "dst": record["to"]}
        else:
            info = catalog.nodes[record["type"]]
            row = {"id": data[info.key[0]]}
        row |= {name: data.get(name) for name in info.properties}
        found[info.table_key][row["id"]] = row
    return found


def naive(huts: og.Graph, image: Image, text: str) -> list[Any]:
    catalog = huts.view().catalog
    now = DateTime(now_micros() // 1000)
    return evaluate(compile_query(text, catalog).checked, catalog, image, {}, now)


@pytest.mark.parametrize("name", CASES)
def test_a_query_has_the_rows_that_its_expressions_mean(huts: og.Graph, image: Image, name: str) -> None:
    text, expected = CASES[name]
    rows = huts.query(text).rows()
    assert close([list(row.values()) for row in rows], [list(row) for row in expected]), rows
    assert close(naive(huts, image, text), rows)


@pytest.mark.parametrize("documented", [examples, aggregate_examples, special_examples])
def test_every_function_gives_its_documented_answer(huts: og.Graph, image: Image, documented: Any) -> None:
    text, expected = documented()
    (found,) = huts.query(text).rows()
    assert {name: found[name] for name in expected if not close(found[name], expected[name])} == {}
    (meant,) = naive(huts, image, text)
    assert {name: (meant[name], found[name]) for name in expected if not close(found[name], meant[name])} == {}


def test_mutations_and_defaults_take_expressions(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph.omni", schema="node P { k: String @key  name: String?  n: I64? }")
    insert = 'query q($k: String, $n: I64 = 2 * size(split("a,b", ","))) { insert P { k: lower($k), name: trim(" A "), n: $n } }'
    graph.mutate(insert, params={"k": "ONE"})
    graph.mutate(insert, params={"k": "TWO", "n": 1})
    graph.mutate(
        "query q() { update P set { name: upper(name) + k, n: if(n > 2, n * 10, 0) } where length(k) = 3 and not n < 1 }"
    )
    rows = graph.query("query q() { match { $p: P } return { $p.k, $p.name, $p.n } order { $p.k } }").rows()
    assert [tuple(row.values()) for row in rows] == [("one", "Aone", 40), ("two", "Atwo", 0)]
    graph.mutate('query q() { delete P where k matches "^t" or try_to_int(name) is not null }')
    assert graph.query("query q() { match { $p: P } return { count(*) as n } }").rows() == [{"n": 1}]
