"""From what a caller names (a branch, a tag, a commit, a version, an instant, a view) to the state it means."""

from __future__ import annotations

from datetime import datetime

from omnigraph.compiler.temporal import BadTemporal, parse_datetime
from omnigraph.engine.api.graph_at import Past
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.time_travel import (
    commit_at_time,
    commit_beginning,
    find_commit,
    state_at_commit,
    state_at_version,
)
from omnigraph.errors import CommitNotFound, NotFound
from omnigraph.ids import is_ulid
from omnigraph.storage.base.layout import normalize_branch
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.protocol.branches import list_branches
from omnigraph.storage.protocol.tags import find_tag

HEAD = "HEAD"
_BACK = "~"
_MAX_DIGITS = 18  # more steps than any history has

Target = str | int | datetime | GraphCommit | Past


def state_of(core: Core, target: Target, bound: str | None) -> ManifestState:
    """The state a target means; versions and instants are those of the bound branch."""
    match target:
        case Past():
            return state_at_version(core, target.view().branch, target.version)
        case GraphCommit():
            return state_at_commit(core, target)
        case int():
            return state_at_version(core, bound, target)
        case datetime():
            return state_at_commit(core, commit_at_time(core, bound, target))
        case str():
            return _named(core, target.strip(), bound)


def commit_named(core: Core, reference: str | GraphCommit, bound: str | None) -> GraphCommit:
    """A commit by its id or the beginning of it, by a tag, as the head of a branch (`HEAD`: of the bound one), as what
    an instant saw of the bound branch, or as so many first parents before any of these (`HEAD~2`)."""
    if isinstance(reference, GraphCommit):
        return reference
    text = reference.strip()
    found = _commit(core, text, bound)
    if found is None:
        raise CommitNotFound(text)
    return found


def _named(core: Core, text: str, bound: str | None) -> ManifestState:
    if text in list_branches(core.store):
        return core.state(normalize_branch(text))
    found = _commit(core, text, bound)
    if found is None:
        raise NotFound(f"'{text}' is not a branch, tag, commit or point in time of this graph")
    return state_at_commit(core, found)


def _commit(core: Core, text: str, bound: str | None) -> GraphCommit | None:
    """The commit that a text names; None when it can be read as nothing."""
    if is_ulid(text):
        return find_commit(core, text, bound)
    start, back, steps = text.rpartition(_BACK)
    if start and back and (steps == "" or (steps.isascii() and steps.isdecimal())):
        origin = _commit(core, start, bound)
        return None if origin is None else _ancestor(core, text, origin, int(steps[:_MAX_DIGITS] or 1), bound)
    tag = find_tag(core.store, text)
    if tag is not None:
        return find_commit(core, tag.graph_commit_id, tag.branch)
    if text in list_branches(core.store):
        return _head(core, normalize_branch(text))
    if text == HEAD:
        return _head(core, bound)
    # Last, so that whatever is a name of its own never depends on which commits there are.
    return _at_instant(core, text, bound) or commit_beginning(core, text, bound)


def _head(core: Core, branch: str | None) -> GraphCommit:
    return find_commit(core, str(core.state(branch).effective_head), branch)


def _ancestor(core: Core, text: str, origin: GraphCommit, steps: int, bound: str | None) -> GraphCommit:
    """So many first parents back; each step costs one look into a lineage that is in memory by now."""
    commit = origin
    for _ in range(steps):
        if commit.parent_commit_id is None:
            raise CommitNotFound(text, f"history begins with {commit.graph_commit_id}")
        commit = find_commit(core, commit.parent_commit_id, bound)
    return commit


def _at_instant(core: Core, text: str, bound: str | None) -> GraphCommit | None:
    try:
        parse_datetime(text)
    except BadTemporal:
        return None
    return commit_at_time(core, bound, text)
