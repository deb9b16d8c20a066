"""Answers of a server as the values that an embedded graph returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.client.request import ARROW, Answer

if TYPE_CHECKING:
    from omnigraph.engine.changes.block import Block
    from omnigraph.engine.changes.page import ChangesPage
    from omnigraph.engine.changes.poll import FeedPage
    from omnigraph.engine.merge.outcome import MergeResult
    from omnigraph.engine.merge.replay import ReplayResult
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import BatchResult, LoadResult, MutationResult
    from omnigraph.storage.branches.tags import Tag
    from omnigraph.storage.manifest.commits import GraphCommit


def result(answer: Answer, name: str | None, branch: str | None) -> Result:
    """Rows: Arrow when the server speaks it, else the types that JSON can tell."""
    import pyarrow as pa

    from omnigraph.engine.read.shape.result import Result

    if answer.kind == ARROW:
        table = pa.ipc.open_stream(answer.content).read_all()
        commit = answer.headers.get("omnigraph-snapshot-id")
        shown = answer.headers.get("omnigraph-query-name", name or "")
        return Result(shown, branch, 0, commit, table, None)
    body = answer.json()
    columns = body.get("columns", [])
    table = pa.table({column: [row.get(column) for row in body["rows"]] for column in columns})
    return Result(body["query_name"], branch, 0, body.get("graph_commit_id"), table, None)


def mutation(answer: Answer) -> MutationResult:
    """What a mutation did."""
    from omnigraph.engine.values.result import MutationResult

    body = answer.json()
    return MutationResult(
        body["branch"],
        body["query_name"],
        body["affected_nodes"],
        body["affected_edges"],
        body["actor_id"],
        commit_or_none(body["commit"]),
    )


def load(answer: Answer, files: Mapping[str, str] | None = None) -> LoadResult:
    """What a load wrote, or would write; `files` are the names that the caller knows uploaded ones by."""
    from omnigraph.engine.values.result import LoadResult

    body = answer.json()
    examples: dict[str, str] = {}
    for entry in body.get("rejects", ()):
        name = "" if files is None else f"{files.get(entry['file'], entry['file'])}: "
        line, text = entry["line"], entry["reasons"][0]["message"]
        place = "" if line is None or text.startswith(f"line {line}:") else f" (line {line})"
        examples.setdefault(entry["code"], f"{name}{text}{place}")
    return LoadResult(
        body["branch"],
        body["base_branch"],
        body["branch_created"],
        body["mode"],
        {each["name"]: each["entities_loaded"] for each in body["nodes"]},
        {each["name"]: each["entities_loaded"] for each in body["edges"]},
        body["actor_id"],
        commit_or_none(body["commit"]),
        "server",
        rejected=body.get("rejected", {}),
        dry_run=body.get("dry_run", False),
        skipped=body.get("skipped", {}),
        examples=examples if body.get("dry_run") else {},
    )


def batch(answer: Answer) -> BatchResult:
    """What a batch of mutations did."""
    from omnigraph.engine.values.result import BatchResult

    body = answer.json()
    return BatchResult(
        body["branch"],
        body["mutations"],
        body["affected_nodes"],
        body["affected_edges"],
        body["actor_id"],
        commit_or_none(body["commit"]),
    )


def merge(answer: Answer) -> MergeResult:
    """How two branches came together."""
    from omnigraph.engine.merge.outcome import MergeOutcome, MergeResult

    body = answer.json()
    return MergeResult(
        source=body["source"],
        target=body["target"],
        outcome=MergeOutcome(body["outcome"]),
        commit=commit_or_none(body.get("commit")),
        actor_id=body["actor_id"],
        branch_deleted=body.get("branch_deleted"),
        branch_delete_error=body.get("branch_delete_error"),
        base_commit_id=body.get("base_commit_id"),
        source_commit_id=body.get("source_commit_id"),
        **_previewed(body),
    )


def replay(answer: Answer) -> ReplayResult:
    """What undoing or repeating a commit did."""
    from omnigraph.engine.merge.replay import ReplayResult

    body = answer.json()
    return ReplayResult(
        kind=body["kind"],
        replayed_commit_id=body["replayed_commit_id"],
        branch=body["branch"],
        commit=commit_or_none(body.get("commit")),
        **_previewed(body),
    )


def _previewed(body: Mapping[str, Any]) -> dict[str, Any]:
    from omnigraph.client.failures import merge_conflict
    from omnigraph.storage.manifest.note import RowCounts

    return {
        "changes": {name: RowCounts(**counts) for name, counts in body.get("changes", {}).items()},
        "conflicts": tuple(merge_conflict(each) for each in body.get("conflicts", [])),
        "preview": body.get("preview", False),
    }


def tag(body: Mapping[str, Any]) -> Tag:
    """A named commit."""
    from omnigraph.storage.branches.tags import Tag

    return Tag(
        name=body["name"],
        graph_commit_id=body["graph_commit_id"],
        branch=None if body["branch"] == "main" else body["branch"],
        manifest_version=body["graph_manifest_version"],
        created_at=body["created_at"],
        actor_id=body["actor_id"],
        message=body["message"],
    )


def commit(body: Mapping[str, Any]) -> GraphCommit:
    """A commit of the history."""
    from omnigraph.storage.manifest.commits import GraphCommit
    from omnigraph.storage.manifest.note import RowCounts

    return GraphCommit(
        body["graph_commit_id"],
        body["graph_branch"],
        body["graph_manifest_version"],
        body["parent_commit_id"],
        body["merged_parent_commit_id"],
        body["actor_id"],
        body["created_at"],
        body.get("kind"),
        body.get("message"),
        body.get("query"),
        {name: RowCounts(**counts) for name, counts in body.get("counts", {}).items()},
        body.get("recovered_by"),
    )


def commit_or_none(body: Mapping[str, Any] | None) -> GraphCommit | None:
    """The commit of a receipt; None when nothing changed."""
    return None if body is None else commit(body)


def changes_page(answer: Answer) -> ChangesPage:
    """The changes of one commit."""
    from omnigraph.engine.changes.page import ChangesPage

    body = answer.json()
    return ChangesPage(block(body), body.get("next_page_token"))


def feed_page(answer: Answer) -> FeedPage:
    """One poll of the feed."""
    from omnigraph.engine.changes.poll import FeedPage

    body = answer.json()
    blocks = [block(each) for each in body["blocks"]]
    return FeedPage(blocks, body.get("cursor"), body.get("caught_up"), body.get("next_page_token"))


def block(body: Mapping[str, Any]) -> Block:
    """A commit and its changes."""
    from omnigraph.engine.changes.block import Block, Cause

    cause = body["cause"]
    branch = cause["authored_branch"]
    return Block(
        Cause(
            cause["graph_commit_id"],
            cause.get("parent_commit_id"),
            cause.get("merged_parent_commit_id"),
            None if branch == "main" else branch,
            cause.get("actor_id"),
            cause["authored_at"],
        ),
        [
            {("entity_type" if name == "type" else name): value for name, value in each.items()}
            for each in body["changes"]
        ],
    )
