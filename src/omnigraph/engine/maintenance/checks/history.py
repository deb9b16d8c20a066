"""Every reachable commit: its state, its schema, and the table versions it shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from omnigraph.engine.maintenance.checks.report import Checking
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.time_travel import state_at_commit
from omnigraph.errors import BranchNotFound, NotFound, OmnigraphError
from omnigraph.storage.base.layout import Address, normalize_branch
from omnigraph.storage.branches.branches import list_branches
from omnigraph.storage.branches.tags import list_tags
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.reclaim import existing_versions
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.snapshot import Snapshot, TableEntry

Pin = tuple[str, str | None, int]
"""Location, ref and version of a table."""


@dataclass(slots=True)
class Pinned:
    """A table version that something shows; `branch` has it at its head, or is None when only the past shows it."""

    entry: TableEntry
    branch: str | None = None
    required: bool = False


@dataclass(slots=True)
class History:
    """The heads that were found, every version that they, tags and commits show, and which versions exist."""

    heads: dict[str, ManifestState] = field(default_factory=dict)
    pins: dict[Pin, Pinned] = field(default_factory=dict)
    existing: dict[Address, frozenset[int]] = field(default_factory=dict)

    def add(self, snapshot: Snapshot, *, branch: str | None = None, required: bool = False) -> None:
        """Note what a snapshot shows."""
        for entry in snapshot:
            known = self.pins.setdefault((entry.location, entry.ref, entry.version), Pinned(entry))
            known.branch = known.branch or branch
            known.required = known.required or required

    def exists(self, core: Core, entry: TableEntry) -> bool:
        """Whether the file of a version is there; each lineage is listed once."""
        address = entry.address(core.store.root)
        if address not in self.existing:
            try:
                found = existing_versions(tables.open_table(address, control=True))
            except OmnigraphError:
                found = []
            self.existing[address] = frozenset(found)
        return entry.version in self.existing[address]


def check_history(core: Core, checking: Checking, branches: list[str] | None, *, quick: bool) -> History:
    """Decode every state that can be reached from some branches, or from all of them and the tags."""
    history = History()
    try:
        live = list_branches(core.store)
    except OmnigraphError as error:
        checking.found("manifest", error.message)
        return history
    for name in live if branches is None else branches:
        _head(core, checking, history, name)
    if branches is None:
        _tags(core, checking, history)
    if not quick:
        for commit in _commits(history):
            _commit(core, checking, history, commit, live)
            checking.counts.commits += 1
    return history


def _head(core: Core, checking: Checking, history: History, name: str) -> None:
    try:
        state = core.state(normalize_branch(name))
        state.lineage.table  # noqa: B018  history is read when it is looked at
    except OmnigraphError as error:
        checking.found("manifest", error.message, branch=name)
        return
    history.heads[name] = state
    history.add(state.snapshot, branch=name, required=True)
    checking.counts.branches += 1
    _schema(core, checking, state, f"the schema of branch '{name}'", branch=name)


def _tags(core: Core, checking: Checking, history: History) -> None:
    try:
        tags = list_tags(core.store)
    except OmnigraphError as error:
        checking.found("manifest", error.message)
        return
    for tag in tags:
        try:
            state = manifest.load_version(core.store.root, tag.branch, tag.manifest_version)
        except BranchNotFound:
            continue
        except OmnigraphError as error:
            checking.found("commit", f"tag '{tag.name}': {error.message}")
            continue
        history.add(state.snapshot, required=True)
        checking.counts.tags += 1
        _schema(core, checking, state, f"the schema of tag '{tag.name}'")


def _commits(history: History) -> Iterator[GraphCommit]:
    """Each commit of the heads once, newest first."""
    seen: set[str] = set()
    for state in history.heads.values():
        for commit in state.lineage.newest_first():
            if commit.graph_commit_id not in seen:
                seen.add(commit.graph_commit_id)
                yield commit


def _commit(core: Core, checking: Checking, history: History, commit: GraphCommit, live: list[str]) -> None:
    if (commit.manifest_branch or "main") not in live:
        return  # its branch was deleted, so nothing can read it any more
    try:
        state = state_at_commit(core, commit)
    except NotFound:
        return  # of a former branch of this name
    except OmnigraphError as error:
        checking.found("commit", f"commit {commit.graph_commit_id}: {error.message}")
        return
    history.add(state.snapshot)
    if not all(history.exists(core, entry) for entry in state.snapshot):
        checking.counts.reclaimed_commits += 1
        return
    _schema(core, checking, state, f"the schema of commit {commit.graph_commit_id}")


def _schema(core: Core, checking: Checking, state: ManifestState, what: str, branch: str | None = None) -> None:
    try:
        core.schemas.of(state).catalog  # noqa: B018  compiled when it is looked at
    except OmnigraphError as error:
        checking.found("schema", f"{what}: {error.message}", branch=branch)
