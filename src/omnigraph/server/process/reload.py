"""Hot reload: a newly applied revision replaces the deployment between two requests; a bad one changes nothing."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from omnigraph.errors import OmnigraphError

if TYPE_CHECKING:
    from omnigraph.server.app import Server

_LOG = logging.getLogger("omnigraph.server")


async def follow_applied(server: Server, seconds: float) -> None:
    """Look every so often, and whenever an operator asks; requests in flight keep the deployment they started with."""
    while server.deployment.successor is not None:
        with suppress(TimeoutError):
            await asyncio.wait_for(server.reload_asked.wait(), seconds)
        asked = server.reload_asked.is_set()
        server.reload_asked.clear()
        await reload_once(server, asked=asked)


async def reload_once(server: Server, *, asked: bool = False) -> bool:
    """Take over what is applied now; whether anything was new."""
    current = server.deployment
    if current.successor is None:
        return False
    successor = current.successor
    try:
        found = await server.pools.write(lambda: successor(current, asked=asked))
    except OmnigraphError as error:
        server.reload_failed = True
        _LOG.error("the applied revision cannot be served; the last one stays", extra={"reason": error.message})
        return False
    server.reload_failed = False
    if found is None:
        return False
    server.deployment = found
    _LOG.info("reloaded", extra={"graphs": len(found.graphs), "state": found.state.value, "revision": found.revision})
    return True
