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

import omnigraph as og
from server_process import ServerProcess, serving

READS = """
version: 1
groups: {team: [ada, bob], writers: [ada], drafters: [dan], parts: [pia]}
protected_branches: [main]
rules:
  - {id: read, allow: {actors: {group: team}, actions: [read, invoke_query]}}
  - {id: write, allow: {actors: {group: writers}, actions: [change]}}
  - {id: drafts, allow: {actors: {group: drafters}, actions: [read, change], branch_scope: unprotected}}
  - {id: fork, allow: {actors: {group: drafters}, actions: [branch_create]}}
  - {id: parts, allow: {actors: {group: parts}, actions: [read], types: [Person], mask: {Person: [age]}}}
"""
TOKENS = {"ada": "ta", "bob": "tb", "dan": "td", "pia": "tp"}
LOOKING = {
    "graph_describe",
    "graph_look_up",
    "graph_neighbours",
    "graph_search",
    "graph_query",
    "graph_explain",
    "graph_history",
}


@pytest.fixture(scope="module")
def guarded(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    places = copies(template, tmp_path_factory.mktemp("agents"), ["default"])
    graph = {"uri": places["default"], "queries": STORED, "policy": READS}
    with serving({"graphs": {"default": graph}, "tokens": TOKENS}) as server:
        server.extra["default"] = places["default"]
        yield server


def over_http(
    server: ServerProcess, token: str, talk: Callable[[Client], Awaitable[None]], branch: str = "main"
) -> None:
    async def session() -> None:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http:
            url = f"{server.url}/graphs/default/mcp?branch={branch}"
            async with Client(streamable_http_client(url, http_client=http)) as client:
                await talk(client)

    asyncio.run(session())


def answer(found: Any) -> Any:
    return json.loads(found.content[0].text)


def test_stored_queries_are_tools_with_their_parameters(guarded: ServerProcess) -> None:
    async def talk(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"add", "everybody", "graph_request_merge", *LOOKING}
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


def test_an_agent_works_without_stored_queries(guarded: ServerProcess) -> None:
    async def talk(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {*LOOKING, "graph_request_merge", "everybody"}, "bob may not write"
        described = answer(await client.call_tool("graph_describe", {}))
        assert {"Person", "Company"} <= {each["type"] for each in described["types"]}
        assert "uri" not in described
        found = answer(await client.call_tool("graph_look_up", {"type": "Person", "id": "Alice"}))
        assert found["entity"] == {"id": "Alice", "age": 30, "name": "Alice"}
        around = answer(await client.call_tool("graph_neighbours", {"type": "Person", "id": "Alice", "limit": 1}))
        assert [each["count"] for each in around["groups"] if each["edge"] == "Knows"] == [2, 0]
        text = "query q() { match { $p: Person } return { $p.name } order { $p.name } }"
        few = answer(await client.call_tool("graph_query", {"query": text, "limit": 2}))
        assert (few["rows"], few["truncated"]) == ([{"p.name": "Alice"}, {"p.name": "Bob"}], True)
        assert "scan $p" in answer(await client.call_tool("graph_explain", {"query": text}))["plan"]
        assert answer(await client.call_tool("graph_history", {"limit": 1}))["commits"]
        searched = answer(await client.call_tool("graph_search", {"type": "Person", "text": "alice"}))["found"]
        assert [(each["property"], each["entity"]["id"]) for each in searched] == [("name", "Alice")]
        for name, wrong, said in (
            ("graph_query", {"query": "query q() { match { $p: Persn } return { $p } }"}, "no node type 'Persn'"),
            ("graph_query", {"query": 'query q() { delete Person where name = "Dan" }'}, "mutations"),
            ("graph_query", {"query": text, "limit": 100000}, "between 1 and"),
            ("graph_query", {"qury": text}, "did you mean"),
            ("graph_look_up", {"type": "Person"}, "needs the argument 'id'"),
            ("graph_look_up", {"type": "Person", "id": 3}, "is a string"),
            ("graph_look_up", {"type": "Person", "id": "Zoe"}, "not found"),
            ("graph_search", {"type": "Person", "text": "x", "property": "age"}, "no text index"),
            ("graph_propose", {"query": ADD, "branch": "p/x", "message": "m"}, "policy denied"),
        ):
            refused = await client.call_tool(name, wrong)
            assert refused.is_error, name
            assert said in refused.content[0].text

    over_http(guarded, "tb", talk)


def test_a_proposal_goes_to_a_branch_and_a_person_merges_it(guarded: ServerProcess) -> None:
    async def talk(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {*LOOKING, "graph_propose", "graph_request_merge"}
        add = {"query": 'query q() { insert Person { name: "Uma" } }', "message": "Uma joins"}
        done = answer(await client.call_tool("graph_propose", {**add, "branch": "proposals/uma"}))
        assert (done["branch_created"], done["affected_nodes"]) == (True, 1)
        wanted = answer(await client.call_tool("graph_request_merge", {"branch": "proposals/uma"}))
        assert (wanted["into"], wanted["changes"]["Person"]["inserted"]) == ("drafts", 1)
        assert "omnigraph branch merge proposals/uma" in wanted["advice"]
        for branch in ("main", "drafts"):
            refused = await client.call_tool("graph_propose", {**add, "branch": branch})
            assert "a branch of its own" in refused.content[0].text
        missing = await client.call_tool("graph_look_up", {"type": "Person", "id": "Uma"})
        assert missing.is_error, "the branch in use is as it was"

    create_draft(guarded)
    over_http(guarded, "td", talk, branch="drafts")
    with guarded.client("td") as client:  # rights are those of the branch in use
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        assert client.post("/graphs/default/mcp", json=message).status_code == 403


def create_draft(server: ServerProcess) -> None:
    """A branch beside main, made where the storage is."""
    with og.open(server.extra["default"]) as graph:
        graph.branches.create("drafts")


def test_a_reader_of_parts_gets_tools_that_show_parts(guarded: ServerProcess) -> None:
    async def talk(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == LOOKING
        described = answer(await client.call_tool("graph_describe", {}))
        assert [each["type"] for each in described["types"]] == ["Person"]
        found = answer(await client.call_tool("graph_look_up", {"type": "Person", "id": "Alice"}))
        assert found["entity"]["age"] is None
        hidden = await client.call_tool("graph_look_up", {"type": "Company", "id": "Acme"})
        unknown = await client.call_tool("graph_look_up", {"type": "Nothing", "id": "Acme"})
        assert hidden.content[0].text.replace("Company", "X") == unknown.content[0].text.replace("Nothing", "X")

    over_http(guarded, "tp", talk)


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
            more = {"add", "graph_propose"} if writes else set()
            assert names == {"everybody", "graph_request_merge", *LOOKING, *more}
            assert answer(await client.call_tool("graph_describe", {}))["branch"] == "main"
            assert len(answer(await client.call_tool("everybody", {}))["rows"]) == 4
            done = await client.call_tool("add", {"name": "Gil", "age": None})
            assert done.is_error is not writes

    asyncio.run(session())
