"""Decisions: may this actor do that, according to one bundle bound to one scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from omnigraph.display import Displayed, counted
from omnigraph.policy.actions import Action
from omnigraph.policy.visibility import NOTHING, Visibility, meet, shows_no_more, visibility_of

if TYPE_CHECKING:
    from omnigraph.policy.bundle import Bundle

# An actor who may not see everything must not learn it by what a write does or refuses to do.
_REVEALING = frozenset({Action.CHANGE, Action.SCHEMA_APPLY, Action.BRANCH_MERGE, Action.ADMIN})
# What copies the rows of one branch into another must not show them to an actor who may not read them there.
_COPYING = frozenset({Action.BRANCH_CREATE, Action.BRANCH_MERGE})
_REMEMBERED = 1_024


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """What somebody asks to do; who it is never travels with the request."""

    action: Action
    branch: str | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class PolicyDecision(Displayed):
    """Yes or no, the rule that said yes, and a sentence about it."""

    allowed: bool
    matched_rule_id: str | None
    message: str


class PolicyEngine(Displayed):
    """One compiled bundle; `graph_id` is None for the bundle of the server itself."""

    def __init__(self, bundle: Bundle, graph_id: str | None) -> None:
        # Most graphs have no policy; only one that has needs the parser of bundles and Cedar.
        from omnigraph.policy.bundle import check_kind
        from omnigraph.policy.cedar import CompiledPolicy

        check_kind(bundle, "server" if graph_id is None else "graph")
        self.bundle = bundle
        self.graph_id = graph_id
        self.known_actors = bundle.known_actors
        self._policy = CompiledPolicy(bundle, graph_id)
        # Conditions read only the two classes, so a few dozen answers per actor are all there are.
        self._answers: dict[tuple[str, Action, str, str], tuple[str, ...]] = {}
        self._rules = {rule.id: rule for rule in bundle.rules}
        self._restricts = any(rule.restricts_reading for rule in bundle.rules)
        self._claiming: dict[tuple[str, frozenset[str]], PolicyEngine] = {}

    def __repr__(self) -> str:
        whose = "the server" if self.graph_id is None else f"graph '{self.graph_id}'"
        return f"<PolicyEngine of {whose}: {counted(len(self._rules), 'rule')}>"

    def decide(self, actor: str, request: PolicyRequest) -> PolicyDecision:
        """The decision; PolicyFailed when the policy cannot be evaluated."""
        if actor not in self.known_actors:
            return PolicyDecision(False, None, f"policy denied action '{request.action}' for unknown actor '{actor}'")
        rules = self._matching(actor, request)
        if not rules:
            return PolicyDecision(False, None, _message(actor, request, allowed=False))
        if self._restricts and request.action in _REVEALING and self._reads_in_part(actor, request):
            denied = _message(actor, request, allowed=False)
            return PolicyDecision(False, None, f"{denied}, because reading is restricted for this actor")
        if request.action in _COPYING and self._widens(actor, request):
            denied = _message(actor, request, allowed=False)
            return PolicyDecision(False, None, f"{denied}, because '{request.target}' would show more than its source")
        return PolicyDecision(True, rules[0], _message(actor, request, allowed=True))

    def claiming(self, actor: str, groups: frozenset[str]) -> PolicyEngine:
        """The same rules for an actor whom an identity provider puts into some groups; only declared ones count."""
        joined = frozenset(name for name in groups & self.bundle.groups.keys() if actor not in self.bundle.groups[name])
        if not joined:
            return self
        found = self._claiming.get((actor, joined))
        if found is None:
            members = {name: (*who, actor) if name in joined else who for name, who in self.bundle.groups.items()}
            found = PolicyEngine(replace(self.bundle, groups=members), self.graph_id)
            if len(self._claiming) >= _REMEMBERED:
                self._claiming.clear()
            self._claiming[actor, joined] = found
        return found

    def visibility(self, actor: str, request: PolicyRequest) -> Visibility | None:
        """What this actor gets to see of what it may read or export; None when that is everything."""
        if not self._restricts:
            return None
        return visibility_of(self._rules[name] for name in self._matching(actor, request))

    def visibility_along(self, actor: str, action: Action, lineage: Sequence[str]) -> Visibility | None:
        """What this actor gets to see of a branch that it may read: no more than of those that it was forked from.

        An ancestor that the actor may not read at all takes nothing away: its fork was made by one who may.
        """
        found = self.visibility(actor, PolicyRequest(action, lineage[0]))
        for branch in lineage[1:]:
            request = PolicyRequest(Action.READ, branch)
            if self._matching(actor, request):
                found = meet(found, self.visibility(actor, request))
        return found

    @property
    def restricts(self) -> bool:
        """Whether some rule shows less than everything."""
        return self._restricts

    def content(self, actor: str, branch: str | None) -> Visibility | None:
        """What this actor can learn of a branch by reading and exporting it."""
        rules = {
            name
            for action in (Action.READ, Action.EXPORT)
            for name in self._matching(actor, PolicyRequest(action, branch))
        }
        return visibility_of(self._rules[name] for name in sorted(rules)) if rules else NOTHING

    def _widens(self, actor: str, request: PolicyRequest) -> bool:
        source, target = self.content(actor, request.branch), self.content(actor, request.target)
        return not shows_no_more(target, source)

    def _reads_in_part(self, actor: str, request: PolicyRequest) -> bool:
        reads = [PolicyRequest(Action.READ, branch) for branch in (request.branch, request.target)]
        return any(self._matching(actor, each) and self.visibility(actor, each) is not None for each in reads)

    def _matching(self, actor: str, request: PolicyRequest) -> tuple[str, ...]:
        """The ids of the rules that allow it, sorted."""
        classes = self._class_of(request.branch), self._class_of(request.target)
        key = (actor, request.action, *classes)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = self._ask(actor, request, *classes)
        return found

    def _ask(self, actor: str, request: PolicyRequest, branch_class: str, target_class: str) -> tuple[str, ...]:
        context = {
            "branch": request.branch or "",
            "branch_class": branch_class,
            "target": request.target or "",
            "target_class": target_class,
        }
        allowed, rules = self._policy.matching_rules(actor, request.action, context)
        return tuple(rules) if allowed else ()

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
