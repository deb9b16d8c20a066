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
from omnigraph.pipeline.gq.frame import Lowering
from omnigraph.pipeline.spark.shares import shared_frame
from omnigraph.testing.graphs.ants import ANTS
from omnigraph.testing.graphs.compared import OVER_ANTS, OVER_HUTS
from omnigraph.testing.graphs.huts import RECORDS, SCHEMA
from omnigraph.testing.strategies import read_graphs
from tests.integration.spark.listed import keep_lists

CONFORMANCE = Path(__file__).parents[2] / "conformance" / "test_query_results.py"


def q(match: str, returned: str, tail: str = "") -> str:
    return f"query q() {{ match {{ {match} }} return {{ {returned} }} {tail} }}"


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
        "return { $p.name, sum($p.x per $p.kind order $p.name) as a, avg($p.y per $p.kind order $p.n desc) as b, "
        "sum($p.x per *) as c, sum($p.n per $p.kind order $p.name) as d, sum($p.x where $p.y > 9.0 per * order $p.n) as e }",
    )
    for text in texts:
        query = f"query q() {{ match {{ $p: P }} {text} }}"
        assert graph.query(query, runner="spark").rows() == graph.query(query).rows()
    found = graph.query("query q() { match { $p: P } return { sum($p.x) as s } }").rows()
    assert found == [{"s": math.fsum(row["x"] for row in rows if row["x"] is not None)}]


def test_rows_whose_doubles_are_added_up_are_made_once(ants: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    held, hold = [], Lowering.hold

    def counted(low: Lowering, frame: Any) -> Any:
        held.append(frame)
        return hold(low, frame)

    monkeypatch.setattr(Lowering, "hold", counted)
    text = q("$a: Ant", "sum($a.f) as s, avg($a.f) as m, count(*) as n")
    assert ants.query(text, runner="spark").rows() == ants.query(text).rows()
    assert len(held) == 1
    assert len(held[0].columns) == 1, "nothing else of a row is kept"


@pytest.mark.parametrize(("text", "params", "code"), SUITE.ERRORS)
def test_a_faulty_read_fails_with_the_code_the_case_lists(huts: og.Graph, text: str, params: Any, code: str) -> None:
    with pytest.raises(OmnigraphError) as failure:
        huts.query(text, params=params, runner="spark")
    assert failure.value.code == code


def test_columns_and_types_are_the_promised_ones_even_without_rows(huts: og.Graph) -> None:
    text = 'query q() { match { $h: Hut { code: "zz" } } return { $h.name, $h.alt as height, $h, $h.seen, $h.vec } }'
    assert huts.query(text, runner="spark").to_arrow().schema == huts.query(text).to_arrow().schema


@pytest.mark.parametrize("text", OVER_HUTS.values(), ids=OVER_HUTS)
def test_expressions_mean_the_same(huts: og.Graph, text: str) -> None:
    assert huts.query(text, runner="spark").rows() == huts.query(text).rows()


@pytest.fixture(scope="module")
def ants(tmp_path_factory: pytest.TempPathFactory, tuned: Any) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("ants") / "graph.omni", schema=read_graphs.SCHEMA)
    graph.load([json.dumps(record) for record in ANTS], runner="inline")
    return graph


@pytest.mark.parametrize("text", OVER_ANTS.values(), ids=OVER_ANTS)
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
    assert ants.query(OVER_ANTS[name], runner="spark").rows() == ants.query(OVER_ANTS[name]).rows()


@pytest.fixture(scope="module")
def listed_ants(tmp_path_factory: pytest.TempPathFactory, tuned: Any) -> og.Graph:
    """The same graph with neighbour lists beside it, as large tables have them."""
    graph = og.init(tmp_path_factory.mktemp("listed") / "graph.omni", schema=read_graphs.SCHEMA)
    graph.load([json.dumps(record) for record in ANTS], runner="inline")
    keep_lists(graph)
    return graph


@pytest.fixture(scope="module")
def written_ants(tmp_path_factory: pytest.TempPathFactory, tuned: Any) -> og.Graph:
    """Lists of earlier versions beside the graph: since then edges and nodes came, went and changed."""
    graph = og.init(tmp_path_factory.mktemp("written") / "graph.omni", schema=read_graphs.SCHEMA)
    draw = random.Random(5)
    more = [{"type": "Ant", "data": {"k": f"c{at}", "n": at}} for at in range(40)]
    ends = [(draw.randrange(40), draw.randrange(40)) for _ in range(400)]
    walks = [{"edge": "Walks", "from": f"c{a}", "to": f"c{b}", "data": {"w": at}} for at, (a, b) in enumerate(ends)]
    graph.load([json.dumps(record) for record in [*ANTS, *more, *walks]], runner="inline")
    keep_lists(graph)
    graph.mutate('query q() { insert Ant { k: "new", n: 3 } insert Walks { from: "new", to: "a1", w: 9 } }')
    graph.mutate('query q() { insert Walks { from: "c7", to: "new", w: 2 } insert Walks { from: "c7", to: "c7" } }')
    graph.mutate("query q() { update Walks set { w: 70 } where w = 3 }")
    graph.mutate("query q() { delete Walks where w = 5 }")
    graph.mutate('query q() { delete Ant where k = "a2" }')
    return graph


@pytest.mark.parametrize("text", OVER_ANTS.values(), ids=OVER_ANTS)
def test_hops_over_lists_give_what_the_engine_gives(
    listed_ants: og.Graph, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(few, "MOST", -1)
    inline, spark = listed_ants.query(text), listed_ants.query(text, runner="spark")
    assert spark.rows() == inline.rows()
    assert spark.to_arrow().schema == inline.to_arrow().schema


NUMBERED = {
    "the most met": q("$a: Ant $a walks $b", "$b.k, count(*) as n", "order { count(*) desc, $b.k } limit 3"),
    "against the edges": q("$a: Ant $b walks $a", "$b.k, count($a) as n", "order { $b.k }"),
    "all pairs": q("$a: Ant $a walks $b", "$a.k, $b.k as other"),
    "distinct far ends": "query q() { match { $a: Ant $a walks $b } return distinct { $b.k } order { $b.k } }",
    "counted far ends": q("$a: Ant $a walks $b $b walks $c", "count(distinct $c) as n, count(*) as m"),
    "sums of integers": q("$a: Ant $a walks $b", "$b.k, sum($b.n) as s, avg($b.n) as m, min($b.n) as l", "order { s }"),
    "either way": q("$a: Ant $a <walks> $b", "$a.k, $b.k as other"),
    "either way, by edges": q("$a: Ant $a $e:<walks> $b", "$a.k, $b.k as other, $e.w"),
    "edges": q("$a: Ant $a $e:walks $b $e.w > 1", "$a.k, $b.k as other, $e.w"),
    "a triangle": q("$a: Ant $a walks $b $b walks $c $c walks $a", "$a.k, $b.k as b, $c.k as c"),
    "a condition at the far end": q("$a: Ant $a walks $b $b.n > 0 $b walks $c", "$b.k, $c.k as c"),
}


@pytest.mark.parametrize("text", NUMBERED.values(), ids=NUMBERED)
def test_hops_over_lists_read_no_table_of_edges_but_for_bound_ones(
    listed_ants: og.Graph, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(few, "MOST", -1)
    if "$e:" not in text:
        monkeypatch.setattr(Entities, "edges", lambda *_: pytest.fail("a table of edges was read"))
    found = listed_ants.query(text, runner="spark").rows()
    assert found
    assert found == listed_ants.query(text).rows()


@pytest.mark.parametrize("text", NUMBERED.values(), ids=NUMBERED)
def test_after_a_small_write_hops_take_the_rest_from_the_lists_of_before(
    written_ants: og.Graph, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(few, "MOST", -1)
    if "$e:" not in text:
        monkeypatch.setattr(Entities, "edges", lambda *_: pytest.fail("a table of edges was read"))
    found = written_ants.query(text, runner="spark").rows()
    assert found
    assert found == written_ants.query(text).rows()


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
