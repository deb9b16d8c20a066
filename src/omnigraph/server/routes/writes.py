"""Mutations, conditional mutations and schema changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from omnigraph.compiler.catalog.migrate import Plan
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.query.stored import StoredQuery
from omnigraph.compiler.source import Source
from omnigraph.engine.schema.apply import apply_schema as apply
from omnigraph.engine.schema.apply import plan_schema
from omnigraph.engine.values.result import MutationResult
from omnigraph.engine.write.mutate import MutationCall, run_mutation
from omnigraph.errors import BadRequest
from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer, compact
from omnigraph.server.http.exchange import MAIN, Exchange, bound_branch, named_branch, precondition, refuse_precondition
from omnigraph.server.http.models import ChangeRequest, SchemaApplyRequest
from omnigraph.server.http.outputs import change_output
from omnigraph.server.http.refusal import refuse
from omnigraph.server.routes.reads import QueryCall


async def mutate(exchange: Exchange) -> Response:
    """One mutation, one commit."""
    refuse_precondition(exchange, "POST /mutate/if-graph-commit")
    body = await exchange.json(ChangeRequest)
    return await run_write(exchange, _call(body), body.branch, None)


async def mutate_if(exchange: Exchange) -> Response:
    """The same, if the branch is still at a commit."""
    expected = precondition(exchange)
    body = await exchange.json(ChangeRequest)
    return await run_write(exchange, _call(body), body.branch, expected)


async def run_write(exchange: Exchange, request: QueryCall, branch: str | None, expected: str | None) -> Response:
    """Decide, admit and execute a mutation."""
    where = named_branch(branch)
    exchange.allow(Action.CHANGE, branch=where)
    core, bound = exchange.graph.core, bound_branch(where)
    call = MutationCall(
        request.source, request.name, request.params, bound, exchange.actor, expected, exchange.graph.embedder
    )

    def run() -> MutationResult:
        core.require_change(exchange.actor, bound)
        return run_mutation(core, call)

    size = len(call.source.text.encode()) + len(compact(call.params))
    with exchange.admit(size):
        return answer(change_output(await exchange.write(run)))


def _call(body: ChangeRequest) -> QueryCall:
    return QueryCall(Source(body.query), body.name, body.params)


async def apply_schema(exchange: Exchange) -> Response:
    """Change the schema, unless a cluster declares it; policy is call first, to avoid leaking information."""
    body = await exchange.json(SchemaApplyRequest)
    exchange.allow(Action.SCHEMA_APPLY, target=MAIN)
    if exchange.deployment.cluster_backed:
        raise refuse(409, "this graph is declared by a cluster; change its schema with cluster apply")
    served, core, desired = exchange.graph, exchange.graph.core, Source(body.schema_source)

    def run() -> dict[str, Any]:
        core.require_writable()
        core.require_allowed(exchange.actor, Action.SCHEMA_APPLY, target=MAIN)
        _require_queries_fit(served.queries, plan_schema(core, desired, allow_data_loss=body.allow_data_loss))
        return apply(core, desired, allow_data_loss=body.allow_data_loss, actor=exchange.actor).to_json()

    served.cut.require_free()
    with exchange.admit(len(body.schema_source.encode())):
        return answer({"uri": served.uri, **await exchange.write(run)})


def _require_queries_fit(queries: Mapping[str, StoredQuery], plan: Plan) -> None:
    """Refuse a plan that would break a stored query; an unsupported plan is refused for its own reasons."""
    if not plan.supported or not plan.steps:
        return
    for query in queries.values():
        try:
            compile_query(query.source, plan.target.catalog, query.name)
        except CompileError as error:
            raise BadRequest(f"the stored query '{query.name}' would no longer compile: {error.summary}") from error
