"""Declarations → schema text in one layout; parsing the result gives the same declarations."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.compiler.lexer import quote
from omnigraph.compiler.schema.ast import (
    Annotation,
    Bounds,
    Constraint,
    ConstraintArg,
    Edge,
    Interface,
    Node,
    Property,
    Schema,
)


def format_schema(schema: Schema) -> str:
    """One declaration per paragraph, one property per line, constraints last."""
    return "\n\n".join(_declaration(each) for each in schema.declarations) + ("\n" if schema.declarations else "")


def _declaration(declaration: Interface | Node | Edge) -> str:
    match declaration:
        case Interface(name, properties):
            return f"interface {name} {_body(properties, ())}"
        case Node(name, annotations, implements, properties, constraints):
            parents = f" implements {', '.join(each.name for each in implements)}" if implements else ""
            return f"node {name}{_annotations(annotations)}{parents} {_body(properties, constraints)}"
        case Edge():
            return _edge(declaration)


def _edge(edge: Edge) -> str:
    card = ""
    if edge.cardinality is not None:
        high = "" if edge.cardinality.max is None else edge.cardinality.max
        card = f" @card({edge.cardinality.min}..{high})"
    header = f"edge {edge.name}: {edge.from_type.name} -> {edge.to_type.name}{card}{_annotations(edge.annotations)}"
    if not edge.properties and not edge.constraints:
        return header
    return f"{header} {_body(edge.properties, edge.constraints)}"


def _body(properties: Iterable[Property], constraints: Iterable[Constraint]) -> str:
    lines = [f"  {each.name}: {each.type}{_annotations(each.annotations)}" for each in properties]
    lines += [f"  @{each.name}({', '.join(_argument(arg) for arg in each.args)})" for each in constraints]
    return "\n".join(["{", *lines, "}"]) if lines else "{}"


def _annotations(annotations: Iterable[Annotation]) -> str:
    return "".join(f" {_annotation(each)}" for each in annotations)


def _annotation(annotation: Annotation) -> str:
    if annotation.value is None:
        return f"@{annotation.name}"
    parts = [_value(annotation.value, annotation.value_kind)]
    parts += [f"{name}={_value(value, kind)}" for name, value, kind in annotation.kwargs]
    return f"@{annotation.name}({', '.join(parts)})"


def _argument(argument: ConstraintArg) -> str:
    if isinstance(argument.value, Bounds):
        return f"{argument.value.low or ''}..{argument.value.high or ''}"
    return _value(argument.value, argument.kind)


def _value(text: str, kind: str) -> str:
    return quote(text) if kind == "string" else text
