"""Records of a seed file: which are selected, what text stands for them, and what their vectors become."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omnigraph.cli.input.params import parse_json
from omnigraph.cli.terminal.output import compact
from omnigraph.errors import BadRequest


@dataclass(frozen=True, slots=True)
class TypeSpec:
    """Which fields of a type become its vector."""

    target: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EmbedSpec:
    """What to embed and how long the vectors are."""

    dimension: int
    types: Mapping[str, TypeSpec]


@dataclass(frozen=True, slots=True)
class Selector:
    """`[TYPE:]FIELD=VALUE`."""

    type_name: str | None
    field: str
    value: str

    def matches(self, type_name: str, data: Mapping[str, Any]) -> bool:
        """Whether an entity has the value."""
        same_type = self.type_name is None or self.type_name == type_name
        return same_type and self.field in data and rendered(data[self.field]) == self.value


@dataclass(frozen=True, slots=True)
class Selection:
    """Which entities a run is about."""

    types: tuple[str, ...] = ()
    selectors: tuple[Selector, ...] = ()

    def covers(self, type_name: str, data: Mapping[str, Any]) -> bool:
        """Types restrict, selectors are alternatives."""
        if self.types and type_name not in self.types:
            return False
        return not self.selectors or any(each.matches(type_name, data) for each in self.selectors)


def parse_spec(raw: Any, where: str) -> EmbedSpec:
    """A spec from JSON or YAML values; keys that it does not know are ignored."""
    dimension = raw.get("dimension") if isinstance(raw, dict) else None
    types = raw.get("types") if isinstance(raw, dict) else None
    if not isinstance(dimension, int) or isinstance(dimension, bool) or dimension < 1:
        raise BadRequest(f"{where}: 'dimension' must be a positive whole number")
    if not isinstance(types, dict):
        raise BadRequest(f"{where}: 'types' must be an object")
    return EmbedSpec(dimension, {str(name): _type_spec(each, f"{where}: types.{name}") for name, each in types.items()})


def parse_selector(text: str) -> Selector:
    """`Decision:slug=dec-beta`, or without the type."""
    left, separator, value = text.partition("=")
    if not separator:
        raise BadRequest(f"--select takes [TYPE:]FIELD=VALUE, not '{text}'")
    type_name, colon, field = left.rpartition(":")
    if not field.strip():
        raise BadRequest(f"--select '{text}' names no field")
    return Selector(type_name.strip() if colon else None, field.strip(), value.strip())


def read_records(text: str) -> Iterator[Any]:
    """One JSON object per line that is not blank; entities must have their data."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = parse_json(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise BadRequest(f"line {number} is not valid JSON: one object per line is expected")
        if isinstance(record.get("type"), str) and not isinstance(record.get("data"), dict):
            raise BadRequest(f"line {number}: missing object field 'data'")
        yield record


def is_entity(record: Mapping[str, Any]) -> bool:
    """Nodes are entities; edges and everything else pass through."""
    return isinstance(record.get("type"), str)


def is_missing(data: Mapping[str, Any], target: str) -> bool:
    """Whether a vector has still to be made; one of the wrong length counts as there."""
    return data.get(target) in (None, [])


def text_of(type_name: str, data: Mapping[str, Any], fields: Sequence[str]) -> str:
    """The text that is embedded for an entity."""
    parts = [(name, rendered(data[name])) for name in fields if name in data]
    return "\n".join([f"type: {type_name}", *(f"{name}: {value}" for name, value in parts if value)])


def rendered(value: Any) -> str:
    """A property as text.

    >>> rendered(" a "), rendered(None), rendered(["x", "", 2]), rendered(True)
    ('a', '', 'x, 2', 'true')
    """
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(text for each in value if (text := rendered(each)))
    return compact(value) if isinstance(value, dict) else json.dumps(value)


def _type_spec(raw: Any, where: str) -> TypeSpec:
    target = raw.get("target") if isinstance(raw, dict) else None
    fields = raw.get("fields") if isinstance(raw, dict) else None
    if not isinstance(target, str) or not target:
        raise BadRequest(f"{where}.target must name the vector property")
    if not isinstance(fields, list) or not all(isinstance(name, str) for name in fields):
        raise BadRequest(f"{where}.fields must be a list of property names")
    return TypeSpec(target, tuple(fields))
