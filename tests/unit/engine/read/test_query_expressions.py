"""The expression language on the huts: the engine, its definition by the naive evaluator, and the documented answers."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.temporal import DateTime
from omnigraph.engine.read.columns import entities
from omnigraph.engine.read.match import scan
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
def test_a_query_has_the_rows_that_its_expressions_mean(huts: og.Graph, name: str) -> None:
    text, expected = CASES[name]
    rows = huts.query(text).rows()
    assert close([list(row.values()) for row in rows], [list(row) for row in expected]), rows


@pytest.mark.parametrize("documented", [examples, aggregate_examples, special_examples])
def test_every_function_gives_its_documented_answer(huts: og.Graph, documented: Any) -> None:
    text, expected = documented()
    (found,) = huts.query(text).rows()
    assert {name: found[name] for name in expected if not close(found[name], expected[name])} == {}


def test_numbers_at_the_ends_of_their_range_are_values(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph.omni", schema="node P { k: String @key  s: String  bytes: U64? }")
    graph.load([{"type": "P", "data": {"k": "a", "s": "日本", "bytes": 2**64 - 1}}])
    largest, least = 2**63 - 1, -(2**63)
    texts = f"""substring($p.s, 1, {largest}) as a, substring($p.s, {largest}) as b, substring($p.s, {least}, 5) as c,
        left($p.s, {largest}) as d, right($p.s, {largest}) as e, substring("ß", {least}, -1) as f"""
    (row,) = graph.query(f"query q() {{ match {{ $p: P }} return {{ {texts} }} }}").rows()
    assert list(row.values()) == ["本", "", "", "日本", "日本", ""]
    lists = f"range(-1, {least}, {least}) as a, range(7, 1, -3) as b, dot([{largest}], [1]) as c, list_sum($huge) as d"
    (row,) = graph.query(
        f"query q($huge: [F64]) {{ match {{ $p: P }} return {{ {lists} }} }}", params={"huge": [1e308, 1e308]}
    ).rows()
    assert list(row.values()) == [[-1], [7, 4, 1], 2.0**63, None]
    unsigned = "coalesce($p.bytes, 0) as a, if(true, $p.bytes, 7) as b, nullif($p.bytes, 1) as c"
    (row,) = graph.query(f"query q() {{ match {{ $p: P }} return {{ {unsigned} }} }}").rows()
    assert list(row.values()) == [2**64 - 1] * 3


SHARED_LISTS = {
    "text": ("$o.code", "$h.code in l", ["h1", "h2", "h4"]),
    "negated": ("$o.alt", "$h.alt not in l", []),
    "a null value is unknown": ("$o.alt", "($h.alt in l) is null", ["h3"]),
    "other width": ("to_int($o.alt)", "$h.alt in l", ["h1", "h2", "h4"]),
    "floats": ("$o.alt * 0.0", "($h.alt * -0.0) in l", ["h1", "h2", "h4"]),
    "integers among floats": ("to_float($o.alt)", "$h.alt in l", ["h1", "h2", "h4"]),
    "one value": ("$o.code", '"h1" in l', ["h1", "h2", "h3", "h4"]),
    "no items": ("$o.built", "not ($h.built in l)", []),
    "a part that fails": ("$o.alt", "($h.alt * 9223372036854775807) in l", None),
}


@pytest.mark.parametrize("name", SHARED_LISTS)
def test_a_list_that_all_rows_share_is_compared_as_any_list(huts: og.Graph, image: Image, name: str) -> None:
    items, condition, expected = SHARED_LISTS[name]
    collected = f"match {{ $o: Hut $o.alt > 0 }} with {{ collect({items}) as l }}"
    text = f"query q() {{ {collected} match {{ $h: Hut ({condition}) }} return {{ $h.code }} order {{ $h.code }} }}"
    if expected is None:
        with pytest.raises(og.errors.BadRequest, match="integer overflow"):
            huts.query(text)
        return
    # The list of one row, and the same list in each of several.
    for asked in (
        text,
        text.replace(f"{collected} match", f"{collected} match {{ $x: Hut }} with {{ $x, l }} match", 1),
    ):
        if asked is not text:
            asked = asked.replace("return {", "return distinct {")
        found = huts.query(asked).rows()
        assert [row["h.code"] for row in found] == expected
        assert naive(huts, image, asked) == found


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


def test_a_filter_over_a_text_that_is_asked_again_is_answered_from_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "SCAN_SECONDS_PER_ROW", 0.0)
    monkeypatch.setattr(entities, "SMALL_TABLE", 10)
    graph = og.init(tmp_path / "texts.omni", "node T { k: String @key  a: String?  n: I32? }")
    rows = [{"k": f"k{at}", "a": f" A{at % 7} ", "n": at} for at in range(500)]
    graph.load([{"type": "T", "data": row} for row in rows])
    text = 'query q() { match { $t: T upper(trim($t.a)) = "A3" abs($t.n) > 100 } return { count(*) as n } }'
    expected = sum(row["n"] > 100 and row["a"] == " A3 " for row in rows)
    read = []
    for _ in range(3):
        found = graph.query(text)
        assert found.scalar() == expected
        read.append(sum(table.bytes for table in found.explanation.reads))
    assert read[0] > 0
    assert read[-1] == 0


@pytest.mark.parametrize("where", ["", " where $t.n % 2 = 0", " where $t.n > 490"])
def test_aggregates_of_some_rows_leave_out_the_others(tmp_path: Path, where: str) -> None:
    graph = og.init(tmp_path / "some.omni", "node T { k: String @key  g: I32  n: I32  x: F64? }")
    rows = [{"k": f"k{at}", "g": at % 3, "n": at, "x": None if at % 5 == 0 else at / 4} for at in range(500)]
    graph.load([{"type": "T", "data": row} for row in rows])
    calls = ", ".join(f"{name}($t.x{where}) as {name}" for name in ("sum", "avg", "count", "variance"))
    counted = f"count(*{where}) as all"
    found = graph.query(
        f"query q() {{ match {{ $t: T }} return {{ $t.g as g, {calls}, {counted} }} order {{ g }} }}"
    ).rows()
    for row in found:
        keeps = {
            "": lambda n: True,
            " where $t.n % 2 = 0": lambda n: n % 2 == 0,
            " where $t.n > 490": lambda n: n > 490,
        }
        kept = [each for each in rows if each["g"] == row["g"] and keeps[where](each["n"])]
        values = [each["x"] for each in kept if each["x"] is not None]
        assert row["all"] == len(kept)
        assert row["count"] == len(values)
        assert close(row["sum"], math.fsum(values))
        assert close(row["avg"], math.fsum(values) / len(values))
        assert math.isclose(row["variance"], statistics.variance(values))
