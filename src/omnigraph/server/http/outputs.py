"""Engine values as the wire spells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.engine.changes.block import Block, Cause
from omnigraph.engine.changes.commit_filter import visible
from omnigraph.engine.changes.page import ChangesPage
from omnigraph.engine.changes.poll import FeedPage
from omnigraph.engine.values.result import BatchResult, LoadResult, MutationResult
from omnigraph.policy.visibility import Visibility
from omnigraph.server.http.refusal import merge_conflict
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.note import RowCounts
from omnigraph.storage.manifest.snapshot import Snapshot
from omnigraph.storage.manifest.stamp import CURRENT_STAMP

if TYPE_CHECKING:
    from omnigraph.errors import MergeConflict
    from omnigraph.storage.branches.tags import Tag


def commit_output(commit: GraphCommit | None, visibility: Visibility | None = None) -> dict[str, Any] | None:
    """A commit as its reader may see it, or null."""
    return None if commit is None else next(visible([commit], visibility)).document()


class Settled(Protocol):
    """What previews of merges and of replays have in common."""

    @property
    def changes(self) -> Mapping[str, RowCounts]: ...
    @property
    def conflicts(self) -> tuple[MergeConflict, ...]: ...


class Replayed(Settled, Protocol):
    """A commit that was undone or repeated."""

    @property
    def kind(self) -> str: ...
    @property
    def replayed_commit_id(self) -> str: ...
    @property
    def branch(self) -> str: ...
    @property
    def commit(self) -> GraphCommit | None: ...
    @property
    def preview(self) -> bool: ...


def settled_output(result: Settled) -> dict[str, Any]:
    """What a preview of a merge or replay found: rows by type, and what contradicts."""
    return {
        "preview": True,
        "changes": {name: asdict(counts) for name, counts in sorted(result.changes.items())},
        "conflicts": [merge_conflict(each) for each in result.conflicts],
    }


def replay_output(result: Replayed, visibility: Visibility | None = None) -> dict[str, Any]:
    """What undoing or repeating a commit did, or would do."""
    found = {"kind": result.kind, "replayed_commit_id": result.replayed_commit_id, "branch": result.branch}
    done = {"commit": commit_output(result.commit, visibility)}
    return {**found, **(settled_output(result) if result.preview else done)}


def tag_output(tag: Tag) -> dict[str, Any]:
    """A named commit."""
    return {
        "name": tag.name,
        "graph_commit_id": tag.graph_commit_id,
        "branch": tag.branch or "main",
        "graph_manifest_version": tag.manifest_version,
        "created_at": tag.created_at,
        "actor_id": tag.actor_id,
        "message": tag.message,
    }


def snapshot_output(branch: str, snapshot: Snapshot) -> dict[str, Any]:
    """Which dataset versions a branch publishes, edges first."""
    return {
        "graph_branch": branch,
        "graph_manifest_version": snapshot.manifest_version,
        "internal_schema_version": CURRENT_STAMP,
        "datasets": [entry.document() for entry in snapshot],
    }


def change_output(result: MutationResult, visibility: Visibility | None = None) -> dict[str, Any]:
    """What a mutation did."""
    return {
        "branch": result.branch,
        "query_name": result.query_name,
        "affected_nodes": result.affected_nodes,
        "affected_edges": result.affected_edges,
        "actor_id": result.actor_id,
        "commit": commit_output(result.commit, visibility),
    }


def batch_output(result: BatchResult, visibility: Visibility | None = None) -> dict[str, Any]:
    """What a batch of mutations did."""
    return {
        "branch": result.branch,
        "mutations": result.mutations,
        "affected_nodes": result.affected_nodes,
        "affected_edges": result.affected_edges,
        "actor_id": result.actor_id,
        "commit": commit_output(result.commit, visibility),
    }


def load_output(result: LoadResult, uri: str | None = None, visibility: Visibility | None = None) -> dict[str, Any]:
    """What a load did; the batch route does not name the place."""
    return {
        **({} if uri is None else {"uri": uri}),
        "branch": result.branch,
        "base_branch": result.base_branch,
        "branch_created": result.branch_created,
        "mode": result.mode,
        "nodes": _counts(result.nodes),
        "edges": _counts(result.edges),
        "total_entities": result.total_entities,
        "actor_id": result.actor_id,
        "commit": commit_output(result.commit, visibility),
    }


def _counts(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"name": name, "entities_loaded": counts[name]} for name in sorted(counts)]


def changes_output(page: ChangesPage) -> dict[str, Any]:
    """One page of a commit's changes."""
    token = {} if page.next_page_token is None else {"next_page_token": page.next_page_token}
    return {**block_output(page.block), **token}


def feed_output(page: FeedPage) -> dict[str, Any]:
    """One poll of the feed; exactly one way to continue."""
    found: dict[str, Any] = {"blocks": [block_output(block) for block in page.blocks]}
    if page.next_page_token is not None:
        return {**found, "next_page_token": page.next_page_token}
    return {**found, "cursor": page.cursor, "caught_up": page.caught_up}


def block_output(block: Block) -> dict[str, Any]:
    """A commit and its changes."""
    return {"cause": _cause(block.cause), "changes": [_change(change) for change in block.changes]}


def _change(change: Mapping[str, Any]) -> dict[str, Any]:
    return {("type" if key == "entity_type" else key): value for key, value in change.items()}


def _cause(cause: Cause) -> dict[str, Any]:
    optional = {
        "parent_commit_id": cause.parent_commit_id,
        "merged_parent_commit_id": cause.merged_parent_commit_id,
        "actor_id": cause.actor_id,
    }
    return {
        "graph_commit_id": cause.graph_commit_id,
        **{name: value for name, value in optional.items() if value is not None},
        "authored_branch": cause.authored_branch or "main",
        "authored_at": cause.authored_at,
    }
