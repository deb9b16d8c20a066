"""Agents on the official SDK's client: tools, resources and refusals, over HTTP and over stdio."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from served_people import ADD, STORED, copies

from server_process import ServerProcess, serving

READS = """
version: 1
groups: {team: [ada, bob], writers: [ada]}
rules:
  - {id: read, allow: {actors: {group: team}, actions: [read, invoke_query]}}
  - {id: write, allow: {actors: {group: writers}, actions: [change]}}
"""


@pytest.fixture(scope="module")
def guarded(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    places = copies(template, tmp_path_factory.mktemp("agents"), ["default"])
    graph = {"uri": places["default"], "queries": STORED, "policy": READS}
    with serving({"graphs": {"default": graph}, "tokens": {"ada": "ta", "bob": "tb"}}) as server:
        yield server


def over_http(server: ServerProcess, token: str, talk: Callable[[Client], Awaitable[None]]) -> None:
    async def session() -> None:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http:
            url = f"{server.url}/graphs/default/mcp"
            async with Client(streamable_http_client(url, http_client=http)) as client:
                await talk(client)

    asyncio.run(session())


def answer(found: Any) -> Any:
    return json.loads(found.content[0].text)


def test_stored_queries_are_tools_with_their_parameters(guarded: ServerProcess) -> None:
    async def talk(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"add", "everybody"}
        assert tools["everybody"].description == "all of them"
        assert tools["everybody"].annotations.read_only_hint is True
        schema = tools["add"].input_schema
        assert schema["properties"]["age"] == {"type": ["integer", "null"]}
        assert schema["required"] == ["name"]
        found = await client.call_tool("everybody", {})
        assert answer(found)["rows"][0] == {"p.name": "Alice"}

    over_http(guarded, "ta", talk)


def test_schema_and_branches_are_resources(guarded: ServerProcess) -> None:
    async def talk(client: Client) -> None:
        uris = [str(each.uri) for each in (await client.list_resources()).resources]
        assert uris == ["omnigraph://schema", "omnigraph://branches", "omnigraph://commits"]
        assert "node Person" in (await client.read_resource("omnigraph://schema")).contents[0].text
        assert json.loads((await client.read_resource("omnigraph://branches")).contents[0].text) == ["main"]
        commits = json.loads((await client.read_resource("omnigraph://commits")).contents[0].text)
        assert commits[-1]["kind"] == "init"

    over_http(guarded, "ta", talk)


def test_the_policy_of_the_server_decides_about_tools(guarded: ServerProcess) -> None:
    async def writer(client: Client) -> None:
        done = await client.call_tool("add", {"name": "Eve", "age": 1, "commit-message": "eve joins"})
        assert answer(done)["affected_nodes"] == 1
        assert answer(done)["commit"]["message"] == "eve joins"

    async def reader(client: Client) -> None:
        refused = await client.call_tool("add", {"name": "Fay", "age": 1})
        assert refused.is_error
        assert "policy denied action 'change'" in refused.content[0].text
        unknown = await client.call_tool("no_such_tool", {})
        assert (unknown.is_error, unknown.content[0].text) == (True, "stored query not found")

    over_http(guarded, "ta", writer)
    over_http(guarded, "tb", reader)


def test_without_a_token_nothing_is_told(guarded: ServerProcess) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    path = "/graphs/default/mcp"
    for token, status in ((None, 401), ("wrong", 401)):
        with guarded.client(token) as client:
            assert client.post(path, json=message).status_code == status
    assert guarded.get(path, headers={"Authorization": "Bearer ta"}).status_code == 405


@pytest.mark.parametrize("writes", [False, True])
def test_a_graph_in_storage_offers_a_file_of_queries(template: Path, tmp_path: Path, writes: bool) -> None:
    place = copies(template, tmp_path, ["mine"])["mine"]
    (tmp_path / "tools.gq").write_text("\n".join([STORED["everybody"], ADD]), encoding="utf-8")
    arguments = ["-m", "omnigraph.cli", "mcp", "--store", place, "--query", str(tmp_path / "tools.gq")]
    command = StdioServerParameters(command=sys.executable, args=[*arguments, *(["--allow-writes"] if writes else [])])

    async def session() -> None:
        async with Client(stdio_client(command)) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert names == ({"everybody", "add"} if writes else {"everybody"})
            assert len(answer(await client.call_tool("everybody", {}))["rows"]) == 4
            done = await client.call_tool("add", {"name": "Gil", "age": None})
            assert done.is_error is not writes

    asyncio.run(session())
