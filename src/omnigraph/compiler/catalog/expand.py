"""The effective properties of each declaration: reserved and repeated names, and interface injection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from omnigraph.compiler.diagnostics import SchemaError, did_you_mean, fail
from omnigraph.compiler.schema import ast
from omnigraph.compiler.source import Source

# Columns that Lance adds to what it reads, and the mark of a deleted row, which records may not carry either.
PHYSICAL = frozenset(
    {
        "_rowid",
        "_rowaddr",
        "_rowoffset",
        "_row_created_at_version",
        "_row_last_updated_at_version",
        "_distance",
        "_tombstone",
    }
)
RESERVED: Mapping[str, frozenset[str]] = {
    "interface": PHYSICAL,
    "node": PHYSICAL | {"id"},
    "edge": PHYSICAL | {"id", "src", "dst", "from", "to"},
}
# Injection multiplies: a few megabytes of text could ask for billions of properties.
MAX_INJECTED = 1_000_000


@dataclass(frozen=True, slots=True)
class Effective:
    """A property of a type, and the interfaces that inject it (none when the type declares it itself)."""

    property: ast.Property
    suppliers: tuple[str, ...] = ()


def own_properties(kind: str, owner: str, properties: Iterable[ast.Property], source: Source) -> dict[str, Effective]:
    """The declared properties by name; S002 for a reserved name, S003 for a repeated one."""
    found: dict[str, Effective] = {}
    for each in properties:
        check_reserved(kind, owner, each, source)
        if each.name in found:
            fail(SchemaError, source, "S003", f"{kind} '{owner}' declares property '{each.name}' twice", each.span)
        found[each.name] = Effective(each)
    return found


def check_reserved(kind: str, owner: str, each: ast.Property, source: Source) -> None:
    """S002 when a physical column has this name."""
    if each.name in RESERVED[kind]:
        message = f"'{each.name}' is a reserved name and cannot be a property of {kind} '{owner}'"
        fail(SchemaError, source, "S002", message, each.span)


class Expander:
    """Injects interface properties into nodes."""

    def __init__(self, interfaces: Mapping[str, ast.Interface], nodes: Mapping[str, ast.Node], source: Source) -> None:
        self._interfaces = interfaces
        self._nodes = nodes
        self._source = source
        self._check_size()

    def expand(self, node: ast.Node) -> dict[str, Effective]:
        """The node's own properties and those its interfaces add."""
        own = own_properties("node", node.name, node.properties, self._source)
        added: dict[str, list[tuple[str, ast.Property]]] = {}
        for interface in self._parents(node):
            for theirs in interface.properties:
                mine = own.get(theirs.name)
                if mine is None:
                    added.setdefault(theirs.name, []).append((interface.name, theirs))
                elif mine.property.type != theirs.type:
                    self._fail_type(node, mine.property, interface, theirs)
        for contributions in added.values():
            own[contributions[0][1].name] = self._agree(node, contributions)
        return own

    def _parents(self, node: ast.Node) -> list[ast.Interface]:
        parents: dict[str, ast.Interface] = {}
        for reference in node.implements:
            interface = self._interfaces.get(reference.name)
            if interface is None:
                is_node = reference.name in self._nodes
                near = "a node cannot be implemented" if is_node else did_you_mean(reference.name, self._interfaces)
                message = f"node '{node.name}' implements unknown interface '{reference.name}'"
                fail(SchemaError, self._source, "S007", message, reference.span, help=near)
            parents[reference.name] = interface
        return list(parents.values())

    def _check_size(self) -> None:
        total = 0
        for node in self._nodes.values():
            names = {reference.name for reference in node.implements}
            total += sum(len(self._interfaces[name].properties) for name in names if name in self._interfaces)
            if total > MAX_INJECTED:
                message = f"interfaces inject more than {MAX_INJECTED} properties into the nodes of this schema"
                fail(SchemaError, self._source, "S053", message, node.span)

    def _fail_type(
        self, node: ast.Node, mine: ast.Property, interface: ast.Interface, theirs: ast.Property
    ) -> NoReturn:
        message = (
            f"'{node.name}.{mine.name}' is {mine.type}, but interface '{interface.name}' declares it as {theirs.type}"
        )
        fail(SchemaError, self._source, "S008", message, mine.type_span)

    def _agree(self, node: ast.Node, contributions: list[tuple[str, ast.Property]]) -> Effective:
        first_name, first = contributions[0]
        check_reserved("node", node.name, first, self._source)
        wanted = _meaning(first)
        for name, other in contributions[1:]:
            if other.type != first.type or _meaning(other) != wanted:
                message = (
                    f"node '{node.name}' takes '{first.name}' from '{first_name}' and '{name}', which disagree on it"
                )
                declare = f"declare '{first.name}' in '{node.name}' itself, or make the interfaces equal"
                fail(SchemaError, self._source, "S009", message, other.span, help=declare)
        hinted = next((each for _, each in contributions if _has_hint(each)), first)
        return Effective(hinted, tuple(sorted(name for name, _ in contributions)))


def _meaning(each: ast.Property) -> list[tuple[str, bool, str, list[tuple[str, str]]]]:
    # The spelling of a value and the migration hint are not part of what a property means.
    return sorted(
        (a.name, a.value is not None, a.value or "", sorted((name, value) for name, value, _ in a.kwargs))
        for a in each.annotations
        if a.name != "rename_from"
    )


def _has_hint(each: ast.Property) -> bool:
    return any(annotation.name == "rename_from" for annotation in each.annotations)
