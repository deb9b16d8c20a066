"""`log`: the history of a branch, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from omnigraph.cli.address.target import read_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.history import history_options
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.commits import counts_text, moment
from omnigraph.cli.terminal.lanes import drawn
from omnigraph.engine.values.message import one_line, shown
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.engine.changes.log import LogEntry

# Characters of an id: all of them, and those that are its time.
_WHOLE, _TIME = 26, 10


def log(call: Call) -> None:
    """Every commit that the branch's head descends from; merged branches are known as long as they live."""
    options = history_options(call)
    if call.text("--actor") is not None:
        if "actor" in options:
            raise BadRequest("--actor and --filter actor=… ask for the same; give one of them")
        options["actor"] = call.text("--actor")
    branch = None if call.given("--all") else call.value("--branch")
    with read_target(call).reader() as graph:
        entries = graph.commits.log(branch, every_branch=True, **options)
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
    length = _telling_length([entry.commit.graph_commit_id for entry in entries])
    blocks = [[_line(entry, length)] if call.given("--oneline") else _block(entry) for entry in entries]
    output.write("".join(f"{text}\n" for text in drawn(entries, blocks)))


def _telling_length(ids: Sequence[str]) -> int:
    """How much of an id tells these commits apart: its time at least, and as much of the rest as is needed."""
    length = _TIME
    while length < _WHOLE and len({each[:length] for each in ids}) < len(ids):
        length += 1
    return length


def _line(entry: LogEntry, length: int) -> str:
    """As short as a line of git: the commit, the names that point at it, and what it is about."""
    return f"{entry.commit.graph_commit_id[:length]}{_names(entry)} {_subject(entry)}{_merged_and_gone(entry)}"


def _block(entry: LogEntry) -> list[str]:
    commit = entry.commit
    place = f"on {commit.manifest_branch or 'main'}, version {commit.manifest_version}"
    actor = f"  by {shown(commit.actor_id)}" if commit.actor_id is not None else ""
    recovered = f"  finished by {shown(commit.recovered_by)}" if commit.recovered_by is not None else ""
    kind = f"  {shown(commit.kind)}" if commit.kind is not None else ""
    query = f" {shown(commit.query)}" if commit.query is not None else ""
    lines = [
        f"{commit.graph_commit_id}{_names(entry)}{kind}{query}",
        f"{moment(commit)}  {place}{actor}{recovered}{_merged_and_gone(entry)}",
    ]
    if commit.counts:
        lines.append(counts_text(commit))
    said = [f"    {shown(text)}".rstrip() for text in (commit.message or "").split("\n") if commit.message]
    return [*lines, *said, ""]


def _names(entry: LogEntry) -> str:
    labels = [*entry.branches, *(f"tag: {name}" for name in entry.tags)]
    return f" ({', '.join(labels)})" if labels else ""


def _subject(entry: LogEntry) -> str:
    """The message, or what can be said without one."""
    commit = entry.commit
    if commit.message is not None:
        return one_line(commit.message)
    what = " ".join(shown(text) for text in (commit.kind, commit.query) if text is not None)
    return ": ".join(text for text in (what, counts_text(commit)) if text) or moment(commit)


def _merged_and_gone(entry: LogEntry) -> str:
    """The second parent of a merge when it cannot be drawn, because its branch was deleted."""
    return "" if entry.unknown_parent is None else f"  merged {entry.unknown_parent} of a deleted branch"
