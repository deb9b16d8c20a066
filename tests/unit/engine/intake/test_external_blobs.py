"""Blobs that are references: which come in, and that nothing afterwards opens what they refer to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.intake import external_blobs
from omnigraph.errors import ExternalBlobSource, OmnigraphError, ResourceLimitExceeded, ValueViolation
from omnigraph.policy.external_blobs import MAX_URI_BYTES

SCHEMA = "node Doc { name: String @key  content: Blob?  n: I32? }\nedge Cites: Doc -> Doc { proof: Blob? }"
WIDER = SCHEMA.replace("n: I32?", "n: I32?  note: String?")
NUMBER = "query number($name: String, $n: I32) { update Doc set { n: $n } where name = $name }"
SET = "query set($name: String, $content: String) { update Doc set { content: $content } where name = $name }"
SET_ALL = "query set($content: String) { update Doc set { content: $content } where n is null }"
PUT = "query put($name: String, $content: String) { insert Doc { name: $name, content: $content } }"


class Desk:
    """A graph beside a directory that it may refer to."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.shelf = place / "shelf"
        self.shelf.mkdir()
        self.graph = og.init(place / "graph.omni", SCHEMA, external_blobs=[self.shelf.as_uri()])

    def uri(self, name: str) -> str:
        return (self.shelf / name).as_uri()

    def lay(self, *names: str) -> None:
        for name in names:
            (self.shelf / name).write_bytes(b"outside " + name.encode())

    def clear(self) -> None:
        """From now on whoever opens a reference fails."""
        for path in self.shelf.iterdir():
            path.unlink()

    def content(self, name: str) -> Any:
        found = self.graph.get("Doc", name)
        assert found is not None
        return found["content"]

    def export(self) -> bytes:
        target = self.place / "export.jsonl"
        self.graph.export(target)
        return target.read_bytes()


def doc(name: str, content: str | None) -> dict[str, Any]:
    return {"type": "Doc", "data": {"name": name, "content": content}}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    with made.graph:
        yield made


@pytest.fixture
def shelved(desk: Desk) -> Desk:
    """References, bytes and nulls side by side, in two tables; the objects have gone since."""
    desk.lay("a", "b", "p")
    cites = {"edge": "Cites", "from": "a", "to": "k", "data": {"id": "c1", "proof": desk.uri("p")}}
    records = [doc("a", desk.uri("a")), doc("b", desk.uri("b")), doc("k", "base64:a2VwdA=="), doc("z", None)]
    desk.graph.load([*records, cites])
    desk.clear()
    return desk


# --- what comes in ---------------------------------------------------------------------------------


def test_a_handle_that_was_not_told_otherwise_takes_none(desk: Desk) -> None:
    desk.lay("a")
    with og.open(desk.graph.uri) as plain:
        for write in (
            lambda: plain.load([doc("a", desk.uri("a"))]),
            lambda: plain.mutate(PUT, params={"name": "a", "content": desk.uri("a")}),
        ):
            with pytest.raises(ValueViolation, match=r"external blob URI 'file:///.*' is not allowed") as caught:
                write()
            assert caught.value.code == "W002"
    assert desk.export() == b""


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_load_keeps_the_reference(desk: Desk, mode: str) -> None:
    desk.lay("a")
    desk.graph.load([doc("a", desk.uri("a")), doc("k", "base64:")], mode)
    found = desk.graph.blob("Doc", "a", "content")
    assert (found.is_external, found.uri, found.size) == (True, desk.uri("a"), 0)
    assert desk.graph.blob("Doc", "k", "content").read() == b""


def test_a_mutation_and_a_frame_bring_references_as_well(desk: Desk) -> None:
    import pyarrow as pa

    desk.lay("a", "b")
    desk.graph.mutate(PUT, params={"name": "a", "content": desk.uri("a")})
    desk.graph.mutate(SET, params={"name": "a", "content": desk.uri("b")})
    cells = pa.array([{"data": b"x", "uri": None}, {"data": None, "uri": desk.uri("b")}, None])
    desk.graph.load(pa.table({"name": ["f", "g", "h"], "content": cells}), type="Doc")
    assert [desk.content(name) for name in "afgh"] == [desk.uri("b"), "base64:eA==", desk.uri("b"), None]


def test_an_object_that_is_not_there_is_told_and_nothing_written(desk: Desk) -> None:
    (desk.shelf / "folder").mkdir()
    for name, reason in (("lost", "there is no such file"), ("folder", "it is not a file")):
        with pytest.raises(ExternalBlobSource) as caught:
            desk.graph.load([doc("k", "base64:"), doc("a", desk.uri(name))])
        assert caught.value.details() == {"uri": desk.uri(name), "reason": reason}
        with pytest.raises(ExternalBlobSource):
            desk.graph.mutate(PUT, params={"name": "a", "content": desk.uri(name)})
        with pytest.raises(ExternalBlobSource):
            desk.graph.load([doc("a", desk.uri(name))], dry_run=True)
    assert desk.export() == b""


def test_refusals_show_neither_secrets_nor_whole_uris(desk: Desk) -> None:
    with pytest.raises(ValueViolation) as caught:
        desk.graph.load([doc("a", "s3://key:hidden@bucket/x?sig=hidden")])
    assert "external blob URI 's3://bucket/x' is not allowed: it holds a query" in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_uri_has_a_limit(desk: Desk) -> None:
    with pytest.raises(ResourceLimitExceeded) as caught:
        desk.graph.load([doc("a", desk.uri("x" * MAX_URI_BYTES))])
    assert (caught.value.resource, caught.value.limit) == ("external Blob URI bytes", 65_536)


def test_an_operation_has_a_limit(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert external_blobs.MAX_CELLS == 8_192
    monkeypatch.setattr(external_blobs, "MAX_CELLS", 4)
    desk.lay("a")
    many = [doc(str(n), desk.uri("a")) for n in range(5)]
    told = {"resource": "external Blob reference cells", "limit": 4, "actual": 5}
    for options in ({}, {"on_error": "skip"}):
        with pytest.raises(ResourceLimitExceeded) as caught:
            desk.graph.load(many, **options)
        assert caught.value.details() == told
    for some in (many[:4], many[4:]):
        desk.graph.load(some)
    with pytest.raises(ResourceLimitExceeded) as caught:
        desk.graph.mutate(SET_ALL, params={"content": desk.uri("a")})
    assert caught.value.details() == told


# --- what happens to them --------------------------------------------------------------------------


def test_reads_show_the_uri(shelved: Desk) -> None:
    lines = [json.loads(line) for line in shelved.export().splitlines()]
    values = [line["data"].get("content", line["data"].get("proof")) for line in lines]
    assert values == [shelved.uri("p"), shelved.uri("a"), shelved.uri("b"), "base64:a2VwdA==", None]
    rows = shelved.graph.query("query q() { match { $d: Doc } return { $d.name, $d.n } order { $d.name } }").rows()
    assert [row["d.name"] for row in rows] == ["a", "b", "k", "z"]
    assert shelved.graph.get("Cites", "c1")["proof"] == shelved.uri("p")  # type: ignore[index]


def test_updates_of_other_properties_carry_them(shelved: Desk) -> None:
    shelved.graph.mutate(NUMBER, params={"name": "a", "n": 1})
    shelved.graph.mutate("query q() { match { $d: Doc  $d cites $k  } update $d set { n: 2 } }")
    found = shelved.graph.get("Doc", "a")
    assert found is not None
    assert (found["content"], found["n"]) == (shelved.uri("a"), 2)


def test_schema_changes_and_maintenance_carry_them(shelved: Desk) -> None:
    for number in range(4):
        shelved.graph.mutate(NUMBER, params={"name": "z", "n": number})
    before = shelved.export()
    shelved.graph.optimize()
    assert shelved.export() == before
    shelved.graph.schema.apply(WIDER)
    assert shelved.content("b") == shelved.uri("b")
    shelved.graph.cleanup(keep=1)
    assert shelved.content("b") == shelved.uri("b")


def test_branches_carry_them_into_merges_and_merges_compare_them(shelved: Desk) -> None:
    graph = shelved.graph
    shelved.lay("new")
    graph.branches.create("side")
    side = graph.branch("side")
    side.mutate(NUMBER, params={"name": "a", "n": 5})
    side.mutate(PUT, params={"name": "n", "content": shelved.uri("new")})
    graph.mutate(PUT, params={"name": "m", "content": shelved.uri("new")})
    shelved.clear()
    assert graph.branches.merge("side").outcome == "merged"
    assert [shelved.content(name) for name in "anm"] == [shelved.uri("a"), shelved.uri("new"), shelved.uri("new")]


def test_disjoint_updates_picks_and_transactions_carry_them(shelved: Desk) -> None:
    graph = shelved.graph
    shelved.lay("k")
    graph.branches.create("side")
    side = graph.branch("side")
    side.mutate(SET, params={"name": "k", "content": shelved.uri("k")})
    picked = side.commits.list()[0].graph_commit_id
    side.mutate(NUMBER, params={"name": "a", "n": 1})
    graph.mutate(NUMBER, params={"name": "k", "n": 2})
    shelved.clear()
    graph.branches.merge("side", properties="disjoint")
    assert (shelved.content("k"), shelved.content("a")) == (shelved.uri("k"), shelved.uri("a"))
    assert graph.get("Doc", "k")["n"] == 2  # type: ignore[index]
    graph.commits.revert(graph.commits.list()[0].graph_commit_id)
    assert shelved.content("k") == "base64:a2VwdA=="
    graph.commits.cherry_pick(picked, properties="disjoint")
    assert shelved.content("k") == shelved.uri("k")
    with graph.transaction() as transaction:
        transaction.mutate(NUMBER, params={"name": "b", "n": 3})
    assert shelved.content("b") == shelved.uri("b")
    assert graph.commits.blame("Doc", "b")["content"].value == shelved.uri("b")


def test_a_contradiction_about_a_reference_can_be_resolved_by_hand(shelved: Desk) -> None:
    graph = shelved.graph
    graph.branches.create("side")
    shelved.lay("x", "y", "w")
    for handle, name in ((graph, "x"), (graph.branch("side"), "y")):
        handle.mutate(SET, params={"name": "z", "content": shelved.uri(name)})
    with pytest.raises(og.errors.MergeConflicts):
        graph.branches.merge("side")
    with pytest.raises(ExternalBlobSource):
        graph.branches.merge("side", resolve={"Doc/z": {"content": shelved.uri("lost")}})
    with og.open(graph.uri) as plain, pytest.raises(OmnigraphError, match="is not allowed"):
        plain.branches.merge("side", resolve={"Doc/z": {"content": shelved.uri("w")}})
    graph.branches.merge("side", resolve={"Doc/z": {"content": shelved.uri("w")}})
    shelved.clear()
    assert shelved.content("z") == shelved.uri("w")


def test_diffs_and_feeds_compare_uris_and_show_them(shelved: Desk) -> None:
    graph = shelved.graph
    first = graph.commits.list()[0].graph_commit_id
    shelved.lay("b2")
    graph.mutate(SET, params={"name": "b", "content": shelved.uri("b2")})
    commit = graph.commits.list()[0].graph_commit_id
    shelved.clear()
    [change] = graph.commits.changes(commit).changes
    assert change["before"]["properties"]["content"] == shelved.uri("b")
    assert change["after"]["properties"]["content"] == shelved.uri("b2")
    same = [doc("b", shelved.uri("b2"))]
    shelved.lay("b2")
    graph.load(same, "merge")
    shelved.clear()
    assert graph.commits.changes(graph.commits.list()[0].graph_commit_id).changes == []
    [difference] = graph.diff(first).changes
    assert difference.id == "b"
    polled = [change for block in graph.changes.poll(start="beginning").blocks for change in block.changes]
    shown = {change["id"]: change["after"]["properties"] for change in polled}
    assert (shown["b"]["content"], shown["c1"]["proof"]) == (shelved.uri("b2"), shelved.uri("p"))
    graph.changes.baseline(shelved.place / "baseline.jsonl")
    assert shelved.uri("p") in (shelved.place / "baseline.jsonl").read_text()
    graph.commits.revert(commit)
    assert shelved.content("b") == shelved.uri("b")


def test_what_was_exported_can_be_loaded_again_where_it_is_allowed(shelved: Desk, tmp_path: Path) -> None:
    before = shelved.export()
    shelved.graph.export(tmp_path / "tables", format="parquet")
    shelved.graph.export(tmp_path / "texts", format="csv")
    shelved.lay("a", "b", "p")
    with og.init(tmp_path / "again.omni", SCHEMA, external_blobs=[shelved.shelf.as_uri()]) as again:
        for source in (
            {"data": before},
            {"mapping": tmp_path / "tables" / "mapping.yaml"},
            {"mapping": tmp_path / "texts" / "mapping.yaml"},
        ):
            again.load(mode="overwrite", **source)
            again.export(tmp_path / "again.jsonl")
            assert (tmp_path / "again.jsonl").read_bytes() == before
    with og.init(tmp_path / "plain.omni", SCHEMA) as plain, pytest.raises(ValueViolation, match="is not allowed"):
        plain.load(before, mode="overwrite")
