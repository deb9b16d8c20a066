"""In-process gates: threads of one process that would collide anyway take turns instead.

Gates save wasted work and never carry a safety argument; the fence does that across threads and processes alike.
Everyone acquires in one order (branches with main first, then schema, then tables), so no cycle can form.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from omnigraph.storage.base.turns import Turn

TableRef = tuple[str, str | None]
_Key = TypeVar("_Key")
_WRITES_AFTER_LOSS = 4


class SharedGate:
    """Many readers or one writer; a reader waits only for an active writer, so nested reads cannot deadlock."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers = 0
        self._writing = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold together with other readers."""
        with self._condition:
            self._condition.wait_for(lambda: not self._writing)
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                self._condition.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold alone."""
        with self._condition:
            self._condition.wait_for(lambda: not self._writing and not self._readers)
            self._writing = True
        try:
            yield
        finally:
            with self._condition:
                self._writing = False
                self._condition.notify_all()


class Gates:
    """The gates of one graph root in this process."""

    def __init__(self) -> None:
        self.schema = SharedGate()
        self._guard = threading.Lock()
        # A turn lives as long as a thread holds it or waits for it; names of branches come and go.
        self._branches: WeakValueDictionary[str | None, Turn[Any]] = WeakValueDictionary()
        self._tables: WeakValueDictionary[TableRef, Turn[Any]] = WeakValueDictionary()
        self._losing: dict[str | None, int] = {}

    def turn(self, branch: str | None) -> Turn[Any]:
        """The queue of writers to one branch."""
        return self._lock(self._branches, branch)

    def note_loss(self, branch: str | None) -> None:
        """Remember that what was computed ahead of the turn had to be computed again."""
        with self._guard:
            self._losing[branch] = _WRITES_AFTER_LOSS

    def expects_loss(self, branch: str | None) -> bool:
        """Whether the next write would probably be computed in vain ahead of its turn; asked once for each write."""
        with self._guard:
            left = self._losing.pop(branch, 0)
            if left > 1:
                self._losing[branch] = left - 1
            return left > 0

    @contextmanager
    def branches(self, names: Iterable[str | None]) -> Iterator[None]:
        """Hold the gates of these branches, main first."""
        ordered = sorted(set(names), key=lambda name: (name is not None, name or ""))
        with ExitStack() as stack:
            for name in ordered:
                stack.enter_context(self._lock(self._branches, name))
            yield

    @contextmanager
    def tables(self, refs: Iterable[TableRef], *, exclusive_schema: bool = False) -> Iterator[None]:
        """Hold the schema gate, then the gates of these (table_key, branch) pairs."""
        ordered = sorted(set(refs), key=lambda ref: (ref[0], ref[1] is not None, ref[1] or ""))
        with ExitStack() as stack:
            stack.enter_context(self.schema.exclusive() if exclusive_schema else self.schema.shared())
            for ref in ordered:
                stack.enter_context(self._lock(self._tables, ref))
            yield

    @contextmanager
    def more_tables(self, refs: Iterable[TableRef]) -> Iterator[bool]:
        """Hold further tables if no other holder does; whether it was so. Without waiting no cycle can form."""
        with ExitStack() as stack:
            for ref in set(refs):
                lock = self._lock(self._tables, ref)
                if not lock.acquire(0):
                    yield False
                    return
                stack.callback(lock.release)
            yield True

    @contextmanager
    def hold(
        self, branches: Iterable[str | None], refs: Iterable[TableRef] = (), *, exclusive_schema: bool = False
    ) -> Iterator[None]:
        """Hold branches, schema and tables in the common order."""
        with self.branches(branches), self.tables(refs, exclusive_schema=exclusive_schema):
            yield

    def _lock(self, locks: WeakValueDictionary[_Key, Turn[Any]], key: _Key) -> Turn[Any]:
        with self._guard:
            found = locks.get(key)
            if found is None:
                found = locks[key] = Turn()
            return found


def gates_for(root: str) -> Gates:
    """The one set of gates for a canonical root, shared by every handle of this process."""
    with _registry_guard:
        return _registry.setdefault(root, Gates())


# Gates that are not held carry no state, so they may be made anew.
_registry: WeakValueDictionary[str, Gates] = WeakValueDictionary()
_registry_guard = threading.Lock()
