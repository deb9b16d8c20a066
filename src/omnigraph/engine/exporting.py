"""Which graph roots this process is exporting right now, so that nobody deletes one under a running export."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_running: Counter[str] = Counter()


@contextmanager
def exporting(canonical: str) -> Iterator[None]:
    """The root counts as being exported while the block runs."""
    with _lock:
        _running[canonical] += 1
    try:
        yield
    finally:
        with _lock:
            _running[canonical] -= 1
            if not _running[canonical]:
                del _running[canonical]


def is_exported(canonical: str) -> bool:
    """Whether an export of this root runs in this process."""
    with _lock:
        return canonical in _running
