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


def format_schema(schema: Schema, *, as_written: bool = False) -> str:
    """One declaration per paragraph, one property per line; constraints last, or where they were written."""
    paragraphs = [_declaration(each, as_written=as_written) for each in schema.declarations]
    return "\n\n".join(paragraphs) + ("\n" if paragraphs else "")


def _declaration(declaration: Interface | Node | Edge, *, as_written: bool) -> str:
    match declaration:
        case Interface(name, properties):
            return f"interface {name} {_body(properties, (), as_written=as_written)}"
        case Node(name, annotations, implements, properties, constraints):
            parents = f" implements {', '.join(each.name for each in implements)}" if implements else ""
            body = _body(properties, constraints, as_written=as_written)
            return f"node {name}{_annotations(annotations)}{parents} {body}"
        case Edge():
            return _edge(declaration, as_written=as_written)


def _edge(edge: Edge, *, as_written: bool) -> str:
    card = ""
    if edge.cardinality is not None:
        high = "" if edge.cardinality.max is None else edge.cardinality.max
        card = f" @card({edge.cardinality.min}..{high})"
    header = f"edge {edge.name}: {edge.from_type.name} -> {edge.to_type.name}{card}{_annotations(edge.annotations)}"
    if not edge.properties and not edge.constraints:
        return header
    return f"{header} {_body(edge.properties, edge.constraints, as_written=as_written)}"


def _body(properties: Iterable[Property], constraints: Iterable[Constraint], *, as_written: bool) -> str:
    entries: list[Property | Constraint] = [*properties, *constraints]
    if as_written:
        entries.sort(key=lambda each: each.span.start)
    lines = [f"  {_entry(each)}" for each in entries]
    return "\n".join(["{", *lines, "}"]) if lines else "{}"


def _entry(entry: Property | Constraint) -> str:
    if isinstance(entry, Property):
        return f"{entry.name}: {entry.type}{_annotations(entry.annotations)}"
    return f"@{entry.name}({', '.join(_argument(arg) for arg in entry.args)})"


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
