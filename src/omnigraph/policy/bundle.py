"""Policy bundles: the YAML text that says which groups may do what, read strictly into a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from omnigraph.errors import PolicyInvalid
from omnigraph.policy.actions import ABOUT, About, Action, BundleKind, kind_of
from omnigraph.policy.fields import FieldRejected, Fields
from omnigraph.policy.strict_yaml import YamlRejected, load_yaml

_Named = TypeVar("_Named", bound=StrEnum)


_ALLOW = ("actors", "actions", "branch_scope", "target_branch_scope", "types", "mask")
_READING = (Action.READ, Action.EXPORT)


class BranchScope(StrEnum):
    """Which branches a rule is limited to."""

    ANY = "any"
    PROTECTED = "protected"
    UNPROTECTED = "unprotected"


@dataclass(frozen=True, slots=True)
class Rule:
    """One permission: members of a group may take these actions, on branches of this class."""

    id: str
    group: str
    actions: tuple[Action, ...]
    branch_scope: BranchScope | None = None
    target_branch_scope: BranchScope | None = None
    types: tuple[str, ...] | None = None
    mask: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def restricts_reading(self) -> bool:
        return self.types is not None or bool(self.mask)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A parsed policy file; what no rule allows is denied."""

    name: str
    groups: Mapping[str, tuple[str, ...]]
    protected_branches: frozenset[str]
    rules: tuple[Rule, ...]

    @property
    def known_actors(self) -> frozenset[str]:
        return frozenset(actor for members in self.groups.values() for actor in members)


def parse_bundle(text: str, source_name: str) -> Bundle:
    """The bundle that a text declares; PolicyInvalid names the first thing wrong with it."""
    try:
        bundle = _read(load_yaml(text), source_name)
    except YamlRejected as error:
        raise PolicyInvalid(source_name, error.path, error.reason) from error
    except FieldRejected as error:
        raise PolicyInvalid(source_name, error.path, _hinted(error)) from error
    for where, problem in _problems(bundle):
        raise PolicyInvalid(source_name, where, problem)
    return bundle


def check_kind(bundle: Bundle, kind: BundleKind) -> None:
    """Refuse a bundle whose actions are not about what it is bound to."""
    for rule in bundle.rules:
        for action in rule.actions:
            if kind_of(action) == kind:
                continue
            what = "server-scoped" if kind == "graph" else "per-graph"
            bound = "a graph" if kind == "graph" else "the cluster"
            raise PolicyInvalid(
                bundle.name, f"rule '{rule.id}'", f"'{action}' is a {what} action, but this bundle is bound to {bound}"
            )


def _read(document: Any, name: str) -> Bundle:
    top = Fields(document, "", ("version", "groups", "protected_branches", "rules"))
    if top.number("version") != 1:
        raise FieldRejected("version", f"must be 1, not {top.number('version')}")
    groups = {group: _members(value, path) for group, value, path in top.members("groups")}
    protected = [branch.strip() for branch in top.texts("protected_branches")]
    rules = tuple(_rule(value, path) for value, path in top.items("rules"))
    return Bundle(name, groups, frozenset(protected), rules)


def _members(value: Any, path: str) -> tuple[str, ...]:
    return tuple(Fields({"actors": value}, path, ("actors",)).texts("actors"))


def _rule(value: Any, path: str) -> Rule:
    rule = Fields(value, path, ("id", "allow"))
    allow = Fields(rule.required("allow"), rule.at("allow"), _ALLOW)
    actors = Fields(allow.required("actors"), allow.at("actors"), ("group",))
    actions = tuple(_member(Action, name, path) for name, path in _named(allow, "actions"))
    return Rule(
        rule.text("id"),
        actors.text("group"),
        actions,
        _scope(allow, "branch_scope"),
        _scope(allow, About.TARGET.value),
        tuple(text for text, _ in _named(allow, "types")) if allow.declares("types") else None,
        {name: _members(value, path) for name, value, path in allow.members("mask")},
    )


def _named(fields: Fields, key: str) -> Iterable[tuple[str, str]]:
    fields.required(key)
    return zip(fields.texts(key), (path for _, path in fields.items(key)), strict=True)


def _scope(allow: Fields, key: str) -> BranchScope | None:
    # An empty scope is refused rather than ignored: it would allow more than its author meant.
    return _member(BranchScope, allow.text(key), allow.at(key)) if allow.declares(key) else None


def _member(kind: type[_Named], text: str, path: str) -> _Named:
    try:
        return kind(text)
    except ValueError:
        raise FieldRejected(path, f"'{text}' is none of {', '.join(kind)}") from None


def _hinted(error: FieldRejected) -> str:
    if error.path == "kind":
        return "unknown key 'kind'; remove it: the binding decides whether a bundle is for a graph or the server"
    return error.reason


def _problems(bundle: Bundle) -> Iterator[tuple[str, str]]:
    """What the file says that cannot be meant, in the order in which it is reported."""
    for group, members in bundle.groups.items():
        if not group.strip():
            yield "groups", "a group has a blank name"
        if not members:
            yield f"group '{group}'", "has no actors"
        if any(not actor.strip() for actor in members):
            yield f"group '{group}'", "holds a blank actor"
    if "" in bundle.protected_branches:
        yield "protected_branches", "holds a blank branch name"
    seen: set[str] = set()
    for rule in bundle.rules:
        if not rule.id.strip():
            yield "rules", "a rule has a blank id"
        if rule.id in seen:
            yield f"rule '{rule.id}'", "the id is used twice"
        seen.add(rule.id)
        yield from ((f"rule '{rule.id}'", problem) for problem in _rule_problems(rule, bundle))


def _rule_problems(rule: Rule, bundle: Bundle) -> Iterator[str]:
    if not rule.group.strip():
        yield "names a blank group"
    elif rule.group not in bundle.groups:
        yield f"names the unknown group '{rule.group}'"
    if not rule.actions:
        yield "allows no action"
    for action in rule.actions:
        if rule.actions.count(action) > 1:
            yield f"lists the action '{action}' twice"
    if rule.branch_scope is not None and rule.target_branch_scope is not None:
        yield "has both branch_scope and target_branch_scope; keep one"
    for scope, about in ((rule.branch_scope, About.BRANCH), (rule.target_branch_scope, About.TARGET)):
        for action in rule.actions if scope is not None else ():
            if ABOUT[action] is not about:
                yield f"{about.value} does not apply to the action '{action}' (it takes {ABOUT[action].value})"
    yield from _reading_problems(rule)
    if len({kind_of(action) for action in rule.actions}) > 1:
        yield "mixes server actions and graph actions; split it into two rules"


def _reading_problems(rule: Rule) -> Iterator[str]:
    if not rule.restricts_reading:
        return
    for action in rule.actions:
        if action not in _READING:
            yield f"types and mask apply to read and export only, not to '{action}'"
    if rule.types is not None and not rule.types:
        yield "shows no type; name some, or leave types out"
    named = [*(rule.types or ()), *rule.mask, *(name for names in rule.mask.values() for name in names)]
    if any(not name.strip() for name in named):
        yield "names a blank type or property"
    for name, properties in rule.mask.items():
        if not properties:
            yield f"masks no property of '{name}'"
        if rule.types is not None and name not in rule.types:
            yield f"masks properties of '{name}', which it does not show"
