"""`log`: the history of a branch, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from omnigraph.cli import output
from omnigraph.cli.call import Call
from omnigraph.cli.commits import commit_json
from omnigraph.cli.lanes import drawn, newest_first
from omnigraph.cli.target import read_target

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph
    from omnigraph.storage.commits import GraphCommit


def log(call: Call) -> None:
    """Every commit that the branch's head descends from, merged branches included."""
    with read_target(call).reader() as graph:
        commits, heads = _history(graph, call.value("--branch"))
    actor = call.text("--actor")
    if actor is not None:
        commits = [commit for commit in commits if commit.actor_id == actor]
    commits = commits[: call.number("--limit")]
    if call.json:
        output.document({"commits": [commit_json(commit) for commit in commits]})
        return
    blocks = [_text(commit, heads.get(commit.graph_commit_id, []), call.given("--oneline")) for commit in commits]
    output.write("".join(f"{text}\n" for text in drawn(commits, blocks)))


def _history(graph: Graph, branch: str) -> tuple[list[GraphCommit], dict[str, list[str]]]:
    """The commits behind a branch, and which branches have which head; a merged branch is known while it lives."""
    known: dict[str, GraphCommit] = {}
    heads: dict[str, list[str]] = {}
    for name in {branch: None, **dict.fromkeys(graph.branches.list())}:
        known.update((commit.graph_commit_id, commit) for commit in graph.commits.list(name))
        head = graph.commits.head(name)
        if head is not None:
            heads.setdefault(head, []).append(name)
    return newest_first(known, graph.commits.head(branch)), heads


def _text(commit: GraphCommit, heads: Sequence[str], oneline: bool) -> list[str]:
    names = f" ({', '.join(heads)})" if heads else ""
    moment = datetime.fromtimestamp(commit.created_at / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    actor = f"  by {commit.actor_id}" if commit.actor_id is not None else ""
    if oneline:
        return [f"{commit.graph_commit_id}{names}  {moment}{actor}"]
    place = f"on {commit.manifest_branch or 'main'}, version {commit.manifest_version}"
    return [f"{commit.graph_commit_id}{names}", f"{moment}  {place}{actor}", ""]
