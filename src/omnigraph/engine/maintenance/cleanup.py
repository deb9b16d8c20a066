"""`cleanup`: remove old versions that no live branch, no tag and no retention policy asks for.

Destructive, and safe beside live writers: it holds graph control, reads everything it decides on afresh, and never
touches a newest version, a version above a published one, or anything a fork was made from.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from omnigraph.display import Displayed
from omnigraph.engine.maintenance.optimize import in_parallel
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.export_lock import export_lock_of
from omnigraph.engine.views.merge_base import CommitGraph, merge_base
from omnigraph.engine.views.time_travel import state_at_commit
from omnigraph.errors import BadRequest, NotFound, OmnigraphError
from omnigraph.storage.intent.control import Control, hold_control
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.reclaim import (
    Reclaimed,
    drop_transactions,
    existing_versions,
    reclaim_versions,
    version_times,
)
from omnigraph.storage.maintenance.checksum_ledger import remove_versions
from omnigraph.storage.maintenance.load_claims import discard_abandoned
from omnigraph.storage.maintenance.orphans import FreedBranch, deleted_branches, reclaim_files, reclaim_orphans
from omnigraph.storage.maintenance.retention import Needs, needs_of, unneeded_schemas
from omnigraph.storage.manifest.branch_refs import address_of
from omnigraph.storage.manifest.schema_archive import drop_schema
from omnigraph.storage.protocol.quiesce import require_clean
from omnigraph.storage.protocol.reserve import keep_reserve, on_full_disk
from omnigraph.storage.protocol.trim import trim_manifest

_log = logging.getLogger("omnigraph.maintenance")


@dataclass(frozen=True, slots=True)
class Policy:
    """Which versions are too old: beyond the newest `keep`, and committed longer than `older_than` ago."""

    keep: int | None = None
    older_than: timedelta | None = None

    def __post_init__(self) -> None:
        if self.keep is None and self.older_than is None:
            raise BadRequest("cleanup needs a policy: keep (keep_versions) or older_than, or both")
        if self.keep is not None and self.keep < 0:
            raise BadRequest(f"cleanup cannot keep {self.keep} versions")

    def too_old(self, versions: list[int], times: dict[int, datetime]) -> set[int]:
        """Those of the existing versions that the policy lets go."""
        found = set(versions)
        if self.keep is not None:
            found -= set(versions[-max(self.keep, 1) :])
        if self.older_than is not None:
            limit = datetime.now() - self.older_than
            found = {version for version in found if times[version] < limit}
        return found


@dataclass(frozen=True, slots=True, repr=False)
class DatasetCleanup(Displayed):
    """What went from one table; `error` says why nothing did."""

    type_key: str
    bytes_removed: int = 0
    old_versions_removed: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class CleanupReport(Displayed):
    """Every table, by key; a preview (`confirm` was not given) says what would go."""

    keep_versions: int | None
    older_than_secs: int | None
    confirm: bool
    datasets: tuple[DatasetCleanup, ...]
    orphans: tuple[str, ...] = ()
    manifest_versions_removed: int = 0
    manifest_bytes_removed: int = 0
    schemas_removed: tuple[str, ...] = ()
    branches_removed: tuple[FreedBranch, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Every field."""
        return {
            **asdict(self),
            "datasets": [asdict(each) for each in self.datasets],
            "branches_removed": [asdict(each) for each in self.branches_removed],
        }


def cleanup(
    core: Core, policy: Policy, *, confirm: bool = False, progress: Callable[[int, int], None] | None = None
) -> CleanupReport:
    """Remove what the policy calls too old and nothing needs; without `confirm`, only say what that would be."""
    root = core.store.root
    report = on_full_disk(root, lambda: _cleanup(core, policy, confirm=confirm, progress=progress))
    keep_reserve(root)
    return report


def forget_older(core: Core, age: timedelta) -> None:
    """Clean up what is older; the commit that it follows has succeeded, so a failure is only worth a line in the log.

    What stands in the way (another cleanup, an export, an interrupted writer) will be gone the next time.
    """
    try:
        report = cleanup(core, Policy(core.store.settings.history_versions, age), confirm=True)
    except Exception as error:
        _log.warning("history was not cleaned up: %s", error)
        return
    removed = sum(each.old_versions_removed for each in report.datasets)
    _log.info("history older than %s went: %d table versions", age, removed)


def _cleanup(
    core: Core, policy: Policy, *, confirm: bool, progress: Callable[[int, int], None] | None
) -> CleanupReport:
    store = core.store
    export_lock_of(store).require_free()
    require_clean(store, "cleanup")
    with hold_control(store, "cleanup") as control:
        orphans = [*reclaim_orphans(store, control), *discard_abandoned(store)] if confirm else []
        branches = reclaim_files(store, control) if confirm else deleted_branches(store)
        require_clean(store, "cleanup")
        needs = needs_of(store)
        _keep_merge_bases(core, needs)
        work = [_Table(core, key, location) for key, location in _datasets(needs).items()]
        datasets = in_parallel(work, lambda each: each.run(policy, needs, control, confirm=confirm), progress)
        schemas = unneeded_schemas(store, needs) if confirm else []
        for schema in schemas:
            control.require()
            drop_schema(store.objects, schema)
        core.schemas.forget(schemas)
    # Needs no control, because nothing that a version said is lost; and giving control back has added two versions.
    live = needs.states.values() if confirm else ()
    gone = sum((trim_manifest(address_of(store.root, state.branch), keep=1) for state in live), Reclaimed())
    core.tables.clear()
    tables.forget_cached(store.root)
    seconds = None if policy.older_than is None else int(policy.older_than.total_seconds())
    return CleanupReport(
        policy.keep,
        seconds,
        confirm,
        tuple(datasets),
        tuple(orphans),
        gone.versions,
        gone.bytes,
        tuple(schemas),
        tuple(branches),
    )


def _datasets(needs: Needs) -> dict[str, str]:
    """Key → location of every table of main, and of dropped ones whose dataset no live branch shows."""
    main = needs.states["main"]
    found = {entry.table_key: entry.location for entry in main.snapshot}
    shown = {entry.location for state in needs.states.values() for entry in state.snapshot}
    for key, row in main.registrations.items():
        if row.location not in shown and row.location not in found.values():
            found.setdefault(key, row.location)
    return dict(sorted(found.items()))


def _keep_merge_bases(core: Core, needs: Needs) -> None:
    """A later merge of any two live branches reads the state they last had in common."""
    states = list(needs.states.values())
    graph = CommitGraph(state.lineage for state in states) if len(states) > 1 else None
    for position, one in enumerate(states):
        for other in states[position + 1 :]:
            if graph is None or one.effective_head is None or other.effective_head is None:
                continue
            base = merge_base(graph, one.effective_head, other.effective_head)
            try:
                needs.keep(state_at_commit(core, base).snapshot)
            except NotFound:
                continue  # reclaimed long ago, or its branch is gone: there is nothing left to keep


class _Table:
    """One dataset: its main lineage, and the forks of it that live branches write to."""

    def __init__(self, core: Core, key: str, location: str) -> None:
        self.core = core
        self.key = key
        self.location = location

    def run(self, policy: Policy, needs: Needs, control: Control, *, confirm: bool) -> DatasetCleanup:
        """Remove what may go; a failure concerns this table only."""
        trunk = self.core.store.root.table(self.location)
        gone = Reclaimed()
        try:
            refs = tables.list_refs(tables.open_table(trunk, control=True)).values()
            for ref in needs.refs(self.location):
                newest = tables.open_table(trunk.on(ref), control=True)
                forked = {other.parent_version for other in refs if other.parent == ref}
                doomed = self._doomed(newest, policy, needs) - forked
                if confirm:
                    control.require()
                    gone += remove_versions(self.core.store, newest, sorted(doomed))
                    drop_transactions(newest.address)
                else:
                    gone += reclaim_versions(newest, sorted(doomed), preview=True)
        except OmnigraphError as error:
            return DatasetCleanup(self.key, gone.bytes, gone.versions, error=str(error))
        return DatasetCleanup(self.key, gone.bytes, gone.versions)

    def _doomed(self, newest: tables.TableHandle, policy: Policy, needs: Needs) -> set[int]:
        versions = existing_versions(newest)
        times = version_times(newest) if policy.older_than is not None else {}
        old = policy.too_old(versions, times)
        return needs.removable(self.location, newest.address.ref, old, newest.version)
