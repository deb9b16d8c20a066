"""A batch of mutations as lines: one commit, or none of them."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from omnigraph.engine.values.batch_lines import batch_lines
from omnigraph.engine.values.result import BatchResult
from omnigraph.errors import BadRequest
from omnigraph.policy.actions import Action
from omnigraph.server.http import bodies
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import Exchange, matching, named_branch
from omnigraph.server.http.outputs import batch_output
from omnigraph.server.routes.invocations import visible_queries


async def mutate_ndjson(exchange: Exchange) -> Response:
    """Every line a mutation; a line without a text names a stored query."""
    branch, expected = named_branch(exchange.value("branch")), matching(exchange, exchange.value("if_commit"))
    message = exchange.value("message")
    await exchange.allow(Action.CHANGE, branch=branch)
    bodies.require_ndjson(exchange.request)
    data = await bodies.read_batch(exchange.request, seconds=exchange.server.settings.body_seconds)
    entries = await bodies.beside_others(lambda: batch_lines(data), len(data))
    stored = await _stored(exchange, entries, branch)
    graph, embedder = exchange.writable.acting(exchange.actor), exchange.graph.embedder

    def run() -> BatchResult:
        return graph.mutate_many(
            [stored.get(each["line"], each) for each in entries],
            branch=branch,
            if_commit=expected,
            embedder=embedder,
            message=message,
        )

    with exchange.admit(len(data)):
        return answer(batch_output(await exchange.write(run, branch), await exchange.visibility(branch)))


async def _stored(exchange: Exchange, entries: list[dict[str, Any]], branch: str) -> dict[int, dict[str, Any]]:
    """By line, the entries that name a stored query, with its text; one that may not be known is not there."""
    asked = {each["name"] for each in entries if each.get("query") is None and each.get("name") is not None}
    known = {}
    if asked and exchange.decide(Action.INVOKE_QUERY).allowed:
        queries = [exchange.graph.queries[name] for name in sorted(asked) if name in exchange.graph.queries]
        known = {each.name: each for each in await visible_queries(exchange, queries, branch)}
    found = {}
    for each in entries:
        if each.get("query") is not None:
            continue
        if each.get("name") not in known:
            named = "has neither query nor name" if each.get("name") is None else "names no stored query"
            raise BadRequest(f"line {each['line']}: it {named}")
        found[each["line"]] = {**each, "query": known[each["name"]].source}
    return found
