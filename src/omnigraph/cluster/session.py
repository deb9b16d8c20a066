"""One command at work: the declaration, the storage behind it, the lock, the ledger, and what was observed of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from omnigraph.cluster import addresses
from omnigraph.cluster.boot import read_ledger
from omnigraph.cluster.declaration.declared import Declared
from omnigraph.cluster.diagnostics import Diagnostics, Stopped
from omnigraph.cluster.state import stored
from omnigraph.cluster.state.ledger import Ledger, state_cas
from omnigraph.cluster.state.lock import Lock, new_lock, read_lock, release_lock, take_lock
from omnigraph.cluster.state.records import Malformed
from omnigraph.cluster.state.stored import Stored, open_stored
from omnigraph.errors import BadRequest, StorageError
from omnigraph.storage.base.failpoints import hit


@dataclass(slots=True)
class Observations:
    """What a command saw of the ledger and the lock; `locked` is about a lock of somebody else."""

    state_path: str
    lock_path: str
    cas: str | None = None
    ledger: Ledger | None = None
    foreign: Lock | None = None
    acquired: Lock | None = None

    def to_json(self) -> dict[str, Any]:
        ledger, lock, ours = self.ledger, self.foreign, self.acquired
        members: dict[str, Any] = {
            "state_path": self.state_path,
            "lock_path": self.lock_path,
            "state_found": ledger is not None,
            "applied_config_digest": (ledger.config_digest or None) if ledger else None,
            "state_revision": ledger.revision if ledger else 0,
            "state_cas": self.cas,
            "resource_count": len(ledger.resources) if ledger else 0,
            "locked": lock is not None,
            "lock_id": lock.lock_id if lock else None,
            "lock_acquired": ours is not None,
            "acquired_lock_id": ours.lock_id if ours else None,
            "lock_operation": lock.operation if lock else None,
            "lock_created_at": lock.created_at if lock else None,
            "lock_pid": lock.pid if lock else None,
            "lock_age_seconds": lock.age_seconds if lock else None,
        }
        return {name: value for name, value in members.items() if value is not None}


@dataclass(slots=True)
class Session:
    """Everything one command works with; `ledger` is its own copy to change, `before` what it read."""

    declared: Declared
    place: Stored
    observed: Observations
    ledger: Ledger = field(default_factory=Ledger)
    before: Ledger | None = None

    @property
    def found(self) -> Diagnostics:
        return self.declared.found

    def read(self) -> bool:
        """Read the ledger; False when there is none."""
        read = read_ledger(self.place, self.found)
        if read is None:
            return False
        self.before, self.observed.cas = read
        self.observed.ledger, self.ledger = self.before, deepcopy(self.before)
        return True

    def require_state(self) -> None:
        """Read the ledger, which must exist."""
        if not self.read():
            message = "no ledger here yet; run `cluster import` first"
            raise self.found.stop("state_missing", self.observed.state_path, message)

    def require_unforged(self) -> None:
        """Refuse a ledger that was edited by hand; signing it again would make the edit official."""
        for graph_id in self.ledger.forged_graphs():
            message = "the recorded digest does not follow from the recorded parts; restore the ledger"
            self.found.error("external_blob_policy_digest_mismatch", addresses.graph(graph_id), message)
        if not self.found.ok:
            raise Stopped

    def is_dirty(self) -> bool:
        """Whether the ledger differs from what was read; the revision alone is not a difference."""
        return self.before is None or replace(self.ledger, revision=self.before.revision) != self.before

    def write(self) -> bool:
        """Replace the ledger if it is still the one that was read; False and a diagnostic when it is not."""
        path = self.observed.state_path
        step("cluster.before_state_write", self.found)
        updated = replace(self.ledger, revision=self.ledger.revision + 1)
        try:
            landed = self._replace(updated.to_text())
        except StorageError as error:
            self.found.error("state_write_error", path, error.message)
            return False
        if not landed:
            message = "somebody else changed the ledger meanwhile; nothing was written, run the command again"
            self.found.error("state_cas_mismatch", path, message)
            return False
        self.ledger = updated
        self.observed.ledger, self.observed.cas = updated, state_cas(updated.to_text())
        return True

    def _replace(self, text: str) -> bool:
        objects = self.place.objects
        current = objects.read_tagged(stored.STATE)
        if current is None or self.observed.cas is None:
            return current is None and self.observed.cas is None and objects.write_if_absent(stored.STATE, text)
        if state_cas(current[0]) != self.observed.cas:
            return False
        return objects.write_if_match(stored.STATE, text, current[1])

    @contextmanager
    def locked(self, operation: str) -> Iterator[None]:
        """Hold the lock, or raise Stopped; it is released before the block is left, whatever happens inside."""
        config = self.declared.config
        if config is not None and not config.lock:
            message = "the lock is turned off; nothing keeps two commands apart"
            self.found.warn("state_lock_disabled", "state.lock", message)
            yield
            return
        lock = self._take(operation)
        try:
            yield
        finally:
            try:
                release_lock(self.place, lock)
            except StorageError as error:
                self.found.error("state_lock_error", self.observed.lock_path, f"not released: {error.message}")

    def _take(self, operation: str) -> Lock:
        lock, path = new_lock(operation), self.observed.lock_path
        try:
            if take_lock(self.place, lock):
                self.observed.acquired = lock
                return lock
            self.observed.foreign = read_lock(self.place)
        except StorageError as error:
            raise self.found.stop("state_lock_error", path, error.message) from error
        except Malformed as error:
            raise self.found.stop("state_lock_held", path, f"a lock is held that cannot be read: {error}") from error
        held = self.observed.foreign
        whom = f"{held.lock_id} ({held.operation})" if held else "another command, which has just ended"
        remedy = f"if it is dead, run `cluster force-unlock {held.lock_id}`" if held else "try again"
        raise self.found.stop("state_lock_held", path, f"the lock is held by {whom}; {remedy}")


def open_session(declared: Declared) -> Session:
    """The session of a declaration without errors; does no I/O beyond resolving the storage."""
    if not declared.ok or declared.root is None:
        raise Stopped
    try:
        place = open_stored(declared.root)
    except (BadRequest, StorageError) as error:
        raise declared.found.stop("storage_root_invalid", "storage", error.message) from error
    return Session(declared, place, Observations(place.shown(stored.STATE), place.shown(stored.LOCK)))


def no_observations(declared: Declared) -> dict[str, Any]:
    """What is reported of the storage when a command did not get that far."""
    root = declared.root or str(declared.directory)
    return Observations(f"{root}/{stored.STATE}", f"{root}/{stored.LOCK}").to_json()


def step(name: str, found: Diagnostics) -> None:
    """Pass a named step; a test may end the command, or the process, here."""
    try:
        hit(name)
    except StorageError as error:
        raise found.stop("injected_failpoint", name, error.message) from error
