"""Admission: how many writes, bytes of them and endless streams one actor may hold in this process, at once."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from weakref import WeakValueDictionary

from omnigraph.memory.working import PROCESS, WorkingMemory
from omnigraph.server.http.refusal import RETRY_AFTER, refuse, resource_limit

INFLIGHT = "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX"
BYTES = "OMNIGRAPH_PER_ACTOR_BYTES_MAX"
STREAMS = "OMNIGRAPH_PER_ACTOR_STREAMS_MAX"
ALL_STREAMS = "OMNIGRAPH_STREAMS_MAX"
READ_BYTES = "OMNIGRAPH_PER_ACTOR_READ_BYTES_MAX"
ANONYMOUS = "anonymous"

_DEFAULT_INFLIGHT = 16
_DEFAULT_BYTES = 4 << 30
_DEFAULT_STREAMS = 32
_DEFAULT_ALL_STREAMS = 512
_LOG = logging.getLogger("omnigraph.server")


@dataclass(frozen=True, slots=True)
class Caps:
    """What one actor may hold at once, and how many streams all of them together."""

    inflight: int = _DEFAULT_INFLIGHT
    bytes: int = _DEFAULT_BYTES
    streams: int = _DEFAULT_STREAMS
    all_streams: int = _DEFAULT_ALL_STREAMS
    read_bytes: int | None = None  # half of what all reads of the process may hold


def caps_from(environ: Mapping[str, str]) -> Caps:
    """The caps of the environment; a value that is not a number is replaced by the default, with a warning."""
    return Caps(
        _number(environ, INFLIGHT, _DEFAULT_INFLIGHT),
        _number(environ, BYTES, _DEFAULT_BYTES),
        _number(environ, STREAMS, _DEFAULT_STREAMS),
        _number(environ, ALL_STREAMS, _DEFAULT_ALL_STREAMS),
        _number(environ, READ_BYTES, 0) or None,
    )


class Admission:
    """Counters per actor, touched by the event loop only: check and take are one step without an await."""

    def __init__(self, caps: Caps) -> None:
        self.caps = caps
        self._held: dict[str, tuple[int, int]] = {}
        self._listening: Counter[str] = Counter()
        self.refused = 0

    @contextmanager
    def admit(self, actor: str | None, estimate: int) -> Iterator[None]:
        """Hold a place for the block, or refuse with 429; requests never wait."""
        name = _name(actor)
        self._take(name, estimate)
        try:
            yield
        finally:
            self._release(name, estimate)

    @contextmanager
    def listen(self, actor: str | None) -> Iterator[None]:
        """Hold one of the streams that stay open until their reader leaves, or refuse with 429."""
        name = _name(actor)
        if self._listening[name] >= self.caps.streams:
            raise self._rejected(f"{self.caps.streams} streams of this actor are open, which is its limit")
        if self._listening.total() >= self.caps.all_streams:
            raise self._rejected(f"{self.caps.all_streams} streams are open, which is the limit of this server")
        self._listening[name] += 1
        try:
            yield
        finally:
            self._listening[name] -= 1
            if not self._listening[name]:
                del self._listening[name]

    def held(self, actor: str | None) -> tuple[int, int]:
        """Requests and bytes an actor holds right now."""
        return self._held.get(_name(actor), (0, 0))

    def listening(self, actor: str | None) -> int:
        """Streams an actor holds right now."""
        return self._listening.get(_name(actor), 0)

    def _take(self, name: str, estimate: int) -> None:
        count, size = self._held.get(name, (0, 0))
        if estimate > self.caps.bytes:
            raise resource_limit("actor_bytes", limit=self.caps.bytes, actual=estimate)
        if count >= self.caps.inflight:
            raise self._rejected(f"{count} requests of this actor are in flight, which is its limit")
        if size + estimate > self.caps.bytes:
            raise self._rejected(f"requests of this actor hold {size} bytes; {estimate} more would pass its limit")
        self._held[name] = (count + 1, size + estimate)

    def _rejected(self, why: str) -> Exception:
        self.refused += 1
        return _rejected(why)

    def _release(self, name: str, estimate: int) -> None:
        count, size = self._held[name]
        if count == 1:
            del self._held[name]
        else:
            self._held[name] = (count - 1, size - estimate)


class ActorMemory:
    """The memory that the reads of each actor may hold at once, in this process."""

    def __init__(self, size: int | None = None, process: WorkingMemory = PROCESS) -> None:
        self._size = size
        self._process = process
        self._shares: WeakValueDictionary[str, WorkingMemory] = WeakValueDictionary()

    def of(self, actor: str) -> WorkingMemory:
        """The share of one actor; forgotten when nothing is held of it."""
        size = self._process.capacity // 2 if self._size is None else self._size
        return self._shares.setdefault(actor, WorkingMemory(size))


def _name(actor: str | None) -> str:
    return ANONYMOUS if actor is None else actor


def _rejected(why: str) -> Exception:
    return refuse(429, f"too many requests: {why}; try again later", Retry_After=RETRY_AFTER)


def _number(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()):
        _LOG.warning("%s is not a whole number; using %d", name, default)
        return default
    return int(text)
