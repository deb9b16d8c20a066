"""One entity: its values, its surroundings, and where each of its values comes from."""

from __future__ import annotations

from starlette.responses import Response

from omnigraph.engine.changes.entity_history import DEFAULT_EVENTS, MAX_EVENTS
from omnigraph.engine.views.neighbours import DEFAULT_NEIGHBOURS, MAX_NEIGHBOURS
from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import Exchange
from omnigraph.server.http.refusal import bad_request, refuse
from omnigraph.server.routes.commits import answer_commits
from omnigraph.server.routes.reads import chosen_target


async def entity(exchange: Exchange) -> Response:
    """An entity as flat JSON without its blobs, which have a route of their own."""
    name, wanted = exchange.params["type"], exchange.params["id"]
    target = await chosen_target(exchange)
    await exchange.allow(Action.READ, branch=target.branch)
    graph = exchange.graph.handle
    found = await exchange.read(lambda _: graph.get(name, wanted, branch=target.live, at=target.commit, blobs=False))
    if found is None:
        raise refuse(404, f"{name} '{wanted}' not found")
    return answer({"type": name, "id": wanted, "entity": found})


async def neighbours(exchange: Exchange) -> Response:
    """The edges of a node by type and direction, counted, and one page of each."""
    name, wanted = exchange.params["type"], exchange.params["id"]
    edge, direction, after = (exchange.value(each) for each in ("edge", "direction", "after"))
    limit = _limit(exchange.value("limit"), DEFAULT_NEIGHBOURS, MAX_NEIGHBOURS)
    target = await chosen_target(exchange)
    await exchange.allow(Action.READ, branch=target.branch)
    graph = exchange.graph.handle
    found = await exchange.read(
        lambda _: graph.neighbours(
            name,
            wanted,
            edge=edge,
            direction=direction,
            limit=limit,
            after=after,
            branch=target.live,
            at=target.commit,
        )
    )
    return answer(found.document())


async def blame(exchange: Exchange) -> Response:
    """The commit behind each value, or the merge that brought it from a branch that the sender may not read in full."""
    name, wanted = exchange.params["type"], exchange.params["id"]
    target = await chosen_target(exchange)
    await exchange.allow_whole(target.branch)
    graph = exchange.graph.acting(exchange.actor)
    found = await exchange.read(lambda _: graph.commits.blame(name, wanted, branch=target.live, at=target.commit))
    return await answer_commits(exchange, found.document())


async def history(exchange: Exchange) -> Response:
    """A page of what happened to an entity; commits of branches that may not be read in full are not named."""
    name, wanted = exchange.params["type"], exchange.params["id"]
    limit, after = _limit(exchange.value("limit"), DEFAULT_EVENTS, MAX_EVENTS), exchange.value("after")
    target = await chosen_target(exchange)
    await exchange.allow_whole(target.branch)
    graph = exchange.graph.acting(exchange.actor)
    found = await exchange.read(
        lambda _: graph.commits.history(name, wanted, branch=target.live, at=target.commit, limit=limit, after=after)
    )
    return await answer_commits(exchange, found.document())


def _limit(text: str | None, default: int, most: int) -> int:
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > 9 or int(text) > most:
        raise bad_request(f"limit must be a whole number up to {most}")
    return int(text)
