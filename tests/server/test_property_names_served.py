"""Any legal property name survives HTTP, the client and MCP (issue 13, 3)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import omnigraph as og
from hostile_names import (
    EDGE_NAMES,
    NODE_NAMES,
    READ_EDGE,
    READ_NODE,
    READ_OBJECT,
    WRITE_NODE,
    columns,
    edge_values,
    hostile_graph,
    node,
    node_values,
    records,
    write_params,
)
from server_process import ServerProcess, serving

IMAGE = {"properties": {"k": "1", **node_values("c")}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    place = tmp_path_factory.mktemp("served") / "graph"
    hostile_graph(place, "a", "b").close()
    stored = {"node": READ_NODE, "write": WRITE_NODE}
    with serving({"graphs": {"default": {"uri": str(place), "queries": stored}}}) as found:
        yield found


@pytest.fixture
def graph(server: ServerProcess) -> Iterator[og.RemoteGraph]:
    with og.connect(server.url) as found:
        found.load(records("c"), "merge")
        yield found


def test_loads_and_reads_keep_every_name(graph: og.RemoteGraph) -> None:
    assert graph.get("P", "1") == node("c")
    assert columns(graph.query(READ_NODE).rows()[0], NODE_NAMES) == node_values("c")
    assert columns(graph.query(READ_EDGE).rows()[0], EDGE_NAMES) == edge_values("c")
    assert graph.query(READ_OBJECT).rows() == [{"p": node("c")}]


@pytest.mark.parametrize("accept", ["application/json", "application/x-ndjson"])
def test_rows_as_json_keep_every_name(graph: og.RemoteGraph, server: ServerProcess, accept: str) -> None:
    with server.client() as client:
        answer = client.post("/graphs/default/query", json={"query": READ_NODE}, headers={"Accept": accept})
    row = answer.json()["rows"][0] if accept == "application/json" else json.loads(answer.text)
    assert columns(row, NODE_NAMES) == node_values("c")


def test_mutations_changes_and_feeds_keep_every_name(graph: og.RemoteGraph) -> None:
    graph.mutate(WRITE_NODE, params=write_params("m"))
    graph.mutate(WRITE_NODE, params=write_params("c"))
    (change,) = graph.commits.changes(graph.commits.head()).changes
    assert (change["before"]["properties"], change["after"]) == ({"k": "1", **node_values("m")}, IMAGE)
    polled = graph.changes.poll(start="beginning")
    assert polled.blocks[-1].changes == [change]


def test_exports_keep_every_name(graph: og.RemoteGraph, tmp_path: Any) -> None:
    graph.export(tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {"type": "P", "data": node("c")} in lines
    assert {"edge": "E", "from": "1", "to": "2", "data": {"id": "e1", **edge_values("c")}} in lines


def test_agents_read_and_write_every_name(graph: og.RemoteGraph, server: ServerProcess) -> None:
    async def session() -> None:
        async with Client(streamable_http_client(f"{server.url}/graphs/default/mcp")) as client:
            await client.call_tool("write", write_params("agent"))
            found = await client.call_tool("node", {})
            row = json.loads(found.content[0].text)["rows"][0]
            assert columns(row, NODE_NAMES) == node_values("agent")

    asyncio.run(session())
    assert graph.get("P", "1") == node("agent")
