"""Decisions: may this actor do that, according to one bundle bound to one scope."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.policy.actions import Action
from omnigraph.policy.bundle import Bundle, check_kind
from omnigraph.policy.cedar import CompiledPolicy


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """What somebody asks to do; who it is never travels with the request."""

    action: Action
    branch: str | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """Yes or no, the rule that said yes, and a sentence about it."""

    allowed: bool
    matched_rule_id: str | None
    message: str


class PolicyEngine:
    """One compiled bundle; `graph_id` is None for the bundle of the server itself."""

    def __init__(self, bundle: Bundle, graph_id: str | None) -> None:
        check_kind(bundle, "server" if graph_id is None else "graph")
        self.bundle = bundle
        self.graph_id = graph_id
        self.known_actors = bundle.known_actors
        self._policy = CompiledPolicy(bundle, graph_id)
        # Conditions read only the two classes, so a few dozen answers per actor are all there are.
        self._answers: dict[tuple[str, Action, str, str], tuple[bool, str | None]] = {}

    def decide(self, actor: str, request: PolicyRequest) -> PolicyDecision:
        """The decision; PolicyFailed when the policy cannot be evaluated."""
        if actor not in self.known_actors:
            return PolicyDecision(False, None, f"policy denied action '{request.action}' for unknown actor '{actor}'")
        classes = self._class_of(request.branch), self._class_of(request.target)
        key = (actor, request.action, *classes)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._ask(actor, request, *classes)
        allowed, rule = answer
        return PolicyDecision(allowed, rule, _message(actor, request, allowed=allowed))

    def _ask(self, actor: str, request: PolicyRequest, branch_class: str, target_class: str) -> tuple[bool, str | None]:
        context = {
            "branch": request.branch or "",
            "branch_class": branch_class,
            "target": request.target or "",
            "target_class": target_class,
        }
        allowed, rules = self._policy.matching_rules(actor, request.action, context)
        return allowed, rules[0] if allowed and rules else None

    def _class_of(self, branch: str | None) -> str:
        if branch is None:
            return "none"
        return "protected" if branch.strip() in self.bundle.protected_branches else "unprotected"


def _message(actor: str, request: PolicyRequest, *, allowed: bool) -> str:
    if allowed:
        return f"policy allowed action '{request.action}' for actor '{actor}'"
    on = f" on branch '{request.branch}'" if request.branch is not None else ""
    targeting = f" targeting branch '{request.target}'" if request.target is not None else ""
    return f"policy denied action '{request.action}'{on}{targeting} for actor '{actor}'"
