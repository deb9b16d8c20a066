"""Policy tests: a file of expected decisions, run against one compiled bundle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from omnigraph.errors import BadRequest
from omnigraph.policy.actions import Action
from omnigraph.policy.engine import PolicyEngine, PolicyRequest
from omnigraph.policy.fields import FieldRejected, Fields
from omnigraph.policy.strict_yaml import YamlRejected, load_yaml

Expected = Literal["allow", "deny"]
_MEMBERS = ("id", "actor", "action", "branch", "target_branch", "expect")


@dataclass(frozen=True, slots=True)
class Case:
    """One question with the answer it should get."""

    id: str
    actor: str
    request: PolicyRequest
    expect: Expected


def parse_cases(text: str, source_name: str) -> tuple[Case, ...]:
    """The cases of a test file; BadRequest names the first thing wrong with it."""
    try:
        top = Fields(load_yaml(text), "", ("version", "cases"))
        if top.number("version") != 1:
            raise FieldRejected("version", f"must be 1, not {top.number('version')}")
        cases = tuple(_case(value, path) for value, path in top.items("cases"))
        _require_distinct(cases)
    except (YamlRejected, FieldRejected) as error:
        raise BadRequest(f"policy tests '{source_name}': {error}") from error
    return cases


def run_cases(engine: PolicyEngine, cases: tuple[Case, ...]) -> list[str]:
    """One line per case that got another answer; PolicyFailed ends the run."""
    mismatches = []
    for case in cases:
        got: Expected = "allow" if engine.decide(case.actor, case.request).allowed else "deny"
        if got != case.expect:
            mismatches.append(f"{case.id}: expected {case.expect} but got {got}")
    return mismatches


def parse_action(text: str) -> Action:
    """The action of this name."""
    try:
        return Action(text)
    except ValueError:
        raise BadRequest(f"'{text}' is none of the actions {', '.join(Action)}") from None


def _case(value: Any, path: str) -> Case:
    fields = Fields(value, path, _MEMBERS)
    expect = fields.text("expect")
    if expect not in ("allow", "deny"):
        raise FieldRejected(fields.at("expect"), f"'{expect}' is neither allow nor deny")
    request = PolicyRequest(
        parse_action(fields.text("action")), fields.optional_text("branch"), fields.optional_text("target_branch")
    )
    return Case(fields.text("id"), fields.text("actor"), request, "allow" if expect == "allow" else "deny")


def _require_distinct(cases: tuple[Case, ...]) -> None:
    seen: set[str] = set()
    for case in cases:
        if not case.id.strip():
            raise FieldRejected("cases", "a case has a blank id")
        if case.id in seen:
            raise FieldRejected("cases", f"the id '{case.id}' is used twice")
        if not case.actor.strip():
            raise FieldRejected("cases", f"case '{case.id}' has a blank actor")
        seen.add(case.id)
