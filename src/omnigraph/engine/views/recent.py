"""Deltas that were worked out a moment ago: a preview before a merge, the next page of the same commit."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from omnigraph.storage.manifest.snapshot import TableEntry

_ENTRIES = 16
_BYTES = 256 << 20


class Sized(Protocol):
    """Anything that knows how much memory it holds."""

    @property
    def nbytes(self) -> int: ...


Value = TypeVar("Value", bound=Sized)


class Recent(Generic[Value]):
    """A few results by the two exact table versions they were made from; those never change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[TableEntry, TableEntry], Value] = OrderedDict()

    def get(self, old: TableEntry, new: TableEntry, compute: Callable[[], Value]) -> Value:
        """The result for a pair, computed unless it is still there."""
        key = old, new
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        made = compute()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > _ENTRIES or sum(value.nbytes for value in self._kept.values()) > _BYTES:
                self._kept.popitem(last=False)
        return made

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
