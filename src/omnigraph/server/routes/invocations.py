"""Stored queries: the catalog, and invoking one by name."""

from __future__ import annotations

import logging

from starlette.responses import Response

from omnigraph.compiler.query.stored import StoredQuery
from omnigraph.policy.actions import Action
from omnigraph.server.answers import answer
from omnigraph.server.exchange import MAIN, Exchange, precondition, refuse_precondition
from omnigraph.server.models import InvokeStoredQueryRequest
from omnigraph.server.refusal import bad_request, refuse
from omnigraph.server.routes.reads import Asked, read_target, run_read
from omnigraph.server.routes.writes import run_write

_LOG = logging.getLogger("omnigraph.server")


async def list_queries(exchange: Exchange) -> Response:
    """Every stored query of the graph; listing asks for read only, so not everything listed can be invoked."""
    exchange.allow(Action.READ, branch=MAIN)
    queries = exchange.graph.queries
    return answer({"queries": [queries[name].to_json() for name in sorted(queries)]})


async def invoke(exchange: Exchange) -> Response:
    """Run a stored query."""
    refuse_precondition(exchange, "POST /queries/{name}/if-graph-commit")
    body = await exchange.optional_json(InvokeStoredQueryRequest)
    return await _run(exchange, body, None)


async def invoke_if(exchange: Exchange) -> Response:
    """Run a stored mutation if the branch is still at a commit."""
    expected = precondition(exchange)
    body = await exchange.optional_json(InvokeStoredQueryRequest)
    return await _run(exchange, body, expected)


async def _run(exchange: Exchange, body: InvokeStoredQueryRequest, expected: str | None) -> Response:
    stored = _found(exchange)
    kind = "mutation" if stored.is_mutation else "read"
    if body.expect_mutation is not None and body.expect_mutation != stored.is_mutation:
        raise bad_request(f"stored query '{stored.name}' is a {kind}")
    if stored.is_mutation and body.snapshot is not None:
        raise bad_request(f"stored query '{stored.name}' is a mutation; it cannot run on a snapshot")
    if not stored.is_mutation and expected is not None:
        raise bad_request(f"stored query '{stored.name}' is a read; only mutations are conditional")
    _note(exchange, stored, kind)
    asked = Asked(stored.source, stored.name, body.params)
    if stored.is_mutation:
        return await run_write(exchange, asked, body.branch, expected)
    target = await read_target(exchange, body.branch, body.snapshot)
    exchange.allow(Action.READ, branch=target.branch)
    return await run_read(exchange, asked, target, body.snapshot)


def _found(exchange: Exchange) -> StoredQuery:
    """The query of the path; whoever may not invoke gets the very answer that an unknown name gets."""
    stored = exchange.graph.queries.get(exchange.params["name"])
    if not exchange.decide(Action.INVOKE_QUERY).allowed or stored is None:
        raise refuse(404, "stored query not found")
    return stored


def _note(exchange: Exchange, stored: StoredQuery, kind: str) -> None:
    fields = {"graph": exchange.graph.id, "actor": exchange.actor or "", "query": stored.name, "kind": kind}
    _LOG.info("stored query invoked", extra={**fields, "request_id": exchange.request_id})
