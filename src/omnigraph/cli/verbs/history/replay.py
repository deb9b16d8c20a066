"""`commit revert` and `commit cherry-pick`: one commit's changes, undone or repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.cli.address.target import write_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.consent import echo
from omnigraph.cli.terminal import output

if TYPE_CHECKING:
    from omnigraph.engine.merge.replay import ReplayResult


def revert(call: Call) -> None:
    """Undo a commit with a new one."""
    _replay(call, "revert", "reverted")


def cherry_pick(call: Call) -> None:
    """Repeat a commit on another branch."""
    _replay(call, "cherry_pick", "applied")


def _replay(call: Call, verb: str, done: str) -> None:
    target = write_target(call)
    echo(call, target)
    strategy: Any = call.value("--strategy")
    with target.writer() as graph:
        replay = getattr(graph.branch(call.value("--branch")).commits, verb)
        result: ReplayResult = replay(call.required("COMMIT_ID"), strategy=strategy, message=call.text("--message"))
    if call.json:
        output.document(
            {
                "branch": result.branch,
                "replayed_commit_id": result.replayed_commit_id,
                "changes": {
                    name: {"inserted": each.inserted, "updated": each.updated, "deleted": each.deleted}
                    for name, each in sorted(result.changes.items())
                },
                "commit": None if result.commit is None else result.commit.document(),
            }
        )
    elif result.commit is None:
        output.line(f"nothing to change on {result.branch}")
    else:
        output.line(f"{done} {result.replayed_commit_id} on {result.branch} as {result.commit.graph_commit_id}")
