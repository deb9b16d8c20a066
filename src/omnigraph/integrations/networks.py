"""A graph, or some of its types, for NetworkX, igraph and rustworkx; with the properties of nodes and edges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from omnigraph.errors import BadRequest
from omnigraph.integrations.tables import Queryable, catalog_of, read_type, type_named

if TYPE_CHECKING:
    import igraph
    import networkx
    import rustworkx

Key: TypeAlias = tuple[str, str]
"""A node: its type and its id."""


@dataclass(frozen=True, slots=True)
class Network:
    """Nodes with their properties, and edges between them by the places of their ends."""

    nodes: dict[Key, dict[str, Any]]
    edges: list[tuple[Key, Key, dict[str, Any]]]


def read_network(graph: Queryable, edges: Iterable[str] | None = None) -> Network:
    """Some edge types, or all, with the nodes of the types they join; all node types where every edge is wanted."""
    catalog = catalog_of(graph)
    chosen = [type_named(catalog, name).name for name in edges] if edges is not None else list(catalog.edges)
    for name in chosen:
        if name not in catalog.edges:
            raise BadRequest(f"'{name}' is a node type; name edge types, their nodes come along")
    ends = [(catalog.edges[name].from_type, catalog.edges[name].to_type) for name in chosen]
    kinds = list(catalog.nodes) if edges is None else list(dict.fromkeys(kind for pair in ends for kind in pair))
    nodes = {
        (kind, row.pop("id")): {"type": kind, **row} for kind in kinds for row in read_type(graph, kind).to_pylist()
    }
    found: list[tuple[Key, Key, dict[str, Any]]] = []
    for name, (start, goal) in zip(chosen, ends, strict=True):
        rows = read_type(graph, name).to_pylist()
        found += [((start, row.pop("from")), (goal, row.pop("to")), {"type": name, **row}) for row in rows]
    return Network(nodes, found)


def to_networkx(graph: Queryable, edges: Iterable[str] | None = None) -> networkx.MultiDiGraph:
    """A directed multigraph; nodes are `(type, id)` and edges have their id as key."""
    import networkx

    network, made = read_network(graph, edges), networkx.MultiDiGraph()
    made.add_nodes_from(network.nodes.items())
    made.add_edges_from((start, goal, row["id"], row) for start, goal, row in network.edges)
    return made


def to_igraph(graph: Queryable, edges: Iterable[str] | None = None) -> igraph.Graph:
    """A directed graph; vertices have `type`, `id` and their properties."""
    import igraph

    network = read_network(graph, edges)
    places = {key: place for place, key in enumerate(network.nodes)}
    made = igraph.Graph(len(places), [(places[start], places[goal]) for start, goal, _ in network.edges], directed=True)
    vertices = [{"id": key[1], **row} for key, row in network.nodes.items()]
    for name in _members(vertices):
        made.vs[name] = [row.get(name) for row in vertices]
    rows = [row for _, _, row in network.edges]
    for name in _members(rows):
        made.es[name] = [row.get(name) for row in rows]
    return made


def to_rustworkx(graph: Queryable, edges: Iterable[str] | None = None) -> rustworkx.PyDiGraph:
    """A directed multigraph whose nodes and edges are dicts with `type`, `id` and their properties."""
    import rustworkx

    network, made = read_network(graph, edges), rustworkx.PyDiGraph(multigraph=True)
    indices = made.add_nodes_from([{"id": key[1], **row} for key, row in network.nodes.items()])
    places = dict(zip(network.nodes, indices, strict=True))
    made.add_edges_from([(places[start], places[goal], row) for start, goal, row in network.edges])
    return made


def _members(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))
