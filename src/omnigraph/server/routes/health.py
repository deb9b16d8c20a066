"""Routes without a graph: liveness, readiness, the document that describes the API, which graphs there are, metrics."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

from starlette.responses import Response

from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer, raw_answer
from omnigraph.server.http.authentication import recognized
from omnigraph.server.http.exchange import Exchange
from omnigraph.server.http.refusal import refuse
from omnigraph.server.metrics import CONTENT_TYPE
from omnigraph.server.openapi.serve import served_document
from omnigraph.server.process.reload import reload_once
from omnigraph.storage.manifest.stamp import CURRENT_STAMP


async def health(exchange: Exchange) -> Response:
    """Alive; touches no storage and needs no token."""
    return answer(_health())


async def ready(exchange: Exchange) -> Response:
    """Whether requests should be sent here, for every caller; what is served, for those who may list graphs.

    Touches no storage. A wrong token is not a reason to refuse: rotating one must not take a fleet out of service.
    """
    if exchange.server.closing.is_set() or exchange.server.draining:
        raise refuse(503, "the server is stopping")
    exchange.sender = recognized(exchange.request, exchange.deployment.tokens, exchange.server.wrong_tokens)
    told = exchange.sender is not None and exchange.decide(Action.GRAPH_LIST).allowed
    return answer({"status": "ready", **(_served(exchange) if told else {})})


async def reload(exchange: Exchange) -> Response:
    """Look at the applied revision, the tokens and the keys now, in all workers; what this one serves afterwards."""
    await exchange.allow(Action.RELOAD)
    server = exchange.server
    if exchange.deployment.successor is None:
        raise refuse(409, "this server follows no cluster, so there is nothing to read again")
    changed = await reload_once(server, asked=True)
    if server.reload_workers is not None:
        server.reload_workers()
    exchange.deployment = server.deployment
    return answer({"changed": changed, **_served(exchange)})


async def openapi(exchange: Exchange) -> Response:
    """The committed document, without its security where there is none."""
    return raw_answer(served_document(secured=exchange.deployment.requires_authentication))


async def list_graphs(exchange: Exchange) -> Response:
    """The graphs that are served, only for those whom the server's own policy allows to list them."""
    await exchange.allow(Action.GRAPH_LIST)
    graphs = exchange.deployment.graphs
    return answer({"graphs": [{"graph_id": name, "uri": graphs[name].uri} for name in sorted(graphs)]})


async def metrics(exchange: Exchange) -> Response:
    """Counters for Prometheus, unless they have an address of their own."""
    if exchange.server.settings.metrics_bind is not None:
        raise refuse(404, "no such route")
    await exchange.allow(Action.METRICS)
    return raw_answer(exchange.server.metrics.text(), kind=CONTENT_TYPE)


def _served(exchange: Exchange) -> dict[str, Any]:
    """The revision is null on a server without a cluster."""
    deployment = exchange.deployment
    return {
        "revision": deployment.revision,
        "graphs": {"served": len(deployment.graphs), "quarantined": len(deployment.quarantined)},
        "quarantined": sorted(deployment.quarantined),
        "reload_failed": exchange.server.reload_failed,
    }


@cache
def _health() -> dict[str, object]:
    return {"status": "ok", "version": version("omnigraph"), "internal_schema_version": CURRENT_STAMP}
