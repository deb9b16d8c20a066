"""Routes without a graph: liveness, the document that describes the API, which graphs there are, metrics."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

from starlette.responses import Response

from omnigraph.policy.actions import Action
from omnigraph.server.answers import answer, raw_answer
from omnigraph.server.exchange import Exchange
from omnigraph.server.metrics import CONTENT_TYPE
from omnigraph.server.openapi.serve import served_document
from omnigraph.server.refusal import refuse
from omnigraph.storage.stamp import CURRENT_STAMP


async def health(exchange: Exchange) -> Response:
    """Alive; touches no storage and asks nobody who they are."""
    return answer(_health())


async def openapi(exchange: Exchange) -> Response:
    """The committed document, without its security where there is none."""
    return raw_answer(served_document(secured=exchange.deployment.requires_authentication))


async def list_graphs(exchange: Exchange) -> Response:
    """The graphs that are served, told only to those whom the server's own policy names."""
    exchange.allow(Action.GRAPH_LIST)
    graphs = exchange.deployment.graphs
    return answer({"graphs": [{"graph_id": name, "uri": graphs[name].uri} for name in sorted(graphs)]})


async def metrics(exchange: Exchange) -> Response:
    """Counters for Prometheus, unless they have an address of their own."""
    if exchange.server.settings.metrics_bind is not None:
        raise refuse(404, "no such route")
    return raw_answer(exchange.server.metrics.text(), kind=CONTENT_TYPE)


@cache
def _health() -> dict[str, object]:
    return {"status": "ok", "version": version("omnigraph"), "internal_schema_version": CURRENT_STAMP}
