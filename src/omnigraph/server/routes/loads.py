"""Loads: records in a JSON envelope, or as a raw batch of lines."""

from __future__ import annotations

from typing import get_args

from starlette.responses import Response

from omnigraph.engine.values.result import LoadResult
from omnigraph.errors import BadRequest
from omnigraph.policy.actions import Action
from omnigraph.server.http import bodies
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import Exchange, matching, named_branch
from omnigraph.server.http.models import LoadRequest, Mode
from omnigraph.server.http.outputs import load_output
from omnigraph.server.http.records import record_lines
from omnigraph.server.http.refusal import bad_request, refuse

_MODES: tuple[Mode, ...] = get_args(Mode)


async def load(exchange: Exchange) -> Response:
    """Records as text inside JSON."""
    body = await exchange.json(LoadRequest, limit=bodies.LARGE)
    branch, base = named_branch(body.branch), named_base(body.from_)
    await decide_load(exchange, branch, base)
    data, size = await bodies.beside_others(lambda: (record_lines(body.data), len(body.data.encode())), len(body.data))
    with exchange.admit(size):
        expected = matching(exchange, body.if_commit)
        mode = body.mode or "merge"
        result = await _run(exchange, data, mode, branch, base, expected=expected, message=body.message)
    return answer(load_output(result, exchange.graph.uri, await exchange.visibility(branch)))


async def load_ndjson(exchange: Exchange) -> Response:
    """A batch of lines; not a byte of it is asked for before the policy has decided."""
    branch, base = named_branch(exchange.value("branch")), named_base(exchange.value("from"))
    mode, expected = _mode(exchange.value("mode")), matching(exchange, exchange.value("if_commit"))
    await decide_load(exchange, branch, base)
    bodies.require_ndjson(exchange.request)
    data = await bodies.read_batch(exchange.request, seconds=exchange.server.settings.body_seconds)
    with exchange.admit(len(data)):
        result = await _run(exchange, data, mode, branch, base, expected=expected, message=exchange.value("message"))
    return answer(load_output(result, visibility=await exchange.visibility(branch)))


def _mode(given: str | None) -> Mode:
    for mode in _MODES:
        if given == mode:
            return mode
    if given is None:
        return "merge"
    raise bad_request(f"unknown load mode '{given}' (expected {', '.join(_MODES)})")


def named_base(given: str | None) -> str | None:
    """The branch that a missing one is created from."""
    return None if given is None else named_branch(given, "from")


async def decide_load(exchange: Exchange, branch: str, base: str | None) -> None:
    """A missing branch needs a base and the right to create it; an existing one needs neither."""
    graph = exchange.graph.handle
    if branch not in await exchange.read(lambda _: graph.branches.list()):
        if base is None:
            raise refuse(404, f"branch '{branch}' not found; give 'from' to create it")
        await exchange.allow(Action.BRANCH_CREATE, branch=base, target=branch)
    await exchange.allow(Action.CHANGE, branch=branch)


async def _run(
    exchange: Exchange,
    data: bytes,
    mode: Mode,
    branch: str,
    base: str | None,
    *,
    expected: str | None,
    message: str | None,
) -> LoadResult:
    graph, embedder = exchange.writable.acting(exchange.actor), exchange.graph.embedder
    try:
        return await exchange.write(
            lambda: graph.load(
                data,
                mode,
                branch=branch,
                from_=base,
                if_commit=expected,
                runner="inline",
                embedder=embedder,
                message=message,
            ),
            branch,
        )
    except UnicodeError as error:
        raise BadRequest("the records are not UTF-8") from error
