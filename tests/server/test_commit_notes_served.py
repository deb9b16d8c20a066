"""Messages, kinds and filters of commits over HTTP, for clients and for agents (issue 14, 8)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import httpx
import pytest
from graph_api import Api

import omnigraph as og
from omnigraph import aio
from omnigraph.errors import BadRequest, PreconditionFailed
from omnigraph.storage.manifest.note import RowCounts
from server_process import ServerProcess

ADD = "query add($name: String) { insert Person { name: $name } }"


@pytest.fixture
def graph(open_server: ServerProcess, api: Api) -> Iterator[og.RemoteGraph]:
    with og.connect(open_server.url, graph=api.graph) as found:
        yield found


def test_messages_travel_with_every_writing_verb(graph: og.RemoteGraph) -> None:
    done = graph.mutate(ADD, params={"name": "Zoe"}, message="zoe joins")
    assert done.commit is not None
    assert (done.commit.kind, done.commit.message, done.commit.query) == ("mutate", "zoe joins", "add")
    assert done.commit.counts == {"Person": RowCounts(inserted=1)}
    loaded = graph.load([{"type": "Person", "data": {"name": "Yan"}}], message="and yan & co")
    assert loaded.commit is not None
    assert (loaded.commit.kind, loaded.commit.message) == ("load", "and yan & co")
    graph.branches.create("side")
    graph.branch("side").mutate(ADD, params={"name": "Xu"})
    merged = graph.branches.merge("side")
    assert merged.commit is not None
    assert merged.commit.message == "merge side into main"
    assert graph.commits.show("HEAD") == merged.commit


def test_commits_are_filtered_by_the_server(graph: og.RemoteGraph) -> None:
    graph.mutate(ADD, params={"name": "Zoe"}, message="zoe joins")
    graph.mutate(ADD, params={"name": "Yan"}, message="yan joins")
    assert [commit.message for commit in graph.commits.list(message="ZOE")] == ["zoe joins"]
    assert [commit.message for commit in graph.commits.list(kind="mutate", limit=1)] == ["yan joins"]
    newest = graph.commits.list(limit=1)[0]
    assert graph.commits.head() == newest.graph_commit_id
    with pytest.raises(BadRequest, match="unknown kind of commit 'mutation'"):
        graph.commits.list(kind="mutation")
    with pytest.raises(BadRequest, match="is not a datetime"):
        graph.commits.list(since="yesterday")
    with pytest.raises(BadRequest, match=r"control character U\+001B"):
        graph.mutate(ADD, params={"name": "Xu"}, message="\x1b[2J")


def test_the_asynchronous_handle_does_the_same(open_server: ServerProcess, api: Api) -> None:
    async def run() -> list[str | None]:
        async with aio.connect(open_server.url, graph=api.graph) as graph:
            await graph.mutate(ADD, params={"name": "Zoe"}, message="zoe joins")
            return [commit.message for commit in await graph.commits.list(kind="mutate", type="Person")]

    assert asyncio.run(run()) == ["zoe joins"]


def test_a_batch_of_lines_is_one_commit(graph: og.RemoteGraph, api: Api) -> None:
    before = graph.commits.head()
    done = graph.mutate_many(
        [(ADD, {"name": "Zoe"}), {"name": "add", "params": {"name": "Yan"}}], message="two at once"
    )
    assert (done.mutations, done.affected_nodes) == (2, 2)
    assert done.commit is not None
    assert (done.commit.parent_commit_id, done.commit.message) == (before, "two at once")
    assert done.commit.counts == {"Person": RowCounts(inserted=2)}
    with pytest.raises(BadRequest, match="line 2: it names no stored query"):
        graph.mutate_many([(ADD, {"name": "Xu"}), {"name": "nowhere"}])
    with pytest.raises(BadRequest, match="line 1: "):
        graph.mutate_many([{"query": ADD, "params": {"nam": "Xu"}}])
    with pytest.raises(PreconditionFailed):
        graph.mutate_many([(ADD, {"name": "Xu"})], if_commit=before)
    assert graph.commits.head() == done.commit_id
    assert api.post("/mutate/ndjson", {}).status_code == 415


@pytest.mark.parametrize("query", ["limit=x", "maintenance=yes", "kind=mutation", "until=now", "type=Nope"])
def test_a_bad_parameter_is_refused(client: httpx.Client, query: str) -> None:
    answer = client.get(f"/graphs/default/commits?{query}")
    assert answer.status_code == 400, answer.text
