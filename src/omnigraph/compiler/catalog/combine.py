"""Two schemas that parted from a common one, combined by identity: what either side changed, unless both did."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from omnigraph.compiler.catalog.accepted import Accepted, draft_of
from omnigraph.compiler.catalog.declared import Declaration, Declared, renamed_annotation, renamed_constraint
from omnigraph.compiler.catalog.identity import stamped
from omnigraph.compiler.catalog.shape import Kind, PropertyShape, TypeShape
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.format import format_schema
from omnigraph.compiler.types import PropType

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SchemaConflict:
    """One way in which two schemas exclude each other; `entity` is `node:Person` or `node:Person.age`."""

    entity: str
    message: str


@dataclass(frozen=True, slots=True)
class Combined:
    """The schema that has the changes of both sides, or why there is none."""

    schema: Accepted | None
    conflicts: tuple[SchemaConflict, ...] = ()


def combine_schemas(
    base: Accepted, ours: Accepted, theirs: Accepted, *, our_branch: str, their_branch: str
) -> Combined:
    """Our schema with what their side changed since the base; both sides' changes are told apart by identity."""
    next_id = max(ours.next_id, theirs.next_id)
    if theirs.shape in (ours.shape, base.shape):
        return Combined(ours)
    if ours.shape == base.shape:
        return Combined(replace(theirs, next_id=next_id, diagnostics=()))
    return _Combination(Declared(base, ""), Declared(ours, our_branch), Declared(theirs, their_branch)).run(next_id)


class _Combination:
    """The three sides and what has been found out about them."""

    def __init__(self, base: Declared, ours: Declared, theirs: Declared) -> None:
        self.base = base
        self.ours = ours
        self.theirs = theirs
        self.conflicts: list[SchemaConflict] = []
        self.names: dict[int, str] = {}
        self.property_names: dict[int, dict[int, str]] = {}

    def run(self, next_id: int) -> Combined:
        kept = [type_id for type_id in self._all(lambda side: side.declarations) if self._stays(type_id)]
        for type_id in kept:
            self._name(type_id)
        self._refuse_repeated(kept)
        declarations = [self._declaration(type_id) for type_id in kept]
        if self.conflicts:
            return Combined(None, tuple(self.conflicts))
        return self._accepted(kept, format_schema(ast.Schema(tuple(declarations))), next_id)

    def _accepted(self, kept: list[int], text: str, next_id: int) -> Combined:
        try:
            draft = draft_of(text, name="<combined>")
        except CompileError as problem:
            message = f"the schemas of {self._both()} do not fit together: {problem.summary}"
            return Combined(None, (SchemaConflict("schema", message),))
        types, properties = self._identities(kept)
        shape = stamped(draft.shape, types, properties)
        return Combined(Accepted(draft.source.text, self.ours.accepted.domain, shape, next_id))

    def _identities(
        self, kept: list[int]
    ) -> tuple[dict[tuple[Kind, str], TypeShape], dict[tuple[Kind, str, str], PropertyShape]]:
        types: dict[tuple[Kind, str], TypeShape] = {}
        properties: dict[tuple[Kind, str, str], PropertyShape] = {}
        for type_id in kept:
            sides = [side for side in (self.ours, self.theirs) if type_id in side.shapes]
            kind, shape = sides[0].shapes[type_id]
            types[kind, self.names[type_id]] = shape
            for side in reversed(sides):
                for prop in side.shapes[type_id][1].properties:
                    name = self.property_names[type_id].get(prop.property_id)
                    if name is not None:
                        properties[kind, self.names[type_id], name] = prop
        return types, properties

    # --- which types stay ------------------------------------------------------------------------

    def _stays(self, type_id: int) -> bool:
        here, there = type_id in self.ours.shapes, type_id in self.theirs.shapes
        if here and there:
            return True
        if type_id not in self.base.shapes:
            return True
        holder, dropper = (self.ours, self.theirs) if here else (self.theirs, self.ours)
        if holder.facts(type_id) != self.base.facts(type_id):
            kind, shape = holder.shapes[type_id]
            what = f"{kind} '{shape.name}' was dropped on '{dropper.branch}' and changed on '{holder.branch}'"
            self._clash(f"{kind}:{shape.name}", f"{what}; drop it on both branches, or bring it back")
        return False

    def _name(self, type_id: int) -> None:
        sides = [side for side in (self.ours, self.theirs) if type_id in side.shapes]
        kind, first = sides[0].shapes[type_id][0], sides[0].name(type_id) or ""
        entity = f"{kind}:{first}"
        self.names[type_id] = self._pick(
            lambda side: side.name(type_id), type_id, entity, f"{kind} '{first}' is called"
        )
        before = self.base.property_names(type_id) if type_id in self.base.shapes else {}
        found = [side.property_names(type_id) for side in sides]
        names: dict[int, str] = {}
        for pid in dict.fromkeys(pid for each in found for pid in each):
            told = [each[pid] for each in found if pid in each]
            if len(told) == len(sides) or pid not in before:  # else one side has dropped it
                names[pid] = next((name for name in told if name != before.get(pid)), told[0])
        self.property_names[type_id] = names

    def _refuse_repeated(self, kept: list[int]) -> None:
        seen: dict[tuple[Kind, str], int] = {}
        for type_id in kept:
            kind = self._either(type_id).shapes[type_id][0]
            name = self.names[type_id]
            if seen.setdefault((kind, name), type_id) != type_id:
                what = f"{kind} '{name}' is another type on {self._both(' and on ')}"
                self._clash(f"{kind}:{name}", f"{what}; rename one of them with @rename_from")

    # --- one type --------------------------------------------------------------------------------

    def _declaration(self, type_id: int) -> Declaration:
        side = self._either(type_id)
        kind, shape = side.shapes[type_id]
        entity, declared = f"{kind}:{shape.name}", side.declarations[type_id]
        properties = tuple(self._properties(type_id, kind))
        if isinstance(declared, ast.Interface):
            return ast.Interface(self.names[type_id], properties)
        headers = self._annotations(lambda each: each.headers(type_id), type_id, entity, f"{kind} '{shape.name}'")
        annotations = tuple(each for found in headers.values() for each in found)
        constraints = tuple(self._constraints(type_id))
        named = "joins" if isinstance(declared, ast.Edge) else "implements"
        what = f"{kind} '{shape.name}' {named}"
        wanted: Any = self._pick(lambda each: each.structure(type_id), type_id, entity, what)
        if isinstance(declared, ast.Edge):
            source, target = (self._end(end, entity, shape.name) for end in wanted[:2])
            return ast.Edge(self.names[type_id], source, target, wanted[2], annotations, properties, constraints)
        implements = tuple(ast.TypeRef(self.names[each]) for each in wanted if each in self.names)
        return ast.Node(self.names[type_id], annotations, implements, properties, constraints)

    def _end(self, node_id: int, entity: str, edge: str) -> ast.TypeRef:
        if node_id not in self.names:
            what = f"edge '{edge}' needs node '{self.base.name(node_id)}', which was dropped on the other branch"
            self._clash(entity, f"{what}; drop the edge too, or bring the node back")
        return ast.TypeRef(self.names.get(node_id, ""))

    def _constraints(self, type_id: int) -> Iterator[ast.Constraint]:
        base = self.base.constraints(type_id) if type_id in self.base.shapes else {}
        sides = [side for side in (self.ours, self.theirs) if type_id in side.shapes]
        seen: set[Hashable] = set()
        for side in sides:
            for meaning, each in side.constraints(type_id).items():
                dropped = meaning in base and any(meaning not in other.constraints(type_id) for other in sides)
                if meaning not in seen and not dropped:
                    seen.add(meaning)
                    yield renamed_constraint(each, side.property_names(type_id), self.property_names[type_id])

    # --- properties ------------------------------------------------------------------------------

    def _properties(self, type_id: int, kind: Kind) -> Iterator[ast.Property]:
        sides = [side for side in (self.ours, self.theirs) if type_id in side.shapes]
        names: dict[str, int] = {}
        for pid in dict.fromkeys(pid for side in sides for pid in side.own(type_id)):
            found = self._property(type_id, kind, pid, sides)
            if found is None:
                continue
            if names.setdefault(found.name, pid) != pid:
                owner = self.names[type_id]
                what = f"'{owner}.{found.name}' is another property on {self._both(' and on ')}"
                self._clash(f"{kind}:{owner}.{found.name}", f"{what}; rename one of them with @rename_from")
            yield found

    def _property(self, type_id: int, kind: Kind, pid: int, sides: list[Declared]) -> ast.Property | None:
        holders = [side for side in sides if pid in side.own(type_id)]
        known = type_id in self.base.shapes and pid in self.base.own(type_id)
        first = holders[0].own(type_id)[pid]
        entity = f"{kind}:{holders[0].name(type_id)}.{first.name}"
        place = entity.removeprefix(f"{kind}:")
        if len(holders) < len(sides) and known:
            if self._facts(holders[0], type_id, pid) != self._facts(self.base, type_id, pid):
                dropper = next(side for side in sides if side not in holders)
                what = f"property '{place}' was dropped on '{dropper.branch}' and changed on '{holders[0].branch}'"
                self._clash(entity, f"{what}; drop it on both branches, or bring it back")
            return None

        def read(side: Declared) -> ast.Property | None:
            return side.own(type_id).get(pid) if type_id in side.shapes else None

        name = self._pick(lambda side: _get(read(side), "name"), type_id, entity, f"property '{place}' is called")
        self.property_names[type_id][pid] = name
        annotations = self._annotations(
            lambda side: {} if (prop := read(side)) is None else side.annotations(type_id, prop),
            type_id,
            entity,
            f"property '{place}'",
        )
        wanted = self._spelled(type_id, pid, annotations, holders)
        return ast.Property(name, self._type(read, type_id, entity, place), wanted)

    def _spelled(
        self, type_id: int, pid: int, annotations: Mapping[str, Any], holders: list[Declared]
    ) -> tuple[ast.Annotation, ...]:
        """The chosen annotations as one of the sides has written them."""
        found: list[ast.Annotation] = []
        for name, chosen in annotations.items():
            for side in holders:
                prop = side.own(type_id)[pid]
                if side.annotations(type_id, prop).get(name) == chosen:
                    here, wanted = side.property_names(type_id), self.property_names[type_id]
                    written = (each for each in prop.annotations if each.name == name)
                    found += [renamed_annotation(each, here, wanted) for each in written]
                    break
        return tuple(found)

    def _facts(self, side: Declared, type_id: int, pid: int) -> Hashable:
        prop = side.own(type_id)[pid]
        return (prop.name, prop.type, frozenset(side.annotations(type_id, prop).items()))

    def _type(self, read: Callable[[Declared], ast.Property | None], type_id: int, entity: str, place: str) -> PropType:
        kinds: list[PropType | None] = [_get(read(side), "type") for side in self._sides()]
        base, ours, theirs = kinds
        if base is not None and ours is not None and theirs is not None and base.enum and ours.enum and theirs.enum:
            added = set(ours.enum) | set(theirs.enum)
            return replace(ours, enum=tuple(sorted(added)), nullable=ours.nullable or theirs.nullable)
        what = f"property '{place}' has type"
        nullable = self._pick(lambda side: _get(_get(read(side), "type"), "nullable"), type_id, entity, what)
        wanted = self._pick(lambda side: _required(_get(read(side), "type")), type_id, entity, what)
        assert wanted is not None, "one side at least has the property"
        return wanted.with_nullable(bool(nullable))

    # --- three ways ------------------------------------------------------------------------------

    def _annotations(
        self, read: Callable[[Declared], Mapping[str, T]], type_id: int, entity: str, what: str
    ) -> dict[str, T]:
        names = self._all(lambda side: read(side) if type_id in side.shapes else {})
        found = {}
        for name in names:
            picked = self._pick(lambda side, name=name: read(side).get(name), type_id, entity, f"{what} has @{name}")  # type: ignore[misc]
            if picked is not None:
                found[name] = picked
        return found

    def _pick(self, read: Callable[[Declared], T | None], type_id: int, entity: str, what: str) -> T:
        """What the side says that changed it; a conflict when both did, differently."""
        base, ours, theirs = (read(side) if type_id in side.shapes else None for side in self._sides())
        sides = [side for side in (self.ours, self.theirs) if type_id in side.shapes]
        if len(sides) == 1:
            return ours if sides[0] is self.ours else theirs  # type: ignore[return-value]
        if theirs in (ours, base):
            return ours  # type: ignore[return-value]
        if ours == base:
            return theirs  # type: ignore[return-value]
        if theirs is None or ours is None:
            return ours if theirs is None else theirs  # type: ignore[return-value]
        told = f"{_text(ours)} on '{self.ours.branch}' and {_text(theirs)} on '{self.theirs.branch}'"
        self._clash(entity, f"{what} {told}; make both the same with schema apply on one of the branches, then merge")
        return ours

    def _clash(self, entity: str, message: str) -> None:
        found = SchemaConflict(entity, message)
        if found not in self.conflicts:
            self.conflicts.append(found)

    def _sides(self) -> tuple[Declared, Declared, Declared]:
        return self.base, self.ours, self.theirs

    def _either(self, type_id: int) -> Declared:
        return self.ours if type_id in self.ours.shapes else self.theirs

    def _both(self, join: str = " and ") -> str:
        return f"'{self.ours.branch}'{join}'{self.theirs.branch}'"

    def _all(self, read: Callable[[Declared], Mapping[Any, Any]]) -> list[Any]:
        return list(dict.fromkeys(key for side in (self.ours, self.theirs) for key in read(side)))


def _get(value: Any, name: str) -> Any:
    return None if value is None else getattr(value, name)


def _required(kind: PropType | None) -> PropType | None:
    return None if kind is None else kind.with_nullable(False)


def _text(value: object) -> str:
    match value:
        case str():
            return f"'{value}'"
        case bool():
            return "nullable" if value else "required"
        case tuple() if value and all(isinstance(each, ast.Annotation) for each in value):
            return ", ".join(repr(each.value) for each in value)
        case tuple() if value and all(isinstance(each, tuple) for each in value):
            return ", ".join(repr(each[1]) for each in value)
        case _:
            return str(value)
