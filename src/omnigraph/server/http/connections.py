"""Who is connected: caps in all and per address, deadlines, and log lines about abuse that cannot flood the log."""

from __future__ import annotations

import logging
import resource
import time
from collections import Counter
from dataclasses import dataclass
from typing import Protocol

CONNECTIONS = "OMNIGRAPH_CONNECTIONS_MAX"
PER_ADDRESS = "OMNIGRAPH_CONNECTIONS_PER_ADDRESS_MAX"
PROXIES = "OMNIGRAPH_TRUSTED_PROXIES"

_MOST = 2_048
LINGERING = 64  # refused connections that are kept for a second, so that the refusal arrives
_RESERVED = 256  # descriptors for the tables, logs and requests to object stores of a process
_LINES = 5
_WINDOW_SECONDS = 60.0
_LOG = logging.getLogger("omnigraph.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """What a connection may do: how many there are, and how long each part of an exchange may take.

    A reader has to take `send_bytes` in every `send_seconds` while something is waiting for it.
    """

    connections: int = _MOST
    per_address: int = 256
    proxies: frozenset[str] = frozenset()
    header_seconds: float = 30.0
    body_seconds: float = 120.0
    idle_seconds: int = 5
    send_seconds: float = 30.0
    send_bytes: int = 64 << 10


class Connection(Protocol):
    """What is counted."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being answered on it."""
        ...

    def drop(self) -> None:
        """Close it now."""
        ...


class Connections:
    """The open connections of a server, by address; touched by the event loop only."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.refused: Counter[str] = Counter()
        self.lingering = 0
        self._open: dict[Connection, str] = {}
        self._by_address: Counter[str] = Counter()
        self._lines = Throttle()

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, connection: Connection, address: str) -> str | None:
        """Count a connection in; why it is refused, if it is.

        When all places are taken, an idle connection of the address with the most of them makes room.
        """
        if address not in self.wire.proxies and self._by_address[address] >= self.wire.per_address:
            return self._refuse("address", address, f"{self.wire.per_address} connections of this address are open")
        if len(self._open) >= self.wire.connections and not self._make_room():
            return self._refuse("all", address, f"{self.wire.connections} connections are open")
        self._open[connection] = address
        self._by_address[address] += 1
        return None

    def leave(self, connection: Connection) -> None:
        """Count a connection out, if it was counted in."""
        address = self._open.pop(connection, None)
        if address is None:
            return
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def note(self, what: str, address: str) -> None:
        """Count and log that a connection was ended for what it did, or did not do."""
        self.refused[what] += 1
        self._lines.warning(f"connection ended: {what}", peer=address)

    def _make_room(self) -> bool:
        for address, _ in self._by_address.most_common():
            idle = next((each for each, of in self._open.items() if of == address and each.is_idle), None)
            if idle is not None:
                self.leave(idle)
                idle.drop()
                self.refused["evicted"] += 1
                return True
        return False

    def _refuse(self, limit: str, address: str, why: str) -> str:
        self.refused[limit] += 1
        self._lines.warning("connection refused", peer=address, reason=why)
        return why


class Throttle:
    """Log lines that clients can cause: a few of each kind a minute, and then how many were left out."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, int]] = {}

    def warning(self, message: str, **fields: object) -> None:
        """Log, unless there were enough of these lately."""
        now = time.monotonic()
        since, count = self._seen.get(message, (now, 0))
        if now - since >= _WINDOW_SECONDS:
            if count > _LINES:
                _LOG.warning(message, extra={"left_out": count - _LINES})
            since, count = now, 0
        self._seen[message] = since, count + 1
        if count < _LINES:
            _LOG.warning(message, extra=fields)


def descriptors() -> int:
    """How many files and sockets this process may have open, after asking for as many as it may ask for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST * 4 if hard == resource.RLIM_INFINITY else min(hard, _MOST * 4)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError):
            return soft
    return _MOST * 4 if soft == resource.RLIM_INFINITY else soft


def default_connections() -> int:
    """Half of what the descriptors leave, so that the process can still open its tables when all are taken."""
    return max(16, min(_MOST, (descriptors() - _RESERVED) // 2))
