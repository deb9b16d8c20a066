"""The one cut that a process gives out of a graph at a time: an export or a baseline that is being written.

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
        """Hold the cut for the length of a block."""
        self.take()
        try:
            yield
        finally:
            self.give_back()

    def take(self) -> None:
        """Hold the cut, or raise ResourceLimitExceeded."""
        if not self._lock.acquire(blocking=False):
            raise _taken()

    def give_back(self) -> None:
        """Let the next one have it."""
        self._lock.release()

    def require_free(self) -> None:
        """Refuse what must not happen beside an export."""
        if self._lock.locked():
            raise _taken()


_cuts: WeakValueDictionary[str, ExportLock] = WeakValueDictionary()
_cuts_lock = threading.Lock()


def cut_of(store: Store) -> ExportLock:
    """The cut of a graph, the same for every handle on it in this process."""
    with _cuts_lock:
        return _cuts.setdefault(store.root.uri, ExportLock())


def _taken() -> ResourceLimitExceeded:
    return ResourceLimitExceeded(_RESOURCE, limit=1, actual=2)
