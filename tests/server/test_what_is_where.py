"""The table of verbs by where they can be used: every name in it exists, and every route and verb is in it."""

from __future__ import annotations

import re
from pathlib import Path

import omnigraph as og
from omnigraph.cli.commands import COMMANDS
from omnigraph.client import history_nouns, nouns
from omnigraph.client.unserved import UNSERVED
from omnigraph.engine.api.schema import Schema
from omnigraph.mcp.builtin import TOOLS
from omnigraph.server.routes.table import ROUTES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "server.md"
EMBEDDED = {"": og.Graph, "branches": og.Branches, "commits": og.Commits, "changes": og.Changes, "tags": og.Tags}
SERVED = {
    "": og.RemoteGraph,
    "branches": nouns.RemoteBranches,
    "commits": history_nouns.RemoteCommits,
    "changes": history_nouns.RemoteChanges,
    "tags": history_nouns.RemoteTags,
    "schema": nouns.RemoteSchema,
}
# Routes that are another form, a part or a precondition of one in the table.
WITH_OTHERS = {
    "/blob": "HEAD is GET without the value",
    "/changes/stream": "the feed, pushed",
    "/commits/{commit_id}": "one commit of the list",
    "/load": "records in a JSON envelope",
    "/mcp": "the last column",
    "/mutate/if-graph-commit": "a mutation under a condition",
    "/permissions": "what the sender may do",
    "/queries/{name}/if-graph-commit": "a stored mutation under a condition",
    "/tags": "listing them",
    "/uploads": "listing them",
    "/tags/{tag}": "one of them",
}


def rows() -> list[list[str]]:
    section = PAGE.read_text(encoding="utf-8").split("## What is where")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines[1:]]


def has(owners: dict[str, type], verb: str) -> bool:
    part, _, name = verb.rpartition(".")
    return part in owners and hasattr(owners[part], name)


def test_every_name_in_the_table_exists() -> None:
    commands = {" ".join(command.path): command for command in COMMANDS}
    routes = {(route.method, route.path.removeprefix("/graphs/{graph_id}")) for route in ROUTES}
    assert len(rows()) > 30
    for _, verb, command, served, route, tool in rows():
        if verb != "–":
            assert has({**EMBEDDED, "schema": Schema}, verb), verb
            if route != "–":
                assert has(SERVED, verb), verb
        if command != "–":
            assert served == ("yes" if "--server" in commands[command].accepts else "no"), command
        if route != "–":
            method, _, path = route.partition(" …")
            assert (method, path) in routes, route
        assert tool in (*TOOLS, "–", "stored queries"), tool


def test_every_route_and_tool_is_in_the_table() -> None:
    told = {row[4].partition(" …")[2] for row in rows()}
    paths = {route.path.removeprefix("/graphs/{graph_id}") for route in ROUTES if route.has_graph}
    assert paths - told == WITH_OTHERS.keys() - told
    assert re.sub(r"graph_search", "", " ".join(sorted(TOOLS))).split() == sorted(
        {row[5] for row in rows()} & TOOLS.keys()
    )


def test_what_is_not_served_has_no_route() -> None:
    for _, verb, _, _, route, _ in rows():
        if verb in UNSERVED:
            assert route == "–", verb
