"""The lock that lets a process write one export or baseline of a graph at a time.

While it is held, nothing in this process may take away what it reads, or change which branches and types there are.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from omnigraph.errors import ResourceLimitExceeded
from omnigraph.storage.base.store import Store

_RESOURCE = "stream_export_slots"


class ExportLock:
    """Held by at most one export or baseline of a graph; a second one is refused, not made to wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the length of a block."""
        self.take()
        try:
            yield
        finally:
            self.give_back()

    def take(self) -> None:
        """Hold the lock, or raise ResourceLimitExceeded."""
        if not self._lock.acquire(blocking=False):
            raise _taken()

    def give_back(self) -> None:
        """Let the next one have it."""
        self._lock.release()

    def require_free(self) -> None:
        """Refuse what must not happen beside an export."""
        if self._lock.locked():
            raise _taken()


_locks: WeakValueDictionary[str, ExportLock] = WeakValueDictionary()
_registry_lock = threading.Lock()


def export_lock_of(store: Store) -> ExportLock:
    """The lock of a graph, the same for every handle on it in this process."""
    with _registry_lock:
        return _locks.setdefault(store.root.uri, ExportLock())


def _taken() -> ResourceLimitExceeded:
    return ResourceLimitExceeded(_RESOURCE, limit=1, actual=2)
