"""Branches: list, create, rename, delete, merge."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.responses import Response

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.errors import Conflict, OmnigraphError
from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import Exchange, named_branch
from omnigraph.server.http.models import BranchCreateRequest, BranchMergeRequest, BranchRenameRequest
from omnigraph.server.http.outputs import commit_output, settled_output
from omnigraph.server.http.refusal import bad_request
from omnigraph.storage.branches.names import new_name

# What a branch operation counts for in admission: it moves no data.
_ESTIMATE = 256


async def list_branches(exchange: Exchange) -> Response:
    """Every branch, by name."""
    await exchange.allow(Action.READ)
    graph = exchange.graph.handle
    return answer({"branches": sorted(await exchange.read(lambda _: graph.branches.list()))})


async def create(exchange: Exchange) -> Response:
    """Fork a branch."""
    body = await exchange.json(BranchCreateRequest)
    name, source = new_name(body.name, "branch"), named_branch(body.from_, "from")
    await exchange.allow(Action.BRANCH_CREATE, branch=source, target=name)
    graph = exchange.graph.acting(exchange.actor)
    with exchange.admit(_ESTIMATE):
        await exchange.write(lambda: graph.branches.create(name, from_=source))
    return answer({"uri": exchange.graph.uri, "from": source, "name": name, "actor_id": exchange.actor})


async def delete(exchange: Exchange) -> Response:
    """Delete a branch that nothing depends on."""
    name = named_branch(exchange.params["branch"])
    await exchange.allow(Action.BRANCH_DELETE, target=name)
    graph = exchange.graph.acting(exchange.actor)
    with exchange.admit(_ESTIMATE):
        await exchange.write(lambda: graph.branches.delete(name))
    return answer({"uri": exchange.graph.uri, "name": name, "actor_id": exchange.actor})


async def rename(exchange: Exchange) -> Response:
    """Give a branch another name: its rows appear under that and go from the former one, so it needs both rights."""
    body = await exchange.json(BranchRenameRequest)
    old, name = named_branch(exchange.params["branch"]), new_name(body.name, "branch")
    await exchange.allow(Action.BRANCH_CREATE, branch=old, target=name)
    await exchange.allow(Action.BRANCH_DELETE, target=old)
    graph = exchange.graph.acting(exchange.actor)
    with exchange.admit(_ESTIMATE):
        await exchange.write(lambda: graph.branches.rename(old, name))
    return answer({"uri": exchange.graph.uri, "from": old, "name": name, "actor_id": exchange.actor})


async def merge(exchange: Exchange) -> Response:
    """Merge one branch into another; deleting the source afterwards is decided, and reported, on its own."""
    body = await exchange.json(BranchMergeRequest)
    source, target = named_branch(body.source, "source"), named_branch(body.target, "target")
    if body.preview:
        return await _preview(exchange, body, source, target)
    await exchange.allow(Action.BRANCH_MERGE, branch=source, target=target)
    graph = exchange.writable.acting(exchange.actor).with_schema_check(lambda catalog: _require_fit(exchange, catalog))
    merging = partial(graph.branches.merge, source, into=target, message=body.message, **body.options())
    with exchange.admit(_ESTIMATE):
        result = await exchange.write(merging, source, target)
        deleted = await _delete_merged(exchange, source) if body.delete_branch else {}
    found = {"source": source, "target": target, "outcome": result.outcome.value, "actor_id": exchange.actor}
    return answer({**found, "commit": commit_output(result.commit, await exchange.visibility(target)), **deleted})


def _require_fit(exchange: Exchange, catalog: Catalog) -> None:
    """What is asked of a schema change over HTTP, of the one that a merge brings to main."""
    if exchange.deployment.cluster_backed:
        raise Conflict("this graph is declared by a cluster, and the merge would change its schema; use cluster apply")
    exchange.graph.require_queries_fit(catalog)


async def _preview(exchange: Exchange, body: BranchMergeRequest, source: str, target: str) -> Response:
    """What a merge would do, conflicts included: that is reading, of both branches."""
    if body.delete_branch:
        raise bad_request("a preview deletes nothing; leave 'delete_branch' out")
    await exchange.allow_whole(source, target)
    looking = partial(exchange.graph.handle.branches.merge, source, into=target, preview=True, **body.options())
    result = await exchange.read(lambda _: looking())
    found = {"source": source, "target": target, "outcome": result.outcome.value, "actor_id": exchange.actor}
    commits = {"base_commit_id": result.base_commit_id, "source_commit_id": result.source_commit_id, "commit": None}
    return answer({**found, **commits, **settled_output(result)})


async def _delete_merged(exchange: Exchange, source: str) -> dict[str, Any]:
    decision = exchange.decide(Action.BRANCH_DELETE, target=source)
    if not decision.allowed:
        return {"branch_deleted": False, "branch_delete_error": decision.message}
    graph = exchange.graph.acting(exchange.actor)
    try:
        await exchange.write(lambda: graph.branches.delete(source))
    except OmnigraphError as error:
        return {"branch_deleted": False, "branch_delete_error": error.message}
    return {"branch_deleted": True}
