"""Mutations, conditional mutations and schema changes."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from omnigraph.compiler.source import Source
from omnigraph.engine.values.result import MutationResult
from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer, compact
from omnigraph.server.http.exchange import (
    MAIN,
    PRECONDITION,
    Exchange,
    agreed,
    matching,
    named_branch,
    precondition,
)
from omnigraph.server.http.models import ChangeRequest, SchemaApplyRequest
from omnigraph.server.http.outputs import change_output
from omnigraph.server.http.refusal import refuse
from omnigraph.server.routes.reads import QueryCall


async def mutate(exchange: Exchange) -> Response:
    """One mutation, one commit."""
    body = await exchange.json(ChangeRequest)
    return await run_write(exchange, _call(body), body.branch, matching(exchange, body.if_commit), body.message)


async def mutate_if(exchange: Exchange) -> Response:
    """The same, if the branch is still at a commit."""
    expected = precondition(exchange)
    body = await exchange.json(ChangeRequest)
    expected = agreed(expected, body.if_commit, PRECONDITION)
    return await run_write(exchange, _call(body), body.branch, expected, body.message)


async def run_write(
    exchange: Exchange, request: QueryCall, branch: str | None, expected: str | None, message: str | None = None
) -> Response:
    """Decide, admit and execute a mutation."""
    where = named_branch(branch)
    await exchange.allow(Action.CHANGE, branch=where)
    graph, embedder = exchange.writable.acting(exchange.actor), exchange.graph.embedder

    def run() -> MutationResult:
        return graph.mutate(
            request.source, request.name, request.params, where, expected, embedder=embedder, message=message
        )

    size = len(request.source.text.encode()) + len(compact(request.params))
    with exchange.admit(size):
        return answer(change_output(await exchange.write(run, where), await exchange.visibility(where)))


def _call(body: ChangeRequest) -> QueryCall:
    return QueryCall(Source(body.query), body.name, body.params)


async def apply_schema(exchange: Exchange) -> Response:
    """Change the schema, unless a cluster declares it; policy is call first, to avoid leaking information."""
    body = await exchange.json(SchemaApplyRequest)
    branch = named_branch(body.branch)
    await exchange.allow(Action.SCHEMA_APPLY, target=branch)
    if exchange.deployment.cluster_backed:
        raise refuse(409, "this graph is declared by a cluster; change its schema with cluster apply")
    served, desired = exchange.graph, Source(body.schema_source)
    graph = served.acting(exchange.actor)

    def run() -> dict[str, Any]:
        schema = graph.branch(branch).schema
        if branch == MAIN:  # stored queries are written for main
            plan = schema.plan(desired, allow_data_loss=body.allow_data_loss)
            if plan.supported and plan.steps:  # an unsupported plan is refused for its own reasons
                served.require_queries_fit(plan.target.catalog)
        return schema.apply(desired, allow_data_loss=body.allow_data_loss, message=body.message).to_json()

    with exchange.admit(len(body.schema_source.encode())):
        return answer({"uri": served.uri, **await exchange.write(run, branch)})
