"""The barrier before a write: resolve what dead writers left, and wait for the live ones in the way."""

from __future__ import annotations

import random
import time

from omnigraph.errors import RecoveryRequired, Retry
from omnigraph.storage.base.store import Store
from omnigraph.storage.protocol import recovery, sidecar
from omnigraph.storage.protocol.sidecar import Sidecar

TableAddress = tuple[str, str | None]

_POLL_SECONDS = (0.002, 0.025)
_MOST_BLOCKERS = 6


def clear_way(store: Store, branch: str | None, *, awaited: str | None = None, gated: bool = True) -> None:
    """Return when no other process is at work on this branch or on the operation `awaited`.

    Each live writer is waited for up to `writer_wait_ms`, then RecoveryRequired names it; so does an endless row of
    them. Operations of this process are left to the gates; `gated=False` is for callers that hold some already.
    """
    patience = store.settings.writer_wait_ms / 1_000
    started = since = time.monotonic()
    waiting_for = None
    while True:
        blocker = _first_blocker(store, branch, awaited, gated=gated)
        if blocker is None:
            return
        now = time.monotonic()
        if blocker != waiting_for:
            waiting_for, since = blocker, now
        if now - since > patience or now - started > patience * _MOST_BLOCKERS:
            raise RecoveryRequired(blocker, "its writer is still at work")
        time.sleep(random.uniform(*_POLL_SECONDS))


def older_writer(store: Store, mine: Sidecar) -> str | None:
    """A live operation of another process that overlaps mine and was armed first, by ULID order."""
    lineages = frozenset((plan.table_path, plan.table_branch) for plan in mine.tables)
    for operation_id in sidecar.pending(store.objects):
        if operation_id >= mine.operation_id:
            return None
        other = sidecar.load(store.objects, operation_id)
        if other is None or sidecar.is_ours(other) or not _relevant(other, mine.branch, lineages):
            continue
        if sidecar.is_live(other, skew_ms=store.settings.lease_skew_ms):
            return operation_id
    return None


def _first_blocker(store: Store, branch: str | None, awaited: str | None, *, gated: bool) -> str | None:
    for operation_id in sidecar.pending(store.objects):
        other = sidecar.load(store.objects, operation_id)
        if other is None or not (operation_id == awaited or _relevant(other, branch)):
            continue
        if sidecar.is_live(other, skew_ms=store.settings.lease_skew_ms):
            if not sidecar.is_ours(other):
                return operation_id
            continue
        try:
            recovery.recover(store, operation_id, gated=gated)
        except (Retry, RecoveryRequired):
            return operation_id  # somebody else is busy with it; look again
    return None


def _relevant(other: Sidecar, branch: str | None, lineages: frozenset[TableAddress] = frozenset()) -> bool:
    if other.branch == branch or other.writer_kind == "SchemaApply":
        return True
    return any((plan.table_path, plan.table_branch) in lineages for plan in other.tables)
