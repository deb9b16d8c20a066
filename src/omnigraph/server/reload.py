"""Hot reload: a newly applied revision replaces the deployment between two requests; a bad one changes nothing."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from omnigraph.errors import OmnigraphError

if TYPE_CHECKING:
    from omnigraph.server.app import Server

_LOG = logging.getLogger("omnigraph.server")


async def follow_applied(server: Server, seconds: float) -> None:
    """Look every so often until cancelled; requests in flight keep the deployment they started with."""
    while server.deployment.successor is not None:
        await asyncio.sleep(seconds)
        await reload_once(server)


async def reload_once(server: Server) -> bool:
    """Take over what is applied now; whether anything was new."""
    current = server.deployment
    if current.successor is None:
        return False
    successor = current.successor
    try:
        found = await server.pools.write(lambda: successor(current))
    except OmnigraphError as error:
        _LOG.error("the applied revision cannot be served; the last one stays", extra={"reason": error.message})
        return False
    if found is None:
        return False
    server.deployment = found
    _LOG.info("reloaded", extra={"graphs": len(found.graphs), "state": found.state.value})
    return True
