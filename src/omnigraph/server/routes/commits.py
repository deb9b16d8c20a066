"""History: the commits of a branch, and one commit."""

from __future__ import annotations

from starlette.responses import Response

from omnigraph.errors import AmbiguousCommit, CommitNotFound
from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import Exchange, named_branch
from omnigraph.server.http.outputs import commit_output
from omnigraph.server.http.refusal import refuse


async def list_commits(exchange: Exchange) -> Response:
    """Every commit reachable from a branch, newest first."""
    branch = named_branch(exchange.value("branch"))
    exchange.allow(Action.READ, branch=branch)
    graph = exchange.graph.handle
    found = await exchange.read(lambda _: graph.commits.list(branch))
    return answer({"commits": [commit_output(commit) for commit in found]})


async def get_commit(exchange: Exchange) -> Response:
    """One commit of any live branch."""
    exchange.allow(Action.READ)
    graph, name = exchange.graph.handle, exchange.params["commit_id"]
    try:
        return answer(commit_output(await exchange.read(lambda _: graph.commits.show(name))))
    except AmbiguousCommit:
        raise
    except CommitNotFound:
        raise refuse(404, f"commit '{name}' not found") from None
