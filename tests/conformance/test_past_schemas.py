"""Time travel across schema changes: what was there then is read with the schema of then (decision 14)."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.catalog.steps import fact_text
from omnigraph.compiler.diagnostics import TypeCheckError
from omnigraph.errors import ChangeSchemaBoundary, Corrupt, HistoricalVersionReclaimed, NotFound, OmnigraphError
from omnigraph.policy.visibility import Visibility
from omnigraph.storage.base.failpoints import armed
from tests.cli_runner import Desk

BEFORE = """
node Person { name: String @key  age: I32?  nick: String? }
node Pet { tag: String @key }
edge Knows: Person -> Person { since: I32? }
edge Owns: Person -> Pet
"""
# Renamed: Person.age, Knows. Dropped: Person.nick, Pet, Owns. Added: Person.city, Place.
AFTER = """
node Person { name: String @key  years: I32? @rename_from("age")  city: String? }
node Place { code: String @key }
edge Met: Person -> Person @rename_from("Knows") { since: I32? }
"""
ROWS: list[dict[str, Any]] = [
    {"type": "Person", "data": {"name": "ana", "age": 30, "nick": "a"}},
    {"type": "Person", "data": {"name": "bo", "age": 40}},
    {"type": "Pet", "data": {"tag": "rex"}},
    {"edge": "Knows", "from": "ana", "to": "bo", "data": {"id": "k1", "since": 2020}},
    {"edge": "Owns", "from": "ana", "to": "rex", "data": {"id": "o1"}},
]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", BEFORE)
    made.load(ROWS)
    made.tags.create("old")
    made.schema.apply(AFTER)
    made.mutate('query q() { update Person set { years: 31, city: "Bern" } where name = "ana" }')
    return made


def rows(reader: og.Graph | Any, match: str, returned: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = reader.query(f"query q() {{ match {{ {match} }} return {{ {returned} }} }}").rows()
    return found


Opened = Callable[[og.Graph], og.Graph]
OPENED: list[Opened] = [lambda graph: graph, lambda graph: og.open(graph.uri, read_only=True)]


@pytest.mark.parametrize("opened", OPENED, ids=["same-handle", "another-handle"])
def test_dropped_and_renamed_things_are_read_by_their_old_names(graph: og.Graph, opened: Opened) -> None:
    old = opened(graph).at("old")
    assert rows(old, "$p: Person", "$p.name, $p.age, $p.nick") == [
        {"p.name": "ana", "p.age": 30, "p.nick": "a"},
        {"p.name": "bo", "p.age": 40, "p.nick": None},
    ]
    assert rows(old, "$p: Pet", "$p.tag") == [{"p.tag": "rex"}]
    assert rows(old, "$a: Person $a knows $b $a owns $t", "$a.name, $b.name, $t.tag") == [
        {"a.name": "ana", "b.name": "bo", "t.tag": "rex"}
    ]
    assert rows(old, "$p: Person $p.age > 35", "$p.name") == [{"p.name": "bo"}]
    assert old.get("Person", "ana") == {"id": "ana", "name": "ana", "age": 30, "nick": "a"}
    assert old.get("Pet", "rex") == {"id": "rex", "tag": "rex"}
    assert graph.get("Pet", "rex", at="old") == {"id": "rex", "tag": "rex"}


@pytest.mark.parametrize(
    ("match", "returned"),
    [
        ("$p: Person", "$p.years"),
        ("$p: Person", "$p.city"),
        ("$p: Place", "$p.code"),
        ("$a: Person $a met $b", "$b.name"),
    ],
)
def test_later_things_are_unknown_then(graph: og.Graph, match: str, returned: str) -> None:
    with pytest.raises(TypeCheckError):
        rows(graph.at("old"), match, returned)
    rows(graph, match, returned)


def test_the_present_is_read_with_the_schema_of_now(graph: og.Graph) -> None:
    graph.at("old").get("Pet", "rex")  # meeting an old schema changes nothing for those who come after
    assert rows(graph, "$p: Person", "$p.name, $p.years, $p.city") == [
        {"p.name": "ana", "p.years": 31, "p.city": "Bern"},
        {"p.name": "bo", "p.years": 40, "p.city": None},
    ]
    with pytest.raises(NotFound):
        graph.get("Pet", "rex")
    graph.mutate('query q() { insert Place { code: "x" } }')
    assert graph.schema.source == AFTER


def test_the_schema_of_a_moment_can_be_looked_at(graph: og.Graph) -> None:
    old = graph.at("old")
    assert old.schema.source == BEFORE
    assert set(old.schema.catalog.nodes) == {"Person", "Pet"}
    assert old.schema.hash != graph.schema.hash
    assert graph.at("HEAD").schema.hash == graph.schema.hash
    assert graph.at("HEAD").schema.source == AFTER


def test_an_export_of_then_loads_into_a_graph_of_then(graph: og.Graph, tmp_path: Path) -> None:
    text = io.BytesIO()
    graph.at("old").export(text)
    copy = og.init(tmp_path / "copy.omni", graph.at("old").schema.source)
    copy.load(text.getvalue())
    again = io.BytesIO()
    copy.export(again)
    assert again.getvalue() == text.getvalue()
    assert b'"tag":"rex"' in text.getvalue()
    graph.at("old").export(tmp_path / "tables", format="parquet")
    assert "nick" in (tmp_path / "tables" / "schema.pg").read_text()


def test_many_changes_in_a_row_are_all_there(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node A { k: String @key  p0: I32? }")
    graph.mutate('query q() { insert A { k: "x", p0: 0 } }')
    commits = [graph.commits.head()]
    for number in range(1, 5):
        graph.schema.apply(f'node A {{ k: String @key  p{number}: I32? @rename_from("p{number - 1}") }}')
        graph.mutate(f'query q() {{ update A set {{ p{number}: {number} }} where k = "x" }}')
        commits.append(graph.commits.head())
    graph = og.open(graph.uri)
    for number, commit in enumerate(commits):
        assert graph.at(commit).get("A", "x") == {"id": "x", "k": "x", f"p{number}": number}
    assert rows(graph.at("HEAD~1"), "$a: A", "$a.p4") == [{"a.p4": 3}]
    assert rows(graph.at("HEAD~2"), "$a: A", "$a.p3") == [{"a.p3": 3}]


# --- readers who may not see everything -------------------------------------------------------------


def seen(graph: og.Graph, types: set[str] | None, **masked: set[str]) -> og.Graph:
    masks = frozenset((name, frozenset(properties)) for name, properties in masked.items())
    visibility = Visibility(None if types is None else frozenset(types), masks)
    return graph.with_visibility(visibility).with_actor("reader")


def test_a_mask_holds_for_the_former_name_of_a_property(graph: og.Graph) -> None:
    reader = seen(graph, None, Person={"years"})
    assert rows(reader, "$p: Person", "$p.years") == [{"p.years": None}, {"p.years": None}]
    assert rows(reader.at("old"), "$p: Person", "$p.age") == [{"p.age": None}, {"p.age": None}]
    assert reader.at("old").get("Person", "ana") == {"id": "ana", "name": "ana", "age": None, "nick": None}


def test_what_no_rule_can_speak_of_any_more_is_not_shown(graph: og.Graph) -> None:
    """A property or type that was dropped cannot be named by a rule, so whoever is restricted does not see it."""
    reader = seen(graph, None, Person={"city"})
    assert rows(reader.at("old"), "$p: Person", "$p.age, $p.nick")[0] == {"p.age": 30, "p.nick": None}
    with pytest.raises(TypeCheckError):
        rows(reader.at("old"), "$p: Pet", "$p.tag")


def test_a_type_is_shown_under_its_former_name(graph: og.Graph) -> None:
    reader = seen(graph, {"Person", "Met"}).at("old")
    assert rows(reader, "$a: Person $a knows $b", "$b.name") == [{"b.name": "bo"}]
    hidden = seen(graph, {"Person"}).at("old")
    with pytest.raises(TypeCheckError):
        rows(hidden, "$a: Person $a knows $b", "$b.name")


# --- comparing across a change ----------------------------------------------------------------------


def test_a_diff_pairs_properties_by_identity_and_tells_the_schema_change(graph: og.Graph) -> None:
    found = graph.diff("old")
    assert [fact_text(step) for step in found.schema_changes] == [
        "add property 'Person.city' (String?) on node 'Person'",
        "rename property 'Person.age' -> 'Person.years' on node 'Person'",
        "drop property 'Person.nick' of node 'Person'",
        "add node type 'Place'",
        "drop node type 'Pet'",
        "rename edge type 'Knows' -> 'Met'",
        "drop edge type 'Owns'",
    ]
    changes = {(each.change.op, each.change.type_name, each.change.id): each for each in found.with_values()}
    # bo has a renamed value only, and k1 a renamed type: neither is different.
    assert list(changes) == [("delete", "Owns", "o1"), ("update", "Person", "ana"), ("delete", "Pet", "rex")]
    ana = changes["update", "Person", "ana"]
    assert dict(ana.before or {}) == {"name": "ana", "age": 30, "nick": "a"}
    assert dict(ana.after or {}) == {"name": "ana", "years": 31, "city": "Bern"}
    assert sorted(pair for pair in ana.pairs() if pair[1] != pair[2]) == [
        ("city", None, "Bern"),
        ("nick", "a", None),
        ("years", 30, 31),
    ]
    assert sorted(ana.properties) == ["city", "nick", "years"]


def test_a_diff_back_in_time_is_the_mirror_image(graph: og.Graph) -> None:
    found = graph.diff("main", "old")
    texts = [fact_text(step) for step in found.schema_changes]
    assert "rename property 'Person.years' -> 'Person.age' on node 'Person'" in texts
    assert "drop property 'Person.city' of node 'Person'" in texts
    assert "add node type 'Pet'" in texts
    assert [(each.op, each.type_name, each.id) for each in found] == [
        ("insert", "Owns", "o1"),
        ("update", "Person", "ana"),
        ("insert", "Pet", "rex"),
    ]


def test_a_required_property_that_comes_back_is_simply_added(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node A { k: String @key  n: I32 }")
    graph.load([{"type": "A", "data": {"k": "x", "n": 1}}])
    graph.tags.create("old")
    graph.schema.apply("node A { k: String @key }")
    assert [fact_text(step) for step in graph.diff("main", "old").schema_changes] == [
        "add property 'A.n' (I32) on node 'A'"
    ]
    assert [each.op for each in graph.diff("old")] == ["update"]


def test_a_type_that_was_renamed_is_found_by_either_name(graph: og.Graph) -> None:
    graph.mutate('query q() { update Met set { since: 2021 } where from = "ana" }')
    for name in ("Knows", "Met"):
        assert [each.id for each in graph.diff("old", types=name)] == ["k1"]


def test_a_property_of_the_same_name_but_another_identity_is_another_one(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node A { k: String @key  n: I32? }")
    graph.load([{"type": "A", "data": {"k": "x", "n": 1}}])
    graph.tags.create("old")
    graph.schema.apply("node A { k: String @key }")
    graph.schema.apply("node A { k: String @key  n: I32? }")
    graph.mutate('query q() { update A set { n: 1 } where k = "x" }')
    (found,) = graph.diff("old").with_values()
    assert [*found.pairs()] == [("n", 1, None), ("k", "x", "x"), ("n", None, 1)]
    assert found.changed == [("n", 1, None), ("n", None, 1)]
    assert found.properties == ["n"]


def test_the_feed_passes_a_rename_and_stops_at_other_changes(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node A { k: String @key  n: I32? }")
    graph.load([{"type": "A", "data": {"k": "x", "n": 1}}])
    graph.schema.apply('node A { k: String @key  m: I32? @rename_from("n") }')
    graph.mutate('query q() { update A set { m: 2 } where k = "x" }')
    page = graph.changes.poll(start="beginning")
    assert [[(each["op"], each.get("after")) for each in block.changes] for block in page.blocks] == [
        [("insert", {"properties": {"k": "x", "n": 1}})],
        [],
        [("update", {"properties": {"k": "x", "m": 2}})],
    ]
    graph.schema.apply("node A { k: String @key  m: I32?  o: I32? }")
    with pytest.raises(ChangeSchemaBoundary):
        graph.changes.poll(page.cursor)


# --- the same from everywhere -----------------------------------------------------------------------


def test_blame_speaks_of_the_properties_of_then_and_follows_them_by_identity(graph: og.Graph) -> None:
    loaded = graph.at("old").commit_id
    now = graph.commits.blame("Person", "ana")
    assert {item.name: item.value for item in now.properties} == {"name": "ana", "years": 31, "city": "Bern"}
    assert now["name"].commit.graph_commit_id == loaded
    assert now["years"].commit.graph_commit_id == graph.commits.head()
    bo = graph.commits.blame("Person", "bo")
    assert (bo["years"].value, bo["years"].commit.graph_commit_id) == (40, loaded)
    then = graph.commits.blame("Person", "ana", at="old")
    assert {item.name: item.value for item in then.properties} == {"name": "ana", "age": 30, "nick": "a"}
    assert {item.commit.graph_commit_id for item in then.properties} == {loaded}
    assert graph.commits.blame("Pet", "rex", at="old")["tag"].commit.graph_commit_id == loaded
    with pytest.raises(NotFound):
        graph.commits.blame("Pet", "rex")


def test_commands_read_the_past_with_its_schema(graph: og.Graph, desk: Desk) -> None:
    assert desk.run("schema", "show", graph.uri, "--at", "old").stdout.strip() == BEFORE.strip()
    assert desk.run("schema", "show", graph.uri, "--at", "HEAD", "--json").json == {"schema_source": AFTER}
    assert '"rex"' in desk.run("export", graph.uri, "--at", "old", "--type", "Pet").stdout
    assert "unknown export type" in desk.run("export", graph.uri, "--type", "Pet").stderr
    body = "match { $p: Pet } return { $p.tag }"
    assert "rex" in desk.run("query", "--store", graph.uri, "-e", body, "--snapshot", "old").stdout
    assert "nick" in desk.run("blame", "Person", "ana", "--uri", graph.uri, "--at", "old").stdout
    shown = desk.run("diff", "old", "main", "--uri", graph.uri).stdout
    assert "schema: rename property 'Person.age' -> 'Person.years' on node 'Person'\n" in shown
    assert "    years: 30 -> 31\n" in shown
    steps = desk.run("diff", "old", "main", "--uri", graph.uri, "--json").json["schema_changes"]
    assert {"kind": "drop_type", "type_kind": "node", "name": "Pet"} in steps


def test_a_schema_that_is_not_kept_is_said_to_be_missing(graph: og.Graph) -> None:
    """As in graphs whose schema was changed by a release that kept the newest one only."""
    for file in Path(graph.uri, "__schemas").iterdir():
        file.unlink()
    opened = og.open(graph.uri, read_only=True)
    assert opened.get("Person", "ana") is not None
    with pytest.raises(NotFound, match="is not kept"):
        opened.at("old")


def test_a_changed_file_of_a_kept_schema_is_damage(graph: og.Graph) -> None:
    for file in Path(graph.uri, "__schemas").iterdir():
        file.write_text(file.read_text().replace("nick", "nack"))
    with pytest.raises(Corrupt, match="was changed"):
        og.open(graph.uri, read_only=True).at("old")


# --- what cleanup keeps -----------------------------------------------------------------------------


def kept_files(graph: og.Graph) -> set[str]:
    return {f"sha256:{file.stem}" for file in Path(graph.uri, "__schemas").iterdir()}


def test_cleanup_keeps_the_schemas_of_what_it_keeps_and_removes_the_others(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node A { k: String @key  p0: I32? }")
    graph.mutate('query q() { insert A { k: "x", p0: 0 } }')
    hashes = [graph.schema.hash]
    for number in range(1, 4):
        if number == 2:
            graph.tags.create("one")
        graph.schema.apply(f'node A {{ k: String @key  p{number}: I32? @rename_from("p{number - 1}") }}')
        hashes.append(graph.schema.hash)
    graph.mutate('query q() { update A set { p3: 3 } where k = "x" }')
    assert kept_files(graph) == set(hashes)
    preview = graph.cleanup(keep=1)
    assert (preview.schemas_removed, kept_files(graph)) == ((), set(hashes))
    done = graph.cleanup(keep=1, confirm=True)
    assert set(done.schemas_removed) == {hashes[0], hashes[2]}
    assert kept_files(graph) == {hashes[1], hashes[3]}
    again = og.open(graph.uri)
    assert again.at("one").get("A", "x") == {"id": "x", "k": "x", "p1": 0}
    assert again.get("A", "x") == {"id": "x", "k": "x", "p3": 3}
    again.tags.delete("one")
    assert again.cleanup(keep=1, confirm=True).schemas_removed == (hashes[1],)


def test_cleanup_keeps_a_schema_while_some_type_of_then_can_be_read(graph: og.Graph) -> None:
    graph.tags.delete("old")
    loaded = graph.commits.list()[-2].graph_commit_id
    old = graph.at(loaded).schema.hash
    graph.cleanup(keep=1, confirm=True)
    assert old in kept_files(graph)  # Person was rewritten, Pet was not
    again = og.open(graph.uri).at(loaded)
    assert rows(again, "$p: Pet", "$p.tag") == [{"p.tag": "rex"}]
    with pytest.raises(HistoricalVersionReclaimed):
        rows(again, "$p: Person", "$p.age")


def test_what_was_before_a_reclaimed_schema_is_reclaimed_for_every_handle(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node A { k: String @key  p: I32? }")
    graph.mutate('query q() { insert A { k: "x", p: 0 } }')
    old = graph.commits.head() or ""
    graph.schema.apply("node A { k: String @key  q: I32? }")
    graph.mutate('query q() { update A set { q: 3 } where k = "x" }')
    assert graph.at(old).get("A", "x") is not None
    assert graph.cleanup(keep=1, confirm=True).schemas_removed
    for handle in (graph, og.open(graph.uri)):
        for ask in (
            lambda handle=handle: handle.at(old).get("A", "x"),
            lambda handle=handle: rows(handle.at(old), "$a: A", "$a.p"),
            lambda handle=handle: handle.at(old).schema.source,
            lambda handle=handle: handle.diff(old),
        ):
            with pytest.raises(HistoricalVersionReclaimed):
                ask()


def test_cleanup_removes_the_schema_of_a_change_that_did_not_happen(graph: og.Graph) -> None:
    before = kept_files(graph)
    with armed("schema_apply.after_staging_write=raise"), pytest.raises(OmnigraphError):
        graph.schema.apply(AFTER.replace("city: String?", "city: String?  more: I32?"))
    assert kept_files(graph) > before
    graph = og.open(graph.uri)
    graph.cleanup(keep=10, confirm=True)
    assert kept_files(graph) == before
