"""The decision in front of a write: the engine asks here before it reads any input."""

from __future__ import annotations

from omnigraph.errors import PermissionDenied, PolicyFailed
from omnigraph.policy.authorize import log_decision
from omnigraph.policy.engine import PolicyEngine, PolicyRequest


def require_allowed(engine: PolicyEngine, actor: str | None, request: PolicyRequest) -> None:
    """Return if the policy allows it; a missing actor and a policy that cannot be evaluated are refusals too."""
    if actor is None:
        raise PermissionDenied(f"policy: no actor was passed for the action '{request.action}'")
    try:
        decision = engine.decide(actor, request)
    except PolicyFailed as failure:
        raise PermissionDenied(failure.message) from failure
    if not decision.allowed:
        # A server has logged its own decisions; what is refused only here was not decided by one.
        log_decision(actor, request, decision, state="engine")
        raise PermissionDenied(decision.message)
