"""Property names that mean something else somewhere on their way, and graphs that use all of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import omnigraph as og

# What each name collides with, were it not kept apart: members of records, images, change feeds and envelopes, words of
# the languages and of SQL, columns of pandas, Lance, Spark and the importers, and names that differ in case only.
_WORDS = """
    src dst from to type data edge op kind label labels name properties endpoints before after node key value
    source target start end from_label to_label _id _key _type _labels _score _relevance_score
    _ROWID _rowId _rowAddr _RowAddr _ROW_CREATED_AT_VERSION aB ab _AB _ab iD id_ _ID
    match return limit order not in and or select where count distinct set insert delete update enum interface
    true false null asc desc having optional shortest collect
    c0 k0 position line file path length nodes first near far hop loop answer text score row rows columns
    __index_level_0__ _ __ x entity_type published_dataset_version
    commit commit_id actor_id if_commit params query query_name branch snapshot mode on_error version
"""
NODE_NAMES = tuple(_WORDS.split())
EDGE_NAMES = tuple(name for name in NODE_NAMES if name not in ("src", "dst", "from", "to"))


def _declared(names: tuple[str, ...]) -> str:
    return "\n".join(f"  {name}: String?" for name in names)


SCHEMA = f"""
node P {{
  k: String @key
{_declared(NODE_NAMES)}
}}
edge E: P -> P {{
{_declared(EDGE_NAMES)}
}}
"""
# Every property of one node and of one edge as result columns whose names are known.
NODE_COLUMNS = ", ".join(f"$p.{name} as o{at}" for at, name in enumerate(NODE_NAMES))
EDGE_COLUMNS = ", ".join(f"$e.{name} as o{at}" for at, name in enumerate(EDGE_NAMES))
READ_NODE = f'query node() {{ match {{ $p: P {{ k: "1" }} }} return {{ {NODE_COLUMNS} }} }}'
READ_EDGE = f"query edge() {{ match {{ $p: P  $p $e:e $q }} return {{ {EDGE_COLUMNS} }} }}"
READ_OBJECT = 'query object() { match { $p: P { k: "1" } } return { $p } }'
WRITE_NODE = (
    "query write("
    + ", ".join(f"$a{at}: String" for at in range(len(NODE_NAMES)))
    + ") { update P set { "
    + ", ".join(f"{name}: $a{at}" for at, name in enumerate(NODE_NAMES))
    + ' } where k = "1" }'
)


def node_values(tag: str) -> dict[str, str]:
    """A value for every property of a node that tells which it is."""
    return {name: f"{tag} {name}" for name in NODE_NAMES}


def edge_values(tag: str) -> dict[str, str]:
    """The same for an edge."""
    return {name: f"{tag} {name}" for name in EDGE_NAMES}


def write_params(tag: str) -> dict[str, str]:
    """The parameters of `WRITE_NODE`."""
    return {f"a{at}": value for at, value in enumerate(node_values(tag).values())}


def records(tag: str) -> list[dict[str, Any]]:
    """Two nodes, one of them full, and a full edge between them."""
    return [
        {"type": "P", "data": {"k": "1", **node_values(tag)}},
        {"type": "P", "data": {"k": "2"}},
        {"edge": "E", "from": "1", "to": "2", "data": {"id": "e1", **edge_values(tag)}},
    ]


def node(tag: str) -> dict[str, str]:
    """The full node as `get` shows it."""
    return {"id": "1", "k": "1", **node_values(tag)}


def edge(tag: str) -> dict[str, str]:
    """The full edge as `get` shows it."""
    return {"id": "e1", "src": "1", "dst": "2", **edge_values(tag)}


def columns(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """A row of `READ_NODE` or `READ_EDGE` by property name."""
    return {name: row[f"o{at}"] for at, name in enumerate(names)}


def hostile_graph(place: Path, *tags: str) -> og.Graph:
    """A graph that was loaded once per tag, each time over what was there."""
    graph = og.init(place, SCHEMA)
    for tag in tags:
        graph.load(records(tag), "merge")
    return graph
