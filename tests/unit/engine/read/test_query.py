"""Reads end to end on the hut fixture: the language extensions, search and ranking, results, and what is read."""

from __future__ import annotations

import gc
import threading
import weakref
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.compiler.diagnostics import TypeCheckError
from omnigraph.embeddings.provider import MockEmbedder
from omnigraph.engine.read import query as query_module
from omnigraph.engine.read.columns import entities as entities_module
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.frames.run import Run
from omnigraph.errors import (
    BadRequest,
    EmbedderMissing,
    EmbeddingMismatch,
    OmnigraphError,
    ParameterError,
    QueryCancelled,
    QueryNotFound,
    ResourceLimitExceeded,
)
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.testing.graphs.huts import RECORDS, SCHEMA


def ask(graph: og.Graph, match: str, returns: str, tail: str = "", params: str = "", **values: Any) -> list[Any]:
    """The rows; of one column only its values."""
    text = f"query q({params}) {{ match {{ {match} }} return {returns} {tail} }}"
    rows = [tuple(row.values()) for row in graph.query(text, params=values).rows()]
    return [row[0] for row in rows] if rows and len(rows[0]) == 1 else rows


EXTENSIONS = [
    pytest.param("$h: Hut $h.alt is null", "{ $h.code }", "", ["h3"], id="is null"),
    pytest.param("$h: Hut $h.alt is not null", "{ $h.code }", "", ["h1", "h2", "h4"], id="is not null"),
    pytest.param('$h: Hut $h.alt < 1500 or $h.grade = "c"', "{ $h.code }", "", ["h1", "h4"], id="or"),
    pytest.param(
        '$h: Hut ($h.alt < 1500 or $h.grade = "c") $h.open = true', "{ $h.code }", "", ["h1", "h4"], id="grouping"
    ),
    pytest.param('$h: Hut $h.grade in ["a", "b"]', "{ $h.code }", "", ["h1", "h2"], id="in"),
    pytest.param('$h: Hut $h.grade not in ["a", "b"]', "{ $h.code }", "", ["h4"], id="not in drops null"),
    pytest.param("$h: Hut $h.alt - 600 = 600 * 2 - 600", "{ $h.code }", "", ["h1"], id="arithmetic in a filter"),
    pytest.param('$h: Hut { code: "h1" }', "{ $h.alt % 7 as m }", "", [1200 % 7], id="arithmetic in return"),
    pytest.param("$h: Hut $h.alt > -5", "{ $h.code }", "", ["h1", "h2", "h4"], id="negative literal"),
    pytest.param("$h: Hut", "distinct { $h.alt }", "", [1200, 1800, None], id="distinct"),
    pytest.param("$h: Hut", "distinct { $h.alt as a }", "order { a }", [None, 1200, 1800], id="distinct in order"),
    pytest.param("$h: Hut", "{ $h.code }", "limit 2 offset 1", ["h2", "h3"], id="offset"),
    pytest.param("$h: Hut", "{ $h.code }", "limit 9 offset 7", [], id="offset beyond the end"),
    pytest.param("$h: Hut $h path $_", "{ count(*) as n }", "", [5], id="count rows"),
    pytest.param("$h: Hut", "{ count(distinct $h.alt) as n }", "", [2], id="count distinct values"),
    pytest.param("$h: Hut $h $e:path $x", "{ count(distinct $x) as n }", "", [4], id="count distinct nodes"),
    pytest.param(
        "$w: Warden $w $e:guards $h",
        "{ min($e.since) as a, max($e.since) as b }",
        "",
        [("2020-01-01", "2023-06-01")],
        id="min and max of dates",
    ),
    pytest.param('$h: Hut $h.id = "h2"', "{ $h.id }", "", ["h2"], id="node id"),
    pytest.param('$h: Hut $h $e:path $x $e.id = "p3"', "{ $h.code, $x.code }", "", [("h3", "h1")], id="edge id"),
    pytest.param("$a: Hut $b: Hut $a = $b", "{ count(*) as n }", "", [4], id="node equality"),
    pytest.param("$a: Hut $a path $b $a != $b", "{ count(*) as n }", "", [4], id="node inequality"),
    pytest.param("$a: Hut $b: Hut $a.alt = $b.alt $a != $b", "{ $a.code }", "", ["h2", "h4"], id="value join"),
    pytest.param(
        "$a: Hut $b: Hut $a.alt < $b.alt", "{ $a.code, $b.code }", "", [("h1", "h2"), ("h1", "h4")], id="<join"
    ),
]


@pytest.mark.parametrize(("match", "returns", "tail", "expected"), EXTENSIONS)
def test_extensions_execute(huts: og.Graph, match: str, returns: str, tail: str, expected: list[Any]) -> None:
    assert ask(huts, match, returns, tail) == expected


def test_limit_and_offset_take_parameters(huts: og.Graph) -> None:
    page = "limit $n offset $o"
    assert ask(huts, "$h: Hut", "{ $h.code }", page, "$n: I64, $o: I64", n=2, o=1) == ["h2", "h3"]
    with pytest.raises(ParameterError, match="P004: limit must not be negative"):
        ask(huts, "$h: Hut", "{ $h.code }", page, "$n: I64, $o: I64", n=-1, o=0)


def test_now_is_one_instant_in_a_read(huts: og.Graph) -> None:
    (first, second), *rest = ask(huts, "$h: Hut", "{ now() as a, now() as b }")
    assert first == second
    assert all(row == (first, second) for row in rest)
    assert ask(huts, "$h: Hut $h.seen < now()", "{ $h.code }") == []


def test_rebinding_adds_conditions(huts: og.Graph) -> None:
    assert ask(huts, "$h: Hut { alt: 1800 } $h: Hut { open: true }", "{ $h.code }") == ["h4"]


def test_blocks_nest_and_double_negation_means_that_something_exists(huts: og.Graph) -> None:
    assert ask(huts, "$h: Hut not { not { $w guards $h } $h.code != $h.name }", "{ $h.code }") == ["h1", "h2"]


def test_a_block_without_links_compares_with_every_node(huts: og.Graph) -> None:
    assert ask(huts, "$h: Hut not { $o: Hut $o.alt > $h.alt }", "{ $h.code }") == ["h2", "h3", "h4"]


def test_two_blocks_may_reuse_a_name_for_different_types(huts: og.Graph) -> None:
    found = ask(huts, "$h: Hut not { $x guards $h } not { $h path $x $x.alt > 1500 }", "{ $h.code }")
    assert found == ["h3"]


def test_a_walk_against_the_edges_counts_the_loop_at_its_own_start(huts: og.Graph) -> None:
    assert ask(huts, '$x: Hut { code: "h4" } $h path{2,2} $x', "{ $h.code }") == ["h1", "h3"]
    assert ask(huts, '$x: Hut { code: "h4" } $h path{1,1} $x', "{ $h.code }") == ["h1", "h4"]
    bound = '$h: Hut $x: Hut { code: "h4" } $h path{2,2} $x'
    assert ask(huts, bound, "{ $h.code }") == ["h1", "h3"]


def test_an_undirected_walk_may_start_at_either_end(huts: og.Graph) -> None:
    assert ask(huts, '$x: Hut { code: "h4" } $h <path>{2,2} $x', "{ $h.code }") == ["h1", "h2", "h3"]
    assert ask(huts, '$x: Hut { code: "h4" } $x <path>{2,2} $h', "{ $h.code }") == ["h2", "h3"]


def test_groups_come_in_the_order_of_their_keys_and_nulls_form_one(huts: og.Graph) -> None:
    assert ask(huts, "$h: Hut", "{ $h.alt, count(*) as n }") == [(None, 1), (1200, 1), (1800, 2)]


def test_a_node_groups_by_what_it_is_and_returns_as_an_object(huts: og.Graph) -> None:
    rows = huts.query("query q() { match { $w: Warden $w guards $h } return { $w, count($h) as n } }").rows()
    assert rows[0] == {"w": {"id": "w1", "age": 40, "badge": "w1", "name": "Ilse"}, "n": 2}


def test_a_node_can_return_as_its_id(huts: og.Graph) -> None:
    found = huts.query("query q() { match { $w: Warden } return { $w } }", node_ids=True)
    assert found.rows() == [{"w": "w1"}, {"w": "w2"}, {"w": "w3"}]


# --- search and ranking ----------------------------------------------------------------------


def test_text_predicates_apply_to_traversed_variables_and_conjoin(huts: og.Graph) -> None:
    match = '$h: Hut $h path $x search($x.name, "rest") search($x.name, "alpin")'
    assert ask(huts, match, "{ $h.code }") == ["h1"]
    assert ask(huts, match + ' search($x.name, "cabin")', "{ $h.code }") == []


def test_text_predicates_work_inside_a_block_and_as_values(huts: og.Graph) -> None:
    assert ask(huts, '$h: Hut not { search($h.name, "alpin cabin") }', "{ $h.code }") == ["h1", "h3"]
    assert ask(huts, '$h: Hut search($h.name, "rest") = false', "{ $h.code }") == ["h1", "h3", "h4"]
    assert ask(huts, "$h: Hut", '{ $h.code, match_text($h.name, "alm") as m }')[:2] == [("h1", True), ("h2", False)]


def test_fuzzy_allows_a_few_edits(huts: og.Graph) -> None:
    assert ask(huts, '$h: Hut fuzzy($h.name, "kabin")', "{ $h.code }") == ["h4"]
    assert ask(huts, '$h: Hut fuzzy($h.name, "kabim", 1)', "{ $h.code }") == []
    assert ask(huts, '$h: Hut fuzzy($h.name, "kabim", 2)', "{ $h.code }") == ["h4"]


def test_the_query_of_a_text_predicate_may_differ_from_row_to_row(huts: og.Graph) -> None:
    assert ask(huts, "$a: Hut $b: Hut search($a.name, $b.name) $a != $b", "{ $a.code }") == []
    assert ask(huts, "$a: Hut $b: Hut search($a.name, $b.name)", "{ $a.code }") == ["h1", "h2", "h3", "h4"]


def test_ranking_looks_at_what_satisfies_the_whole_match(huts: og.Graph) -> None:
    rank = "order { nearest($h.vec, [3.0, 0.0]) } limit 1"
    assert ask(huts, "$h: Hut", "{ $h.code }", rank) == ["h3"]
    assert ask(huts, "$w: Warden $w guards $h", "{ $h.code }", rank) == ["h2"]
    assert ask(huts, "$h: Hut not { $h path $x $x.alt is not null }", "{ $h.code }", rank) == ["h2"]


def test_rows_of_one_ranked_entity_stay_together_and_the_limit_counts_rows(huts: og.Graph) -> None:
    found = ask(
        huts, "$w: Warden $w guards $h", "{ $h.code, $w.badge }", "order { nearest($h.vec, [9.0, 0.0]) } limit 3"
    )
    assert found == [("h2", "w1"), ("h2", "w2"), ("h1", "w1")]


def test_scores_are_ordinary_columns(huts: og.Graph) -> None:
    found = ask(huts, "$h: Hut", "{ $h.code, nearest($h.vec, [0.0, 0.0]) as d }")
    assert found == [("h1", 0.0), ("h2", 1.0), ("h3", 3.0), ("h4", None)]
    scores = dict(ask(huts, "$h: Hut", '{ $h.code, bm25($h.name, "alpin") as s }'))
    assert scores["h2"] > 0
    assert (scores["h1"], scores["h3"], scores["h4"]) == (0.0, 0.0, 0.0)


def test_a_score_does_not_depend_on_the_filters_around_it(huts: og.Graph) -> None:
    returns = '{ bm25($h.name, "alpin") as s }'
    assert ask(huts, '$h: Hut { code: "h2" }', returns) == ask(huts, "$h: Hut $h.alt = 1800 $h.open = false", returns)


def test_keys_after_a_rank_break_its_ties(huts: og.Graph) -> None:
    found = ask(huts, "$w: Warden $w guards $h", "{ $w.badge }", 'order { bm25($h.name, "alpin"), $w.age }')
    assert found == ["w2", "w1"]


def test_text_is_embedded_by_the_given_model(tmp_path: Path) -> None:
    schema = 'node Doc { k: String @key  body: String?  vec: Vector(8)? @embed("body", model="m1") }'
    graph = og.init(tmp_path / "graph.omni", schema=schema)
    vector = MockEmbedder("m1").embed(["stone"], 8, "document")[0]
    graph.load([f'{{"type":"Doc","data":{{"k":"a","vec":{vector}}}}}', '{"type":"Doc","data":{"k":"b"}}'])
    text = 'query q() { match { $d: Doc } return { $d.k } order { nearest($d.vec, "stone") } limit 3 }'
    assert graph.query(text, embedder=MockEmbedder("m1")).rows() == [{"d.k": "a"}]
    with pytest.raises(EmbeddingMismatch, match="R003"):
        graph.query(text, embedder=MockEmbedder("m2"))


def test_text_without_any_provider_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = (
        "OPENROUTER_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "OMNIGRAPH_EMBEDDINGS_MOCK",
        "OMNIGRAPH_EMBED_PROVIDER",
    )
    for name in names:
        monkeypatch.delenv(name, raising=False)
    graph = og.init(tmp_path / "graph.omni", schema="node Doc { k: String @key  vec: Vector(8)? }")
    graph.load(['{"type":"Doc","data":{"k":"b"}}'])
    text = 'query q() { match { $d: Doc } return { $d.k } order { nearest($d.vec, "stone") } limit 3 }'
    with pytest.raises(EmbedderMissing, match="R004"):
        graph.query(text)
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    assert graph.query(text).rows() == []


# --- results ---------------------------------------------------------------------------------


def test_a_result_is_arrow_first_and_knows_where_it_was_read(huts: og.Graph) -> None:
    found = huts.query("query names() { match { $h: Hut } return { $h.code as c, $h.alt } limit 2 }")
    assert found.query_name == "names"
    assert found.columns == ("c", "h.alt")
    assert len(found) == 2
    assert found.commit_id == huts.view().head
    assert found.to_arrow().equals(pa.table({"c": ["h1", "h2"], "h.alt": pa.array([1200, 1800], pa.int32())}))
    assert found.to_json() == '[{"c":"h1","h.alt":1200},{"c":"h2","h.alt":1800}]'
    assert list(found) == found.rows()
    assert str(found).splitlines()[0].split() == ["c", "|", "h.alt"]
    assert '<td style="text-align: left">h1</td><td style="text-align: right">1200</td>' in found._repr_html_()
    assert repr(found) == "Result(query='names', rows=2, columns=['c', 'h.alt'])"


def test_a_result_becomes_a_pandas_or_polars_frame(huts: og.Graph) -> None:
    found = huts.query("query q() { match { $h: Hut } return { $h.code as c } limit 2 }")
    assert found.to_pandas()["c"].tolist() == ["h1", "h2"]
    assert found.to_polars()["c"].to_list() == ["h1", "h2"]


def test_no_rows_keep_names_and_types(huts: og.Graph) -> None:
    text = 'query q() { match { $h: Hut { code: "zz" } $h path $x } return { $x.alt, $x.vec, $x, $x.alt / 2 as d } }'
    schema = huts.query(text).to_arrow().schema
    assert schema.names == ["x.alt", "x.vec", "x", "d"]
    assert schema.field("x.vec").type == pa.list_(pa.float32(), 2)
    assert schema.field("x").type.field(0).name == "id"
    assert schema.field("d").type == pa.float64()


def test_a_single_value_can_be_taken_out(huts: og.Graph) -> None:
    assert huts.query("query q() { match { $h: Hut } return { count($h) as n } }").scalar() == 4
    with pytest.raises(BadRequest, match="4 rows and 1 column"):
        huts.query("query q() { match { $h: Hut } return { $h.code } }").scalar()


def test_a_query_is_picked_by_name_and_must_be_a_read(huts: og.Graph) -> None:
    both = "query a() { match { $h: Hut } return { count(*) as n } } query b() { match { $w: Warden } return { count(*) as n } }"
    assert huts.query(both, name="b").scalar() == 3
    with pytest.raises(QueryNotFound, match="available: a, b"):
        huts.query(both, name="c")
    with pytest.raises(OmnigraphError) as failure:
        huts.query('query m() { insert Warden { badge: "x" name: "y" } }')
    assert failure.value.code == "R002"
    with pytest.raises(BadRequest, match="runner 'abacus'"):
        huts.query(both, name="a", runner="abacus")


def test_explain_shows_the_plan_and_the_result_what_it_cost(huts: og.Graph) -> None:
    text = "query q($c: String) { match { $h: Hut { code: $c } not { $w guards $h } } return { $h.name } }"
    plan = str(huts.explain(text))
    assert plan.splitlines()[:3] == [
        "scan $h: Hut where $h.code = :c keeping $h.name  [~1 row]",
        "anti-join on $h  [~1 row]",
        "  expand $h in Guards $w: Warden  [~1 row]",
    ]
    ran = huts.query(text, params={"c": "h3"}).explanation.to_dict()
    assert [(step["depth"], step["rows"]) for step in ran["operators"]] == [(0, 1), (0, 1), (1, 0), (0, 1), (0, 1)]
    assert [read["table"] for read in ran["reads"]] == ["edge:Guards", "node:Hut", "node:Warden"]


@pytest.mark.parametrize("match", ["$h: Hut", "$w: Warden $w guards $h", "$w: Warden $w guards{1,2} $h"])
def test_nothing_of_a_read_waits_for_the_garbage_collector(
    huts: og.Graph, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[weakref.ref[Run]] = []

    class Watched(Run):
        def __post_init__(self) -> None:
            super().__post_init__()
            runs.append(weakref.ref(self))

    monkeypatch.setattr(query_module, "Run", Watched)
    gc.disable()
    try:
        result = huts.query(f"query q() {{ match {{ {match} }} return {{ $h.name }} }}")
        assert [run() for run in runs] == [None]
        assert result.explanation.to_dict()["reads"], "what it cost is still known"
    finally:
        gc.enable()


# --- what is read ----------------------------------------------------------------------------


@pytest.fixture
def reads(huts: og.Graph, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...]]]:
    """(table, columns) of every read that reaches storage, with nothing cached beforehand."""
    huts._core.store.memory.clear()
    seen: list[tuple[str, tuple[str, ...]]] = []
    names = {entry.location: entry.table_key for entry in huts.snapshot()}

    def spy(method: str) -> None:
        original = getattr(TableHandle, method)

        def wrapper(self: TableHandle, *args: Any, **kwargs: Any) -> Any:
            columns = kwargs.get("columns", args[0] if method == "scan" else args[1])
            if self.address.location in names:
                seen.append((names[self.address.location], tuple(sorted(set(columns) - {"_rowid"}))))
            return original(self, *args, **kwargs)

        monkeypatch.setattr(TableHandle, method, wrapper)

    spy("scan")
    spy("take_rows")
    return seen


@pytest.mark.parametrize("small", [0, 4_096], ids=["by filter", "in memory"])
def test_a_query_reads_only_the_columns_it_uses(
    huts: og.Graph, reads: list[Any], small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entities_module, "SMALL_TABLE", small)
    assert ask(huts, "$h: Hut $h.alt = 1200", "{ $h.name }") == ["Alm"]
    assert {table for table, _ in reads} == {"node:Hut"}
    assert {name for _, columns in reads for name in columns} <= {"alt", "name"}


def test_a_query_opens_no_table_that_an_empty_match_does_not_need(huts: og.Graph, reads: list[Any]) -> None:
    assert ask(huts, '$w: Warden { badge: "zz" } $w guards $h $h path $x', "{ $x.name }") == []
    assert {table for table, _ in reads} == {"node:Warden"}


def test_counting_neighbours_reads_no_property(huts: og.Graph, reads: list[Any]) -> None:
    assert ask(huts, "$h: Hut $h path $x", "{ count(*) as n }") == [5]
    assert {name for _, columns in reads for name in columns} <= {"id", "src", "dst"}


def test_what_is_impossible_is_answered_without_reading(huts: og.Graph, reads: list[Any]) -> None:
    assert ask(huts, "$h: Hut $h.name = $n", "{ $h.code }", params="$n: String?") == []
    assert reads == []


# --- limits and other moments ----------------------------------------------------------------


def test_a_cancelled_query_stops(huts: og.Graph) -> None:
    flag = threading.Event()
    flag.set()
    with pytest.raises(QueryCancelled):
        huts.query("query q() { match { $h: Hut } return { $h.code } }", cancel=flag)


@pytest.mark.parametrize(
    ("limits", "resource"),
    [
        (Limits(rows=10), "query_intermediate_rows"),
        (Limits(bytes=100), "query_bytes"),
        (Limits(result_rows=10), "query_rows"),
        (Limits(seconds=0.0), "query_time_ms"),
    ],
)
def test_a_query_beyond_its_budget_is_refused(huts: og.Graph, limits: Limits, resource: str) -> None:
    with pytest.raises(ResourceLimitExceeded) as failure:
        huts.query("query q() { match { $a: Hut $b: Hut $c: Hut } return { $a.code } }", limits=limits)
    assert failure.value.resource == resource


def test_branches_and_past_commits_are_read_as_they_are(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph.omni", schema=SCHEMA)
    before = graph.load(RECORDS.strip().splitlines()).commit_id
    graph.branches.create("side")
    graph.mutate('query m() { delete Hut where code = "h1" }', branch="side")
    text = "query q() { match { $h: Hut $h path $x } return { count(*) as n } }"
    assert graph.query(text).scalar() == 5
    assert graph.query(text, branch="side").scalar() == 2
    graph.mutate('query m() { insert Path { from: "h2" to: "h4" } }')
    assert graph.query(text).scalar() == 6
    assert graph.query(text, at=before).scalar() == 5
    assert graph.at(before).query(text).scalar() == 5


def test_what_did_not_exist_yet_is_unknown_then(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph.omni", schema="node A { k: String @key }")
    first = graph.load(['{"type":"A","data":{"k":"a"}}']).commit_id
    graph.schema.apply("node A { k: String @key  n: I32? }\nnode B { k: String @key }")
    for text in ("{ match { $b: B } return { $b.k } }", "{ match { $a: A } return { $a.n } }"):
        with pytest.raises(TypeCheckError):  # a commit is read with the schema of its time (decision 14)
            graph.query(f"query q() {text}", at=first)
    assert graph.query("query q() { match { $a: A } return { $a.k } }", at=first).rows() == [{"a.k": "a"}]


def test_a_renamed_property_is_read_under_the_name_of_its_time(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph.omni", schema="node A { k: String @key  old: I32? }")
    first = graph.load(['{"type":"A","data":{"k":"a","old":7}}', '{"type":"A","data":{"k":"b","old":8}}']).commit_id
    graph.schema.apply('node A { k: String @key  new: I32? @rename_from("old") }')
    text = "query q() { match { $a: A $a.new > 7 } return { $a.k, $a.new } }"
    assert graph.query(text.replace("new", "old"), at=first).rows() == [{"a.k": "b", "a.old": 8}]
    assert graph.query(text).rows() == [{"a.k": "b", "a.new": 8}]


def test_one_handle_serves_many_threads(huts: og.Graph) -> None:
    text = "query q() { match { $h: Hut $h path{1,3} $x } return { count(*) as n } }"
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(huts.query(text).scalar())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [found[0]] * 8


def test_an_unknown_traversal_mode_is_refused(huts: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_TRAVERSAL_MODE", "fast")
    with pytest.raises(BadRequest, match="must be 'indexed' or 'csr', not 'fast'"):
        huts.query("query q() { match { $h: Hut } return { $h.code } }")


def test_rows_of_a_result_have_places(huts: og.Graph) -> None:
    found = huts.query("query q() { match { $h: Hut } return { $h.code as c } order { $h.code } }")
    codes = [row["c"] for row in found]
    assert found[0] == {"c": codes[0]}
    assert found[-1] == {"c": codes[-1]}
    assert [row["c"] for row in found[1:3]] == codes[1:3]
    assert [row["c"] for row in found[::-1]] == codes[::-1]
    assert found[5:2].commit_id == found.commit_id
    with pytest.raises(IndexError, match=rf"row {len(codes)} of {len(codes)} rows"):
        found[len(codes)]


def test_the_release_is_named() -> None:
    assert og.__version__ == metadata.version("omnigraph")
