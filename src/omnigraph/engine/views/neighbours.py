"""What is next to a node: its edges by type and direction, counted, and a page of each with the nodes at their ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.display import Displayed
from omnigraph.engine.values.json_values import json_rows
from omnigraph.engine.views.entity import rows_with_ids, type_named
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest, NotFound

Direction: TypeAlias = Literal["out", "in"]

DEFAULT_NEIGHBOURS = 20
MAX_NEIGHBOURS = 1_000
_ENDS: dict[Direction, tuple[str, str]] = {"out": ("src", "dst"), "in": ("dst", "src")}


@dataclass(frozen=True, slots=True, repr=False)
class Neighbour(Displayed):
    """One edge and the node at its other end, both as flat JSON without blobs."""

    edge: dict[str, Any]
    node: dict[str, Any] | None

    def _brief(self) -> str:
        return str((self.node or self.edge)["id"])


@dataclass(frozen=True, slots=True, repr=False)
class EdgeGroup(Displayed):
    """The edges of one type in one direction: how many there are, and a page of them in the order of their ids.

    `after` continues it: the id of the last edge of this page, None at the end.
    """

    edge: str
    direction: Direction
    type_name: str
    count: int
    neighbours: tuple[Neighbour, ...]
    after: str | None = None

    def document(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "edge": self.edge,
            "direction": self.direction,
            "type": self.type_name,
            "count": self.count,
            "neighbours": [{"edge": each.edge, "node": each.node} for each in self.neighbours],
            "after": self.after,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Neighbourhood(Displayed):
    """A node and its edges; groups without edges are there with a count of zero."""

    type_name: str
    id: str
    node: dict[str, Any]
    groups: tuple[EdgeGroup, ...]

    def document(self) -> dict[str, Any]:
        """The same as JSON."""
        groups = [each.document() for each in self.groups]
        return {"type": self.type_name, "id": self.id, "node": self.node, "groups": groups}


@dataclass(frozen=True, slots=True)
class NeighbourCall:
    """Which edges are wanted, how many of each group, and behind which edge a page begins."""

    edge: str | None = None
    direction: str | None = None
    limit: int = DEFAULT_NEIGHBOURS
    after: str | None = None


EdgesAt: TypeAlias = Callable[[View, EdgeType, str, pa.Array, list[str]], pa.Table]
"""Some columns of the edges whose `src` or `dst` is among some ids."""


def neighbours(view: View, type_name: str, entity_id: str, call: NeighbourCall, edges_at: EdgesAt) -> Neighbourhood:
    """The surroundings of a node; NotFound when it does not exist."""
    _require_sense(call)
    info = type_named(view, type_name)
    if not isinstance(info, NodeType):
        raise BadRequest(f"'{info.name}' is an edge type; only nodes have neighbours")
    found = None if view.find(info) is None else rows_with_ids(view, info, [entity_id], blobs=False)
    if found is None or not found.num_rows:
        raise NotFound(f"{info.name} '{entity_id}' not found")

    def touching(edge: EdgeType, direction: Direction) -> pa.ChunkedArray:
        return edges_at(view, edge, _ENDS[direction][0], pa.array([entity_id]), ["id"])["id"]

    wanted = _incident(view, info, call)
    groups = tuple(_group(view, edge, direction, call, touching) for edge, direction in wanted)
    return Neighbourhood(info.name, entity_id, json_rows(found)[0], groups)


def _require_sense(call: NeighbourCall) -> None:
    if not 0 <= call.limit <= MAX_NEIGHBOURS:
        raise BadRequest(f"limit must be between 0 and {MAX_NEIGHBOURS}, not {call.limit}")
    if call.direction not in (None, *_ENDS):
        raise BadRequest(f"direction must be 'out' or 'in', not '{call.direction}'")
    if call.after is not None and (call.edge is None or call.direction is None):
        raise BadRequest("a page continues one group: name its edge and direction together with 'after'")


def _incident(view: View, info: NodeType, call: NeighbourCall) -> Iterator[tuple[EdgeType, Direction]]:
    edges = view.catalog.incident_edges[info.name]
    if call.edge is not None:
        wanted = view.catalog.edge(call.edge)
        if wanted is None or wanted not in edges:
            near = did_you_mean(call.edge, [each.name for each in edges])
            raise NotFound(f"'{info.name}' has no edge type '{call.edge}'{f'; {near}' if near else ''}")
        edges = (wanted,)
    for edge in edges:
        for direction in _ENDS:
            near_type = edge.from_type if direction == "out" else edge.to_type
            if near_type == info.name and call.direction in (None, direction):
                yield edge, direction


def _group(
    view: View,
    edge: EdgeType,
    direction: Direction,
    call: NeighbourCall,
    touching: Callable[[EdgeType, Direction], pa.ChunkedArray],
) -> EdgeGroup:
    far, type_name = _ENDS[direction][1], edge.to_type if direction == "out" else edge.from_type
    if view.find(edge) is None:
        return EdgeGroup(edge.name, direction, type_name, 0, ())
    all_ids = touching(edge, direction)
    rest = all_ids if call.after is None else all_ids.filter(pc.greater(all_ids, call.after))
    page = _first(rest, call.limit)
    after = page[-1] if page and len(page) < len(rest) else None
    return EdgeGroup(
        edge.name, direction, type_name, len(all_ids), tuple(_page(view, edge, far, type_name, page)), after
    )


def _first(ids: pa.ChunkedArray, limit: int) -> list[str]:
    """The smallest ids in their order."""
    found: list[str] = ids.take(pc.sort_indices(ids)[:limit]).to_pylist()
    return found


def _page(view: View, edge: EdgeType, far: str, type_name: str, ids: list[str]) -> Iterator[Neighbour]:
    if not ids:
        return
    edges = {row["id"]: row for row in json_rows(rows_with_ids(view, edge, ids, blobs=False))}
    ends = sorted({row[far] for row in edges.values()})
    info = view.catalog.nodes[type_name]
    nodes = {row["id"]: row for row in json_rows(rows_with_ids(view, info, ends, blobs=False))}
    for each in ids:
        yield Neighbour(edges[each], nodes.get(edges[each][far]))
