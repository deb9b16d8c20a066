"""Which rows the last commits of this process changed, so that the writers after them need not look."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

_REMEMBERED = 1_024
_MOST_IDS = 4_096

Changes = Mapping[str, frozenset[str] | None]
"""By table key the ids of the rows that a commit changed; None when they were too many to remember."""


@dataclass(frozen=True, slots=True)
class _Commit:
    parent: str | None
    changes: Changes


@dataclass(slots=True, weakref_slot=True)
class RecentWrites:
    """Commits by their ids, which no other commit will ever have, whatever becomes of graphs and branches."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _commits: OrderedDict[str, _Commit] = field(default_factory=OrderedDict)

    def record(self, commit_id: str, parent: str | None, changes: Changes) -> None:
        """Remember everything that a commit changed; a table it does not name stayed as it was."""
        kept = {key: ids if ids is None or len(ids) <= _MOST_IDS else None for key, ids in changes.items()}
        with self._lock:
            self._commits[commit_id] = _Commit(parent, kept)
            while len(self._commits) > _REMEMBERED:
                self._commits.popitem(last=False)

    def between(self, older: str | None, newer: str | None, table_key: str) -> frozenset[str] | None:
        """The rows of a table that the commits after one up to another changed; None when not all of it is known."""
        found: set[str] = set()
        at = newer
        with self._lock:
            while at != older:
                commit = None if at is None else self._commits.get(at)
                if commit is None:
                    return None
                ids = commit.changes.get(table_key, frozenset())
                if ids is None:
                    return None
                found |= ids
                at = commit.parent
        return frozenset(found)


def recent_writes_of(root: str) -> RecentWrites:
    """The one record for a canonical root, shared by every handle of this process."""
    with _registry_guard:
        return _registry.setdefault(root, RecentWrites())


_registry: WeakValueDictionary[str, RecentWrites] = WeakValueDictionary()
_registry_guard = threading.Lock()
