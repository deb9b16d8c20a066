"""`log`: the history of a branch, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.cli.address.target import read_target
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.commits import moment
from omnigraph.cli.terminal.lanes import behind, drawn

if TYPE_CHECKING:
    from omnigraph.engine.changes.log import LogEntry


def log(call: Call) -> None:
    """Every commit that the branch's head descends from; merged branches are known as long as they live."""
    with read_target(call).storage_reader() as graph:
        entries = graph.commits.log(every_branch=True)
        if not call.given("--all"):
            entries = behind(entries, graph.commits.head(call.value("--branch")))
    actor = call.text("--actor")
    if actor is not None:
        entries = [entry for entry in entries if entry.commit.actor_id == actor]
    entries = entries[: call.number("--limit")]
    if call.json:
        output.document(
            {
                "commits": [
                    {**entry.commit.document(), "branches": list(entry.branches), "tags": list(entry.tags)}
                    for entry in entries
                ]
            }
        )
        return
    blocks = [_text(entry, oneline=call.given("--oneline")) for entry in entries]
    output.write("".join(f"{text}\n" for text in drawn(entries, blocks)))


def _text(entry: LogEntry, *, oneline: bool) -> list[str]:
    commit = entry.commit
    labels = [*entry.branches, *(f"tag: {name}" for name in entry.tags)]
    names = f" ({', '.join(labels)})" if labels else ""
    actor = f"  by {commit.actor_id}" if commit.actor_id is not None else ""
    merged = _merged_and_gone(entry)
    if oneline:
        return [f"{commit.graph_commit_id}{names}  {moment(commit)}{actor}{merged}"]
    place = f"on {commit.manifest_branch or 'main'}, version {commit.manifest_version}"
    return [f"{commit.graph_commit_id}{names}", f"{moment(commit)}  {place}{actor}{merged}", ""]


def _merged_and_gone(entry: LogEntry) -> str:
    """The second parent of a merge when it cannot be drawn, because its branch was deleted."""
    merged = entry.commit.merged_parent_commit_id
    return "" if merged is None or merged in entry.parents else f"  merged {merged} of a deleted branch"
