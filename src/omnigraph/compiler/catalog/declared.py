"""One accepted schema as declarations by identity: what a three-way comparison of schemas looks at."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.compiler.catalog.shape import Kind, TypeShape
from omnigraph.compiler.decode import to_source
from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.parse import parse_schema

Declaration: TypeAlias = ast.Interface | ast.Node | ast.Edge
Names: TypeAlias = Mapping[int, str]
"""Property id → the name of a property of one type."""


@dataclass(frozen=True)
class Declared:
    """The declarations of one schema; `branch` is what messages call its side."""

    accepted: Accepted
    branch: str

    @cached_property
    def shapes(self) -> dict[int, tuple[Kind, TypeShape]]:
        """Type id → kind and shape."""
        return {shape.type_id: (kind, shape) for kind, shape in self.accepted.shape.types()}

    @cached_property
    def declarations(self) -> dict[int, Declaration]:
        """Type id → declaration, in the order of the text."""
        parsed = parse_schema(to_source(self.accepted.source, code="S000", name="_schema.pg"))
        return {self.type_id(_kind(each), each.name): each for each in parsed.declarations}

    @cached_property
    def _type_ids(self) -> dict[tuple[Kind, str], int]:
        return {(kind, shape.name): shape.type_id for kind, shape in self.accepted.shape.types()}

    def type_id(self, kind: Kind, name: str) -> int:
        """The identity of a type by its name here."""
        return self._type_ids[kind, name]

    def name(self, type_id: int) -> str | None:
        """What a type is called here; None when it is not there."""
        found = self.shapes.get(type_id)
        return None if found is None else found[1].name

    def property_names(self, type_id: int) -> Names:
        """Every effective property of a type, injected ones included."""
        return {prop.property_id: prop.name for prop in self.shapes[type_id][1].properties}

    def own(self, type_id: int) -> dict[int, ast.Property]:
        """The properties that a type declares itself, in the order of the text."""
        ids = _reversed(self.property_names(type_id))
        return {ids[prop.name]: prop for prop in self.declarations[type_id].properties}

    def headers(self, type_id: int) -> dict[str, tuple[ast.Annotation, ...]]:
        """The annotations of a type by their name; rename hints are not kept."""
        declared = self.declarations[type_id]
        return {} if isinstance(declared, ast.Interface) else by_name(declared.annotations)

    def annotations(self, type_id: int, prop: ast.Property) -> dict[str, Hashable]:
        """The annotations of a property by their name, the source of an embedding by its identity."""
        ids = _reversed(self.property_names(type_id))
        return {name: tuple(_by_id(each, ids) for each in found) for name, found in by_name(prop.annotations).items()}

    def constraints(self, type_id: int) -> dict[Hashable, ast.Constraint]:
        """The body constraints of a type by what they mean: properties by their identity."""
        declared, ids = self.declarations[type_id], _reversed(self.property_names(type_id))
        if isinstance(declared, ast.Interface):
            return {}
        return {_meaning(each, ids): each for each in declared.constraints}

    def structure(self, type_id: int) -> Hashable:
        """What a type refers to, by identity: its interfaces, or its endpoints and their cardinality."""
        declared = self.declarations[type_id]
        match declared:
            case ast.Node():
                return tuple(sorted(self.type_id("interface", each.name) for each in declared.implements))
            case ast.Edge():
                ends = (self.type_id("node", end.name) for end in (declared.from_type, declared.to_type))
                return (*ends, declared.cardinality or ast.Cardinality())
            case ast.Interface():
                return None

    def facts(self, type_id: int) -> Hashable:
        """Everything about a type, so that two sides can be compared."""
        own = {
            pid: (prop.name, prop.type, _frozen(self.annotations(type_id, prop)))
            for pid, prop in self.own(type_id).items()
        }
        described = (self.name(type_id), self.structure(type_id), _frozen(self.headers(type_id)))
        return (*described, _frozen(own), frozenset(self.constraints(type_id)))


def renamed_constraint(constraint: ast.Constraint, here: Names, wanted: Names) -> ast.Constraint:
    """A constraint whose properties have the names of another schema."""
    ids = _reversed(here)

    def named(arg: ast.ConstraintArg) -> ast.ConstraintArg:
        known = isinstance(arg.value, str) and arg.kind == "name" and arg.value in ids
        return replace(arg, value=wanted[ids[str(arg.value)]]) if known else arg

    return replace(constraint, args=tuple(named(arg) for arg in constraint.args))


def renamed_annotation(annotation: ast.Annotation, here: Names, wanted: Names) -> ast.Annotation:
    """An annotation whose embedding source has the name of another schema."""
    source = _reversed(here).get(annotation.value or "") if annotation.name == "embed" else None
    return annotation if source is None else replace(annotation, value=wanted[source])


def by_name(annotations: Iterable[ast.Annotation]) -> dict[str, tuple[ast.Annotation, ...]]:
    """Annotations by their name, without rename hints: those speak of one change only."""
    found: dict[str, tuple[ast.Annotation, ...]] = {}
    for each in annotations:
        if each.name != "rename_from":
            found[each.name] = (*found.get(each.name, ()), each)
    return found


def _by_id(annotation: ast.Annotation, ids: Mapping[str, int]) -> Hashable:
    value: Hashable = annotation.value
    if annotation.name == "embed" and annotation.value is not None:
        value = ids.get(annotation.value, annotation.value)
    return (annotation.name, value, annotation.kwargs)


def _meaning(constraint: ast.Constraint, ids: Mapping[str, int]) -> Hashable:
    values = (arg.value for arg in constraint.args)
    return (constraint.name, tuple(ids.get(value, value) if isinstance(value, str) else value for value in values))


def _frozen(values: Mapping[Any, Any]) -> Hashable:
    return frozenset(values.items())


def _reversed(names: Names) -> dict[str, int]:
    return {name: identity for identity, name in names.items()}


def _kind(declared: Declaration) -> Kind:
    match declared:
        case ast.Interface():
            return "interface"
        case ast.Node():
            return "node"
        case ast.Edge():
            return "edge"
