"""Declarations → checked catalog: namespaces, endpoints, interfaces, constraints and annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.compiler.catalog.annotations import Hint, read_header, read_interface_property, read_property
from omnigraph.compiler.catalog.constraints import ConstraintReader
from omnigraph.compiler.catalog.expand import Effective, Expander, own_properties
from omnigraph.compiler.catalog.model import Card
from omnigraph.compiler.catalog.shape import (
    Constraint,
    EdgeShape,
    InterfaceShape,
    Kind,
    NodeShape,
    PropertyShape,
    SchemaShape,
)
from omnigraph.compiler.diagnostics import SchemaError, did_you_mean, fail
from omnigraph.compiler.schema import ast
from omnigraph.compiler.source import Source


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked schema without identity, plus what migrations ask about its text."""

    shape: SchemaShape
    source: Source
    type_hints: Mapping[tuple[Kind, str], Hint] = field(default_factory=dict)
    property_hints: Mapping[tuple[Kind, str, str], Hint] = field(default_factory=dict)
    # (node, property) → the interfaces that inject it; declared properties are absent.
    suppliers: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)


def build_draft(schema: ast.Schema, source: Source) -> Draft:
    """The canonical shape of a parsed schema and the hints that stand in its text."""
    return _Builder(schema, source).build()


class _Builder:
    def __init__(self, schema: ast.Schema, source: Source) -> None:
        self._source = source
        self._interfaces: dict[str, ast.Interface] = {}
        self._nodes: dict[str, ast.Node] = {}
        self._edges: dict[str, ast.Edge] = {}
        self._type_hints: dict[tuple[Kind, str], Hint] = {}
        self._property_hints: dict[tuple[Kind, str, str], Hint] = {}
        self._suppliers: dict[tuple[str, str], tuple[str, ...]] = {}
        for declaration in schema.declarations:
            self._declare(declaration)

    def build(self) -> Draft:
        """Check every declaration in the order of the text, then sort."""
        self._check_edges()
        expander = Expander(self._interfaces, self._nodes, self._source)
        interfaces = [self._interface(each) for each in self._interfaces.values()]
        nodes = [self._node(each, expander) for each in self._nodes.values()]
        edges = [self._edge(each) for each in self._edges.values()]
        shape = SchemaShape(
            tuple(sorted(interfaces, key=lambda each: each.name)),
            tuple(sorted(nodes, key=lambda each: each.name)),
            tuple(sorted(edges, key=lambda each: each.name)),
        )
        return Draft(shape, self._source, self._type_hints, self._property_hints, self._suppliers)

    def _declare(self, declaration: ast.Interface | ast.Node | ast.Edge) -> None:
        match declaration:
            case ast.Interface():
                known = declaration.name in self._interfaces
                self._interfaces[declaration.name] = declaration
            case ast.Node():
                known = declaration.name in self._nodes
                self._nodes[declaration.name] = declaration
            case ast.Edge():
                known = declaration.name in self._edges
                self._edges[declaration.name] = declaration
        if known:
            kind = type(declaration).__name__.lower()
            fail(SchemaError, self._source, "S004", f"{kind} '{declaration.name}' is declared twice", declaration.span)

    def _check_edges(self) -> None:
        folded: dict[str, str] = {}
        for edge in self._edges.values():
            other = folded.setdefault(edge.name.lower(), edge.name)
            if other != edge.name:
                message = f"edges '{other}' and '{edge.name}' differ only in case; queries could not tell them apart"
                fail(SchemaError, self._source, "S005", message, edge.span)
            for endpoint in (edge.from_type, edge.to_type):
                if endpoint.name not in self._nodes:
                    self._fail_endpoint(edge, endpoint)

    def _fail_endpoint(self, edge: ast.Edge, endpoint: ast.TypeRef) -> None:
        if endpoint.name in self._interfaces:
            help_text: str | None = "an interface cannot be an endpoint; name a node type"
        else:
            help_text = did_you_mean(endpoint.name, self._nodes)
        message = f"edge '{edge.name}' refers to unknown node type '{endpoint.name}'"
        fail(SchemaError, self._source, "S006", message, endpoint.span, help=help_text)

    # --- one declaration at a time ---

    def _interface(self, interface: ast.Interface) -> InterfaceShape:
        properties: list[PropertyShape] = []
        for effective in own_properties("interface", interface.name, interface.properties, self._source).values():
            prop = effective.property
            reading = read_interface_property(interface.name, prop, self._source)
            if reading.hint is not None:
                self._property_hints["interface", interface.name, prop.name] = reading.hint
            properties.append(PropertyShape(prop.name, prop.type, reading.kept))
        return InterfaceShape(interface.name, _by_name(properties))

    def _node(self, node: ast.Node, expander: Expander) -> NodeShape:
        effective = expander.expand(node)
        for name, each in effective.items():
            if each.suppliers:
                self._suppliers[node.name, name] = each.suppliers
        header = read_header("node", node.name, node.annotations, self._source)
        if header.hint is not None:
            self._type_hints["node", node.name] = header.hint
        properties, constraints = self._body("node", node.name, effective, node.constraints)
        implements = tuple(sorted({each.name for each in node.implements}))
        return NodeShape(node.name, header.kept, implements, properties, constraints)

    def _edge(self, edge: ast.Edge) -> EdgeShape:
        effective = own_properties("edge", edge.name, edge.properties, self._source)
        header = read_header("edge", edge.name, edge.annotations, self._source)
        if header.hint is not None:
            self._type_hints["edge", edge.name] = header.hint
        properties, constraints = self._body("edge", edge.name, effective, edge.constraints)
        card = Card() if edge.cardinality is None else Card(edge.cardinality.min, edge.cardinality.max)
        ends = (edge.from_type.name, edge.to_type.name)
        return EdgeShape(edge.name, *ends, card, header.kept, properties, constraints)

    def _body(
        self, kind: Kind, owner: str, effective: Mapping[str, Effective], body: tuple[ast.Constraint, ...]
    ) -> tuple[tuple[PropertyShape, ...], tuple[Constraint, ...]]:
        constraints = ConstraintReader(kind, owner, effective, self._source)
        properties: list[PropertyShape] = []
        for name, each in effective.items():
            reading = read_property(kind, owner, each, effective, self._source)
            if reading.hint is not None:
                self._property_hints[kind, owner, name] = reading.hint
            for mark, span in reading.marks:
                constraints.mark(mark, name, span)
            properties.append(PropertyShape(name, each.property.type, reading.kept))
        for constraint in body:
            constraints.body(constraint)
        return _by_name(properties), constraints.finish()


def _by_name(properties: list[PropertyShape]) -> tuple[PropertyShape, ...]:
    return tuple(sorted(properties, key=lambda each: each.name))
