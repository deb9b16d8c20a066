"""History: the commits of a branch, and one commit."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from omnigraph.errors import AmbiguousCommit, CommitNotFound
from omnigraph.policy.actions import Action
from omnigraph.policy.visibility import NOTHING
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import MAIN, Exchange, named_branch
from omnigraph.server.http.outputs import commit_output
from omnigraph.server.http.refusal import bad_request, refuse
from omnigraph.storage.manifest.commits import GraphCommit

_FILTERS = ("actor", "kind", "since", "until", "type", "message")


async def list_commits(exchange: Exchange) -> Response:
    """The commits of a branch, newest first, or those among them that are asked for."""
    branch = named_branch(exchange.value("branch"))
    wanted = commit_filters(exchange)
    await exchange.allow(Action.READ, branch=branch)
    graph = exchange.graph.handle
    found = await exchange.read(lambda _: graph.commits.list(branch, **wanted))
    return answer({"commits": [commit_output(commit) for commit in found]})


def commit_filters(exchange: Exchange) -> dict[str, Any]:
    """Which commits are asked for, as arguments of the engine."""
    limit, maintenance = _limit(exchange.value("limit")), exchange.flag("maintenance")
    return {**{name: exchange.value(name) for name in _FILTERS}, "limit": limit, "maintenance": maintenance}


def _limit(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise bad_request(f"limit must be a whole number, not '{text}'")
    return int(text)


async def known_commit(exchange: Exchange, reference: str, branch: str = MAIN) -> GraphCommit:
    """The commit that a reference means from a branch's point of view.

    One of a branch that the sender may not read does not exist for it, and no answer tells the two apart: either is
    forbidden to a sender who may not read the branch that the reference is seen from, and missing for others. The
    history of that branch, with what it inherited, is known to those who may read it.
    """
    graph = exchange.graph.handle
    try:
        commit = await exchange.read(lambda _: graph.branch(branch).commits.show(reference))
    except AmbiguousCommit as error:
        commit = await _only_known(exchange, reference, branch, error)
    except CommitNotFound:
        await _require_reading(exchange, branch)
        raise
    if _reads(exchange, commit.manifest_branch):
        return commit
    await _require_reading(exchange, branch)
    known = await exchange.read(lambda _: graph.commits.list(branch, maintenance=True))
    if any(each.graph_commit_id == commit.graph_commit_id for each in known):
        return commit
    raise CommitNotFound(reference.strip())


async def _only_known(exchange: Exchange, reference: str, branch: str, error: AmbiguousCommit) -> GraphCommit:
    """The one commit that the sender knows among those whose ids begin alike; hidden ones are not counted."""
    graph = exchange.graph.handle
    branches = await exchange.read(lambda _: graph.branches.list())
    readable = [name for name in branches if _reads(exchange, name)]
    if len(readable) == len(branches):
        raise error
    known = await exchange.read(
        lambda _: {
            each.graph_commit_id: each for name in readable for each in graph.commits.list(name, maintenance=True)
        }
    )
    found = [known[candidate] for candidate in error.candidates if candidate in known]
    if len(found) > 1:
        raise AmbiguousCommit(reference, [each.graph_commit_id for each in found])
    if not found:
        await _require_reading(exchange, branch)
        raise CommitNotFound(reference.strip())
    return found[0]


async def _require_reading(exchange: Exchange, branch: str) -> None:
    if not _reads(exchange, branch):
        await exchange.allow(Action.READ, branch=branch)


def _reads(exchange: Exchange, branch: str | None) -> bool:
    """Whether the sender may read or export at least a part of a branch."""
    policy, actor = exchange.graph.policy, exchange.actor
    return policy is None or actor is None or policy.content(actor, branch or MAIN) != NOTHING


async def get_commit(exchange: Exchange) -> Response:
    """One commit of any live branch."""
    await exchange.allow(Action.READ)
    name = exchange.params["commit_id"]
    try:
        return answer(commit_output(await known_commit(exchange, name)))
    except AmbiguousCommit:
        raise
    except CommitNotFound:
        raise refuse(404, f"commit '{name}' not found") from None
