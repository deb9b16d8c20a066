"""A handful of people who know each other: the graph on which merges, diffs and feeds are tried out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnigraph.assembly import init, open
from omnigraph.engine.api.graph import Graph
from omnigraph.settings import Settings

SCHEMA = """
node Person {
  name: String @key
  age: I32?
  nick: String?
  mail: String? @unique
  score: F64?
  tags: [String]?
  photo: Blob?
  @range(age, 0..150)
}
node Team { title: String }
edge Knows: Person -> Person @card(0..2) { since: I32? }
edge Leads: Person -> Team
"""
PEOPLE = ("Alice", "Bob", "Carol", "Dan")
SETTINGS = Settings(retire_grace_ms=0, lease_ttl_ms=600_000, lease_skew_ms=0)


def create_people(place: Path) -> Path:
    """Alice, Bob, Carol and Dan, all thirty; Bob knows Carol. For copying with `open_copy`."""
    with init(place, SCHEMA, settings=SETTINGS) as graph:
        lines: list[Mapping[str, Any]] = [{"type": "Person", "data": {"name": name, "age": 30}} for name in PEOPLE]
        knows = {"edge": "Knows", "from": "Bob", "to": "Carol", "data": {"id": "bob-carol"}}
        graph.load([json.dumps(line) for line in [*lines, knows]])
    return place


def open_copy(template: Path, place: Path) -> Graph:
    """A fresh copy of a graph, opened by the actor ada."""
    shutil.copytree(template, place)
    return open(place, actor="ada", settings=SETTINGS)


def put(graph: Graph, name: str, **values: Any) -> None:
    """Insert or replace one person."""
    graph.load([json.dumps({"type": "Person", "data": {"name": name, **values}})], "merge")


def change(graph: Graph, name: str, **values: Any) -> None:
    """Set some properties of one person."""
    declared = ", ".join(f"$v{at}: {_KINDS[key]}?" for at, key in enumerate(values))
    assigned = ", ".join(f"{key}: $v{at}" for at, key in enumerate(values))
    text = f"query c($n: String, {declared}) {{ update Person set {{ {assigned} }} where name = $n }}"
    graph.mutate(text, params={"n": name, **{f"v{at}": value for at, value in enumerate(values.values())}})


def remove(graph: Graph, name: str) -> None:
    """Delete one person and the edges at that person."""
    graph.mutate("query d($n: String) { delete Person where name = $n }", params={"n": name})


def befriend(graph: Graph, one: str, other: str, edge_id: str | None = None) -> None:
    """Add an edge between two people."""
    data = {} if edge_id is None else {"id": edge_id}
    graph.load([json.dumps({"edge": "Knows", "from": one, "to": other, "data": data})], "append")


def unfriend(graph: Graph, edge_id: str) -> None:
    """Remove an edge."""
    graph.mutate("query d($e: String) { delete Knows where id = $e }", params={"e": edge_id})


_KINDS = {"age": "I32", "nick": "String", "mail": "String", "score": "F64", "tags": "[String]"}
