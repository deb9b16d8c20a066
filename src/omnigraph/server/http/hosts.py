"""Which names a server without tokens answers to, so that no page can reach it under a name of its own."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address

ALLOWED = "OMNIGRAPH_ALLOWED_HOSTS"
_LOOPBACK = "localhost"


def is_own(header: str | None, allowed: Collection[str]) -> bool:
    """Whether a `Host` header names this server.

    A page that makes its own domain resolve to this machine (DNS rebinding) sends that domain here. An address cannot
    be made to point elsewhere, so every address is fine, and so is a client without the header, which is not a browser.
    """
    if header is None or "*" in allowed:
        return True
    name = without_port(header)
    return name == _LOOPBACK or name.endswith("." + _LOOPBACK) or _is_address(name) or name in allowed


def without_port(host: str) -> str:
    """The name or address of `name`, `name:port`, `address`, `[address]:port`, as names are compared."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    name = host if host.count(":") > 1 else host.partition(":")[0]
    return name.rstrip(".").lower()


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
