"""The runs of declared pipelines on a graph, those that go on with how far they are; for those with `admin`."""

from __future__ import annotations

from starlette.responses import Response

from omnigraph.pipeline.runs.declared import is_name
from omnigraph.pipeline.runs.records import history
from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import MAIN, Exchange
from omnigraph.server.http.refusal import bad_request

_MOST = 1_000
_USUAL = 50


async def runs(exchange: Exchange) -> Response:
    """The newest runs of a pipeline, or of all. Records name files and quote values, so all must be readable."""
    name, limit = exchange.value("pipeline"), _limit(exchange.value("limit"))
    await exchange.allow(Action.ADMIN)
    await exchange.allow_whole(MAIN)
    if name is not None and not is_name(name):
        raise bad_request(f"'{name[:64]}' cannot be the name of a pipeline")
    graph = exchange.graph.handle
    found = await exchange.read(lambda _: history(graph, name, limit))
    return answer({"runs": [each.to_json() for each in found]})


def _limit(text: str | None) -> int:
    if text is None:
        return _USUAL
    if not (text.isascii() and text.isdecimal() and len(text) < 5 and int(text) <= _MOST):
        raise bad_request(f"limit must be a whole number up to {_MOST}, not '{text[:32]}'")
    return int(text)
