"""What operators do to a graph, for those with the action `admin`: check, optimize, build indexes, clean up, repair.

A request is answered when the work is done; where a proxy cuts long ones off, use the command line beside the storage.
"""

from __future__ import annotations

from dataclasses import asdict

from starlette.responses import Response

from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import Exchange, named_branch
from omnigraph.server.http.models import (
    CheckRequest,
    CleanupRequest,
    EnsureIndicesRequest,
    OptimizeRequest,
    RepairRequest,
)

_ESTIMATE = 256


async def check(exchange: Exchange) -> Response:
    """Verify a graph; changes nothing. It looks at every row, and what it finds names files."""
    body = await exchange.optional_json(CheckRequest)
    branch = None if body.branch is None else named_branch(body.branch)
    await exchange.allow(Action.ADMIN)
    await exchange.allow_whole(branch or "main")
    graph = exchange.graph.handle
    with exchange.admit(_ESTIMATE):
        found = await exchange.write(lambda: graph.check(branch=branch, quick=body.quick))
    return answer(found.to_json())


async def optimize(exchange: Exchange) -> Response:
    """Compact the tables of main and build their indexes."""
    body = await exchange.optional_json(OptimizeRequest)
    await exchange.allow(Action.ADMIN)
    graph = exchange.graph.acting(exchange.actor)
    with exchange.admit(_ESTIMATE):
        found = await exchange.write(lambda: graph.optimize(message=body.message, runner="inline"))
    return answer({"datasets": [each.to_json() for each in found]})


async def ensure_indices(exchange: Exchange) -> Response:
    """Build the declared indexes that are missing."""
    body = await exchange.optional_json(EnsureIndicesRequest)
    branch = named_branch(body.branch)
    await exchange.allow(Action.ADMIN)
    graph = exchange.graph.acting(exchange.actor)
    with exchange.admit(_ESTIMATE):
        found = await exchange.write(lambda: graph.ensure_indices(branch=branch, message=body.message, runner="inline"))
    return answer({"pending": [asdict(each) for each in found]})


async def cleanup(exchange: Exchange) -> Response:
    """Remove old versions, or without `confirm` say what that would be."""
    body = await exchange.optional_json(CleanupRequest)
    await exchange.allow(Action.ADMIN)
    graph = exchange.graph.acting(exchange.actor)
    with exchange.admit(_ESTIMATE):
        found = await exchange.write(
            lambda: graph.cleanup(keep=body.keep, older_than=body.older_than, confirm=body.confirm)
        )
    return answer(found.to_json())


async def repair(exchange: Exchange) -> Response:
    """Look at versions that were not published, or with `confirm` publish them."""
    body = await exchange.optional_json(RepairRequest)
    await exchange.allow(Action.ADMIN)
    graph = exchange.graph.acting(exchange.actor)
    with exchange.admit(_ESTIMATE):
        found = await exchange.write(lambda: graph.repair(confirm=body.confirm, force=body.force, message=body.message))
    return answer(found.to_json())
