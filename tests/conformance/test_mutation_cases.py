"""Mutations and loads through the SDK: the query language's cases 66 to 83 and the write cases W1 to W25 and W50."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.ir.plan import MutationPlan
from omnigraph.engine.intake.embedding import Filling
from omnigraph.engine.views.view import View
from omnigraph.engine.write.reads import Reads
from omnigraph.engine.write.statements import Effects, Request, execute
from omnigraph.errors import KeyConflict, OmnigraphError, PreconditionFailed
from omnigraph.storage.base import failpoints
from omnigraph.storage.lance.tables import latest_version
from omnigraph.testing.graphs.coverage import COVERAGES, load_covered
from omnigraph.testing.graphs.huts import EARLIER
from omnigraph.testing.naive.constraints import Image
from omnigraph.testing.naive.observe import image_of

SCHEMA = """
node Hut {
  code: String @key  name: String @index  alt: I32?  open: Bool?  grade: enum(a, b, c)?  tags: [String]?
  built: Date?  seen: DateTime?  vec: Vector(2)?  pic: Blob?
}
node Warden { badge: String @key  name: String  age: I32? }
edge Path: Hut -> Hut { minutes: I32? }
edge Guards: Warden -> Hut { since: Date? }
"""
HUTS = {
    "h1": {"name": "Alm", "alt": 1200, "open": True, "grade": "a", "tags": ["wood", "stove"], "vec": [0, 0]},
    "h2": {"name": "Alpin Rest", "alt": 1800, "open": False, "grade": "b", "tags": ["stove"], "vec": [1, 0]},
    "h3": {"name": "Bergheim", "vec": [3, 0]},
    "h4": {"name": "Cabin", "alt": 1800, "open": True, "grade": "c", "tags": []},
}
PATHS = {
    "p1": ("h1", "h2", 40), "p2": ("h2", "h3", 60), "p3": ("h3", "h1", 90),
    "p4": ("h1", "h2", 55), "p5": ("h4", "h4", 10), "p6": ("h1", "h4", None),
}  # fmt: skip
GUARDS = {"g1": ("w1", "h1", "2020-01-01"), "g2": ("w1", "h2", None), "g3": ("w2", "h2", "2023-06-01")}
RECORDS = [
    *({"type": "Hut", "data": {"code": code, **data}} for code, data in HUTS.items()),
    *({"type": "Warden", "data": {"badge": b, "name": n, "age": a}} for b, n, a in [("w1", "Ilse", 40), ("w2", "Bruno", 30), ("w3", "Cleo", None)]),
    *({"edge": "Path", "from": a, "to": b, "data": {"id": i, "minutes": m}} for i, (a, b, m) in PATHS.items()),
    *({"edge": "Guards", "from": a, "to": b, "data": {"id": i, "since": s}} for i, (a, b, s) in GUARDS.items()),
]  # fmt: skip


def lines(*records: dict[str, Any]) -> list[str]:
    return [json.dumps(record) for record in records]


@pytest.fixture(scope="module", params=COVERAGES)
def prepared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture graph under each index coverage, made once; each test works on its own copy."""
    place = tmp_path_factory.mktemp("huts") / "g.omni"
    load_covered(og.init(place, SCHEMA), EARLIER.strip().splitlines(), lines(*RECORDS), request.param)
    return place


@pytest.fixture
def huts(prepared: Path, tmp_path: Path) -> og.Graph:
    shutil.copytree(prepared, tmp_path / "g.omni")
    return og.open(tmp_path / "g.omni")


def rows(graph: og.Graph) -> Image:
    """Everything a graph holds: table key → id → row."""
    return image_of(graph.view())


def state(graph: og.Graph) -> tuple[Any, ...]:
    """What must not move when a write is refused: published pins, newest table versions, head, sidecars."""
    snapshot = graph.snapshot()
    root = graph._core.store.root
    heads = [latest_version(entry.address(root)) for entry in snapshot]
    sidecars = list(Path(graph.uri, "__recovery").glob("*.json"))
    return snapshot.manifest_version, snapshot.pins(), heads, graph.commits.head(), sidecars


def mutation(body: str, params: str = "") -> str:
    return f"query q({params}) {{ {body} }}"


# --- the query language's numbered cases -------------------------------------------------------------

NEW_HUT = 'insert Hut { code: "h9", name: "N" }'
EFFECTS: list[Any] = [
    pytest.param('insert Hut { code: "h1", name: "New" }', 1, 0, id="query-68"),
    pytest.param('insert Path { from: "h8", to: "h1" } insert Hut { code: "h8", name: "N" }', 1, 1, id="query-72"),
    pytest.param("update Hut set { open: true } where alt = 1800", 2, 0, id="query-74"),
    pytest.param("update Hut set { alt: 1 } where alt != 1800", 1, 0, id="query-75"),
    # Updating edges is one of the extensions, so the case that used to be T16 has an effect now.
    pytest.param('update Path set { minutes: 1 } where from = "h1"', 0, 3, id="query-77"),
    pytest.param(
        'update Hut set { alt: 9 } where code = "h1" update Hut set { name: "low" } where alt < 10', 2, 0, id="query-78"
    ),
    pytest.param('delete Hut where code = "h2"', 1, 5, id="query-79"),
    pytest.param('delete Hut where code = "h1" delete Hut where alt < 1500', 1, 5, id="query-80"),
    pytest.param('delete Path where from = "h1"', 0, 3, id="query-81"),
    # Rich predicates are extensions too: neither `contains` nor `id` is an error any more.
    pytest.param('delete Hut where name contains "x"', 0, 0, id="query-83-contains"),
    pytest.param('delete Hut where id = "h1"', 1, 5, id="query-83-id"),
]


@pytest.mark.parametrize(("body", "nodes", "edges"), EFFECTS)
def test_a_mutation_touches_as_many_entities_as_the_case_says(
    huts: og.Graph, body: str, nodes: int, edges: int
) -> None:
    done = huts.mutate(mutation(body))
    assert (done.affected_nodes, done.affected_edges) == (nodes, edges)
    assert (done.commit is None) == (nodes + edges == 0)


REFUSALS: list[Any] = [
    pytest.param('insert Hut { code: "h9" }', "T12", id="query-69"),
    pytest.param('insert Hut { code: "h9", name: "N", alt: 99999999999 }', "W003", id="query-70"),
    pytest.param('insert Path { from: "h1", to: "zz" }', "W013", id="query-71"),
    pytest.param('insert Path { to: "h1" }', "T12", id="query-73-endpoint"),
    pytest.param("insert Lake { x: 1 }", "T10", id="query-73-type"),
    pytest.param('insert Hut { code: "a", code: "b", name: "c" }', "T13", id="query-73-twice"),
    pytest.param('update Hut set { code: "x" } where code = "h1"', "T29", id="query-76"),
    pytest.param(f'{NEW_HUT} delete Hut where code = "h1"', "T28", id="query-82"),
]


@pytest.mark.parametrize(("body", "code"), REFUSALS)
def test_a_faulty_mutation_is_refused_and_nothing_moves(huts: og.Graph, body: str, code: str) -> None:
    before = state(huts)
    with pytest.raises(OmnigraphError) as refusal:
        huts.mutate(mutation(body))
    assert refusal.value.code == code
    assert state(huts) == before


@pytest.mark.parametrize(
    ("params", "code"),
    [
        pytest.param({"n": "9007199254740993"}, None, id="query-66-exact"),
        pytest.param({"n": 1.5}, "P003", id="query-66-fraction"),
        pytest.param({}, "P006", id="query-66-missing"),
        pytest.param({"n": None}, "P002", id="query-66-null"),
    ],
)
def test_an_integer_parameter_is_exact_or_refused(tmp_path: Path, params: dict[str, Any], code: str | None) -> None:
    graph = og.init(tmp_path / "g.omni", "node Big { key: String @key  n: I64? }")
    text = mutation('insert Big { key: "k", n: $n }', "$n: I64")
    if code is None:
        graph.mutate(text, params=params)
        assert graph.get("Big", "k") == {"id": "k", "key": "k", "n": 9007199254740993}
        return
    with pytest.raises(OmnigraphError) as refusal:
        graph.mutate(text, params=params)
    assert refusal.value.code == code


@pytest.mark.parametrize("case", ["query-67"])
def test_a_null_parameter_matches_nothing(huts: og.Graph, case: str) -> None:
    done = huts.mutate(mutation("update Hut set { alt: 1 } where name = $n", "$n: String?"), params={})
    assert (done.affected_nodes, done.commit) == (0, None)


@pytest.mark.parametrize("case", ["query-68"])
def test_an_insert_by_key_replaces_the_whole_row(huts: og.Graph, case: str) -> None:
    huts.mutate(mutation('insert Hut { code: "h1", name: "New" }'))
    found = huts.get("Hut", "h1")
    assert found is not None
    assert (found["name"], found["alt"], found["tags"], found["vec"]) == ("New", None, None, None)
    assert len(rows(huts)["node:Hut"]) == 4


@pytest.mark.parametrize("case", ["query-79"])
def test_a_deleted_node_takes_its_edges_along(huts: og.Graph, case: str) -> None:
    huts.mutate(mutation('delete Hut where code = "h2"'))
    left = rows(huts)
    assert sorted(left["edge:Path"]) == ["p3", "p5", "p6"]
    assert sorted(left["edge:Guards"]) == ["g1"]


@pytest.mark.parametrize("case", ["query-82"])
def test_a_mixture_is_refused_before_anything_is_read(huts: og.Graph, case: str) -> None:
    with failpoints.armed("recovery.sidecar_list=raise"), pytest.raises(OmnigraphError) as refusal:
        huts.mutate(mutation(f'{NEW_HUT} delete Hut where code = "h1"'))
    assert refusal.value.code == "T28"


# --- values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "declared", "given", "stored"),
    [
        pytest.param("F64", "I64", 7, 7.0, id="D32-integer-to-double"),
        pytest.param("F32", "I64", 16777217, 16777216.0, id="D32-integer-to-float"),
        pytest.param("I32", "I64", -5, -5, id="narrower-integer-in-range"),
        pytest.param("U64", "U64", 2**64 - 1, 2**64 - 1, id="largest-unsigned"),
        pytest.param("F32", "F64", 0.1, 0.10000000149011612, id="float-rounds-to-its-width"),
        pytest.param("Blob", "String", "base64:aGk=", "base64:aGk=", id="string-parameter-to-blob"),
        pytest.param("[I32]", "[I64]", [1, 2], [1, 2], id="list-of-narrower-integers"),
        pytest.param("DateTime", "DateTime", "2024-01-02T03:04:05+02:00", "2024-01-02T01:04:05.000Z", id="zone"),
    ],
)
def test_values_are_converted_when_no_meaning_is_lost(
    tmp_path: Path, kind: str, declared: str, given: Any, stored: Any
) -> None:
    graph = og.init(tmp_path / "g.omni", f"node T {{ k: String @key  v: {kind}? }}")
    graph.mutate(mutation('insert T { k: "a", v: $v }', f"$v: {declared}"), params={"v": given})
    graph.mutate(mutation('insert T { k: "b" }'))
    graph.mutate(mutation('update T set { v: $v } where k = "b"', f"$v: {declared}"), params={"v": given})
    assert [graph.get("T", key) for key in "ab"] == [{"id": key, "k": key, "v": stored} for key in "ab"]


@pytest.mark.parametrize(
    ("kind", "declared", "given", "code"),
    [
        pytest.param("I32", "F64", 1.0, "W002", id="float-to-integer"),
        pytest.param("I32", "I64", 2**31, "W003", id="integer-out-of-range"),
        pytest.param("U32", "I64", -1, "W003", id="negative-to-unsigned"),
        pytest.param("F32", "F64", 1e39, "W004", id="float-overflow"),
        pytest.param("enum(a, b)", "String", "z", "W006", id="no-enum-member"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_insert_and_by_update(
    tmp_path: Path, kind: str, declared: str, given: Any, code: str
) -> None:
    graph = og.init(tmp_path / "g.omni", f"node T {{ k: String @key  v: {kind}? }}")
    graph.mutate(mutation('insert T { k: "b" }'))
    for body in ('insert T { k: "a", v: $v }', 'update T set { v: $v } where k = "b"'):
        with pytest.raises(OmnigraphError) as refusal:
            graph.mutate(mutation(body, f"$v: {declared}"), params={"v": given})
        assert refusal.value.code == code
    assert [row["v"] for row in rows(graph)["node:T"].values()] == [None]


def test_now_is_one_instant_in_a_whole_mutation(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node T { k: String @key  at: DateTime }")
    graph.mutate(mutation('insert T { k: "a", at: now() } insert T { k: "b", at: now() }'))
    moments = {row["at"] for row in rows(graph)["node:T"].values()}
    assert len(moments) == 1
    assert graph.mutate(mutation("update T set { at: now() } where at <= now()")).affected_nodes == 2


def test_an_update_keeps_every_property_it_does_not_name(tmp_path: Path) -> None:
    graph = og.init(
        tmp_path / "g.omni",
        "node T { k: String @key  b: Blob?  v: Vector(2)?  l: [I64]?  d: Date?  t: DateTime?  n: I32? }",
    )
    data = {
        "k": "a",
        "b": "base64:AAEC",
        "v": [1, 2.5],
        "l": [1, 2],
        "d": "2020-02-29",
        "t": "2020-01-01T00:00:00.123Z",
    }
    graph.load(lines({"type": "T", "data": data}), "append")
    before = graph.get("T", "a")
    graph.mutate(mutation('update T set { n: 1 } where k = "a"'))
    assert before is not None
    assert graph.get("T", "a") == {**before, "n": 1}


# --- W1 to W21: one query, one commit ----------------------------------------------------------------

PEOPLE = """
node Person { name: String @key  age: I32?  mail: String? @unique }
node Pet { name: String }
edge Knows: Person -> Person
"""


def people(place: Path, schema: str = PEOPLE, *names: str) -> og.Graph:
    graph = og.init(place / "g.omni", schema)
    if names:
        graph.load(lines(*({"type": "Person", "data": {"name": name}} for name in names)), "append")
    return graph


def knows(source: str, target: str, edge_id: str | None = None) -> dict[str, Any]:
    data = {"id": edge_id} if edge_id else {}
    return {"edge": "Knows", "from": source, "to": target, "data": data}


@pytest.mark.parametrize("case", ["W1"])
def test_several_statements_are_one_commit_and_one_version_per_table(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path)
    before = graph.snapshot()
    graph.mutate(
        mutation('insert Person { name: "a" } insert Person { name: "b" } insert Knows { from: "a", to: "b" }')
    )
    after = graph.snapshot()
    assert after.manifest_version == before.manifest_version + 1
    assert len(graph.commits.list()) == 2
    moved = {key: version - before.pins()[key] for key, version in after.pins().items()}
    assert moved == {"edge:Knows": 1, "node:Person": 1, "node:Pet": 0}


@pytest.mark.parametrize("case", ["W2"])
def test_a_failing_second_statement_leaves_nothing_and_the_next_write_works(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path, PEOPLE, "a")
    before = state(graph)
    with pytest.raises(OmnigraphError) as refusal:
        graph.mutate(mutation('insert Person { name: "b" } insert Knows { from: "b", to: "zz" }'))
    assert refusal.value.code == "W013"
    assert state(graph) == before
    graph.mutate(mutation('insert Person { name: "b" }'))
    assert sorted(rows(graph)["node:Person"]) == ["a", "b"]


@pytest.mark.parametrize("case", ["W3"])
def test_an_edge_may_point_to_a_node_of_the_same_query(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path)
    graph.mutate(mutation('insert Person { name: "a" } insert Knows { from: "a", to: "a" }'))
    assert len(rows(graph)["edge:Knows"]) == 1


@pytest.mark.parametrize("case", ["W4"])
def test_an_insert_updated_in_the_same_query_is_one_row(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path)
    done = graph.mutate(mutation('insert Person { name: "a", age: 1 } update Person set { age: 2 } where name = "a"'))
    assert done.affected_nodes == 2
    assert [row["age"] for row in rows(graph)["node:Person"].values()] == [2]


@pytest.mark.parametrize("case", ["W5"])
def test_a_later_predicate_sees_the_pending_value(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path)
    graph.mutate(mutation('insert Person { name: "a", age: 1 } insert Person { name: "b", age: 1 }'))
    first, second = 'update Person set { age: 5 } where name = "a"', "update Person set { age: 9 } where age = 1"
    assert graph.mutate(mutation(f"{first} {second}")).affected_nodes == 2
    assert {row["name"]: row["age"] for row in rows(graph)["node:Person"].values()} == {"a": 5, "b": 9}


@pytest.mark.parametrize("case", ["W6"])
def test_inserting_and_deleting_in_one_query_is_refused_before_any_io(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path, PEOPLE, "a")
    shutil.rmtree(tmp_path / "g.omni")  # nothing is left that could be read
    with pytest.raises(OmnigraphError) as refusal:
        graph.mutate(mutation('insert Person { name: "b" } delete Person where name = "a"'))
    assert refusal.value.code == "T28"
    assert refusal.value.http_status == 400


@pytest.mark.parametrize("case", ["W7"])
def test_overlapping_deletes_count_each_entity_once(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path)
    ages = {"Alice": 30, "Bob": 20, "Charlie": 35}
    graph.load(lines(*({"type": "Person", "data": {"name": n, "age": a}} for n, a in ages.items())), "append")
    graph.load(lines(knows("Alice", "Bob"), knows("Charlie", "Alice"), knows("Bob", "Charlie")), "append")
    done = graph.mutate(mutation('delete Person where name = "Alice" delete Person where age > 29'))
    assert (done.affected_nodes, done.affected_edges) == (2, 3)
    assert sorted(rows(graph)["node:Person"]) == ["Bob"]


@pytest.mark.parametrize("case", ["W8"])
def test_a_null_does_not_hide_a_row_from_a_later_delete(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path)
    ages = {"Zoe": None, "Charlie": 35}
    graph.load(lines(*({"type": "Person", "data": {"name": n, "age": a}} for n, a in ages.items())), "append")
    graph.load(lines(knows("Zoe", "Charlie")), "append")
    done = graph.mutate(mutation('delete Person where age > 30 delete Person where name = "Zoe"'))
    assert (done.affected_nodes, done.affected_edges) == (2, 1)
    assert rows(graph)["node:Person"] == {}


@pytest.mark.parametrize("case", ["W9"])
def test_deleting_a_node_without_edges_leaves_edge_tables_alone(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path, PEOPLE, "a", "b", "c")
    graph.load(lines(knows("a", "b")), "append")
    before = state(graph)
    graph.mutate(mutation('delete Person where name = "c"'))
    keys = sorted(graph.snapshot().pins())
    assert state(graph)[2][keys.index("edge:Knows")] == before[2][keys.index("edge:Knows")]


@pytest.mark.parametrize("case", ["W10"])
def test_a_delete_that_matches_nothing_leaves_no_trace(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path, PEOPLE, "a")
    before = state(graph)
    done = graph.mutate(mutation('delete Person where name = "zz"'))
    assert (done.affected_nodes, done.affected_edges, done.commit) == (0, 0, None)
    assert state(graph) == before


@pytest.mark.parametrize("case", ["W11"])
def test_append_refuses_an_existing_id_and_keeps_the_row(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path, PEOPLE, "a")
    with pytest.raises(KeyConflict) as refusal:
        graph.load(lines({"type": "Person", "data": {"name": "a", "age": 9}}), "append")
    assert refusal.value.entity_id == "a"
    assert rows(graph)["node:Person"]["a"]["age"] is None


@pytest.mark.parametrize("case", ["W12"])
def test_merge_updates_existing_rows_and_inserts_new_ones(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path, PEOPLE, "a")
    done = graph.load(lines(*({"type": "Person", "data": {"name": n, "age": 9}} for n in "ab")), "merge")
    assert dict(done.nodes) == {"Person": 2}
    assert {row["name"]: row["age"] for row in rows(graph)["node:Person"].values()} == {"a": 9, "b": 9}


@pytest.mark.parametrize("case", ["W13"])
def test_overwrite_cannot_drop_a_node_that_an_edge_needs(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path, PEOPLE, "a", "b")
    graph.load(lines(knows("a", "b")), "append")
    before = state(graph)
    with pytest.raises(OmnigraphError) as refusal:
        graph.load(lines({"type": "Person", "data": {"name": "a"}}), "overwrite")
    assert refusal.value.code == "W013"
    assert state(graph) == before


@pytest.mark.parametrize("case", ["W14"])
def test_overwritten_edges_are_checked_against_committed_nodes(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path, PEOPLE, "a", "b")
    graph.load(lines(knows("a", "b")), "overwrite")
    with pytest.raises(OmnigraphError) as refusal:
        graph.load(lines(knows("a", "zz")), "overwrite")
    assert refusal.value.code == "W013"
    assert len(rows(graph)["edge:Knows"]) == 1


def _by_mutation(graph: og.Graph) -> Any:
    return graph.mutate(mutation('insert Person { name: "b", mail: "m" }'))


def _by_load(mode: str) -> Callable[[og.Graph], Any]:
    return lambda graph: graph.load(lines({"type": "Person", "data": {"name": "b", "mail": "m"}}), mode)


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(_by_mutation, id="W15-mutation"),
        pytest.param(_by_load("append"), id="W15-append"),
        pytest.param(_by_load("merge"), id="W15-merge"),
    ],
)
def test_a_unique_value_that_another_row_holds_is_refused(tmp_path: Path, write: Callable[[og.Graph], Any]) -> None:
    graph = people(tmp_path)
    graph.mutate(mutation('insert Person { name: "a", mail: "m" }'))
    before = state(graph)
    with pytest.raises(OmnigraphError, match="held by 'a' and 'b'") as refusal:
        write(graph)
    assert refusal.value.code == "W012"
    assert state(graph) == before


@pytest.mark.parametrize("case", ["W16"])
def test_inserting_an_existing_key_again_is_an_upsert(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path)
    for age in (1, 2):
        graph.mutate(mutation('insert Person { name: "a", mail: "m", age: $n }', "$n: I32"), params={"n": age})
    assert [row["age"] for row in rows(graph)["node:Person"].values()] == [2]


@pytest.mark.parametrize("case", ["W17"])
def test_a_unique_value_freed_by_an_update_may_be_used_in_the_same_query(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path)
    graph.mutate(mutation('insert Person { name: "a", mail: "temp" }'))
    free, use = 'update Person set { mail: "other" } where name = "a"', 'insert Person { name: "b", mail: "temp" }'
    graph.mutate(mutation(f"{free} {use}"))
    assert {row["name"]: row["mail"] for row in rows(graph)["node:Person"].values()} == {"a": "other", "b": "temp"}


@pytest.mark.parametrize("case", ["W18"])
def test_a_source_may_not_exceed_its_cardinality(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path, PEOPLE.replace("-> Person", "-> Person @card(0..2)"), "a", "b")
    graph.load(lines(knows("a", "b", "e1"), knows("a", "a", "e2")), "append")
    with pytest.raises(OmnigraphError) as refusal:
        graph.mutate(mutation('insert Knows { from: "a", to: "b" }'))
    assert refusal.value.code == "W014"
    graph.mutate(mutation('delete Knows where to = "a"'))
    graph.mutate(mutation('insert Knows { from: "a", to: "b" }'))
    assert len(rows(graph)["edge:Knows"]) == 2


AT_LEAST_ONE = PEOPLE.replace("-> Person", "-> Person @card(1..)")


@pytest.mark.parametrize("case", ["W19"])
def test_the_last_edge_under_a_minimum_cannot_be_deleted(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path, AT_LEAST_ONE, "Alice", "Bob")
    graph.load(lines(knows("Alice", "Bob")), "append")
    before = state(graph)
    for body in ('delete Knows where from = "Alice"', 'delete Person where name = "Bob"'):
        with pytest.raises(OmnigraphError) as refusal:
            graph.mutate(mutation(body))
        assert refusal.value.code == "W014"
    assert state(graph) == before
    assert graph.mutate(mutation('delete Person where name = "Alice"')).affected_edges == 1


@pytest.mark.parametrize("case", ["W20"])
def test_a_node_that_never_had_an_edge_owes_none(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path, AT_LEAST_ONE)
    assert graph.mutate(mutation('insert Person { name: "a" }')).affected_nodes == 1


@pytest.mark.parametrize("case", ["W21"])
def test_an_edge_moved_away_may_not_leave_its_source_below_the_minimum(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path, AT_LEAST_ONE, "a", "b")
    graph.load(lines(knows("a", "b", "e1")), "append")
    with pytest.raises(OmnigraphError) as refusal:
        graph.load(lines(knows("b", "a", "e1")), "merge")
    assert refusal.value.code == "W014"


# --- W22 to W25, W50: several writers ----------------------------------------------------------------


@pytest.mark.parametrize("case", ["W22"])
def test_threads_that_insert_at_once_all_commit_on_a_linear_chain(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path)
    failures: list[BaseException] = []

    def insert() -> None:
        try:
            for _ in range(3):
                graph.mutate(mutation('insert Pet { name: "rex" }'))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=insert) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(rows(graph)["node:Pet"]) == 9
    chain = graph.commits.list()
    assert [commit.parent_commit_id for commit in chain] == [*(c.graph_commit_id for c in chain[1:]), None]
    assert len(chain) == 10


def _write_in_another_process(uri: str, text: str, ready: Any, go: Any, answers: Any) -> None:
    graph = og.open(uri)
    waited: list[bool] = []

    def meet() -> None:
        # Both processes have read the same state before either of them publishes.
        if not waited:
            waited.append(True)
            ready.release()
            go.wait(60)

    with failpoints.armed({"mutation.post_stage_pre_gate": meet}):
        try:
            graph.mutate(text) if text.startswith("query") else graph.load([text], "append")
            answers.put("committed")
        except OmnigraphError as error:
            answers.put(type(error).__name__)


def _race(graph: og.Graph, *texts: str) -> list[str]:
    """What several processes get that prepare on one state and then publish."""
    context = multiprocessing.get_context("spawn")
    ready, go, answers = context.Semaphore(0), context.Event(), context.Queue()
    processes = [
        context.Process(target=_write_in_another_process, args=(graph.uri, text, ready, go, answers)) for text in texts
    ]
    for process in processes:
        process.start()
    for _ in processes:
        assert ready.acquire(timeout=300)
    go.set()
    found = sorted(answers.get(timeout=300) for _ in processes)
    for process in processes:
        process.join(60)
    return found


@pytest.mark.parametrize(
    ("texts", "answers"),
    [
        pytest.param(
            [mutation(f'update Person set {{ age: {age} }} where name = "a"') for age in (1, 2)],
            ["committed", "committed"],  # decision 12 of the specification: both, in some order
            id="W23",
        ),
        pytest.param(
            [json.dumps({"type": "Person", "data": {"name": "new", "age": age}}) for age in (1, 2)],
            [KeyConflict.__name__, "committed"],
            id="W24",
        ),
        pytest.param(
            [mutation('insert Pet { name: "rex" }'), mutation('insert Person { name: "z" }')],
            ["committed", "committed"],
            id="W25",
        ),
    ],
)
def test_of_two_processes_on_one_state(tmp_path: Path, texts: list[str], answers: list[str]) -> None:
    graph = people(tmp_path, PEOPLE, "a")
    before = len(graph.commits.list())
    assert _race(graph, *texts) == answers
    assert len(graph.commits.list()) - before == answers.count("committed")


@pytest.mark.parametrize("case", ["W50"])
def test_a_stale_expected_commit_fails_even_when_nothing_matches(tmp_path: Path, case: str) -> None:
    graph = people(tmp_path, PEOPLE, "a")
    stale, head = graph.commits.list()[1].graph_commit_id, graph.commits.head()
    body = mutation('update Person set { age: 1 } where name = "zz"')
    with pytest.raises(PreconditionFailed) as refusal:
        graph.mutate(body, if_commit=stale)
    assert (refusal.value.expected, refusal.value.actual) == (stale, head)
    assert graph.mutate(body, if_commit=head).commit is None


def test_an_insert_that_is_prepared_again_keeps_its_ids_and_its_instant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A unique property makes every other row of the table matter, so the insert has to be prepared again.
    graph = og.init(tmp_path / "g.omni", "node T { at: DateTime  mark: String @unique }")
    rival = og.open(graph.uri)
    insert = "query q($mark: String) { insert T { at: now(), mark: $mark } }"
    prepared: list[tuple[Request, list[dict[str, Any]]]] = []

    def spying(plan: MutationPlan, view: View, request: Request, filling: Filling, reads: Reads) -> Effects:
        effects = execute(plan, view, request, filling, reads)
        prepared.append((request, [row for table in effects.tables for row in table.rows.to_pylist()]))
        return effects

    def move_the_branch_once() -> None:
        if len(prepared) == 1:
            rival.mutate(insert, params={"mark": "rival"})

    monkeypatch.setattr("omnigraph.engine.write.mutate.execute", spying)
    with failpoints.armed({"mutation.post_stage_pre_gate": move_the_branch_once}):
        graph.mutate(insert, params={"mark": "own"})
    own = [found for request, found in prepared if request is prepared[0][0]]
    assert len(own) == 2
    assert own[0] == own[1]
    assert len(rows(graph)["node:T"]) == 2
