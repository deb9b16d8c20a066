"""The one cut that a graph gives out at a time; while it is held, nothing may take away what it reads."""

from __future__ import annotations

import threading

from omnigraph.errors import ResourceLimitExceeded

_RESOURCE = "stream_export_slots"


class ExportSlot:
    """Held by at most one export or baseline of a graph."""

    def __init__(self) -> None:
        self._held = threading.Lock()

    def take(self) -> None:
        """Take the cut, or refuse (413)."""
        if not self._held.acquire(blocking=False):
            raise ResourceLimitExceeded(_RESOURCE, limit=1, actual=2)

    def give_back(self) -> None:
        """Let the next one have it."""
        self._held.release()

    def require_free(self) -> None:
        """Refuse an operation that would change which tables and branches there are."""
        if self._held.locked():
            raise ResourceLimitExceeded(_RESOURCE, limit=1, actual=2)
