"""`optimize`: compact tables, extend and build their indexes, publish the result in one commit, compact the manifest.

The physical work preserves content and is done before anything is published, so it may take its time beside live
writers: whatever they commit meanwhile stays, and only pointers to versions of equal content are published.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeVar

from omnigraph.display import Displayed
from omnigraph.engine.maintenance.corpus_builds import keep_corpora
from omnigraph.engine.maintenance.index_builds import index_builder
from omnigraph.engine.maintenance.indexes import PendingIndex, missing_indexes, pending_indexes
from omnigraph.engine.maintenance.topology_builds import keep_topologies
from omnigraph.engine.read.plan.statistics import keep_statistics
from omnigraph.engine.read.search.probes import keep_probes
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.export_lock import export_lock_of
from omnigraph.engine.views.table_tasks import IndexBuilder
from omnigraph.errors import BadRequest, OmnigraphError, RecoveryRequired, Retry, StorageError
from omnigraph.ids import new_ulid
from omnigraph.storage.base.store import Store
from omnigraph.storage.base.waiting import pause
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import ManifestDelta, WriteSet
from omnigraph.storage.lance import compact
from omnigraph.storage.lance.tables import IndexSpec, TableHandle
from omnigraph.storage.maintenance.drift import drift_of
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.rows import VersionRow
from omnigraph.storage.manifest.snapshot import TableEntry
from omnigraph.storage.protocol import fence, recovery
from omnigraph.storage.protocol.commit import commit
from omnigraph.storage.protocol.pause import paused_writers
from omnigraph.storage.protocol.quiesce import require_clean
from omnigraph.storage.protocol.recovery import version_row

MANIFEST_KEY = "__manifest"
CONCURRENCY = "OMNIGRAPH_MAINTENANCE_CONCURRENCY"
DRIFT: Literal["drift_needs_repair"] = "drift_needs_repair"

_FREE_ATTEMPTS = 2
# A writer that began before the pause may still get in its way, once; after that many writers none is left.
_PAUSED_ATTEMPTS = 8
_MANIFEST_ATTEMPTS = 5
_BACKOFF_SECONDS = (0.02, 0.2)
_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True, repr=False)
class DatasetStats(Displayed):
    """What optimize did to one dataset; the versions are given only when drift made it leave the dataset alone."""

    type_key: str
    fragments_removed: int = 0
    fragments_added: int = 0
    committed: bool = False
    skipped: Literal["drift_needs_repair"] | None = None
    published_dataset_version: int | None = None
    lance_head_version: int | None = None
    pending_indexes: tuple[PendingIndex, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Every field."""
        pending = [{"property": each.property, "reason": each.reason} for each in self.pending_indexes]
        return {**asdict(self), "pending_indexes": pending}


def optimize(
    core: Core,
    finished: Callable[[int, int], None] | None = None,
    runner: str = "auto",
    actor: str | None = None,
    message: str | None = None,
) -> list[DatasetStats]:
    """Bring every table of main, and the manifest, into their best physical shape; rows stay as they are.

    `finished` is told after every table how many are done, and of how many.
    """
    export_lock_of(core.store).require_free()
    require_clean(core.store, "optimize")
    view = core.view(None)
    entries = [(info, view.entry(info)) for info in table_types(view.catalog).values()]
    build = index_builder(core.tables, runner, [entry.row_count for _, entry in entries])
    work = [_Upkeep(core, info, entry, build) for info, entry in entries]
    in_parallel(work, _Upkeep.run, finished)
    fragments = manifest.load(core.store.root).handle.fragment_ids()
    published = _publish(core, work, actor, message)
    core.tables.clear()
    keep_corpora(core, None, runner=runner)
    keep_topologies(core, None, runner=runner)
    keep_statistics(core.view(None))
    keep_probes(core.view(None))
    return [*(each.stats(published) for each in work), _optimize_manifest(core, fragments)]


class _Upkeep:
    """The work on one table."""

    def __init__(self, core: Core, info: TableType, entry: TableEntry, build: IndexBuilder) -> None:
        self.core = core
        self.info = info
        self.entry = entry
        self.build = build
        self.after: TableHandle | None = None
        self._before: frozenset[int] = frozenset()
        self._skipped: DatasetStats | None = None
        self._pending: tuple[PendingIndex, ...] = ()

    def run(self) -> None:
        """Tidy the newest version up, unless there is drift; only where writers never rest are they made to wait."""
        failure = self._attempts(_FREE_ATTEMPTS, lambda: None)
        if failure is not None:
            with paused_writers(self.core.store) as wait_for_older:
                failure = self._attempts(_PAUSED_ATTEMPTS, wait_for_older)
        if failure is not None:
            raise failure

    def _attempts(self, number: int, before_each: Callable[[], None]) -> OmnigraphError | None:
        """Try so often; whatever has landed preserves content, so leaving it half done leaves nothing to undo."""
        failure: OmnigraphError | None = None
        for _ in range(number):
            try:
                before_each()
                self._run()
                return None
            except (Retry, RecoveryRequired, StorageError) as error:
                failure = error
                pause(_BACKOFF_SECONDS)
        return failure

    def _run(self) -> None:
        self.entry = self.core.state(None).snapshot.entry(self.entry.table_key)
        drift = drift_of(self.core.store, self.entry)
        if drift is not None:
            self._skipped = DatasetStats(
                self.entry.table_key,
                skipped=DRIFT,
                published_dataset_version=self.entry.version,
                lance_head_version=drift.version,
            )
            return
        base = self._base()
        self._before = self._before or base.fragment_ids()
        self.after = compact.tidy(base, self._missing)
        self._pending = tuple(pending_indexes(self.info, self.after))

    def _missing(self, table: TableHandle) -> Sequence[IndexSpec]:
        return self.build(self.info, table, missing_indexes(self.info, table, extend=True))

    def _base(self) -> TableHandle:
        """The newest version, with what aborted operations left on it buried."""
        store, state = self.core.store, self.core.state(None)
        address = self.entry.address(store.root)
        self.entry.refuse_damaged(store.root)
        return fence.base(
            store,
            state,
            address,
            self.entry.version,
            operation_id=new_ulid(),
            recover=lambda operation: _recover(store, operation),
        )

    def pointer(self, entry: TableEntry) -> VersionRow | None:
        """The row that publishes the result, if it holds what is published now."""
        if self.after is None or self.after.version <= entry.version:
            return None
        if not fence.content_equal(self.after, entry.version):
            return None
        return version_row(self.core.store, entry.table_key, self.after)

    def stats(self, published: set[str]) -> DatasetStats:
        if self._skipped is not None:
            return self._skipped
        now = self._before if self.after is None else self.after.fragment_ids()
        return DatasetStats(
            self.entry.table_key,
            fragments_removed=len(self._before - now),
            fragments_added=len(now - self._before),
            committed=self.entry.table_key in published,
            pending_indexes=self._pending,
        )


def _recover(store: Store, operation_id: str) -> None:
    recovery.recover(store, operation_id)


def _publish(core: Core, work: Iterable[_Upkeep], actor: str | None, message: str | None) -> set[str]:
    """One commit that points at every advanced table; the keys it names."""
    done: set[str] = set()

    def prepare(txn: Txn) -> WriteSet:
        entries = txn.snapshot.entries
        rows = [each.pointer(entries[each.entry.table_key]) for each in work if each.entry.table_key in entries]
        pointers = tuple(row for row in rows if row is not None)
        done.clear()
        done.update(row.table_key for row in pointers)
        return WriteSet(writer_kind="Optimize", delta=ManifestDelta(pointers=pointers), actor_id=actor, message=message)

    commit(core.store, None, prepare)
    return done


def _optimize_manifest(core: Core, before: frozenset[int]) -> DatasetStats:
    # The commit above may have triggered the light compaction; what counts is what became of the fragments before it.
    for _ in range(_MANIFEST_ATTEMPTS):
        if manifest.compact_manifest(core.store.root.manifest(), whole=True):
            break
    after = manifest.load(core.store.root).handle.fragment_ids()
    removed, added = len(before - after), len(after - before)
    stats = DatasetStats(MANIFEST_KEY, fragments_removed=removed, fragments_added=added)
    return replace(stats, committed=removed > 0)


def in_parallel(
    items: Iterable[_T], work: Callable[[_T], _R], finished: Callable[[int, int], None] | None = None
) -> list[_R]:
    """Do the same to several tables at once; every one is finished before the first failure is raised."""
    with ThreadPoolExecutor(_concurrency(), thread_name_prefix="omnigraph-maintenance") as pool:
        futures = [pool.submit(work, item) for item in items]
        for done, _ in enumerate(as_completed(futures), start=1):
            if finished is not None:
                finished(done, len(futures))
    return [future.result() for future in futures]


def _concurrency() -> int:
    text = os.environ.get(CONCURRENCY, "")
    return int(text) if text.isdecimal() and int(text) else 8


def require_main(branch: str | None, what: str) -> None:
    """Maintenance concerns the whole graph and is started from main."""
    if branch is not None:
        raise BadRequest(f"{what} runs on main; this handle is bound to '{branch}'")
