"""From what a caller names (a branch, a tag, a commit, a version, an instant, a view) to the state it means."""

from __future__ import annotations

from datetime import datetime

from omnigraph.compiler.temporal import BadTemporal, parse_datetime
from omnigraph.engine.core import Core
from omnigraph.engine.history import commit_at_time, find_commit, state_at_commit, state_at_version
from omnigraph.engine.past import Past
from omnigraph.errors import CommitNotFound, NotFound
from omnigraph.ids import is_ulid
from omnigraph.storage.branches import list_branches
from omnigraph.storage.commits import GraphCommit
from omnigraph.storage.layout import normalize_branch
from omnigraph.storage.manifest import ManifestState
from omnigraph.storage.tags import find_tag

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
    """A commit by its id, by a tag, as the head of a branch, or as what an instant saw of the bound branch."""
    if isinstance(reference, GraphCommit):
        return reference
    text = reference.strip()
    if is_ulid(text):
        return find_commit(core, text, bound)
    tag = find_tag(core.store, text)
    if tag is not None:
        return find_commit(core, tag.graph_commit_id, tag.branch)
    if text not in list_branches(core.store):
        return _at_instant(core, text, bound)
    branch = normalize_branch(text)
    return find_commit(core, str(core.state(branch).effective_head), branch)


def _at_instant(core: Core, text: str, bound: str | None) -> GraphCommit:
    try:
        parse_datetime(text)
    except BadTemporal:
        raise CommitNotFound(text) from None
    return commit_at_time(core, bound, text)


def _named(core: Core, text: str, bound: str | None) -> ManifestState:
    if text in list_branches(core.store):
        return core.state(normalize_branch(text))
    if is_ulid(text):
        return state_at_commit(core, find_commit(core, text, bound))
    tag = find_tag(core.store, text)
    if tag is not None:
        return state_at_commit(core, find_commit(core, tag.graph_commit_id, tag.branch))
    try:
        parse_datetime(text)
    except BadTemporal:
        raise NotFound(f"'{text}' is no branch, tag, commit or point in time of this graph") from None
    return state_at_commit(core, commit_at_time(core, bound, text))
