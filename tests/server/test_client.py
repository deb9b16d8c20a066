"""The SDK against a real server: the same verbs, the same results and the same errors as an embedded graph."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph import aio, errors
from omnigraph.client.streams import WholeLines, write_stream
from server_process import ServerProcess

ADD = "query add($name: String) { insert Person { name: $name } }"
NAMES = "query names() { match { $p: Person } return { $p.name as name } order { name } }"


@pytest.fixture
def served(open_server: ServerProcess, fresh_names: Iterator[str]) -> Iterator[og.RemoteGraph]:
    """A graph of one's own."""
    with og.connect(open_server.url, graph=next(fresh_names)) as graph:
        yield graph


def test_a_read_comes_back_as_arrow_with_its_commit(served: og.RemoteGraph) -> None:
    found = served.query(NAMES)
    assert found.columns == ("name",)
    assert [row["name"] for row in found.rows()][:2] == ["Alice", "Bob"]
    assert found.commit_id == served.commits.head()
    assert found.to_arrow().schema.field("name").type == "string"


def test_a_query_can_come_from_a_file_with_parameters(served: og.RemoteGraph, tmp_path: Path) -> None:
    (tmp_path / "q.gq").write_text(
        "query one($n: String) { match { $p: Person { name: $n } } return { $p.age } }\n" + NAMES, encoding="utf-8"
    )
    assert served.query(tmp_path / "q.gq", "one", {"n": "Alice"}).rows() == [{"p.age": 30}]
    with pytest.raises(errors.BadRequest, match="cannot read the query file"):
        served.query(tmp_path / "missing.gq")


def test_a_mutation_is_one_commit_and_conditions_hold(served: og.RemoteGraph) -> None:
    before = served.commits.head()
    done = served.mutate(ADD, params={"name": "Eve"}, if_commit=before)
    assert (done.affected_nodes, done.affected_edges) == (1, 0)
    assert done.commit == served.commits.show(done.commit_id or "")
    with pytest.raises(errors.PreconditionFailed) as refused:
        served.mutate(ADD, params={"name": "Fay"}, if_commit=before)
    assert (refused.value.expected, refused.value.actual) == (before, done.commit_id)
    assert served.get("Person", "Eve") == {"id": "Eve", "age": None, "name": "Eve"}
    assert served.get("Person", "Fay") is None
    assert served.get("Person", "Eve", at=before) is None


def test_records_are_loaded_in_one_commit_or_not_at_all(served: og.RemoteGraph) -> None:
    people = [{"type": "Person", "data": {"name": name}} for name in ("Gil", "Hal")]
    done = served.load(people, mode="append")
    assert (done.nodes, done.edges, done.runner) == ({"Person": 2}, {}, "server")
    with pytest.raises(errors.KeyConflict, match=r"\(line 1\)") as refused:
        served.load(people, mode="append")
    assert (refused.value.entity_id, refused.value.line) == ("Gil", 1)
    assert refused.value.refused == {"W015": 2}
    assert refused.value.others == ("W015: node:Person already has this id 'Hal' (line 2)",)
    with pytest.raises(errors.ValueViolation, match="line 1"):
        served.load('{"type":"Person","data":{"name":"Ida","planet":"Mars"}}\n')
    with pytest.raises(errors.BadRequest, match="more than a server takes at once"):
        served.load(b"x" * (32 * 1024 * 1024 + 1))
    assert served.get("Person", "Ida") is None


def test_branches_merge_and_conflicts_are_data(served: og.RemoteGraph) -> None:
    age = "query age($n: String, $a: I32) { update Person set { age: $a } where name = $n }"
    served.branches.create("review/x")
    assert served.branches.list() == ["main", "review/x"]
    review = served.branch("review/x")
    review.mutate(age, params={"n": "Alice", "a": 31})
    served.mutate(age, params={"n": "Alice", "a": 32})
    with pytest.raises(errors.MergeConflicts) as refused:
        served.branches.merge("review/x")
    assert [(each.entity, each.kind) for each in refused.value.conflicts] == [("Person/Alice", "DivergentUpdate")]
    served.mutate(age, params={"n": "Alice", "a": 31})
    merged = served.branches.merge("review/x", delete=True)
    assert merged.branch_deleted is True
    assert served.branches.list() == ["main"]
    with pytest.raises(errors.BranchNotFound, match="branch 'review/x' not found"):
        review.query(NAMES)


def test_blobs_are_read_in_parts_and_python_values_are_parameters(served: og.RemoteGraph) -> None:
    put = "query put($n: String, $c: Blob) { insert Document { name: $n, content: $c } }"
    before = served.commits.head()
    served.mutate(put, params={"n": "new", "c": b"some bytes"})
    found = served.blob("Document", "new", "content")
    assert (found.size, found.is_external, len(found.etag)) == (10, False, 32)
    assert (found.read(), found.read(5), found.read(0, 4), found.read(99)) == (b"some bytes", b"bytes", b"some", b"")
    with pytest.raises(errors.NotFound, match="'new' has no 'content'"):
        served.blob("node:Document", "new", "content", at=before)
    with pytest.raises(errors.BadRequest, match="no Blob 'age'"):
        served.blob("node:Person", "Alice", "age")
    served.mutate('query c($c: Blob) { update Document set { content: $c } where name = "new" }', params={"c": b"x"})
    with pytest.raises(errors.Conflict, match="If-Match"):
        found.read()


def start_of(graph: og.RemoteGraph) -> str:
    return graph.commits.list()[-1].graph_commit_id


def test_changes_are_polled_and_followed(served: og.RemoteGraph) -> None:
    start = served.changes.poll()
    assert start.caught_up
    done = served.mutate(ADD, params={"name": "Jo"})
    page = served.changes.poll(start.cursor)
    assert [block.cause.graph_commit_id for block in page.blocks] == [done.commit_id]
    assert [change["id"] for change in page.blocks[0].changes] == ["Jo"]
    cursor, block = next(served.changes.follow(start.cursor))
    assert block == page.blocks[0]
    assert cursor is not None
    filtered = served.changes.follow(start=f"after:{start_of(served)}", types="Document", ops=["insert"])
    blocks = [next(filtered)[1] for _ in served.commits.list()[:-1]]
    assert blocks[-1].cause == block.cause
    assert {change["entity_type"]["name"] for each in blocks for change in each.changes} <= {"Document"}
    assert served.commits.changes(done.commit_id or "").changes == page.blocks[0].changes
    with pytest.raises(errors.ChangeCursorRejected):
        served.changes.poll("nonsense")


def test_exports_and_baselines_appear_only_when_complete(served: og.RemoteGraph, tmp_path: Path) -> None:
    size = served.export(tmp_path / "people.jsonl", ["Person"])
    lines = (tmp_path / "people.jsonl").read_bytes()
    assert len(lines) == size
    assert {json.loads(line)["data"]["name"] for line in lines.splitlines()} >= {"Alice", "Bob"}
    with pytest.raises(errors.BadRequest, match="unknown export type 'Planet'"):
        served.export(tmp_path / "planets.jsonl", ["Planet"])
    assert [path.name for path in tmp_path.iterdir()] == ["people.jsonl"]
    sealed = served.changes.baseline(tmp_path / "baseline.jsonl")
    last = json.loads((tmp_path / "baseline.jsonl").read_text().splitlines()[-1])
    assert last["baseline"]["resume_cursor"] == sealed.resume_cursor
    assert served.changes.poll(sealed.resume_cursor).caught_up


def test_stored_queries_are_listed_and_run(served: og.RemoteGraph) -> None:
    assert {entry["name"]: entry["mutation"] for entry in served.queries.list()} == {"add": True, "everybody": False}
    done = served.queries.mutate("add", {"name": "Abe", "age": None}, if_commit=served.commits.head())
    assert done.affected_nodes == 1
    assert served.queries.run("everybody").rows()[0] == {"p.name": "Abe"}
    with pytest.raises(errors.NotFound, match="stored query not found"):
        served.queries.run("no_such_query")
    with pytest.raises(errors.BadRequest, match="mutation"):
        served.queries.run("add", {"name": "Bea", "age": None})


def test_mistakes_in_a_query_come_back_as_bad_requests(served: og.RemoteGraph) -> None:
    with pytest.raises(errors.BadRequest, match="there is no node type 'Persn'"):
        served.query("query q() { match { $p: Persn } return { $p.name } }")
    with pytest.raises(errors.NotFound, match="the schema has no type"):
        served.get("Person } return { 1", "x")


def test_arguments_that_are_not_mappings_come_back_as_bad_requests(served: og.RemoteGraph) -> None:
    """They ended with an AttributeError of the client."""
    with pytest.raises(errors.BadRequest, match="params must be a JSON object"):
        served.query(NAMES, params="Alice")  # type: ignore[arg-type]
    served.branches.create("draft")
    with pytest.raises(errors.BadRequest, match="resolve"):
        served.branches.merge("draft", resolve="theirs")  # type: ignore[arg-type]


def test_an_unknown_graph_and_a_dead_server_are_told_apart(open_server: ServerProcess) -> None:
    with (
        og.connect(open_server.url, graph="nowhere") as graph,
        pytest.raises(errors.NotFound, match="'nowhere' not found"),
    ):
        graph.branches.list()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with og.connect(url) as graph, pytest.raises(errors.ServerFailed, match="cannot reach"):
        graph.branches.list()
    with pytest.raises(errors.BadRequest, match="not the address of a server"):
        og.connect("localhost:8080")


def test_the_asynchronous_client_does_the_same(
    open_server: ServerProcess, fresh_names: Iterator[str], tmp_path: Path
) -> None:
    async def session() -> None:
        async with aio.connect(open_server.url, graph=next(fresh_names)) as graph:
            before = (await graph.changes.poll()).cursor
            found, done = await asyncio.gather(graph.query(NAMES), graph.mutate(ADD, params={"name": "Kim"}))
            assert found.rows()[0]["name"] == "Alice"
            async for _, block in graph.changes.follow(before):
                assert block.cause.graph_commit_id == done.commit_id
                break
            await graph.branches.create("side")
            assert await graph.branches.list() == ["main", "side"]
            assert (await graph.branch("side").load([{"type": "Person", "data": {"name": "Lee"}}])).total_entities == 1
            assert (await graph.branches.merge("side", delete=True)).outcome == "fast_forward"
            size = await graph.export(tmp_path / "people.jsonl", ["Person"])
            exported = (tmp_path / "people.jsonl").read_bytes()
            assert len(exported) == size
            assert b'"Lee"' in exported
            with pytest.raises(errors.BadRequest, match="unknown export type"):
                await graph.export(tmp_path / "planets.jsonl", ["Planet"])
            with pytest.raises(errors.BranchNotFound):
                await graph.branch("side").query(NAMES)
            assert (await graph.get("Person", "Lee") or {})["name"] == "Lee"
            assert await graph.get("Person", "Lee", at=done.commit_id) is None
            assert (await graph.query(NAMES, snapshot=done.commit_id)).commit_id == done.commit_id  # type: ignore[call-arg]
            head = await graph.commits.head()
            assert (await graph.commits.show(head or "")) == (await graph.commits.list())[0]
            assert (await graph.snapshot())["graph_branch"] == "main"
            sealed = await graph.changes.baseline(tmp_path / "baseline.jsonl", types=["Person"])
            lines = [json.loads(line) for line in (tmp_path / "baseline.jsonl").read_text().splitlines()]
            assert lines[-1]["baseline"]["snapshot_commit_id"] == sealed.snapshot_commit_id == head
            assert {line["type"] for line in lines[:-1]} == {"Person"}
            assert sorted(path.name for path in tmp_path.iterdir()) == ["baseline.jsonl", "people.jsonl"]
            applied = await graph.schema.apply(await graph.schema.source)
            assert not applied["applied"]

    asyncio.run(session())


def test_blobs_are_awaited_part_by_part(open_server: ServerProcess) -> None:
    async def session() -> None:
        async with aio.connect(open_server.url) as graph:
            blob = await graph.blob("Document", "hello", "content")
            assert (blob.size, blob.is_external, blob.snapshot_id) == (11, False, await graph.commits.head())
            assert await blob.read() == b"Hello World"
            assert await blob.read(6, 100) == b"World"
            assert await blob.read(11) == b""
            assert (
                await (await graph.blob("node:Document", "hello", "content", at=blob.snapshot_id)).read(1, 4) == b"ello"
            )
            with pytest.raises(errors.NotFound, match="'nobody' has no 'content'"):
                await graph.blob("Document", "nobody", "content")
            with pytest.raises(errors.BadRequest, match="knows no Blob 'name' of edge type 'Person'"):
                await graph.blob("Person", "Alice", "name")
            with pytest.raises(errors.BadRequest, match="must not be negative"):
                await blob.read(-1)

    asyncio.run(session())


def test_a_stream_that_lacks_its_last_line_leaves_no_file(tmp_path: Path) -> None:
    lines = WholeLines([b'{"type":"Person","data":{}}\n{"base', b'line":1}\n'])
    with pytest.raises(errors.ServerFailed, match="ended before it was complete"):
        write_stream(tmp_path / "b.jsonl", lines, lambda: lines.seal("baseline"))
    with pytest.raises(errors.StorageError, match="cannot be written"):
        write_stream(tmp_path / "missing" / "b.jsonl", [b"x"])
    assert list(tmp_path.iterdir()) == []
