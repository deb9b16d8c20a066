"""Stable identity: minting ids at creation, and matching a desired schema against the accepted one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from omnigraph.compiler.catalog.annotations import Hint
from omnigraph.compiler.catalog.build import Draft
from omnigraph.compiler.catalog.shape import (
    EdgeShape,
    InterfaceShape,
    Kind,
    NodeShape,
    PropertyShape,
    SchemaShape,
    TypeShape,
)
from omnigraph.compiler.diagnostics import Diagnostic, SchemaError, did_you_mean, fail

INERT_HINT = "inert_initialization_rename_hint"
IGNORED_HINT = "ignored_exact_match_rename_hint"

_TypeKey = tuple[Kind, str]
_PropertyKey = tuple[Kind, str, str]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A shape whose every type and property has its identity, and the next free id."""

    shape: SchemaShape
    next_id: int
    notices: tuple[Diagnostic, ...] = ()


def mint(draft: Draft) -> Resolved:
    """Identities for a new graph; rename hints have nothing to point at and are reported as inert."""
    resolved = _assign(draft.shape, _Matches(), 1)
    hints = [*draft.type_hints.values(), *draft.property_hints.values()]
    notices = [
        Diagnostic(INERT_HINT, f"@rename_from({each.old}) has no effect when a graph is created", each.span)
        for each in hints
        if not each.injected
    ]
    return replace(resolved, notices=tuple(notices))


@dataclass(frozen=True, slots=True)
class Sibling:
    """The schema of another branch; what it has from `first_id` on, it got since the two branches parted."""

    shape: SchemaShape
    first_id: int


def match(draft: Draft, accepted: SchemaShape, next_id: int, siblings: Sequence[Sibling] = ()) -> Resolved:
    """Identities for a desired schema: kept by name, carried over by hints, minted for the rest.

    What a sibling has added in the same words is the same change made twice, and gets the same identity.
    """
    matcher = _Matcher(draft, accepted)
    found = matcher.run()
    for sibling in siblings:
        _adopt(found, draft.shape, accepted, sibling)
    resolved = _assign(draft.shape, found, next_id)
    return replace(resolved, notices=tuple(matcher.notices))


def stamped(
    shape: SchemaShape, types: Mapping[_TypeKey, TypeShape], properties: Mapping[_PropertyKey, PropertyShape]
) -> SchemaShape:
    """A shape with identities that are all known: each type, and each property, as it is in another schema."""
    return _assign(shape, _Matches(dict(types), dict(properties)), 0).shape


def _adopt(found: _Matches, shape: SchemaShape, accepted: SchemaShape, sibling: Sibling) -> None:
    """Take over the identities of what a sibling has added in the same words, to the same owner."""
    held = {each.type_id for _, each in accepted.types()}
    held |= {prop.property_id for _, each in accepted.types() for prop in each.properties}
    for kind, each in shape.types():
        owner = found.types.get((kind, each.name))
        theirs = [
            other
            for other in sibling.shape.of_kind(kind)
            if (other.type_id == owner.type_id if owner is not None else _is_new(other, each, held, sibling))
        ]
        for other in theirs:
            found.types.setdefault((kind, each.name), other)
            known = {prop.name: prop for prop in other.properties if prop.property_id >= sibling.first_id}
            for prop in each.properties:
                twin = known.get(prop.name)
                if twin is not None and twin.property_id not in held and twin.type == prop.type:
                    found.properties.setdefault((kind, each.name, prop.name), twin)


def _is_new(other: TypeShape, each: TypeShape, held: set[int], sibling: Sibling) -> bool:
    return other.name == each.name and other.type_id >= sibling.first_id and other.type_id not in held


@dataclass(slots=True)
class _Matches:
    types: dict[_TypeKey, TypeShape] = field(default_factory=dict)
    properties: dict[_PropertyKey, PropertyShape] = field(default_factory=dict)


class _Matcher:
    def __init__(self, draft: Draft, accepted: SchemaShape) -> None:
        self.notices: list[Diagnostic] = []
        self._draft = draft
        self._accepted: dict[_TypeKey, TypeShape] = {(kind, each.name): each for kind, each in accepted.types()}
        self._found = _Matches()

    def run(self) -> _Matches:
        """Match types first, then the properties of matched types."""
        self._match_types()
        elsewhere = frozenset(_property_names(self._accepted))
        for kind, each in self._draft.shape.types():
            owner = self._found.types.get((kind, each.name))
            if owner is None:
                self._refuse_imports(kind, each)
            else:
                self._match_properties(kind, each, owner, elsewhere)
        return self._found

    def _match_types(self) -> None:
        claimed: dict[int, str] = {}
        for kind, each in self._draft.shape.types():
            exact = self._accepted.get((kind, each.name))
            if exact is not None:
                self._found.types[kind, each.name] = exact
                claimed[exact.type_id] = each.name
        for (kind, name), hint in self._draft.type_hints.items():
            if (kind, name) in self._found.types:
                self._ignore(f"{kind} '{name}'", hint)
                continue
            old = self._accepted.get((kind, hint.old)) or self._unknown_type(kind, hint)
            self._claim(claimed, old.type_id, name, hint)
            self._found.types[kind, name] = old

    def _unknown_type(self, kind: Kind, hint: Hint) -> NoReturn:
        others = [other for other, name in self._accepted if name == hint.old]
        if others:
            self._fail("S041", f"'{hint.old}' is {_article(others[0])}; it cannot become {_article(kind)}", hint)
        known = [name for other, name in self._accepted if other == kind]
        self._fail("S040", f"the accepted schema has no {kind} '{hint.old}'", hint, did_you_mean(hint.old, known))

    def _refuse_imports(self, kind: Kind, each: TypeShape) -> None:
        for prop in each.properties:
            hint = self._draft.property_hints.get((kind, each.name, prop.name))
            # An interface may carry a hint for its older implementers; a new one has nothing to rename.
            if hint is not None and not hint.injected:
                message = f"{kind} '{each.name}' is new, so '{prop.name}' cannot continue an accepted property"
                self._fail("S044", message, hint)

    def _match_properties(self, kind: Kind, each: TypeShape, owner: TypeShape, elsewhere: frozenset[str]) -> None:
        old = {prop.name: prop for prop in owner.properties}
        claimed: dict[int, str] = {}
        hinted: list[tuple[str, Hint]] = []
        for prop in each.properties:
            exact = old.get(prop.name)
            hint = self._draft.property_hints.get((kind, each.name, prop.name))
            if exact is not None:
                self._found.properties[kind, each.name, prop.name] = exact
                claimed[exact.property_id] = f"{each.name}.{prop.name}"
                if hint is not None and not hint.injected:
                    self._ignore(f"'{each.name}.{prop.name}'", hint)
            elif hint is not None and not (hint.injected and hint.old not in old):
                hinted.append((prop.name, hint))
        for name, hint in hinted:
            source = old.get(hint.old) or self._unknown_property(each, hint, old, elsewhere)
            self._claim(claimed, source.property_id, f"{each.name}.{name}", hint)
            self._found.properties[kind, each.name, name] = source

    def _unknown_property(
        self, each: TypeShape, hint: Hint, old: Mapping[str, PropertyShape], elsewhere: frozenset[str]
    ) -> NoReturn:
        if hint.old in elsewhere:
            self._fail("S043", f"'{hint.old}' belongs to another type, not to '{each.name}'", hint)
        self._fail("S040", f"'{each.name}' has no accepted property '{hint.old}'", hint, did_you_mean(hint.old, old))

    def _claim(self, claimed: dict[int, str], identity: int, name: str, hint: Hint) -> None:
        other = claimed.setdefault(identity, name)
        if other != name:
            self._fail("S042", f"'{hint.old}' is claimed by both '{other}' and '{name}'", hint)

    def _ignore(self, place: str, hint: Hint) -> None:
        message = f"@rename_from({hint.old}) is ignored: {place} is accepted under its present name"
        self.notices.append(Diagnostic(IGNORED_HINT, message, hint.span))

    def _fail(self, code: str, message: str, hint: Hint, help: str | None = None) -> NoReturn:
        fail(SchemaError, self._draft.source, code, message, hint.span, help=help)


def _property_names(accepted: Mapping[_TypeKey, TypeShape]) -> Iterator[str]:
    for each in accepted.values():
        for prop in each.properties:
            yield prop.name
            yield f"{each.name}.{prop.name}"


def _article(kind: Kind) -> str:
    return f"a {kind}" if kind == "node" else f"an {kind}"


# --- assigning ---


@dataclass(slots=True)
class _Ids:
    """Every identity of one schema, and the counter that the new ones come from."""

    next: int
    types: dict[_TypeKey, int] = field(default_factory=dict)
    properties: dict[_PropertyKey, int] = field(default_factory=dict)
    incarnations: dict[_TypeKey, int] = field(default_factory=dict)

    def mint(self) -> int:
        """A fresh id."""
        self.next += 1
        return self.next - 1


def _assign(shape: SchemaShape, matches: _Matches, next_id: int) -> Resolved:
    """Copy matched identities and mint the others: types, then properties by owner, then incarnations."""
    ids = _Ids(next_id)
    for kind, each in shape.types():
        old = matches.types.get((kind, each.name))
        ids.types[kind, each.name] = old.type_id if old is not None else ids.mint()
    for kind, each in sorted(shape.types(), key=lambda pair: ids.types[pair[0], pair[1].name]):
        for prop in each.properties:
            known = matches.properties.get((kind, each.name, prop.name))
            ids.properties[kind, each.name, prop.name] = known.property_id if known is not None else ids.mint()
    for kind, each in shape.types():
        if not isinstance(each, InterfaceShape):
            old = matches.types.get((kind, each.name))
            kept = old.incarnation_id if isinstance(old, NodeShape | EdgeShape) else None
            ids.incarnations[kind, each.name] = kept if kept is not None else ids.mint()
    return Resolved(_stamp(shape, ids), ids.next)


def _stamp(shape: SchemaShape, ids: _Ids) -> SchemaShape:
    def properties(kind: Kind, each: TypeShape) -> tuple[PropertyShape, ...]:
        return tuple(replace(prop, property_id=ids.properties[kind, each.name, prop.name]) for prop in each.properties)

    interfaces = (
        replace(each, type_id=ids.types["interface", each.name], properties=properties("interface", each))
        for each in shape.interfaces
    )
    nodes = (
        replace(
            each,
            type_id=ids.types["node", each.name],
            incarnation_id=ids.incarnations["node", each.name],
            properties=properties("node", each),
        )
        for each in shape.nodes
    )
    edges = (
        replace(
            each,
            type_id=ids.types["edge", each.name],
            incarnation_id=ids.incarnations["edge", each.name],
            properties=properties("edge", each),
        )
        for each in shape.edges
    )
    return SchemaShape(tuple(interfaces), tuple(nodes), tuple(edges))
