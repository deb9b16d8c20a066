"""Addresses of Spark: what may be one, and whether something answers there, known before a JVM is started for it."""

from __future__ import annotations

import re
import socket
from urllib.request import getproxies_environment, proxy_bypass

from omnigraph.errors import BadRequest, StorageError

CONNECT_PORT = 15002
_CONNECT_SECONDS = 3.0
_LAST_PORT = 65535

_COUNT = r"0*[1-9]\d*"
_HOST = r"(?:[^\s:/,;@?#\[\]]+|\[[0-9A-Fa-f:.]+\])"
_FORMS = tuple(
    re.compile(form, re.ASCII)
    for form in (
        rf"local(?:\[(?:{_COUNT}|\*)(?:\s*,\s*{_COUNT})?\])?",
        rf"local-cluster\[\s*{_COUNT}\s*,\s*{_COUNT}\s*,\s*{_COUNT}\s*\]",
        rf"spark://{_HOST}:\d+(?:,{_HOST}:\d+)*",
        r"yarn",
        r"k8s://\S+",
        rf"sc://{_HOST}(?::\d+)?(?:/(?:;\S*)?)?",
    )
)
_TOLD = (
    "local, local[N], local[*], local[N,F], local[*,F], local-cluster[executors,cores,MiB],"
    " spark://host:port[,host:port…], yarn, k8s://…, sc://host[:port][/;parameters]"
)


def require_form(master: str, named_by: str) -> None:
    """Refuse what Spark would not understand: Java would tell it in a stack trace, or not at all."""
    known = any(form.fullmatch(master) for form in _FORMS)
    if not known or any(not 0 < port <= _LAST_PORT for _, port in _endpoints(master)):
        shown = master.partition(";")[0]  # a token may follow
        raise BadRequest(f"{named_by} names {shown!r}, which is not an address of Spark; use {_TOLD}")


def require_answer(master: str) -> None:
    """Refuse a standalone master or a Connect server at whose port nothing listens; one of several is enough."""
    tried = _endpoints(master)
    if not tried or (is_connect_address(master) and _behind_proxy(tried[0][0])):
        return
    reasons = [_silence(host, port) for host, port in tried]
    if all(reasons):
        server = "Spark Connect server" if is_connect_address(master) else "Spark master"
        places = ", ".join(f"{host}:{port}" for host, port in tried)
        raise StorageError(
            f"nothing answers at {places} ({reasons[0]}); check the address, that a {server} runs there, and that this"
            " machine may reach it",
            kind="Configuration",
        )


def is_connect_address(master: str) -> bool:
    """Whether an address is that of a Spark Connect server."""
    return master.startswith("sc://")


def plain_address(master: str) -> str:
    """An address without what only the first connection needs, such as a token."""
    if not is_connect_address(master):
        return master
    ((host, port),) = _endpoints(master)
    return f"sc://{host}:{port}"


def _endpoints(master: str) -> list[tuple[str, int]]:
    """The hosts and ports that an address of the right form names to be connected to."""
    scheme, _, rest = master.partition("://")
    if scheme not in ("spark", "sc"):
        return []
    found = re.findall(rf"({_HOST})(?::(\d+))?(?:,|$)", rest.partition("/")[0], re.ASCII)
    return [(host, int(port or CONNECT_PORT)) for host, port in found]


def _silence(host: str, port: int) -> str | None:
    """Why nothing answers there; None when something does."""
    try:
        socket.create_connection((host.strip("[]"), port), timeout=_CONNECT_SECONDS).close()
    except (OSError, UnicodeError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def _behind_proxy(host: str) -> bool:
    """Whether gRPC goes through a proxy to a host, which this machine then need not reach by itself."""
    proxies = getproxies_environment()
    return any(name in proxies for name in ("grpc", "https", "http")) and not proxy_bypass(host)
