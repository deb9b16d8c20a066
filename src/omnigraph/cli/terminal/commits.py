"""Commits as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output

if TYPE_CHECKING:
    from omnigraph.storage.manifest.commits import GraphCommit

# So many types are named on one line; more are counted together.
_TYPES_ON_A_LINE = 4


def note_commit(call: Call, commit: GraphCommit | None) -> None:
    """Beside the result: which commit a write became, to look at or to take back."""
    if commit is not None and not call.given("--quiet"):
        output.note(f"commit {commit.graph_commit_id}")


def moment(commit: GraphCommit) -> str:
    """When a commit was made, to the second."""
    return datetime.fromtimestamp(commit.created_at / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def commit_line(commit: GraphCommit) -> str:
    """A commit on one line."""
    from omnigraph.engine.values.message import one_line, shown

    branch = commit.manifest_branch or "main"
    named = {"kind": commit.kind, "actor": commit.actor_id, "query": commit.query, "recovered_by": commit.recovered_by}
    given = "".join(f" {name}={shown(text)}" for name, text in named.items() if text is not None)
    counts = f" {counts_text(commit)}" if commit.counts else ""
    message = f" {one_line(commit.message)}" if commit.message is not None else ""
    place = f"graph_branch={branch} graph_manifest_version={commit.manifest_version}"
    return f"{commit.graph_commit_id} {place}{given}{counts}{message}"


def counts_text(commit: GraphCommit) -> str:
    """What a commit changed, by type: `Person +2 ~1, Knows -3`.

    The sign + stands for inserted, ~ for updated and - for deleted entities.
    """
    from omnigraph.engine.values.message import shown

    parts = [f"{shown(name)} {_signs(*counts)}" for name, counts in _counted(commit)]
    if len(parts) <= _TYPES_ON_A_LINE:
        return ", ".join(parts)
    total = [sum(each) for each in zip(*(counts for _, counts in _counted(commit)), strict=True)]
    return f"{len(parts)} types {_signs(*total)}"


def commit_text(commit: GraphCommit) -> Iterator[str]:
    """Everything about a commit: a line for each thing known, its message last, indented."""
    from omnigraph.engine.values.message import shown

    document = commit.document()
    counts, message = document.pop("counts"), document.pop("message")
    document["graph_branch"] = document["graph_branch"] or "main"
    document["created_at"] = f"{commit.created_at} ({moment(commit)})"
    yield from (f"{name}: {shown(str(value))}" for name, value in document.items() if value is not None)
    if counts:
        yield "counts:"
        width = max(len(shown(name)) for name in counts)
        yield from (f"  {shown(name):<{width}}  {_signs(*each)}" for name, each in _counted(commit))
    if message is not None:
        yield "message:"
        yield from (f"  {shown(text)}" for text in message.split("\n"))


def _counted(commit: GraphCommit) -> Iterator[tuple[str, tuple[int, int, int]]]:
    for name, each in sorted(commit.counts.items()):
        yield name, (each.inserted, each.updated, each.deleted)


def _signs(inserted: int, updated: int, deleted: int) -> str:
    """
    >>> _signs(2, 0, 1)
    '+2 -1'
    """
    signed = (("+", inserted), ("~", updated), ("-", deleted))
    return " ".join(f"{sign}{count}" for sign, count in signed if count)
