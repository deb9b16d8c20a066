"""`diff` and `blame`: what differs between two states, and who set what."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from omnigraph.cli import output
from omnigraph.cli.call import Call
from omnigraph.cli.commits import commit_json, moment
from omnigraph.cli.rows import cell_text
from omnigraph.cli.target import read_target
from omnigraph.errors import NotFound

if TYPE_CHECKING:
    from omnigraph.engine.diff import Difference, EntityChange

_SIGNS = {"insert": "+", "update": "~", "delete": "-"}


def diff(call: Call) -> None:
    """What one state has and the other has not, or has otherwise."""
    with read_target(call).reader() as graph:
        found = graph.diff(
            call.required("FROM"),
            call.argument("TO") or "main",
            kinds=call.many("--kind") or None,
            types=call.many("--type") or None,
            ops=call.many("--op") or None,
        )
    stats = {
        "inserts": found.stats.inserts,
        "updates": found.stats.updates,
        "deletes": found.stats.deletes,
        "types_affected": found.stats.types_affected,
    }
    if call.json:
        output.document(
            {
                "from_graph_manifest_version": found.from_graph_manifest_version,
                "to_graph_manifest_version": found.to_graph_manifest_version,
                "graph_branch": found.graph_branch,
                **({} if call.given("--stat") else {"changes": [_change_json(change) for change in found]}),
                "stats": stats,
            }
        )
        return
    lines = _stat_lines(found) if call.given("--stat") else [_change_line(change) for change in found]
    counts = f"{stats['inserts']} inserted, {stats['updates']} updated, {stats['deletes']} deleted"
    output.write("".join(f"{text}\n" for text in [*lines, counts]))


def blame(call: Call) -> None:
    """The commit and actor behind every property of an entity."""
    name = call.argument("PROPERTY")
    with read_target(call).reader() as graph:
        found = graph.commits.blame(call.required("TYPE"), call.required("ID"), branch=call.value("--branch"))
    items = [item for item in found.properties if name in (None, item.name)]
    if not items:
        raise NotFound(f"{found.type_name} has no property '{name}'")
    if call.json:
        output.document(
            {
                "type": found.type_name,
                "id": found.id,
                "created": commit_json(found.created),
                "properties": [
                    {"name": item.name, "value": item.value, "commit": commit_json(item.commit)} for item in items
                ],
            }
        )
        return
    width = max(len(item.name) for item in items)
    for item in items:
        who = item.commit.actor_id or "-"
        output.line(
            f"{item.commit.graph_commit_id}  {moment(item.commit)}  {who}  {item.name:<{width}}  {_cell(item.value)}"
        )


def _change_json(change: EntityChange) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": change.kind,
        "type_name": change.type_name,
        "id": change.id,
        "op": change.op,
        "published_dataset_version": change.published_dataset_version,
    }
    if change.endpoints is not None:
        found["endpoints"] = change.endpoints
    return found


def _change_line(change: EntityChange) -> str:
    ends = "" if change.endpoints is None else f"  {change.endpoints['src']} -> {change.endpoints['dst']}"
    return f"{_SIGNS[change.op]} {change.kind} {change.type_name} {change.id}{ends}"


def _stat_lines(found: Difference) -> list[str]:
    table = found.to_arrow()
    counts = Counter(zip(table["type_name"].to_pylist(), table["op"].to_pylist(), strict=True))
    return [
        f"{name}: " + ", ".join(f"{_SIGNS[op]}{counts[name, op]}" for op in _SIGNS if counts[name, op])
        for name in found.stats.types_affected
    ]


def _cell(value: Any) -> str:
    text = cell_text(value).replace("\n", "\\n")
    return text if len(text) <= 80 else text[:79] + "…"
