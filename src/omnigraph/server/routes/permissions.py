"""What the sender of a request may do, so that an interface offers no more than that."""

from __future__ import annotations

from starlette.responses import Response

from omnigraph.policy.actions import Action, kind_of
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import Exchange, named_branch

_READING = frozenset({Action.READ, Action.EXPORT, Action.INVOKE_QUERY})  # what a server that only reads does


async def permissions(exchange: Exchange) -> Response:
    """The actions that the policy allows the sender on a branch and this server does; each request is decided again.

    Every caller with a token may ask: the answer is about the sender alone, and does not say whether a branch exists.
    """
    branch = named_branch(exchange.value("branch"))
    allowed = [action.value for action in Action if kind_of(action) == "graph" and _allows(exchange, action, branch)]
    restricted = Action.READ in allowed and await exchange.visibility(branch) is not None
    found = {"actor_id": exchange.actor, "branch": branch, "actions": allowed}
    return answer({**found, "restricted": restricted, "schema_declared": exchange.deployment.cluster_backed})


def _allows(exchange: Exchange, action: Action, branch: str) -> bool:
    if exchange.graph.handle.read_only and action not in _READING:
        return False
    return exchange.decide(action, branch=branch, target=branch).allowed
