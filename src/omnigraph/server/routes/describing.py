"""A graph at a glance: its types, branches and indexes, as far as the sender may read them; and what a moment means."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from omnigraph.engine.api.description import Description
from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import Exchange, named_branch
from omnigraph.server.http.outputs import commit_output
from omnigraph.server.http.refusal import bad_request
from omnigraph.server.routes.commits import answer_commits
from omnigraph.server.routes.reads import chosen_target, read_target


async def describe(exchange: Exchange) -> Response:
    """Types with counts, properties, indexes and sizes, the newest commit, and how far branches are apart."""
    target = await chosen_target(exchange)
    await exchange.allow(Action.READ, branch=target.branch)
    graph = exchange.graph.handle
    found = await exchange.read(lambda _: graph.describe(branch=target.live, at=target.commit))
    return answer(_described(exchange, found))


def _described(exchange: Exchange, found: Description) -> dict[str, Any]:
    """Branches that the sender may not read are left out; the address of the graph is for those who list graphs."""
    readable = [name for name in found.branches if exchange.decide(Action.READ, branch=name).allowed]
    document: dict[str, Any] = {**found.document(), "uri": exchange.graph.id}
    apart = [each for each in document["divergence"] if each["branch"] in readable]
    return {**document, "branches": readable, "divergence": apart}


async def indexes(exchange: Exchange) -> Response:
    """Every index that the schema asks for, with its coverage."""
    branch = named_branch(exchange.value("branch"))
    await exchange.allow(Action.READ, branch=branch)
    graph = exchange.graph.handle
    found = await exchange.read(lambda _: graph.indexes(branch=branch))
    return answer({"indexes": [each.to_json() for each in found]})


async def moment(exchange: Exchange) -> Response:
    """The commit that a reference, a manifest version or an instant means on a branch."""
    branch, at = named_branch(exchange.value("branch")), exchange.value("commit")
    version, time = exchange.value("version"), exchange.value("time")
    if sum(given is not None for given in (at, version, time)) != 1:
        raise bad_request("name one moment: commit, version or time")
    await exchange.allow(Action.READ, branch=branch)
    if at is None:
        graph, wanted = exchange.graph.handle, None if version is None else _version(version)
        at = (await exchange.read(lambda _: graph.branch(branch).at(version=wanted, time=time))).commit_id
    target = await read_target(exchange, branch, None, at)
    await exchange.allow(Action.READ, branch=target.branch)
    return await answer_commits(exchange, commit_output(target.commit, await exchange.visibility(target.branch)))


def _version(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise bad_request(f"version must be a whole number, not '{text[:32]}'")
    return int(text)
