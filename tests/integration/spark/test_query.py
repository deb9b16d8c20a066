"""`.gq` on Spark: the cases of the query language and of every lowering, with the answers of the engine."""

from __future__ import annotations

import importlib.util
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, OmnigraphError
from omnigraph.pipeline.gq import few
from omnigraph.pipeline.gq.entities import Entities
from omnigraph.pipeline.spark.shares import shared_frame
from omnigraph.testing.graphs.expressions import CASES, aggregate_examples, examples, special_examples
from omnigraph.testing.graphs.huts import RECORDS, SCHEMA
from omnigraph.testing.naive.evaluator_values import close
from omnigraph.testing.strategies import read_graphs

CONFORMANCE = Path(__file__).parents[2] / "conformance" / "test_query_results.py"


def cases() -> Any:
    """The read cases of the specification, from the suite that runs them on the engine."""
    spec = importlib.util.spec_from_file_location("query_results", CONFORMANCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SUITE = cases()


# Tiny data: one shuffle partition, no replanning, and expressions that are interpreted instead of compiled for a few rows.
TUNED = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="module")
def tuned(spark: Any) -> Iterator[Any]:
    """The session with settings for small queries, which otherwise take most of their time to be planned."""
    before = {name: spark.conf.get(name) for name in TUNED}
    for name, value in TUNED.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture(scope="module")
def huts(tmp_path_factory: pytest.TempPathFactory, tuned: Any) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("huts") / "graph.omni", schema=SCHEMA)
    graph.load(RECORDS.strip().splitlines(), runner="inline")
    return graph


@pytest.mark.parametrize(("text", "params", "expected"), SUITE.ROWS)
def test_a_read_gives_the_rows_the_case_lists(huts: og.Graph, text: str, params: Any, expected: Any) -> None:
    assert huts.query(text, params=params, runner="spark").rows() == huts.query(text, params=params).rows()


def test_sums_means_and_spreads_have_the_digits_of_the_engine(tmp_path: Path, tuned: Any) -> None:
    rng = random.Random(21)
    graph = og.init(tmp_path / "sums.omni", "node P { name: String @key  kind: String  x: F64?  y: F32?  n: I64? }")
    values = [rng.gauss(0, 1) * 10 ** rng.randint(-6, 6) for _ in range(3_000)]
    rows = [
        {"name": f"p{at}", "kind": f"k{at % 7}", "x": None if at % 50 == 0 else x, "y": at / 7, "n": at**4 - 7}
        for at, x in enumerate(values)
    ]
    graph.load([{"type": "P", "data": row} for row in rows])
    texts = (
        "return { $p.kind, avg($p.x) as a, sum($p.x) as s, avg($p.y) as y, avg(distinct $p.x) as d }",
        "return { avg($p.x) as a, sum($p.y) as s, avg($p.x where $p.y > 100.0) as w }",
        "return { $p.kind, stddev($p.x) as s, variance($p.y) as v, stddev($p.n) as n, variance(distinct $p.x) as d }",
        "return { stddev($p.x) as s, variance($p.n where $p.y > 100.0) as w, stddev(distinct $p.n) as n }",
        "return { $p.name, stddev($p.x) as s }",
    )
    for text in texts:
        query = f"query q() {{ match {{ $p: P }} {text} }}"
        assert graph.query(query, runner="spark").rows() == graph.query(query).rows()
    found = graph.query("query q() { match { $p: P } return { sum($p.x) as s } }").rows()
    assert found == [{"s": math.fsum(row["x"] for row in rows if row["x"] is not None)}]


@pytest.mark.parametrize(("text", "params", "code"), SUITE.ERRORS)
def test_a_faulty_read_fails_with_the_code_the_case_lists(huts: og.Graph, text: str, params: Any, code: str) -> None:
    with pytest.raises(OmnigraphError) as failure:
        huts.query(text, params=params, runner="spark")
    assert failure.value.code == code


def test_columns_and_types_are_the_promised_ones_even_without_rows(huts: og.Graph) -> None:
    text = 'query q() { match { $h: Hut { code: "zz" } } return { $h.name, $h.alt as height, $h, $h.seen, $h.vec } }'
    assert huts.query(text, runner="spark").to_arrow().schema == huts.query(text).to_arrow().schema


def test_every_function_and_aggregate_gives_its_documented_answer(huts: og.Graph) -> None:
    for text, expected in (examples(), aggregate_examples(), special_examples()):
        (found,) = huts.query(text, runner="spark").rows()
        assert {name: found[name] for name in expected if not close(found[name], expected[name])} == {}


@pytest.mark.parametrize("name", CASES)
def test_expressions_mean_the_same(huts: og.Graph, name: str) -> None:
    text, _ = CASES[name]
    assert close(huts.query(text, runner="spark").rows(), huts.query(text).rows())


# --- one query for every way that something is lowered ----------------------------------------------------

ANTS: list[Any] = [
    {"type": "Ant", "data": {"k": "a0", "n": 1, "f": 0.5, "s": "a", "b": True, "d": "2020-02-29", "tags": ["a", "b"],
                             "v": [0, 0], "at": "2020-02-29T00:00:00Z", "x": "stone hut"}},
    {"type": "Ant", "data": {"k": "a1", "n": 2, "f": -1.5, "s": "ab", "b": False, "v": [3, 4], "x": "old huts, old stone"}},
    {"type": "Ant", "data": {"k": "a2", "n": 2, "s": "ä", "tags": [], "v": [1, 0], "x": "Hütte am Stein"}},
    {"type": "Ant", "data": {"k": "a3", "s": "a"}},
    {"type": "Bee", "data": {"k": "b0", "n": 2, "s": "a", "g": 2.0}},
    {"type": "Bee", "data": {"k": "b1", "n": 9007199254740993, "s": "zz"}},
    *({"edge": "Walks", "from": a, "to": b, "data": {"w": w}}
      for a, b, w in [("a0", "a1", 1), ("a0", "a1", 2), ("a1", "a2", 3), ("a2", "a0", 4), ("a3", "a3", 5), ("a0", "a3", 6)]),
    {"edge": "Meets", "from": "a0", "to": "b0", "data": {"w": 0.5}},
    {"edge": "Meets", "from": "a1", "to": "b1"},
    # One id in two types.
    {"type": "Bee", "data": {"k": "a1", "s": "a"}},
    {"edge": "Meets", "from": "a2", "to": "a1"},
    {"edge": "Feeds", "from": "a1", "to": "a3", "data": {"s": "x"}},
    {"edge": "Feeds", "from": "b0", "to": "a2"},
]  # fmt: skip


def q(match: str, returned: str, tail: str = "") -> str:
    return f"query q() {{ match {{ {match} }} return {{ {returned} }} {tail} }}"


LOWERINGS = {
    "a join on values": q("$a: Ant $b: Bee $a.s = $b.s", "$a.k, $b.k as bee"),
    "a join of two widths, and a product": q("$a: Ant $b: Bee $a.n <= $b.n", "$a.k, $b.k as bee"),
    "the same node by two names": q("$a: Ant $c: Ant $a walks $c $a = $c", "$a.k"),
    "reach against the edge": q('$a: Ant { k: "a2" } $b walks{1,3} $a', "$b.k"),
    "reach regardless of direction": q('$a: Ant { k: "a0" } $a <walks>{2,3} $b', "$b.k"),
    "reach between two bound ends": q("$a: Ant $b: Ant $a walks{2,3} $b", "$a.k, $b.k as other"),
    "an edge between two bound ends": q("$a: Ant $b: Ant $a $e:walks $b $e.w > 1", "$a.k, $e.w"),
    "the start among what it reaches": q('$a: Ant { k: "a1" } $a walks{0,2} $b', "$b.k"),
    "there and back between two types": q("$a: Ant $a <meets|feeds>{2} $x", "$a.k, $x.id, type($x) as t"),
    "one hop regardless of direction between two types": q("$x $e:<meets> $y", "$x.id, $y.id as other, $e.w"),
    "conditions along a traversal": q(
        "$a: Ant $a walks{1,3} $b along $e to $n { $e.w > 1 $n.n is not null }", "$a.k, $b.k as b"
    ),
    "one hop along conditions": q("$a: Ant $a meets $b along $e { $e.w > 0.0 }", "$a.k, $b.k as b"),
    "the cheapest path": q(
        "$a: Ant cheapest $p: $a walks $b along $e by $e.w", "$a.k, $b.k as b, $p.cost, $p.edges.w as ws"
    ),
    "the first paths by cost": q(
        "$a: Ant cheapest 2 $p: $a <walks|meets> $b along to $n by length($n.k)", "$a.k, $p.cost, $p.nodes"
    ),
    "all shortest paths": q("$a: Ant $b: Ant all shortest $p: $a <walks> $b", "$p.nodes, $p.edges.w as ws"),
    "simple paths": q("$a: Ant simple $p: $a walks{0,3} $b", "$p.nodes, $p.nodes.n as ns, $p.length"),
    "edges by themselves": q("$e: Walks $e.w >= 2 $a: Ant $a.id = $e.to", "$e, $e.from, $a.k"),
    "edges of several types": q("$e: Walks|Meets", "$e, type($e) as t"),
    "edges that are the same": q("$a $e:walks $b $f: Walks $e = $f", "$e.w, $f.from, count($f) as n"),
    "texts of edges": q('$e: Feeds search($e.s, "x")', "$e.id", 'order { bm25($e.s, "x") } limit 3').replace(
        "$e.id", "$e.to"
    ),
    "a narrowed variable": q("$x: Named $x: Bee", "$x.k, $x.g"),
    "a type asked for in a block": q("$x: Ant|Bee not { $x: Ant }", "$x.k"),
    "not inside not": q("$a: Ant not { $a walks $b not { $b meets $_ } }", "$a.k"),
    "conditions over several variables": q("$a walks $b $a.n + 1 >= $b.n or $a.s = $b.s", "$a.k, $b.k as other"),
    "lists, nulls, calendars": q('$a: Ant "a" in $a.tags $a.d < date("2021-01-01") $a.at is not null', "$a"),
    "grouped by a whole node": q("$a walks $b", "$b as node, count($a) as n, sum($a.n) as s", "order { n desc }"),
    "every aggregate": q(
        "$a: Ant",
        "$a.s, count(*) as c, count(distinct $a.n) as cd, sum($a.f) as sf, avg($a.n) as av, min($a.d) as lo, max($a.at) as hi",
    ),
    "groups in the order of a ranking": q(
        "$a: Ant", "$a.s, count(*) as c, min($a.n) as low", "order { nearest($a.v, [0.0, 0.0]) } limit 2"
    ),
    "distinct rows in order": q("$a walks $b", "$b.s, $b.n", "order { $b.n desc }").replace(
        "return", "return distinct"
    ),
    "offset and limit": q("$a: Ant", "$a.k", "order { $a.f desc } limit 2 offset 1"),
    "scores as values": q(
        "$a: Ant", '$a.k, nearest($a.v, [0.0, 0.0]) as d, bm25($a.x, "stone") as r', "order { $a.k }"
    ),
    "relevance": q("$a: Ant", "$a.k", 'order { bm25($a.x, "old stone huts") }'),
    "a fusion": q("$a: Ant", "$a.k", 'order { rrf(nearest($a.v, [0.0, 0.0]), bm25($a.x, "stone"), 10) } limit 3'),
    "text functions": q('$a: Ant fuzzy($a.x, "stoen", 2) or search($a.x, "huetten")', "$a.k"),
    "phrases, prefixes and all words": q(
        '$a: Ant search_phrase($a.x, "old stone") or search_prefix($a.x, "hu") or search_all($a.x, "stone huts")',
        "$a.k",
    ),
    "a score as a threshold": q('$a: Ant bm25($a.x, "stone") > 0.1', '$a.k, 2 * bm25($a.x, "stone") as r'),
    "snippets": q("$a: Ant", '$a.k, snippet($a.x, "stone huts", 2) as s, snippet($a.x, $a.s) as t', "order { $a.k }"),
    "optional, with and without a match": q(
        "$a: Ant optional { $a meets $b $b.n > 1 }", "$a.k, $b, $b.n", "order { $a.k }"
    ),
    "optional in a row, counted and negated": q(
        "$a: Ant optional { $a walks $c } optional { $c meets $b } not { $b is null $a.n = 2 }",
        "$a.k, count($b) as n, count($c) as m",
    ),
    "having and collect": q(
        "$a walks $b",
        "$a.k, collect($b.k) as seen, collect(distinct $b.n) as ns",
        "having { ns is not null } order { $a.k }",
    ),
    "reach without an upper bound": q("$a: Ant $a walks{2,} $b", "$a.k, $b.k as other"),
    "constants": q("$a: Ant", '$a.k, 1.5 as number, "t" as text'),
    "several edge types": q("$a: Ant $a walks|meets $b", "$a.k, $b, $b.s"),
    "several edge types, with the edge": q("$a: Ant $a $e:walks|meets $b", "$a.k, $b.id as other, $e.id"),
    "several edge types against their direction": q('$b: Ant { k: "a1" } $a walks|feeds $b', "$a"),
    "reach over several edge types": q("$a: Ant $a walks|meets|feeds{1,3} $b", "$a.k, $b.s, $b.id as other"),
    "reach over several edge types, between bound ends": q(
        "$a: Named $b: Named $a walks|meets{2,} $b", "$a.id, $b.id as other"
    ),
    "an interface": q("$x: Named", "$x, $x.s"),
    "an interface, filtered, counted and grouped": q(
        '$x: Named $x.s = "a" optional { $y walks|meets $x }', "$x as who, count($y) as n, count(distinct $y) as d"
    ),
    "the same node of a union and of a type": q("$x: Named $a: Ant $x = $a", "$x.s, $a.k"),
    "the same node of two unions": q("$x: Named $y: Named $x = $y", "$x.id"),
    "two nodes of one id are two": q("$x: Named $y: Named $x != $y $x.id = $y.id", "$x as who, $y.s", "order { who }"),
    "groups of a union, tied": q("$x: Named", "$x as who, $x.s as s, count(*) as n", "order { n desc } limit 5"),
    "nodes of a union, last first": q("$x: Named", "$x as who, $x.s as s", "order { who desc, $x.s }"),
    "groups of a union, last first": q("$x: Named", "$x as who, $x.s as s, count(*) as n", "order { who desc, s }"),
    "an overflow that something else excludes": q(
        '$b: Bee optional { $a meets $b } $b.n * 4611686018427387904 > 0 or $b.n = 2 $b.s != "zz"', "$b.k, $b.n"
    ),
    "an overflow that having excludes": q(
        "$b: Bee", "$b.k as k, $b as bee, $b.n * 3000000000000 as far", 'having { k != "b1"  far > 0 } order { far }'
    ),
    "large numbers beside fractions": q(
        "$b: Bee $b.n / 2 > 0.5", "$b.k, $b.n * 1.0 as near, 18446744073709551615 as top"
    ),
    "not of not": q("$a: Ant not { not { $a meets $b } }", "$a.k"),
    "for all": q("$a: Ant not { $x: Ant { n: 2 } not { $a walks{1,} $x } }", "$a.k"),
    "a cycle": q("$a: Ant $a walks{1,} $a", "$a.k"),
    "a cycle of some length, over several edge types": q("$x: Named $x walks|meets|feeds{2,4} $x", "$x.id"),
    "the shortest cycle": q("$a: Ant shortest $p: $a walks{2,} $a", "$a.k, $p.length, $p.nodes"),
    "a union in not": q("$x: Named not { $x walks|feeds $y }", "$x.id"),
    "distinct nodes of a union": q("$a walks|meets $x", "$x").replace("return", "return distinct"),
    "optional before anything is matched": q('optional { $a: Ant { k: "zz" } } $b: Bee', "$a.k, $b.k as bee"),
    "a shortest path": q("$a: Ant shortest $p: $a walks{1,3} $b", "$a.k, $b.k as other, $p.length"),
    "the nodes of a shortest path": q(
        "$a: Ant shortest $p: $a walks{1,} $b", "$a.k, $b.k as other, $p.length, $p.nodes"
    ),
    "a shortest path over several edge types": q(
        '$a: Ant { k: "a0" } shortest $p: $a walks|meets|feeds{1,4} $b', "$b.id, $p.length, $p.nodes"
    ),
    "a shortest path of at least two hops": q("$a: Ant shortest $p: $a walks{2,3} $b", "$a.k, $b.k as other, $p.nodes"),
    "a shortest path, perhaps": q(
        "$a: Ant optional { shortest $p: $a walks{1,2} $b $b.n = 2 } not { $p.length = 1 $a.b = true }",
        "$a.k, $b.k as other, $p.length",
    ),
}


@pytest.fixture(scope="module")
def ants(tmp_path_factory: pytest.TempPathFactory, tuned: Any) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("ants") / "graph.omni", schema=read_graphs.SCHEMA)
    graph.load([json.dumps(record) for record in ANTS], runner="inline")
    return graph


@pytest.mark.parametrize("text", LOWERINGS.values(), ids=LOWERINGS)
def test_a_lowered_query_gives_what_the_engine_gives(ants: og.Graph, text: str) -> None:
    inline, spark = ants.query(text), ants.query(text, runner="spark")
    assert spark.rows() == inline.rows()
    assert spark.to_arrow().schema == inline.to_arrow().schema
    assert inline.rows(), "a case that finds nothing shows nothing"


MANY = (
    "an edge between two bound ends",
    "one hop regardless of direction between two types",
    "not inside not",
    "optional in a row, counted and negated",
    "several edge types against their direction",
    "for all",
)


@pytest.mark.parametrize("name", MANY)
def test_rows_that_are_too_many_to_be_collected_are_joined(
    ants: og.Graph, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(few, "MOST", -1)
    assert ants.query(LOWERINGS[name], runner="spark").rows() == ants.query(LOWERINGS[name]).rows()


def test_a_read_that_begins_at_a_few_nodes_reads_no_table_of_edges(
    ants: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Entities, "edges", lambda *_: pytest.fail("a table of edges was read"))
    texts = (
        q('$a: Ant { k: "a0" } $a walks $b $b walks $c', "$b.k, $c.n, $c.id as id"),
        q('$a: Ant { k: "a0" } not { $a feeds $_ } $a walks|meets $b', "$b.id"),
        q('$a: Ant { k: "a0" } optional { $a walks $b $b walks $a }', "$b.k"),
    )
    for text in texts:
        assert ants.query(text, runner="spark").rows() == ants.query(text).rows()


def test_spark_knows_about_how_large_a_table_is(tuned: Any) -> None:
    """A table behind ten numbers would be taken for small, and collected on the driver for a join."""
    frame = shared_frame(tuned, lambda at: iter(()), 10, 320_000_000, "a string, b string")
    told = frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()
    assert int(str(told)) >= 128 << 20


def test_an_error_about_the_data_keeps_its_class_on_the_way_from_a_worker(ants: og.Graph) -> None:
    with pytest.raises(BadRequest, match="integer overflow"):
        ants.query(q("$b: Bee", "$b.n * 9223372036854775807 as big"), runner="spark")


def test_words_are_of_the_language_of_their_property(tmp_path: Path, tuned: Any) -> None:
    schema = 'node Note { k: String @key  de: String? @language("german")  en: String? }'
    texts = {"a": "Die Häuser der Stadt", "b": "Ein Haus am See", "c": "houses"}
    with og.init(tmp_path / "g.omni", schema) as graph:
        graph.load([{"type": "Note", "data": {"k": k, "de": text, "en": text}} for k, text in texts.items()])
        found = ('search($n.de, "Haus") as de', 'search($n.en, "Haus") as en', 'snippet($n.de, "Haus", 2) as s')
        for text in (
            q("$n: Note", ", ".join(("$n.k", *found))),
            q("$n: Note", "$n.k", 'order { bm25($n.de, "Haus") }'),
        ):
            assert graph.query(text, runner="spark").rows() == graph.query(text).rows()
        assert [row["de"] for row in graph.query(q("$n: Note", found[0]), runner="spark").rows()] == [True, True, False]


def test_what_spark_cannot_run_is_named(tmp_path: Path, tuned: Any) -> None:
    with og.init(tmp_path / "g.omni", "interface Lone { s: String? } node Ant { k: String @key }") as graph:
        assert graph.query(q("$x: Lone", "$x.s")).rows() == []
        with pytest.raises(BadRequest, match="an interface that no type implements cannot run on Spark"):
            graph.query(q("$x: Lone", "$x.s"), runner="spark")


def test_views_of_the_past_and_of_branches_are_queried_on_spark(ants: og.Graph) -> None:
    commit = ants.commits.list()[0]
    ants.branches.create("side")
    ants.mutate('query q() { insert Ant { k: "a9" } }', branch="side")
    text = q("$a: Ant", "count($a) as n")
    assert ants.branch("side").spark.query(text).rows() == [{"n": 5}]
    assert ants.query(text, branch="side", at=commit, runner="spark").rows() == [{"n": 4}]
    assert ants.query(q("$a: Ant", "$a as who"), runner="spark", node_ids=True).rows()[0] == {"who": "a0"}
