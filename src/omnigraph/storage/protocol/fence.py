"""The fence: one decision per operation, and a base to build on whose content is exactly what is published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from omnigraph.errors import BranchNotFound, Conflict, Corrupt, ReadSetChanged, RecoveryRequired
from omnigraph.ids import now_micros
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import Address, normalize_branch
from omnigraph.storage.base.store import Store
from omnigraph.storage.base.waiting import pause
from omnigraph.storage.intent import sidecar
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.durable import sync_whole
from omnigraph.storage.lance.tables import (
    BRANCH,
    EFFECT,
    NEUTRALIZE,
    OPERATION_ID,
    Landed,
    TableHandle,
    TransactionInfo,
    Unknown,
)
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import Decision, ManifestState
from omnigraph.storage.manifest.rows import AbortRow

_SETTLE_ATTEMPTS = 64

Recover = Callable[[str], None]
"""Resolves one expired sidecar; passed in because recovery itself builds on the fence."""
_AFTER_A_RACE = (0.002, 0.020)


@dataclass(frozen=True, slots=True)
class Abort:
    """Who gives an operation up, and why."""

    writer_kind: str
    aborted_by: Literal["writer", "recovery"]
    reason: str
    rollback_commit_id: str | None = None


def settle(store: Store, branch: str | None, operation_id: str, abort: Abort) -> Decision:
    """Decide an operation for good: once this returns 'aborted', no process can ever publish it."""
    failures = 0
    for _ in range(_SETTLE_ATTEMPTS):
        try:
            loaded = manifest.load(store.root, branch)
        except BranchNotFound:
            return "aborted"  # a sealed or deleted branch accepts no publication
        decision = loaded.state.decision(operation_id)
        if decision is not None:
            # The process that decided it may have died before it was on the disk.
            sync_whole(loaded.handle.address, loaded.handle.dataset)
            return decision
        failpoints.hit("fence.settle_pre_commit")
        row = AbortRow(
            operation_id=operation_id,
            branch=branch,
            writer_kind=abort.writer_kind,
            aborted_by=abort.aborted_by,
            reason=abort.reason,
            aborted_at=now_micros(),
            rollback_commit_id=abort.rollback_commit_id,
        )
        outcome = manifest.publish_rows(loaded, [row])
        if isinstance(outcome, Landed):
            manifest.advance(loaded, [row], outcome)
            return "aborted"
        if isinstance(outcome, Unknown) and (failures := failures + 1) > store.settings.publisher_retry_budget:
            raise outcome.cause
        pause(_AFTER_A_RACE)
    raise RecoveryRequired(operation_id, "the manifest stayed contended while the operation was being aborted")


def base(
    store: Store, state: ManifestState, address: Address, pin: int, *, operation_id: str, recover: Recover
) -> TableHandle:
    """The newest version of a table, made equal in content to its published version if it is not.

    Unpublished versions of aborted operations are buried under a Restore of the published one. An operation that is
    still open is waited for (RecoveryRequired) while its owner lives, and resolved otherwise.
    """
    for _ in range(store.settings.neutralize_attempts):
        newest = tables.open_table(address, at_least=pin)
        if newest.version < pin:
            raise Corrupt(f"{address.uri} is at version {newest.version}, below its published version {pin}")
        if content_equal(newest, pin):
            return newest
        if not _all_decided(store, state, newest, pin, recover):
            continue
        restored = _neutralize(newest, pin, operation_id=operation_id, branch=state.branch)
        if restored is not None:
            return restored
    raise ReadSetChanged(f"table:{address.path}", expected=pin, actual="kept moving")


def abandoned(store: Store, state: ManifestState, address: Address, floor: int, *, recover: Recover) -> TableHandle:
    """The newest version of a dataset that no snapshot shows, once nothing above `floor` can be published in it."""
    for _ in range(store.settings.neutralize_attempts):
        newest = tables.open_table(address)
        if _all_decided(store, state, newest, floor, recover):
            return newest
    raise ReadSetChanged(f"table:{address.path}", expected=floor, actual="kept moving")


def content_equal(newest: TableHandle, pin: int) -> bool:
    """Whether only rewrites, index builds and restores of the published version separate HEAD from it."""
    version = newest.version
    while version > pin:
        info = newest.transaction(version)
        if info is None:
            return False
        if info.restored is not None:
            version = info.restored
        elif tables.preserves_content(newest.address, info):
            version -= 1
        else:
            return False
    return version == pin


def _all_decided(store: Store, state: ManifestState, newest: TableHandle, pin: int, recover: Recover) -> bool:
    """True when every unpublished version is garbage; False when the caller has to look again."""
    for version in range(pin + 1, newest.version + 1):
        info = newest.transaction(version)
        if info is not None and (_is_neutral(info) or tables.preserves_content(newest.address, info)):
            continue
        if info is None or info.operation_id is None:
            # A cleanup lets go of what was published meanwhile, and a repair publishes what no operation owned.
            _refuse_moved_pin(manifest.load(store.root, state.branch).state, state, newest.address, pin)
            raise Conflict(f"{newest.address.uri} version {version} was not written by a graph operation; run repair")
        if not _is_garbage(store, state, info, newest.address, pin=pin, recover=recover):
            return False
    return True


def _is_neutral(info: TransactionInfo) -> bool:
    return info.restored is not None and info.properties.get(EFFECT) == NEUTRALIZE


def _is_garbage(
    store: Store, state: ManifestState, info: TransactionInfo, address: Address, *, pin: int, recover: Recover
) -> bool:
    operation_id = info.operation_id or ""
    branch = normalize_branch(info.properties.get(BRANCH, "main"))
    try:
        fresh = manifest.load(store.root, branch).state
    except BranchNotFound:
        return True  # nothing of a deleted branch can be published any more
    match fresh.decision(operation_id):
        case "aborted":
            return True
        case "published":
            _refuse_moved_pin(fresh, state, address, pin)
            return True
        case None:
            _resolve(store, branch, operation_id, recover)
            return False


def _refuse_moved_pin(fresh: ManifestState, state: ManifestState, address: Address, pin: int) -> None:
    for entry in fresh.snapshot:
        if (entry.location, entry.ref) == (address.location, address.ref) and entry.version > pin:
            raise ReadSetChanged(f"graph_head:{state.branch or 'main'}", expected=pin, actual=entry.version)


def _resolve(store: Store, branch: str | None, operation_id: str, recover: Recover) -> None:
    found = sidecar.load(store.objects, operation_id)
    if found is None:
        reason = "found unpublished by another writer, without a sidecar"
        settle(store, branch, operation_id, Abort("Mutation", "recovery", reason))
    elif sidecar.is_live(found, skew_ms=store.settings.lease_skew_ms):
        raise RecoveryRequired(operation_id, "another writer is at work on the same table")
    else:
        recover(operation_id)


def _neutralize(newest: TableHandle, pin: int, *, operation_id: str, branch: str | None) -> TableHandle | None:
    staged = tables.stage_restore(newest, pin)
    staged.properties = {OPERATION_ID: operation_id, BRANCH: branch or "main", EFFECT: NEUTRALIZE}
    failpoints.hit("fence.neutralize_pre_commit")
    outcome = tables.commit(staged)
    # A displaced or refused Restore cost a version number and nothing else; look again.
    return outcome.handle if isinstance(outcome, Landed) and outcome.exact else None
