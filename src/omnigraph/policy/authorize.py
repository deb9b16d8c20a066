"""The decision at the boundary: which state a server runs in, and what that means for a request."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum

from omnigraph.errors import Unauthenticated
from omnigraph.policy.actions import Action, kind_of
from omnigraph.policy.engine import PolicyDecision, PolicyEngine, PolicyRequest

_log = logging.getLogger("omnigraph.audit")

REQUEST: ContextVar[Mapping[str, str] | None] = ContextVar("omnigraph_request", default=None)
"""Which request a decision is about: its id, the graph and the address of the peer; set by a server."""


class State(Enum):
    """How a server decides; classified once, before graphs are opened."""

    OPEN = "open"
    DEFAULT_DENY = "default-deny"
    POLICY_ENABLED = "policy-enabled"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a server must not start."""

    message: str


def classify(*, tokens: bool, policy: bool, unauthenticated: bool) -> State | Refusal:
    """The state for these settings; `unauthenticated` never weakens a server that has tokens."""
    match tokens, policy:
        case False, False:
            if unauthenticated:
                return State.OPEN
            return Refusal(
                "no bearer tokens and no policy are configured; set OMNIGRAPH_SERVER_BEARER_TOKENS_FILE, "
                "or pass --unauthenticated to let everybody do everything"
            )
        case False, True:
            return Refusal(
                "a policy is applied but no bearer tokens are configured, so every request would be refused (401); "
                "set OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"
            )
        case True, False:
            return State.DEFAULT_DENY
    return State.POLICY_ENABLED


def authorize(state: State, actor: str | None, engine: PolicyEngine | None, request: PolicyRequest) -> PolicyDecision:
    """The decision for one scope; `engine` is None when no bundle is bound to it.

    Raises Unauthenticated when a policy must decide without an actor, PolicyFailed when it cannot decide.
    """
    if engine is None:
        decision = _without_policy(actor, request)
    elif actor is None:
        raise Unauthenticated("missing bearer token")
    else:
        decision = engine.decide(actor, request)
    log_decision(actor, request, decision, state=state.value)
    return decision


def log_decision(actor: str | None, request: PolicyRequest, decision: PolicyDecision, *, state: str) -> None:
    """The audit line of a decision."""
    fields = {
        "actor_id": actor or "",
        "action": str(request.action),
        "branch": request.branch or "",
        "target_branch": request.target or "",
        "allowed": decision.allowed,
        "matched_rule_id": decision.matched_rule_id or "",
        "state": state,
        **(REQUEST.get() or {}),
    }
    _log.info("policy decision", extra=fields)


def _without_policy(actor: str | None, request: PolicyRequest) -> PolicyDecision:
    if kind_of(request.action) == "server" and not (actor is None and request.action is Action.METRICS):
        # Which graphs exist is told only to those whom a bundle names.
        return PolicyDecision(False, None, f"action '{request.action}' needs a policy bound to the cluster")
    if actor is not None and request.action is not Action.READ:
        return PolicyDecision(
            False, None, f"default-deny: action '{request.action}' needs a policy that allows it to '{actor}'"
        )
    return PolicyDecision(True, None, f"no policy is bound; action '{request.action}' is allowed")
