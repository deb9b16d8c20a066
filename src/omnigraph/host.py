"""What a process has from its surroundings: clocks, randomness, a name among processes, and work done when it is due.

Everything that depends on when, where or as whom the code runs asks here, so that a whole process can be run in other
surroundings: `running_on` gives the code of one thread another host, whose clock and chance are its own.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Protocol

_RANDOM_BITS = 80


class Beat(Protocol):
    """Something to do again and again: `due` says when next, by the monotonic clock."""

    due: float

    def beat(self) -> None:
        """Do it, and say when the next time is."""
        ...


class Host:
    """The surroundings of a process; this one is the machine that the interpreter runs on."""

    def __init__(self) -> None:
        self.active: set[str] = set()  # the operations that this process works on right now
        self._minting = threading.Lock()
        self._last_ulid = 0
        self._renewer = _Renewer()

    def time_ns(self) -> int:
        """Nanoseconds since 1970, as this machine believes."""
        return time.time_ns()

    def monotonic(self) -> float:
        """Seconds that only ever grow."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def random_bytes(self, count: int) -> bytes:
        """The bytes that cannot be foreseen."""
        return os.urandom(count)

    def lock(self) -> AbstractContextManager[object]:
        """A lock between the threads of this process that may be held while storage is asked."""
        return threading.Lock()

    def reserve_ulids(self, count: int) -> int:
        """The first of `count` consecutive 128-bit ULID values that no other caller in this process gets."""
        milliseconds = self.time_ns() // 1_000_000
        with self._minting:
            fresh = (milliseconds << _RANDOM_BITS) | int.from_bytes(self.random_bytes(_RANDOM_BITS // 8), "big")
            first = max(fresh, self._last_ulid + 1)
            self._last_ulid = first + count - 1
        return first

    def owner(self) -> str:
        """`host/pid/uuid` of this process; a fork gets its own."""
        return f"{_host_name()}/{os.getpid()}/{_process_uuid(os.getpid())}"

    def is_dead(self, owner: str) -> bool:
        """Whether the owner was a process of this machine that does not run any more."""
        host, _, rest = owner.partition("/")
        pid, _, _ = rest.partition("/")
        if host != _host_name() or not pid.isdigit():
            return False
        if int(pid) == os.getpid():
            return owner != self.owner()
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return _is_zombie(int(pid))

    def start(self, beat: Beat) -> None:
        """Do something in the background whenever it is due, until `stop`."""
        self._renewer.add(beat)

    def stop(self, beat: Beat) -> None:
        """Begin it no more."""
        self._renewer.remove(beat)


def current() -> Host:
    """The host that the calling code runs on."""
    return _current.get()


@contextmanager
def running_on(host: Host) -> Iterator[None]:
    """Run the block, in this thread, on another host."""
    token = _current.set(host)
    try:
        yield
    finally:
        _current.reset(token)


def time_ns() -> int:
    """Nanoseconds since 1970."""
    return _current.get().time_ns()


def wall_time() -> float:
    """Seconds since 1970."""
    return _current.get().time_ns() / 1e9


def monotonic() -> float:
    """Seconds that only ever grow."""
    return _current.get().monotonic()


def sleep(seconds: float) -> None:
    """Let time pass."""
    _current.get().sleep(seconds)


def random_number(byte_count: int) -> int:
    """A number of so many random bytes."""
    return int.from_bytes(_current.get().random_bytes(byte_count), "big")


def between(low: float, high: float) -> float:
    """A random number in a range."""
    return low + (high - low) * random_number(6) / float(1 << 48)


class _Renewer:
    """The one thread of a process that does what is due.

    It is woken only for what is due before it wakes by itself: most beats are stopped long before they are due, and
    waking a thread for each of them takes the interpreter away from the thread that began it.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._beats: set[Beat] = set()
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._wakes_at = float("inf")  # when the thread looks again by itself

    def add(self, beat: Beat) -> None:
        with self._condition:
            self._beats.add(beat)
            if self._thread is None or not self._thread.is_alive() or self._pid != os.getpid():
                self._pid = os.getpid()
                self._thread = threading.Thread(target=self._run, name="omnigraph-heartbeats", daemon=True)
                self._thread.start()
            elif beat.due < self._wakes_at:
                self._condition.notify()

    def remove(self, beat: Beat) -> None:
        with self._condition:
            self._beats.discard(beat)

    def _run(self) -> None:
        while True:
            for beat in self._next_due():
                with suppress(Exception):  # what is not renewed lapses, which is the designed consequence
                    beat.beat()

    def _next_due(self) -> list[Beat]:
        with self._condition:
            now = time.monotonic()
            due = [beat for beat in self._beats if beat.due <= now]
            if not due:
                self._wakes_at = min((beat.due for beat in self._beats), default=float("inf"))
                self._condition.wait(None if self._wakes_at == float("inf") else self._wakes_at - now)
            return due


@cache
def _process_uuid(_pid: int) -> str:
    return uuid.uuid4().hex


@cache
def _host_name() -> str:
    """A name for "the machine where a pid means the same process": containers share neither pids nor this name."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return socket.gethostname().replace("/", "_")
    return f"{socket.gethostname().replace('/', '_')}-{boot}-{namespace}"


def _is_zombie(pid: int) -> bool:
    """A killed child that its parent has not reaped still answers signal 0."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False


_MACHINE = Host()
_current: ContextVar[Host] = ContextVar("host", default=_MACHINE)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_MACHINE.active.clear)  # what its parent works on is not the work of a child
