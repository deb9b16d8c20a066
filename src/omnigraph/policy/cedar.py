"""Compiles a bundle to Cedar and asks Cedar; the only module that knows how Cedar spells things."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from omnigraph.errors import PolicyFailed, PolicyInvalid, StartRefused
from omnigraph.policy.actions import Action, kind_of
from omnigraph.policy.bundle import BranchScope, Bundle, Rule

_SCHEMA = """
namespace Omni {
  type Ctx = { branch: String, branch_class: String, target: String, target_class: String };
  entity Group;
  entity Actor in [Group];
  entity Graph;
  entity Server;
  action read, export, change, schema_apply, branch_create, branch_delete, branch_merge, admin, invoke_query
    appliesTo { principal: [Actor], resource: [Graph], context: Ctx };
  action graph_list, metrics, reload appliesTo { principal: [Actor], resource: [Server], context: Ctx };
}
"""
_SERVER = "root"


class CompiledPolicy:
    """One bundle for one scope, parsed and checked by Cedar; immutable, shared between threads."""

    def __init__(self, bundle: Bundle, graph_id: str | None) -> None:
        cedarpy = _cedarpy()
        self._graph_id = graph_id or ""
        self._rules = {f"{rule.id}:{action}": rule.id for rule in bundle.rules for action in rule.actions}
        document = _policy_document(bundle, self._graph_id)
        self._policies = cedarpy.PolicySet.from_json_str(document)
        self._entities = cedarpy.Entities.from_json_str(json.dumps(_entities(bundle, self._graph_id)), _schema())
        if self._rules:
            _validate(bundle, document)

    def matching_rules(self, actor: str, action: Action, context: Mapping[str, str]) -> tuple[bool, list[str]]:
        """Whether Cedar allows it, and the ids of the rules that say so; anything but a clean answer raises."""
        cedarpy = _cedarpy()
        request = {
            "principal": _entity("Actor", actor),
            "action": _entity("Action", action),
            "resource": _resource(action, self._graph_id),
            "context": dict(context),
        }
        answer = cedarpy.is_authorized(request, self._policies, self._entities, _schema())
        # An error beside a deny means that some policy could not be looked at, not that no rule allows it.
        if answer.diagnostics.errors or answer.decision is cedarpy.Decision.NoDecision:
            raise PolicyFailed("; ".join(map(str, answer.diagnostics.errors)) or "no decision")
        return bool(answer.allowed), sorted(self._rules[reason] for reason in answer.diagnostics.reasons)


def _policy_document(bundle: Bundle, graph_id: str) -> str:
    # The JSON form: text literals would break on control characters and escaped Unicode in names.
    policies = {
        f"{rule.id}:{action}": _policy(rule, action, graph_id) for rule in bundle.rules for action in rule.actions
    }
    return json.dumps({"staticPolicies": policies, "templates": {}, "templateLinks": []})


def _policy(rule: Rule, action: Action, graph_id: str) -> dict[str, Any]:
    return {
        "effect": "permit",
        "principal": {"op": "in", "entity": _entity("Group", rule.group)},
        "action": {"op": "==", "entity": _entity("Action", action)},
        "resource": {"op": "==", "entity": _resource(action, graph_id)},
        "conditions": list(_conditions(rule)),
        "annotations": {"id": f"{rule.id}:{action}"},
    }


def _conditions(rule: Rule) -> Iterator[dict[str, Any]]:
    for attribute, scope in (("branch_class", rule.branch_scope), ("target_class", rule.target_branch_scope)):
        if scope in (None, BranchScope.ANY):
            continue
        left = {".": {"left": {"Var": "context"}, "attr": attribute}}
        yield {"kind": "when", "body": {"==": {"left": left, "right": {"Value": str(scope)}}}}


def _entities(bundle: Bundle, graph_id: str) -> list[dict[str, Any]]:
    groups_of: dict[str, list[str]] = {}
    for group, members in bundle.groups.items():
        for actor in members:
            groups_of.setdefault(actor, []).append(group)
    actors = [
        _declared("Actor", actor, [_entity("Group", group) for group in sorted(set(groups))])
        for actor, groups in groups_of.items()
    ]
    return [
        *(_declared("Group", group) for group in bundle.groups),
        *actors,
        _declared("Graph", graph_id),
        _declared("Server", _SERVER),
    ]


def _declared(kind: str, name: str, parents: list[dict[str, str]] | None = None) -> dict[str, Any]:
    return {"uid": _entity(kind, name), "attrs": {}, "parents": parents or []}


def _resource(action: Action, graph_id: str) -> dict[str, str]:
    return _entity("Server", _SERVER) if kind_of(action) == "server" else _entity("Graph", graph_id)


def _entity(kind: str, name: str) -> dict[str, str]:
    return {"type": f"Omni::{kind}", "id": str(name)}


def _validate(bundle: Bundle, document: str) -> None:
    cedarpy = _cedarpy()
    checked = cedarpy.validate_policies(cedarpy.policies_from_json_str(document), _schema())
    if not checked.validation_passed:
        raise PolicyInvalid(bundle.name, "", "; ".join(str(error) for error in checked.errors))


@cache
def _schema() -> Any:
    return _cedarpy().Schema.from_str(_SCHEMA)


@cache
def _cedarpy() -> Any:
    try:
        import cedarpy
    except ImportError as error:
        raise StartRefused("policies need the cedarpy package; install omnigraph[server]") from error
    return cedarpy
