"""Reading at one view: snapshot, schema and queries."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.query.parse import parse_runnable
from omnigraph.compiler.source import Source
from omnigraph.engine.api.known_reads import answer_known
from omnigraph.engine.read.frames.budget import Budget, Limits
from omnigraph.engine.read.frames.explain import Explanation
from omnigraph.engine.read.shape.result import Result
from omnigraph.errors import InputError
from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer, is_short
from omnigraph.server.http.exchange import MAIN, Exchange, named_branch
from omnigraph.server.http.models import ExplainRequest, QueryRequest
from omnigraph.server.http.outputs import snapshot_output
from omnigraph.server.http.preferences import preferences
from omnigraph.server.http.refusal import bad_request, refusal_of
from omnigraph.server.http.rendering import Allowance, rendered
from omnigraph.server.routes.commits import known_commit
from omnigraph.storage.manifest.commits import GraphCommit

# What is answered without a thread: so much is written as JSON within a fraction of a millisecond.
_FEW_ROWS, _FEW_BYTES = 64, 16 << 10
_FEW_VALUES = 64  # of parameters
_WRITES = re.compile(r"\b(?:insert|update|delete)\b")
_LOG = logging.getLogger("omnigraph.server")


@dataclass(frozen=True, slots=True)
class QueryCall:
    """What to run: a text, which of its queries, and its parameters."""

    source: Source
    name: str | None = None
    params: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ReadTarget:
    """Where a read looks: the head of a branch, or one commit."""

    branch: str
    commit: GraphCommit | None = None

    @property
    def live(self) -> str | None:
        """The branch whose head is read, if it is a head."""
        return self.branch if self.commit is None else None


async def snapshot(exchange: Exchange) -> Response:
    """Which dataset versions a branch publishes."""
    target = await chosen_target(exchange)
    await exchange.allow(Action.READ, branch=target.branch)
    graph = exchange.graph.handle
    seen = await exchange.read(lambda _: graph.snapshot(branch=target.live, at=target.commit))
    return answer(snapshot_output(target.branch, seen))


async def schema(exchange: Exchange) -> Response:
    """The schema that a branch accepts, or that of a commit, as it was written."""
    named = exchange.value("branch"), exchange.value("snapshot"), exchange.value("at")
    target = await read_target(exchange, *named)
    await exchange.allow(Action.READ, branch=None if not any(named) else target.branch)
    graph, commit = exchange.graph.handle, target.commit

    def read(_: object) -> str:
        return (graph.branch(target.branch).schema if commit is None else graph.schema.at(commit)).source

    return answer({"schema_source": await exchange.read(read)})


async def chosen_target(exchange: Exchange) -> ReadTarget:
    """What a request reads from, as its query parameters say."""
    return await read_target(exchange, exchange.value("branch"), exchange.value("snapshot"), exchange.value("at"))


async def query(exchange: Exchange) -> Response:
    """Run a read that the request brings along."""
    body = await exchange.json(QueryRequest)
    target = await read_target(exchange, body.branch, body.snapshot, body.at)
    await exchange.allow(Action.READ, branch=target.branch)
    request = QueryCall(Source(body.query), body.name, body.params)
    return await run_read(exchange, request, target, body.snapshot, check=_refuse_mutation)


async def explain(exchange: Exchange) -> Response:
    """The plan of a read, or with `analyze` what running it has cost; the rows are not answered."""
    body = await exchange.json(ExplainRequest)
    target = await read_target(exchange, body.branch, body.snapshot, body.at)
    await exchange.allow(Action.READ, branch=target.branch)
    request = QueryCall(Source(body.query), body.name, body.params)
    graph, embedder = exchange.graph.handle, exchange.graph.embedder
    limits = preferences(exchange.request).limits(exchange.server.settings.limits)

    def run(cancel: threading.Event) -> Explanation:
        _refuse_mutation(request)
        where: Any = {"branch": target.live, "at": target.commit}
        if not body.analyze:
            return graph.explain(request.source, request.name, request.params, **where)
        more: Any = {**where, "limits": limits, "embedder": embedder, "cancel": cancel, "runner": "inline"}
        found = graph.query(request.source, request.name, request.params, **more).explanation
        assert found is not None, "an inline read has a profile"
        return found

    found = await exchange.read(run, limits.seconds)
    return answer({**found.to_dict(), "text": str(found), "analyzed": body.analyze})


async def read_target(
    exchange: Exchange, branch: str | None, snapshot: str | None, at: str | None = None
) -> ReadTarget:
    """What a request reads from; a commit decides by itself which branch has to be readable.

    `snapshot` names a commit from main's point of view, `at` from that of the branch, which must be readable too.
    """
    if snapshot is not None:
        if branch is not None:
            raise bad_request("give a branch or a snapshot, not both")
        if at is not None:
            raise bad_request("give a snapshot or 'at', not both")
        return await _target_at(exchange, snapshot, MAIN)
    named = named_branch(branch)
    if at is None:
        return ReadTarget(named)
    await exchange.allow(Action.READ, branch=named)
    return await _target_at(exchange, at, named)


async def _target_at(exchange: Exchange, reference: str, branch: str) -> ReadTarget:
    commit = await known_commit(exchange, reference, branch)
    return ReadTarget(commit.manifest_branch or MAIN, commit)


async def run_read(
    exchange: Exchange,
    request: QueryCall,
    target: ReadTarget,
    snapshot: str | None,
    *,
    check: Callable[[QueryCall], None] | None = None,
) -> Response:
    """Execute a read that has passed every gate; its time begins when it arrives here, waiting for a turn included."""
    wanted = preferences(exchange.request)
    limits = wanted.limits(exchange.server.settings.limits)
    graph, embedder = exchange.graph.handle, exchange.graph.embedder
    echoed = {"branch": None if snapshot is not None else target.branch, "snapshot": snapshot}

    arrived, response_bytes = time.monotonic(), exchange.server.settings.response_bytes

    def made(result: Result, budget: Budget) -> Response:
        allowance = Allowance(budget.check, response_bytes, exchange.reservation)
        response = rendered(result, echoed, wanted, allowance)
        exchange.reservation.keep(len(response.body))
        return response

    def run_quick() -> Response | Result | None:
        found = answer_known(graph, request.source, request.name, request.params, branch=target.live, limits=limits)
        return made(found, Budget(limits)) if found is not None and _is_small(found) else found

    def run(cancel: threading.Event) -> Response:
        started = time.perf_counter()
        if check is not None:
            check(request)
        left = remaining(limits, time.monotonic() - arrived)
        budget = Budget(left, cancel=cancel)
        result = graph.query(
            request.source,
            request.name,
            request.params,
            branch=target.live,
            at=target.commit,
            limits=left,
            embedder=embedder,
            cancel=cancel,
        )
        _note_slow(exchange, result, time.perf_counter() - started)
        return made(result, budget)

    try:
        if target.commit is None and is_short(request.params, _FEW_VALUES):
            quick = await exchange.server.pools.quick(run_quick, exchange.reader)
            if isinstance(quick, Result):
                return await exchange.read(lambda cancel: made(quick, Budget(limits, cancel=cancel)), limits.seconds)
            if quick is not None:
                return quick
        return await exchange.read(run, limits.seconds)
    except CompileError:
        raise
    except InputError as error:
        refusal = refusal_of(error)
        if refusal.status != 400:
            raise
        raise bad_request(f"query: {error.message}") from error


def _is_small(result: Result) -> bool:
    return len(result) <= _FEW_ROWS and result.table.nbytes <= _FEW_BYTES


def _refuse_mutation(request: QueryCall) -> None:
    """A declaration that writes is refused whatever the schema says about it."""
    if not _WRITES.search(request.source.text):
        return
    for declared in parse_runnable(request.source).queries:
        if declared.is_mutation and request.name in (None, declared.name):
            raise bad_request(f"'{declared.name}' holds mutations (insert, update, delete); send it to POST /mutate")


def remaining(limits: Limits, spent: float) -> Limits:
    """The limits of a read that has waited; one that has no time left is stopped at its first step."""
    return limits if limits.seconds is None else replace(limits, seconds=max(limits.seconds - spent, 0.0))


def _note_slow(exchange: Exchange, result: Result, seconds: float) -> None:
    if seconds * 1000 < exchange.server.settings.slow_ms:
        return
    exchange.server.metrics.slow_queries.inc()
    fields = {"graph_id": exchange.graph.id, "query": result.query_name, "rows": len(result)}
    _LOG.warning("slow query", extra={**fields, "ms": round(seconds * 1000), "request_id": exchange.request_id})
