"""What one query may use: time, rows in flight and bytes; and how a caller stops it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from omnigraph.display import DisplayedOptions
from omnigraph.errors import BadRequest, QueryCancelled, ResourceLimitExceeded
from omnigraph.memory.budget import NOTHING_KEPT, MemoryBudget
from omnigraph.memory.working import Reservation

_DEFAULT_ROWS = 200_000_000
# One intermediate result may take as much as half of what the graph keeps, since several queries run at a time; a
# graph that keeps little still answers.
_PART, _LEAST_BYTES, _MOST_BYTES = 1 / 2, 256 << 20, 8 << 30
_DEFAULT_HOPS = 10_000
# What queries do at every checkpoint; it gets to know how a query looks whether it should stop, in case it waits.
Pace = Callable[[Callable[[], None]], None]
_PACE: ContextVar[Pace | None] = ContextVar("omnigraph_pace", default=None)
_UNCOUNTED = 1 << 20  # what every query may take without drawing on the memory of the process


@dataclass(frozen=True, slots=True, repr=False)
class Limits(DisplayedOptions):
    """Ceilings of one query; None means no ceiling. `result_rows` counts rows of the answer, `hops` those of `{m,}`.

    `bytes` is what one intermediate result may take; "auto" is half of the graph's memory, from 256 MiB to 8 GiB.
    """

    seconds: float | None = None
    rows: int | None = _DEFAULT_ROWS
    bytes: int | Literal["auto"] | None = "auto"
    result_rows: int | None = None
    hops: int | None = _DEFAULT_HOPS


def limits_from(env: Mapping[str, str] = os.environ) -> Limits:
    """The process-wide ceilings, OMNIGRAPH_QUERY_TIMEOUT_MS, …_MAX_ROWS, …_MAX_BYTES and …_MAX_HOPS; 0 lifts one."""
    timeout = _number(env, "OMNIGRAPH_QUERY_TIMEOUT_MS", 0)
    rows = _number(env, "OMNIGRAPH_QUERY_MAX_ROWS", _DEFAULT_ROWS)
    size = _number(env, "OMNIGRAPH_QUERY_MAX_BYTES", -1)
    hops = _number(env, "OMNIGRAPH_QUERY_MAX_HOPS", _DEFAULT_HOPS)
    seconds = timeout / 1000 if timeout else None
    return Limits(seconds, rows or None, "auto" if size < 0 else size or None, hops=hops or None)


@contextmanager
def paced(pace: Pace) -> Iterator[None]:
    """Let the queries of the block go at somebody else's pace."""
    token = _PACE.set(pace)
    try:
        yield
    finally:
        _PACE.reset(token)


class Budget:
    """Watches one running query; every operator asks it before it allocates."""

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        memory: MemoryBudget = NOTHING_KEPT,
        cancel: threading.Event | None = None,
        reserved: Reservation | None = None,
        clock: Callable[[], float] = time.monotonic,
        started: float | None = None,
    ) -> None:
        self.limits = Limits() if limits is None else limits
        self.memory = memory
        auto = memory.share(_PART, least=_LEAST_BYTES, most=_MOST_BYTES)
        self._bytes = auto if self.limits.bytes == "auto" else self.limits.bytes
        self._cancel = cancel
        self._reserved = reserved
        self._clock = clock
        self._start = clock() if started is None else started
        self._pace = _PACE.get()

    def check(self) -> None:
        """Raise when the query was cancelled or its time is over; wait while others go first."""
        self._require_time()
        if self._pace is not None:
            self._pace(self._require_time)

    def _require_time(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise QueryCancelled()
        allowed = self.limits.seconds
        if allowed is not None and (spent := self._clock() - self._start) > allowed:
            raise ResourceLimitExceeded("query_time_ms", limit=int(allowed * 1000), actual=int(spent * 1000))

    def admit(self, rows: int, *, row_bytes: int = 8) -> None:
        """Raise unless an intermediate result of this size still fits."""
        self.check()
        self.require_room(rows, row_bytes)

    def require_room(self, rows: int, row_bytes: int) -> None:
        """The same without a look whether to stop, which is for the thread of the query alone."""
        if self.limits.rows is not None and rows > self.limits.rows:
            raise ResourceLimitExceeded("query_intermediate_rows", limit=self.limits.rows, actual=rows)
        if self._bytes is not None and rows * row_bytes > self._bytes:
            raise ResourceLimitExceeded("query_bytes", limit=self._bytes, actual=rows * row_bytes)
        if self._reserved is not None and rows * row_bytes > _UNCOUNTED:
            self._reserved.need(rows * row_bytes)

    def parts_at_once(self, threads: int, part_bytes: int) -> int:
        """How many parts of a step, of so many bytes each, may be in memory at a time; at least one."""
        if part_bytes * threads <= _UNCOUNTED:
            return threads
        room = threads if self._bytes is None else min(threads, self._bytes // part_bytes)
        if room > 1 and self._reserved is not None and not self._reserved.has_room(room * part_bytes):
            return 1
        return max(1, room)

    def admit_hops(self, hops: int) -> None:
        """Raise when a traversal without an upper bound is about to take this hop and may not."""
        if self.limits.hops is not None and hops > self.limits.hops:
            raise ResourceLimitExceeded("query_hops", limit=self.limits.hops, actual=hops)

    def admit_result(self, rows: int) -> None:
        """Raise unless an answer of this many rows may be returned."""
        self.check()
        if self.limits.result_rows is not None and rows > self.limits.result_rows:
            raise ResourceLimitExceeded("query_rows", limit=self.limits.result_rows, actual=rows)


def _number(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal():
        raise BadRequest(f"{name} must be a whole number, not '{text}'")
    return int(text)
