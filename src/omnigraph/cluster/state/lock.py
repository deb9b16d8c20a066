"""The lock of the control plane: one object that exists while a command changes, or depends on, the ledger."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from omnigraph.cluster.state.records import NUMBER, TEXT, Malformed, check_members, check_version, parse_object
from omnigraph.cluster.state.stored import LOCK, Stored, now, to_text
from omnigraph.ids import new_ulid

_MEMBERS = {"version": NUMBER, "lock_id": TEXT, "operation": TEXT, "created_at": TEXT, "pid": NUMBER}


@dataclass(frozen=True, slots=True)
class Lock:
    """Who holds the lock, since when and for what."""

    lock_id: str
    operation: str
    created_at: str
    pid: int

    @property
    def age_seconds(self) -> int | None:
        """How old it is, as far as its clock can be believed."""
        try:
            made = datetime.fromisoformat(self.created_at)
        except ValueError:
            return None
        made = made if made.tzinfo else made.replace(tzinfo=UTC)
        return max(0, int((datetime.now(UTC) - made).total_seconds()))


def new_lock(operation: str) -> Lock:
    return Lock(new_ulid(), operation, now(), os.getpid())


def read_lock(stored: Stored) -> Lock | None:
    """The stored lock; Malformed when it cannot be understood."""
    text = stored.objects.read_if_exists(LOCK)
    if text is None:
        return None
    document = parse_object(text)
    check_version(document)
    check_members(document, _MEMBERS, where="the lock")
    return Lock(document["lock_id"], document["operation"], document["created_at"], document["pid"])


def take_lock(stored: Stored, lock: Lock) -> bool:
    """Whether the lock is ours now; exactly one of several takers wins."""
    return stored.objects.write_if_absent(LOCK, to_text({"version": 1, **asdict(lock)}))


def release_lock(stored: Stored, lock: Lock) -> None:
    """Let go of the lock if it is still ours; one that somebody forced open and took is left alone."""
    try:
        held = read_lock(stored)
    except Malformed:
        return
    if held is not None and held.lock_id == lock.lock_id:
        stored.objects.delete(LOCK)
