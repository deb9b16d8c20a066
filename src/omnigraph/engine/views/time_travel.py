"""Time travel: from a commit id, a manifest version or an instant to the state that was current then."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from omnigraph.compiler.temporal import BadTemporal, parse_datetime
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.view import View
from omnigraph.errors import AmbiguousCommit, BadRequest, BranchNotFound, CommitNotFound, NotFound
from omnigraph.ids import may_begin_ulid
from omnigraph.storage.base.layout import normalize_branch
from omnigraph.storage.branches.branches import list_branches
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.commits import GraphCommit, Lineage
from omnigraph.storage.manifest.manifest import ManifestState

SHORTEST_BEGINNING = 6


def find_commit(core: Core, commit_id: str, bound: str | None) -> GraphCommit:
    """A commit by id: the bound branch is asked first, then every live branch."""
    for lineage in _lineages(core, bound):
        found = lineage.get(commit_id)
        if found is not None:
            return found
    raise CommitNotFound(commit_id)


def commit_beginning(core: Core, text: str, bound: str | None) -> GraphCommit | None:
    """The only commit whose id begins like this, on the bound branch or else on the first live one that has any.

    Costs what an id costs: one look into the lineage of the bound branch, and into the others only when it has none.
    """
    beginning = text.upper()
    if len(beginning) < SHORTEST_BEGINNING or not may_begin_ulid(beginning):
        return None
    for lineage in _lineages(core, bound):
        found = lineage.beginning(beginning)
        if len(found) > 1:
            raise AmbiguousCommit(text, found)
        if found:
            return lineage.get(found[0])
    return None


def _lineages(core: Core, bound: str | None) -> Iterator[Lineage]:
    """What the bound branch knows, then what every other live branch knows."""
    yield core.state(bound).lineage
    for name in list_branches(core.store):
        branch = normalize_branch(name)
        if branch == bound:
            continue
        try:
            yield core.state(branch).lineage
        except BranchNotFound:
            continue  # deleted while we were looking


def state_at_commit(core: Core, commit: GraphCommit) -> ManifestState:
    """The state right after a commit; refused when its branch was deleted, or deleted and created again."""
    branch = commit.manifest_branch
    state = manifest.load_commit(core.store.root, branch, commit.manifest_version, commit.graph_commit_id)
    if state.branch != branch or state.graph_head != commit.graph_commit_id:
        name = branch or "main"
        raise NotFound(
            f"commit {commit.graph_commit_id} has no persisted native-branch incarnation witness: "
            f"branch '{name}' was deleted and created again"
        )
    return state


def state_at_version(core: Core, branch: str | None, version: int) -> ManifestState:
    """The state of a branch at a manifest version; versions before its creation are its parent's."""
    newest, _ = manifest.newest(core.store.root, branch)
    if not 1 <= version <= newest:
        raise CommitNotFound(f"version {version}")
    return manifest.load_version(core.store.root, branch, version)


def state_at_view(core: Core, view: View) -> ManifestState:
    """The state that a view shows."""
    state = state_at_version(core, view.branch, view.version)
    if view.head is None or state.effective_head == view.head:
        return state
    return manifest.load_commit(core.store.root, view.branch, view.version, view.head)


def commit_at_time(core: Core, branch: str | None, time: str | datetime) -> GraphCommit:
    """The newest commit of a branch that existed at an instant."""
    moment = instant(time)
    for commit in core.state(branch).lineage.newest_first():
        if commit.created_at <= moment:
            return commit
    raise NotFound(f"branch '{branch or 'main'}' has no commit as old as {time}")


def instant(time: str | datetime, *, end: bool = True) -> int:
    """An instant in microseconds; of the millisecond that a text names, the end or the beginning."""
    if isinstance(time, datetime):
        aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        return int(aware.timestamp() * 1_000_000)
    try:
        # The text names a millisecond; whatever was committed within it counts.
        return parse_datetime(time).ms * 1_000 + (999 if end else 0)
    except BadTemporal as error:
        raise BadRequest(str(error)) from error
