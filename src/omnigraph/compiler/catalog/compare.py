"""What changed between the accepted and the desired form of one type, step by step."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.compiler.catalog.defaults import NAME as DEFAULT
from omnigraph.compiler.catalog.defaults import default_of
from omnigraph.compiler.catalog.model import Annotation, Check, Range
from omnigraph.compiler.catalog.shape import (
    MARKS,
    Constraint,
    EdgeShape,
    Index,
    InterfaceShape,
    Key,
    Kind,
    NodeShape,
    PropertyShape,
    TypeShape,
    Unique,
    annotation_text,
    canonical_constraints,
    columns_of,
    constraint_text,
)
from omnigraph.compiler.catalog.steps import (
    AddConstraint,
    AddProperty,
    DropProperty,
    ExtendEnum,
    Mode,
    RelaxProperty,
    RenameProperty,
    RenameType,
    Step,
    UnsupportedChange,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
    WidenProperty,
)
from omnigraph.compiler.types import INTEGER, PropType, widens

_METADATA = ("description", "instruction")
# A default concerns future writes only, and a language what is derived from texts.
_PROPERTY_METADATA = (*_METADATA, DEFAULT, "language")


class Comparison:
    """Compares types that share an identity; renamed types and properties are equal by their ids."""

    def __init__(self, accepted: Accepted, target: Accepted, mode: Mode) -> None:
        self._accepted = accepted
        self._target = target
        self._mode = mode
        self._old_ids = {(kind, each.name): each.type_id for kind, each in accepted.shape.types()}
        self._new_ids = {(kind, each.name): each.type_id for kind, each in target.shape.types()}

    def compare(self, kind: Kind, old: TypeShape, new: TypeShape) -> Iterator[Step]:
        """Every step for one type, in the order in which plans list them."""
        if old.name != new.name:
            yield RenameType(kind, old.name, new.name)
        if isinstance(old, NodeShape) and isinstance(new, NodeShape):
            yield from self._implements(old, new)
        if isinstance(old, EdgeShape) and isinstance(new, EdgeShape):
            yield from self._topology(old, new)
        if not isinstance(old, InterfaceShape) and not isinstance(new, InterfaceShape):
            yield from _type_annotations(kind, old, new)
        yield from self._properties(kind, old, new)
        yield from _constraints(kind, old, new)

    def _implements(self, old: NodeShape, new: NodeShape) -> Iterator[Step]:
        before = {self._old_ids["interface", name] for name in old.implements}
        after = {self._new_ids["interface", name] for name in new.implements}
        if before != after:
            listed = ", ".join(new.implements) or "no interface"
            reason = f"the interfaces of node '{new.name}' change to {listed}"
            yield UnsupportedChange(f"node:{new.name}", reason, "OG-BC-102")

    def _topology(self, old: EdgeShape, new: EdgeShape) -> Iterator[Step]:
        before = (self._old_ids["node", old.from_type], self._old_ids["node", old.to_type])
        after = (self._new_ids["node", new.from_type], self._new_ids["node", new.to_type])
        entity = f"edge:{new.name}"
        if before != after:
            change = f"{old.from_type} -> {old.to_type} to {new.from_type} -> {new.to_type}"
            yield UnsupportedChange(entity, f"the endpoints of edge '{new.name}' change from {change}", "OG-ED-101")
        if old.card != new.card:
            change = f"{_card_text(old)} to {_card_text(new)}"
            yield UnsupportedChange(entity, f"the cardinality of edge '{new.name}' changes from {change}", "OG-ED-102")

    def _properties(self, kind: Kind, old: TypeShape, new: TypeShape) -> Iterator[Step]:
        gone = {each.property_id: each for each in old.properties}
        names = ({each.name: each.property_id for each in old.properties}, _ids(new))
        for each in new.properties:
            before = gone.pop(each.property_id, None)
            if before is None:
                yield _added(kind, new.name, each)
                continue
            if before.name != each.name:
                yield RenameProperty(kind, new.name, before.name, each.name)
            yield from _retyped(kind, new, before, each)
            if kind == "node":
                yield from self._suppliers(old.name, before, new.name, each)
            yield from _property_annotations(kind, new.name, before, each, names)
        for each in gone.values():
            yield DropProperty(kind, new.name, each.name, self._mode)

    def _suppliers(self, old_owner: str, old: PropertyShape, owner: str, new: PropertyShape) -> Iterator[Step]:
        before = self._accepted.draft.suppliers.get((old_owner, old.name), ())
        after = self._target.draft.suppliers.get((owner, new.name), ())
        if before != after:
            change = f"from {_supplier_text(before)} to {_supplier_text(after)}"
            reason = f"the declaration that supplies '{owner}.{new.name}' changes {change}"
            yield UnsupportedChange(f"node:{owner}.{new.name}", reason, "OG-BC-103")


def _card_text(edge: EdgeShape) -> str:
    return f"{edge.card.min}..{'' if edge.card.max is None else edge.card.max}"


def _supplier_text(suppliers: tuple[str, ...]) -> str:
    return "interface " + ", ".join(suppliers) if suppliers else "the node itself"


# --- annotations ---


def _type_annotations(kind: Kind, old: NodeShape | EdgeShape, new: NodeShape | EdgeShape) -> Iterator[Step]:
    if _named(old.annotations, _METADATA) != _named(new.annotations, _METADATA):
        yield UpdateTypeMetadata(kind, new.name, new.annotations)
    before, after = _others(old.annotations, _METADATA), _others(new.annotations, _METADATA)
    if before != after:
        reason = f"annotations of {kind} '{new.name}' change: {_change_text(before, after)}"
        yield UnsupportedChange(f"{kind}:{new.name}", reason, "OG-BC-104")


def _property_annotations(
    kind: Kind, owner: str, old: PropertyShape, new: PropertyShape, ids: tuple[Mapping[str, int], Mapping[str, int]]
) -> Iterator[Step]:
    entity = f"{kind}:{owner}.{new.name}"
    if _named(old.annotations, _PROPERTY_METADATA) != _named(new.annotations, _PROPERTY_METADATA):
        yield UpdatePropertyMetadata(kind, owner, new.name, _others(new.annotations, MARKS))
    if _embedding(old, ids[0]) != _embedding(new, ids[1]):
        change = _change_text(_named(old.annotations, ("embed",)), _named(new.annotations, ("embed",)))
        yield UnsupportedChange(entity, f"the embedding of '{owner}.{new.name}' changes: {change}", "OG-VE-101")
    handled = (*_PROPERTY_METADATA, *MARKS, "embed")
    before, after = _others(old.annotations, handled), _others(new.annotations, handled)
    if before != after:
        reason = f"annotations of '{owner}.{new.name}' change: {_change_text(before, after)}"
        yield UnsupportedChange(entity, reason, "OG-BC-104")


def _embedding(prop: PropertyShape, ids: Mapping[str, int]) -> list[Hashable]:
    # By the id of the source property, so that renaming the source is not a change.
    found = _named(prop.annotations, ("embed",))
    return [(ids.get(each.value or "", each.value), each.kwargs) for each in found]


def _named(annotations: tuple[Annotation, ...], names: tuple[str, ...]) -> tuple[Annotation, ...]:
    return tuple(each for each in annotations if each.name in names)


def _others(annotations: tuple[Annotation, ...], names: tuple[str, ...]) -> tuple[Annotation, ...]:
    return tuple(each for each in annotations if each.name not in names)


def _change_text(before: tuple[Annotation, ...], after: tuple[Annotation, ...]) -> str:
    lost = [f"-{annotation_text(each)}" for each in before if each not in after]
    return ", ".join(lost + [f"+{annotation_text(each)}" for each in after if each not in before]) or "repetition"


# --- properties ---


def _added(kind: Kind, owner: str, prop: PropertyShape) -> Step:
    default = default_of(prop.type, prop.annotations)
    if prop.type.nullable or default is not None:
        return AddProperty(kind, owner, prop.name, prop.type, default)
    advice = "make it nullable or give it a @default"
    reason = f"adding required property '{owner}.{prop.name}' would leave existing rows without a value; {advice}"
    return UnsupportedChange(f"{kind}:{owner}.{prop.name}", reason, "OG-MF-103")


def _retyped(kind: Kind, shape: TypeShape, old: PropertyShape, new: PropertyShape) -> Iterator[Step]:
    owner, before, after = shape.name, old.type, new.type
    if before == after:
        return
    widened = before.enum is not None and after.enum is not None and set(before.enum) < set(after.enum)
    if widened and before.nullable == after.nullable:
        values = tuple(sorted(set(after.enum or ()) - set(before.enum or ())))
        yield ExtendEnum(kind, owner, new.name, values)
    elif before.with_nullable(True) == after:
        yield RelaxProperty(kind, owner, new.name, after)
    elif widens(before, after) and _keeps_ids(shape, new.name, before, after):
        yield WidenProperty(kind, owner, new.name, before, after)
    else:
        reason = f"the type of '{owner}.{new.name}' changes from {before} to {after}"
        yield UnsupportedChange(f"{kind}:{owner}.{new.name}", reason, "OG-MF-106")


def _keeps_ids(shape: TypeShape, name: str, before: PropType, after: PropType) -> bool:
    """Whether the ids of existing rows are still the text of their keys: only integers read the same when wider."""
    keyed = any(isinstance(each, Key) and name in each.columns for each in _constraints_of(shape))
    return not keyed or {before.scalar, after.scalar} <= INTEGER


# --- constraints ---


def _constraints(kind: Kind, old: TypeShape, new: TypeShape) -> Iterator[Step]:
    before = {_meaning(each, _ids(old)): each for each in _constraints_of(old)}
    after = {_meaning(each, _ids(new)): each for each in _constraints_of(new)}
    entity = f"{kind}:{new.name}"
    for meaning, each in before.items():
        if meaning not in after:
            reason = f"constraint {constraint_text(each)} of {kind} '{new.name}' would be removed"
            yield UnsupportedChange(entity, reason, "OG-CD-101")
    for meaning, each in after.items():
        if meaning in before:
            continue
        if isinstance(each, Index):
            yield AddConstraint(kind, new.name, each)
        else:
            reason = f"constraint {constraint_text(each)} of {kind} '{new.name}' would be added to existing rows"
            yield UnsupportedChange(entity, reason, "OG-MF-107")


def _constraints_of(shape: TypeShape) -> tuple[Constraint, ...]:
    if not isinstance(shape, InterfaceShape):
        return shape.constraints
    kinds: dict[str, type[Key | Unique | Index]] = {"key": Key, "unique": Unique, "index": Index}
    found: list[Constraint] = []
    for prop in shape.properties:
        found.extend(kinds[each.name]((prop.name,)) for each in prop.annotations if each.name in MARKS)
    return canonical_constraints(found)


def _meaning(constraint: Constraint, ids: Mapping[str, int]) -> Hashable:
    # Columns by id: a renamed property keeps its constraints. `src` and `dst` have no id and stay names.
    columns = frozenset(ids.get(name, name) for name in columns_of(constraint))
    match constraint:
        case Range(_, low, high):
            return ("range", columns, low, high)
        case Check(_, pattern):
            return ("check", columns, pattern)
        case Key() | Unique() | Index():
            return (type(constraint).__name__, columns)


def _ids(shape: TypeShape) -> dict[str, int]:
    return {each.name: each.property_id for each in shape.properties}
