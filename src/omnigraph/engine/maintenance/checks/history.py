"""Every reachable commit: its state, its schema, and the table versions it shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.engine.maintenance.checks.columns import expected_columns, untyped_tables
from omnigraph.engine.maintenance.checks.report import Checking, Pin
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.time_travel import state_at_commit
from omnigraph.errors import BranchNotFound, Corrupt, HistoricalVersionReclaimed, NotFound
from omnigraph.storage.base.layout import Address, normalize_branch
from omnigraph.storage.branches.branches import list_branches
from omnigraph.storage.branches.tags import Tag, list_tags
from omnigraph.storage.lance.version_files import listed_versions
from omnigraph.storage.maintenance.missing import was_reclaimed
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.snapshot import Snapshot, TableEntry


@dataclass(slots=True)
class Pinned:
    """A table version that something shows; `branch` has it at its head, or is None when only the past shows it.

    `columns` is what the schemas say that it was shown under, mostly one.
    """

    entry: TableEntry
    branch: str | None = None
    required: bool = False
    columns: list[pa.Schema] = field(default_factory=list)


@dataclass(slots=True)
class History:
    """The heads that were found, every version that they, tags and commits show, and which versions exist."""

    heads: dict[str, ManifestState] = field(default_factory=dict)
    pins: dict[Pin, Pinned] = field(default_factory=dict)
    existing: dict[Address, frozenset[int]] = field(default_factory=dict)

    def add(self, snapshot: Snapshot, *, branch: str | None = None, required: bool = False) -> None:
        """Note what a snapshot shows."""
        for entry in snapshot:
            known = self.pins.setdefault(pin_of(entry), Pinned(entry))
            known.branch = known.branch or branch
            known.required = known.required or required

    def exists(self, core: Core, entry: TableEntry) -> bool:
        """Whether the file of a version is there; each lineage is listed once."""
        address = entry.address(core.store.root)
        if address not in self.existing:
            self.existing[address] = listed_versions(core.store.objects, address)
        return entry.version in self.existing[address]


def pin_of(entry: TableEntry) -> Pin:
    """Which version of which lineage an entry shows."""
    return entry.location, entry.ref, entry.version


def check_history(core: Core, checking: Checking, branches: list[str] | None, *, quick: bool) -> History:
    """Decode every state that can be reached from some branches, or from all of them and the tags."""
    history, live = History(), list[str]()
    with checking.looking("manifest"):
        live = list_branches(core.store)
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
    with checking.looking("manifest", branch=name):
        state = core.state(normalize_branch(name))
        state.lineage.table  # noqa: B018  history is read when it is looked at
        history.heads[name] = state
        history.add(state.snapshot, branch=name, required=True)
        checking.counts.branches += 1
        _schema(core, checking, history, state, f"the schema of branch '{name}'", branch=name)


def _tags(core: Core, checking: Checking, history: History) -> None:
    tags = list[Tag]()
    with checking.looking("manifest"):
        tags = list_tags(core.store)
    for tag in tags:
        with checking.looking("commit", f"tag '{tag.name}': "):
            _tag(core, checking, history, tag)


def _tag(core: Core, checking: Checking, history: History, tag: Tag) -> None:
    try:
        state = manifest.load_commit(core.store.root, tag.branch, tag.manifest_version, tag.graph_commit_id)
    except BranchNotFound:
        return  # deleted, so nothing can read it any more
    except HistoricalVersionReclaimed as error:
        raise Corrupt(error.message) from error  # cleanup keeps what a tag needs
    if state.graph_head != tag.graph_commit_id:
        message = f"tag '{tag.name}' names commit {tag.graph_commit_id}, but its version is {state.graph_head}"
        checking.found("commit", f"{message}; restore its file from a backup, or delete it and create it again")
    history.add(state.snapshot, required=True)
    checking.counts.tags += 1
    _schema(core, checking, history, state, f"the schema of tag '{tag.name}'")


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
    with checking.looking("commit", f"commit {commit.graph_commit_id}: "):
        try:
            state = state_at_commit(core, commit)
        except NotFound:
            return  # of a former branch of this name
        history.add(state.snapshot)
        gone = [entry for entry in state.snapshot if not history.exists(core, entry)]
        for entry in gone:
            if not was_reclaimed(core.store, entry):
                _lost(checking, entry)
        if gone:
            checking.counts.reclaimed_commits += all(was_reclaimed(core.store, entry) for entry in gone)
            return
        _schema(core, checking, history, state, f"the schema of commit {commit.graph_commit_id}")


def _lost(checking: Checking, entry: TableEntry) -> None:
    checking.found(
        "version",
        "the version file is missing, and no cleanup removed it; restore it from a backup",
        type_key=entry.table_key,
        version=entry.version,
        file=entry.evidence.manifest_path,
    )


def _schema(
    core: Core, checking: Checking, history: History, state: ManifestState, what: str, *, branch: str | None = None
) -> None:
    """Compile the schema of a state, and note which columns it says each table has."""
    with checking.looking("schema", f"{what}: ", branch=branch):
        expected = expected_columns(state.snapshot, core.schemas.of(state).catalog)
        for entry in untyped_tables(state.snapshot, expected):
            checking.found("schema", f"{what} knows no table '{entry.table_key}'", branch=branch)
        for key, columns in expected.items():
            noted = history.pins[pin_of(state.snapshot.entry(key))].columns
            if columns not in noted:
                noted.append(columns)
