"""Tags: names for commits."""

from __future__ import annotations

from starlette.responses import Response

from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import Exchange, named_branch
from omnigraph.server.http.models import TagCreateRequest
from omnigraph.server.http.outputs import tag_output
from omnigraph.storage.branches.tags import Tag

_ESTIMATE = 256


async def list_tags(exchange: Exchange) -> Response:
    """Every tag, by name."""
    await exchange.allow(Action.READ)
    handle = exchange.graph.handle
    return answer({"tags": [tag_output(each) for each in await exchange.read(lambda _: handle.tags.list())]})


async def show(exchange: Exchange) -> Response:
    """One tag."""
    await exchange.allow(Action.READ)
    handle, name = exchange.graph.handle, exchange.params["tag"]
    return answer(tag_output(await exchange.read(lambda _: handle.tags.show(name))))


async def create(exchange: Exchange) -> Response:
    """Name a commit, by default the head of a branch."""
    body = await exchange.json(TagCreateRequest)
    branch = named_branch(body.branch)
    await exchange.allow(Action.ADMIN)
    graph = exchange.graph.acting(exchange.actor)

    def run() -> Tag:
        return graph.branch(branch).tags.create(body.name, body.commit, message=body.message)

    with exchange.admit(_ESTIMATE):
        return answer(tag_output(await exchange.write(run)))


async def delete(exchange: Exchange) -> Response:
    """Remove a tag; its commit stays."""
    name = exchange.params["tag"]
    await exchange.allow(Action.ADMIN)
    tags = exchange.graph.acting(exchange.actor).tags
    with exchange.admit(_ESTIMATE):
        await exchange.write(lambda: tags.delete(name))
    return answer({"name": name, "actor_id": exchange.actor})
