"""`branch create`, `list`, `rename`, `delete` and `merge`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from omnigraph.cli.address.target import AnyGraph, read_target, write_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.consent import echo, require_consent
from omnigraph.cli.input.params import parse_json
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.commits import note_commit
from omnigraph.cli.terminal.failure import CONFLICT_ADVICE, conflict_kind, conflict_text
from omnigraph.display import counted
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.engine.merge.outcome import MergeResult, Resolution


def create(call: Call) -> None:
    """A new branch."""
    target, name, base = write_target(call), call.required("NAME"), call.value("--from")
    echo(call, target)
    with target.writer() as graph:
        graph.branches.create(name, from_=base)
    if call.json:
        output.document({"uri": target.uri, "from": base, "name": name, "actor_id": target.actor})
    else:
        output.line(f"created branch {name} from {base}")


def list_branches(call: Call) -> None:
    """Names, sorted."""
    with read_target(call).reader() as graph:
        names = sorted(graph.branches.list())
    if call.json:
        output.document({"branches": names})
    else:
        output.write("".join(f"{name}\n" for name in names))


def rename(call: Call) -> None:
    """A branch gets another name."""
    target, name, to = write_target(call), call.required("NAME"), call.required("TO")
    if name.strip() == "main":
        raise BadRequest("cannot rename branch 'main'")
    echo(call, target)
    with target.writer() as graph:
        graph.branches.rename(name, to)
    if call.json:
        output.document({"uri": target.uri, "from": name, "name": to, "actor_id": target.actor})
    else:
        output.line(f"renamed branch {name} to {to}")


def delete(call: Call) -> None:
    """A branch goes away."""
    target, name = write_target(call), call.required("NAME")
    require_consent(call, target, "branch delete")
    if name.strip() == "main":
        raise BadRequest("cannot delete branch 'main'")
    echo(call, target)
    with target.writer() as graph:
        graph.branches.delete(name)
    if call.json:
        output.document({"uri": target.uri, "name": name, "actor_id": target.actor})
    else:
        output.line(f"deleted branch {name}")


def merge(call: Call) -> None:
    """Everything the source has beyond the target."""
    target, preview = write_target(call), call.given("--preview")
    decisions = dict(map(_decision, call.many("--resolve")))
    if not preview:
        echo(call, target)
    with target.reader() if preview else target.writer() as graph:
        done = _merge(call, graph, decisions)
    if done.branch_deleted is False:
        output.warn(f"merged, but could not delete branch '{done.source}': {done.branch_delete_error}")
    if call.json:
        output.document(_merge_json(done))
    else:
        output.write("".join(f"{text}\n" for text in _merge_lines(done)))
        note_commit(call, done.commit)


def _merge(call: Call, graph: AnyGraph, decisions: dict[str, Resolution]) -> MergeResult:
    source, into, delete = call.required("SOURCE"), call.value("--into"), call.given("--delete-branch")
    strategy: Any = call.value("--strategy")
    return graph.branches.merge(
        source,
        into,
        delete,
        preview=call.given("--preview"),
        resolve=decisions,
        strategy=strategy,
        properties="disjoint" if call.given("--disjoint") else "whole",
        message=call.text("--message"),
    )


def _merge_json(done: MergeResult) -> dict[str, Any]:
    found: dict[str, Any] = {
        "source": done.source,
        "target": done.target,
        "outcome": str(done.outcome),
        "actor_id": done.actor_id,
    }
    if done.branch_deleted is not None:
        found["branch_deleted"] = done.branch_deleted
    if done.branch_deleted is False:
        found["branch_delete_error"] = done.branch_delete_error
    if done.preview:
        found["changes"] = {
            name: {"inserted": each.inserted, "updated": each.updated, "deleted": each.deleted}
            for name, each in sorted(done.changes.items())
        }
        found["conflicts"] = [
            {
                "type_key": each.table_key,
                "id": each.entity_id,
                "kind": conflict_kind(each),
                "properties": list(each.properties),
                "base": each.base,
                "ours": each.ours,
                "theirs": each.theirs,
                "message": each.message,
            }
            for each in done.conflicts
        ]
    return found


def _merge_lines(done: MergeResult) -> list[str]:
    if not done.preview:
        deleted = [f"deleted branch {done.source}"] if done.branch_deleted else []
        return [f"merged {done.source} into {done.target}: {done.outcome}", *deleted]
    if done.conflicts:
        found = counted(len(done.conflicts), "conflict")
        lines = [f"merging {done.source} into {done.target} would stop at {found}"]
    else:
        lines = [f"merging {done.source} into {done.target} would be: {done.outcome}"]
    for name, each in sorted(done.changes.items()):
        lines.append(f"  {name}: {each.inserted} inserted, {each.updated} updated, {each.deleted} deleted")
    lines += [f"  conflict: {conflict_text(each)}" for each in done.conflicts]
    return [*lines, f"  {CONFLICT_ADVICE}"] if done.conflicts else lines


def _decision(text: str) -> tuple[str, Resolution]:
    """`Person/alice=ours`, or `Person/alice={"age": 3}`."""
    entity, separator, choice = text.partition("=")
    if not separator or "/" not in entity:
        raise BadRequest(f"--resolve takes TYPE/ID=ours, TYPE/ID=theirs or TYPE/ID={{…}}, not '{text}'")
    if choice in ("ours", "theirs"):
        return entity, cast("Resolution", choice)
    try:
        values = parse_json(choice)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise BadRequest(f"--resolve {entity}: '{choice}' is neither ours nor theirs nor a JSON object")
    return entity, values
