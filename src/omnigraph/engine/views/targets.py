"""What a name means: a branch, a tag, a commit, a version, an instant or a view, and the state behind it.

Every verb, command and route that takes a name asks here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from omnigraph.compiler.temporal import BadTemporal, parse_datetime
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.time_travel import (
    commit_at_time,
    commit_beginning,
    find_commit,
    state_at_commit,
    state_at_version,
    state_at_view,
)
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest, BranchNotFound, CommitNotFound
from omnigraph.ids import is_ulid
from omnigraph.storage.base.layout import normalize_branch
from omnigraph.storage.branches.branches import branch_exists
from omnigraph.storage.branches.names import HEAD, branch_name
from omnigraph.storage.branches.tags import find_tag
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState

_BACK = "~"
_VERSION = "version:"  # names have no colons
_MAX_DIGITS = 18  # more steps than any history has

Target = str | int | datetime | GraphCommit | View
Names = Collection[str] | str | None
"""What a filter of changes lets through: one name, several, or with None everything."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A name that means a branch, and so whatever its newest state is."""

    name: str | None


def state_of(core: Core, target: Target, bound: str | None) -> ManifestState:
    """The state a target means; versions and instants are those of the bound branch."""
    match target:
        case View():
            return state_at_view(core, target)
        case GraphCommit():
            return state_at_commit(core, target)
        case int():
            return state_at_version(core, bound, target)
        case datetime():
            return state_at_commit(core, commit_at_time(core, bound, target))
        case str():
            return _state_named(core, target.strip(), bound)


def commit_named(core: Core, reference: str | GraphCommit, bound: str | None) -> GraphCommit:
    """A commit by its id or the beginning of it, by a tag, as the head of a branch (`HEAD`: of the bound one), as what
    an instant or a manifest version (`version:3`) saw of the bound branch, or as so many first parents before any of
    these (`HEAD~2`)."""
    if isinstance(reference, GraphCommit):
        return reference
    text = reference.strip()
    found = _meaning(core, text, bound)
    if found is None:
        raise CommitNotFound(text)
    return _head(core, found.name) if isinstance(found, Branch) else found


def branch_named(name: str | None, bound: str | None) -> str | None:
    """The branch that is meant where only a branch will do (None is main): the bound one unless named, or by `HEAD`.

    Whether it exists is found out when it is read.
    """
    if name is None or name.strip() == HEAD:
        return bound
    return branch_name(name)


def require_branch(core: Core, branch: str | None) -> None:
    """Refuse a branch that does not exist, with what its name means instead."""
    if branch is None or branch_exists(core.store, branch):
        return
    if find_tag(core.store, branch) is not None:
        raise BadRequest(f"'{branch}' is a tag, not a branch; name a branch")
    if is_ulid(branch.upper()) or commit_beginning(core, branch, None) is not None:
        raise BadRequest(f"'{branch}' is the id of a commit, not a branch; name a branch")
    raise BranchNotFound(branch)


def _state_named(core: Core, text: str, bound: str | None) -> ManifestState:
    match _meaning(core, text, bound):
        case Branch(name):
            return core.state(name)
        case GraphCommit() as found:
            return state_at_commit(core, found)
        case None:
            raise CommitNotFound(text, "it is not a branch, tag, commit or point in time of this graph")


def _meaning(core: Core, text: str, bound: str | None) -> Branch | GraphCommit | None:
    """What a text names: the one place that decides it. None when it can be read as nothing."""
    if is_ulid(text):
        return find_commit(core, text, bound)
    start, back, steps = text.rpartition(_BACK)
    if start and back and (steps == "" or (steps.isascii() and steps.isdecimal())):
        origin = _meaning(core, start, bound)
        if origin is None:
            return None
        commit = _head(core, origin.name) if isinstance(origin, Branch) else origin
        return _ancestor(core, text, commit, int(steps[:_MAX_DIGITS] or 1), bound)
    if text == HEAD:
        return Branch(bound)
    if text.startswith(_VERSION):
        return _at_version(core, text, bound)
    if _is_branch(core, text):
        return Branch(normalize_branch(text))
    tag = find_tag(core.store, text)
    if tag is not None:
        return find_commit(core, tag.graph_commit_id, tag.branch)
    # Last, so that whatever is a name of its own never depends on which commits there are.
    return _at_instant(core, text, bound) or commit_beginning(core, text, bound)


def _is_branch(core: Core, text: str) -> bool:
    try:
        return branch_exists(core.store, branch_name(text))
    except BadRequest:
        return False  # no branch can be called so


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


def _at_version(core: Core, text: str, bound: str | None) -> GraphCommit:
    """The newest commit that a manifest version of the bound branch shows."""
    number = text.removeprefix(_VERSION)
    if not (number.isascii() and number.isdecimal() and len(number) <= _MAX_DIGITS):
        raise BadRequest(f"'{text}' is not a version; write it as {_VERSION}3")
    return find_commit(core, str(state_at_version(core, bound, int(number)).effective_head), bound)


def _at_instant(core: Core, text: str, bound: str | None) -> GraphCommit | None:
    try:
        parse_datetime(text)
    except BadTemporal:
        return None
    return commit_at_time(core, bound, text)
