"""Commits as JSON and as lines of text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output

if TYPE_CHECKING:
    from omnigraph.storage.manifest.commits import GraphCommit


def note_commit(call: Call, commit: GraphCommit | None) -> None:
    """Beside the result: which commit a write became, to look at or to take back."""
    if commit is not None and not call.given("--quiet"):
        output.note(f"commit {commit.graph_commit_id}")


def moment(commit: GraphCommit) -> str:
    """When a commit was made, to the second."""
    return datetime.fromtimestamp(commit.created_at / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def commit_line(commit: GraphCommit) -> str:
    """A commit on one line."""
    branch = commit.manifest_branch or "main"
    actor = f" actor={commit.actor_id}" if commit.actor_id is not None else ""
    return f"{commit.graph_commit_id} graph_branch={branch} graph_manifest_version={commit.manifest_version}{actor}"
