"""What a graph really looks like: its schema and version as the engine opens it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnigraph.assembly import open as open_graph
from omnigraph.cluster import addresses
from omnigraph.cluster.declaration.declared import Resource
from omnigraph.cluster.state.digests import content_digest
from omnigraph.cluster.state.stored import Stored, now
from omnigraph.engine.api.graph import Graph
from omnigraph.errors import OmnigraphError


@dataclass(frozen=True, slots=True)
class Live:
    """An opened graph in brief."""

    version: int
    schema_digest: str


def look_at(uri: str, desired: Resource | None) -> Live:
    """Open a graph read-only and look; OmnigraphError when it does not open."""
    with open_graph(uri, read_only=True) as graph:
        return live_state(graph, desired)


def live_state(graph: Graph, desired: Resource | None) -> Live:
    """Version and schema digest of an opened graph."""
    return Live(graph.view().version, _schema_digest(graph, desired))


def observation(place: Stored, graph_id: str, desired: Resource | None) -> tuple[dict[str, Any], Live | None]:
    """The record of one look at a declared graph, and what was seen; None when it is not there or does not open."""
    record: dict[str, Any] = {
        "kind": "graph",
        "address": addresses.graph(graph_id),
        "graph_uri": place.graph_uri(graph_id),
        "observed_at": now(),
        "exists": place.graph_exists(graph_id),
        "graph_manifest_version": None,
        "schema_digest": None,
        "desired_schema_digest": desired.digest if desired else None,
        "schema_matches_desired": None,
        "error": None,
    }
    if not record["exists"]:
        return record, None
    try:
        live = look_at(record["graph_uri"], desired)
    except OmnigraphError as error:
        return {**record, "error": error.message}, None
    seen = {
        "graph_manifest_version": live.version,
        "schema_digest": live.schema_digest,
        "schema_matches_desired": live.schema_digest == record["desired_schema_digest"],
    }
    return {**record, **seen}, live


def _schema_digest(graph: Graph, desired: Resource | None) -> str:
    """The digest of the accepted source; that of the desired one when the two mean the same.

    The engine keeps the text it accepted when another text changes only comments or layout. Reporting its old digest
    would show a drift that no apply could ever end.
    """
    source = graph.schema.source
    digest = content_digest(source.encode())
    if desired is None or desired.path is None or desired.digest == digest:
        return digest
    try:
        data = desired.path.read_bytes()
        same = content_digest(data) == desired.digest and not graph.schema.plan(desired.path).steps
    except (OSError, OmnigraphError):
        return digest
    return desired.digest if same else digest
