"""Where a server listens: its address, its socket, and the line that says so. Imports neither Arrow nor Lance."""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass

from omnigraph.errors import StartRefused

LISTEN = "OMNIGRAPH_LISTEN_ADDR"
_BACKLOG = 2_048


@dataclass(frozen=True, slots=True)
class Bind:
    """A host and a port; port 0 takes a free one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def parse_bind(text: str) -> Bind:
    """`host:port`, or `[ipv6]:port`."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        raise StartRefused(f"'{text}' is not an address; write host:port, such as 127.0.0.1:8080")
    return Bind(host, int(port))


def bound_socket(bind: Bind) -> socket.socket:
    """A listening socket, inheritable by workers."""
    family = socket.AF_INET6 if ":" in bind.host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only where the protocol is spelled out; with it every answer takes 40 ms.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((bind.host, bind.port))
    except OSError as error:
        found.close()
        raise StartRefused(f"cannot listen on {bind.host}:{bind.port}: {error.strerror}") from error
    found.listen(_BACKLOG)
    found.set_inheritable(True)
    return found


def announce(listening: socket.socket) -> None:
    """The one line from which a supervisor learns where the server really listens."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    sys.stdout.write(f"{LISTEN}={shown}:{port}\n")
    sys.stdout.flush()


def require_loopback(bind: Bind) -> None:
    """A development server is reachable from this machine only."""
    if not bind.is_loopback:
        raise StartRefused(f"'{bind.host}' is not this machine; a development server listens on loopback only")
