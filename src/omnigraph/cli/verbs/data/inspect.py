"""`describe`, `snapshot` and `get`: looking at what is stored."""

from __future__ import annotations

from typing import Any

from omnigraph.cli.address.target import AnyGraph, read_target
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.errors import NotFound


def describe(call: Call) -> None:
    """A graph at a glance."""
    with read_target(call).reader() as graph:
        found = graph.describe(branch=call.value("--branch"))
    if call.json:
        output.document(found.document())
    else:
        output.line(str(found))


def snapshot(call: Call) -> None:
    """Which dataset versions a branch publishes."""
    branch = call.value("--branch")
    with read_target(call).reader() as graph:
        found = _document(graph, branch)
    if call.json:
        output.document(found)
        return
    head = [f"{name}: {value}" for name, value in found.items() if name != "datasets"]
    output.write("".join(f"{text}\n" for text in [*head, *map(_dataset_line, found["datasets"])]))


def datasets_of(graph: AnyGraph, branch: str) -> list[dict[str, Any]]:
    """The published datasets of a branch, wherever the graph is, in the shape of the contract."""
    found: list[dict[str, Any]] = _document(graph, branch)["datasets"]
    return found


def _document(graph: AnyGraph, branch: str) -> dict[str, Any]:
    from omnigraph.storage.manifest.stamp import CURRENT_STAMP  # a graph with another stamp does not open

    seen = graph.snapshot(branch=branch)
    if isinstance(seen, dict):
        return seen  # a server's answer
    return {
        "graph_branch": branch,
        "graph_manifest_version": seen.manifest_version,
        "internal_schema_version": CURRENT_STAMP,
        "datasets": [entry.document() for entry in seen],
    }


def get(call: Call) -> None:
    """One entity as JSON."""
    kind, entity_id, snapshot_id = call.required("TYPE"), call.required("ID"), call.text("--snapshot")
    with read_target(call).reader() as graph:
        branch = None if snapshot_id is not None else call.value("--branch")
        found = graph.get(kind, entity_id, at=snapshot_id, branch=branch)
    if found is None:
        raise NotFound(f"{kind} '{entity_id}' not found")
    output.document(found)


def _dataset_line(dataset: dict[str, Any]) -> str:
    return (
        f"{dataset['entity_kind']} type '{dataset['type_name']}' "
        f"published_dataset_version={dataset['published_dataset_version']} "
        f"native_dataset_branch={dataset['native_dataset_branch'] or 'main'} entities={dataset['entity_count']}"
    )
