"""The steps of a migration plan, as values, as JSON and as one line for people."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from omnigraph.compiler.catalog.codec import encode_annotation
from omnigraph.compiler.catalog.codes import CODES
from omnigraph.compiler.catalog.defaults import Default
from omnigraph.compiler.catalog.model import Annotation, Check, Range
from omnigraph.compiler.catalog.shape import Constraint, Index, Key, Kind, Unique, annotation_text, constraint_text
from omnigraph.compiler.types import PropType

Mode = Literal["soft", "hard"]


@dataclass(frozen=True, slots=True)
class AddType:
    """A new interface, node or edge."""

    type_kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class RenameType:
    """The same type under another name."""

    type_kind: Kind
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class AddProperty:
    """A new property: nullable, or with a default that existing rows get."""

    type_kind: Kind
    type_name: str
    property_name: str
    property_type: PropType
    default: Default | None = None


@dataclass(frozen=True, slots=True)
class RenameProperty:
    """The same property under another name."""

    type_kind: Kind
    type_name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class RelaxProperty:
    """A required property that may be null from now on; `property_type` is its new type."""

    type_kind: Kind
    type_name: str
    property_name: str
    property_type: PropType


@dataclass(frozen=True, slots=True)
class WidenProperty:
    """A property of a wider type that holds every value it has; `before` and `property_type` are its types."""

    type_kind: Kind
    type_name: str
    property_name: str
    before: PropType
    property_type: PropType


@dataclass(frozen=True, slots=True)
class AddConstraint:
    """A new @index."""

    type_kind: Kind
    type_name: str
    constraint: Constraint


@dataclass(frozen=True, slots=True)
class ExtendEnum:
    """More values for an enum."""

    type_kind: Kind
    type_name: str
    property_name: str
    added_values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UpdateTypeMetadata:
    """Another @description or @instruction; `annotations` is what the type carries afterwards."""

    type_kind: Kind
    name: str
    annotations: tuple[Annotation, ...]


@dataclass(frozen=True, slots=True)
class UpdatePropertyMetadata:
    """Another @description; `annotations` is what the property carries afterwards."""

    type_kind: Kind
    type_name: str
    property_name: str
    annotations: tuple[Annotation, ...]


@dataclass(frozen=True, slots=True)
class DropType:
    """A node or edge type that is gone."""

    type_kind: Kind
    name: str
    mode: Mode


@dataclass(frozen=True, slots=True)
class DropProperty:
    """A property that is gone."""

    type_kind: Kind
    type_name: str
    property_name: str
    mode: Mode


@dataclass(frozen=True, slots=True)
class UnsupportedChange:
    """A difference that no migration performs."""

    entity: str
    reason: str
    code: str | None = None

    @property
    def message(self) -> str:
        """`[CODE] reason`."""
        return f"[{self.code}] {self.reason}" if self.code is not None else self.reason


Step = (
    AddType
    | RenameType
    | AddProperty
    | RenameProperty
    | RelaxProperty
    | WidenProperty
    | AddConstraint
    | ExtendEnum
    | UpdateTypeMetadata
    | UpdatePropertyMetadata
    | DropType
    | DropProperty
    | UnsupportedChange
)


def step_json(step: Step) -> dict[str, Any]:
    """A step as JSON values, tagged by `kind`."""
    match step:
        case AddType(kind, name):
            return {"kind": "add_type", "type_kind": kind, "name": name}
        case RenameType(kind, old, new):
            return {"kind": "rename_type", "type_kind": kind, "from": old, "to": new}
        case AddProperty(_, _, name, added, default):
            filled = {} if default is None else {"default": default}
            return {**_owner("add_property", step), "property_name": name, "property_type": type_json(added), **filled}
        case RelaxProperty(_, _, name, relaxed):
            return {**_owner("relax_property", step), "property_name": name, "property_type": type_json(relaxed)}
        case WidenProperty(_, _, name, before, after):
            types = {"from": type_json(before), "to": type_json(after)}
            return {**_owner("widen_property", step), "property_name": name, **types}
        case RenameProperty(_, _, old, new):
            return {**_owner("rename_property", step), "from": old, "to": new}
        case AddConstraint(_, _, constraint):
            return {**_owner("add_constraint", step), "constraint": constraint_json(constraint)}
        case ExtendEnum(_, _, name, values):
            return {**_owner("extend_enum", step), "property_name": name, "added_values": list(values)}
        case UpdateTypeMetadata(kind, name, annotations):
            listed = [encode_annotation(each) for each in annotations]
            return {"kind": "update_type_metadata", "type_kind": kind, "name": name, "annotations": listed}
        case UpdatePropertyMetadata(_, _, name, annotations):
            listed = [encode_annotation(each) for each in annotations]
            return {**_owner("update_property_metadata", step), "property_name": name, "annotations": listed}
        case DropType(kind, name, mode):
            return {"kind": "drop_type", "type_kind": kind, "name": name, "mode": mode}
        case DropProperty(_, _, name, mode):
            return {**_owner("drop_property", step), "property_name": name, "mode": mode}
        case UnsupportedChange(entity, reason, code):
            coded = {} if code is None else {"code": code}
            return {"kind": "unsupported_change", "entity": entity, "reason": reason, **coded}


def step_text(step: Step) -> str:
    """A step as one line."""
    match step:
        case AddType(kind, name):
            return f"add {kind} type '{name}'"
        case RenameType(kind, old, new):
            return f"rename {kind} type '{old}' -> '{new}'"
        case AddProperty(kind, owner, name, added, default):
            filled = "" if default is None else f", existing rows get {json.dumps(default)}"
            return f"add property '{owner}.{name}' ({type_text(added)}) on {kind} '{owner}'{filled}"
        case RelaxProperty(kind, owner, name, relaxed):
            return f"relax property '{owner}.{name}' to {type_text(relaxed)} on {kind} '{owner}'"
        case WidenProperty(kind, owner, name, before, after):
            return f"widen property '{owner}.{name}' from {type_text(before)} to {type_text(after)} on {kind} '{owner}'"
        case RenameProperty(kind, owner, old, new):
            return f"rename property '{owner}.{old}' -> '{owner}.{new}' on {kind} '{owner}'"
        case AddConstraint(kind, owner, constraint):
            return f"add constraint {constraint_text(constraint)} on {kind} '{owner}'"
        case ExtendEnum(kind, owner, name, values):
            return f"extend enum '{owner}.{name}' ({', '.join('+' + each for each in values)}) on {kind} '{owner}'"
        case UpdateTypeMetadata(kind, name, annotations):
            return f"update metadata on {kind} '{name}' ({_listed(annotations)})"
        case UpdatePropertyMetadata(kind, owner, name, annotations):
            return f"update metadata on property '{owner}.{name}' of {kind} '{owner}' ({_listed(annotations)})"
        case DropType(kind, name, mode):
            return f"drop {kind} type '{name}' ({mode} mode)"
        case DropProperty(kind, owner, name, mode):
            return f"drop property '{owner}.{name}' of {kind} '{owner}' ({mode} mode)"
        case UnsupportedChange(entity, reason, code):
            coded = "" if code is None else f" [{code}, {CODES[code].tier}]"
            return f"unsupported change on {entity}{coded}: {reason}"


def fact_json(step: Step) -> dict[str, Any]:
    """A step as JSON values where it tells what is different, not what is to be done."""
    match step:
        case UnsupportedChange(entity, reason):
            return {"kind": "other_change", "entity": entity, "reason": reason}
        case DropType() | DropProperty():
            return {name: value for name, value in step_json(step).items() if name != "mode"}
        case _:
            return step_json(step)


def fact_text(step: Step) -> str:
    """The same as one line."""
    match step:
        case UnsupportedChange(_, reason):
            return reason
        case DropType() | DropProperty():
            return step_text(step).removesuffix(f" ({step.mode} mode)")
        case _:
            return step_text(step)


def type_json(kind: PropType) -> dict[str, Any]:
    """A property type as plans and answers show it."""
    return {
        "scalar": {"Vector": kind.dim} if kind.dim is not None else kind.scalar,
        "nullable": kind.nullable,
        "list": kind.list,
        "enum_values": list(kind.enum) if kind.enum is not None else None,
    }


def type_text(kind: PropType) -> str:
    """`String`, `[I32]`, `Enum(a|b)?`, `Vector(4)`."""
    if kind.enum is not None:
        return f"Enum({'|'.join(kind.enum)})" + ("?" if kind.nullable else "")
    return str(kind)


def constraint_json(constraint: Constraint) -> dict[str, Any]:
    """A constraint as plans and answers show it."""
    match constraint:
        case Range(name, low, high):
            return {"Range": {"property": name, "min": low, "max": high}}
        case Check(name, pattern):
            return {"Check": {"property": name, "pattern": pattern}}
        case Key() | Unique() | Index():
            return {type(constraint).__name__: list(constraint.columns)}


def _owner(
    kind: str,
    step: AddProperty
    | RenameProperty
    | RelaxProperty
    | WidenProperty
    | AddConstraint
    | ExtendEnum
    | UpdatePropertyMetadata
    | DropProperty,
) -> dict[str, Any]:
    return {"kind": kind, "type_kind": step.type_kind, "type_name": step.type_name}


def _listed(annotations: tuple[Annotation, ...]) -> str:
    return ", ".join(annotation_text(each) for each in annotations)
