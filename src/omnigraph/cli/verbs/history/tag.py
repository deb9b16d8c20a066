"""`tag create`, `tag list` and `tag delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.cli.address.target import read_target, write_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.consent import echo
from omnigraph.cli.terminal import output

if TYPE_CHECKING:
    from omnigraph.storage.branches.tags import Tag


def create(call: Call) -> None:
    """A name for a commit."""
    target = write_target(call)
    echo(call, target)
    with target.writer() as graph:
        bound = graph.branch(call.value("--branch"))
        tag = bound.tags.create(call.required("NAME"), call.argument("COMMIT"), message=call.text("--message"))
    if call.json:
        output.document(_json(tag))
    else:
        output.line(f"created tag {tag.name} at {tag.graph_commit_id}")


def list_tags(call: Call) -> None:
    """Names and commits."""
    with read_target(call).reader() as graph:
        tags = graph.tags.list()
    if call.json:
        output.document({"tags": [_json(tag) for tag in tags]})
    else:
        output.write("".join(f"{tag.name} {tag.graph_commit_id}\n" for tag in tags))


def delete(call: Call) -> None:
    """The name goes, the commit stays."""
    target, name = write_target(call), call.required("NAME")
    echo(call, target)
    with target.writer() as graph:
        graph.tags.delete(name)
    if call.json:
        output.document({"uri": target.uri, "name": name})
    else:
        output.line(f"deleted tag {name}")


def _json(tag: Tag) -> dict[str, Any]:
    return {
        "name": tag.name,
        "graph_commit_id": tag.graph_commit_id,
        "graph_branch": tag.branch,
        "graph_manifest_version": tag.manifest_version,
        "created_at": tag.created_at,
        "actor_id": tag.actor_id,
        "message": tag.message,
    }
