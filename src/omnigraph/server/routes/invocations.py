"""Stored queries: the catalog, and invoking one by name."""

from __future__ import annotations

import logging

from starlette.responses import Response

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.query.stored import StoredQuery
from omnigraph.memory.budget import MemoryBudget
from omnigraph.policy.actions import Action
from omnigraph.policy.visibility import NOTHING
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import (
    MAIN,
    PRECONDITION,
    Exchange,
    agreed,
    matching,
    named_branch,
    precondition,
)
from omnigraph.server.http.models import InvokeStoredQueryRequest
from omnigraph.server.http.refusal import bad_request, refuse
from omnigraph.server.routes.reads import QueryCall, read_target, run_read
from omnigraph.server.routes.writes import run_write

_UNKNOWN = "stored query not found"
_LOG = logging.getLogger("omnigraph.server")


async def list_queries(exchange: Exchange) -> Response:
    """Every stored query that may be shown; listing needs only `read`, so not everything listed can be invoked."""
    branch = named_branch(exchange.value("branch"))
    await exchange.allow(Action.READ, branch=branch)
    queries = exchange.graph.queries
    visible = await visible_queries(exchange, [queries[name] for name in sorted(queries)], branch)
    return answer({"queries": [stored.to_json() for stored in visible]})


async def invoke(exchange: Exchange) -> Response:
    """Run a stored query."""
    body = await exchange.optional_json(InvokeStoredQueryRequest)
    return await _run(exchange, body, matching(exchange, body.if_commit))


async def invoke_if(exchange: Exchange) -> Response:
    """Run a stored mutation if the branch is still at a commit."""
    expected = precondition(exchange)
    body = await exchange.optional_json(InvokeStoredQueryRequest)
    return await _run(exchange, body, agreed(expected, body.if_commit, PRECONDITION))


async def _run(exchange: Exchange, body: InvokeStoredQueryRequest, expected: str | None) -> Response:
    stored = await _found(exchange, body)
    kind = "mutation" if stored.is_mutation else "read"
    if body.expect_mutation is not None and body.expect_mutation != stored.is_mutation:
        command = "mutate" if stored.is_mutation else "query"
        raise bad_request(f"stored query '{stored.name}' is a {kind}; run it with `omnigraph {command} {stored.name}`")
    if stored.is_mutation and (body.snapshot or body.at) is not None:
        raise bad_request(f"stored query '{stored.name}' is a mutation; it cannot run on a snapshot")
    if not stored.is_mutation and expected is not None:
        raise bad_request(f"stored query '{stored.name}' is a read; only mutations are conditional")
    _note(exchange, stored, kind)
    request = QueryCall(stored.source, stored.name, body.params)
    if stored.is_mutation:
        return await run_write(exchange, request, body.branch, expected, body.message)
    target = await read_target(exchange, body.branch, body.snapshot, body.at)
    await exchange.allow(Action.READ, branch=target.branch)
    try:
        return await run_read(exchange, request, target, body.snapshot)
    except CompileError:
        if exchange.graph.handle.visibility is None:
            raise
        raise refuse(404, _UNKNOWN) from None


async def _found(exchange: Exchange, body: InvokeStoredQueryRequest) -> StoredQuery:
    """The query of the path; an actor who may not invoke or know it gets the same 404 as for an unknown name."""
    stored = exchange.graph.queries.get(exchange.params["name"])
    if not exchange.decide(Action.INVOKE_QUERY).allowed or stored is None:
        raise refuse(404, _UNKNOWN)
    # The branch is as it was sent: whether it is a good name may only be said about a query that exists.
    if not await visible_queries(exchange, [stored], body.branch or MAIN):
        raise refuse(404, _UNKNOWN)
    return stored


async def visible_queries(exchange: Exchange, queries: list[StoredQuery], branch: str) -> list[StoredQuery]:
    """Those queries whose text names nothing that is hidden from a reader of parts; others may know all of them."""
    visibility = await exchange.visibility(branch)
    if visibility is None or visibility == NOTHING:
        return queries
    graph = exchange.graph.handle.with_visibility(visibility)

    def visible(_: object) -> list[StoredQuery]:
        view = graph.view()
        return [stored for stored in queries if _compiles(stored, view.catalog, view.tables.memory)]

    return await exchange.read(visible)


def _compiles(stored: StoredQuery, catalog: Catalog, memory: MemoryBudget) -> bool:
    try:
        compile_query(stored.source, catalog, stored.name, memory=memory)
    except CompileError:
        return False
    return True


def _note(exchange: Exchange, stored: StoredQuery, kind: str) -> None:
    fields = {"graph": exchange.graph.id, "actor": exchange.actor or "", "query": stored.name, "kind": kind}
    _LOG.info("stored query invoked", extra={**fields, "request_id": exchange.request_id})
