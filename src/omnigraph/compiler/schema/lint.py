"""Warnings about schema text that is accepted but probably does not do what its author thinks."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from omnigraph.compiler.diagnostics import Diagnostic
from omnigraph.compiler.schema.ast import Annotation, Edge, Interface, Node, Schema
from omnigraph.compiler.types import PropType

KNOWN = (
    "description",
    "instruction",
    "embed",
    "rename_from",
    "key",
    "unique",
    "index",
    "metric",
    "language",
    "card",
    "default",
)
_NEAR = 0.8
_LONGEST = 32


def lint_schema(schema: Schema) -> tuple[Diagnostic, ...]:
    """Every warning, in the order of the text."""
    found = [warning for declaration in schema.declarations for warning in _declaration(declaration)]
    return tuple(sorted(found, key=lambda each: each.span.start if each.span is not None else 0))


def _declaration(declaration: Interface | Node | Edge) -> Iterator[Diagnostic]:
    if not isinstance(declaration, Interface):
        for annotation in declaration.annotations:
            yield from _annotation(annotation, None)
    for prop in declaration.properties:
        for annotation in prop.annotations:
            yield from _annotation(annotation, prop.type)


def _annotation(annotation: Annotation, kind: PropType | None) -> Iterator[Diagnostic]:
    name, span = annotation.name, annotation.span
    if name == "card":
        help_text = "a cardinality is @card(0..1) or @card(1..), directly after the target type of an edge"
        yield Diagnostic("L101", "this @card has no bounds and no effect", span, help_text)
    elif name == "default" and (kind is None or kind.nullable):
        help_text = "a default is for required properties; what is left out of a nullable one is null"
        yield Diagnostic("L102", "@default has no effect", span, help_text)
    elif name in ("range", "check"):
        help_text = f"write @{name}(property, …) in the body"
        yield Diagnostic("L103", f"@{name} without arguments has no effect", span, help_text)
    elif name == "metric" and (kind is None or not kind.is_vector):
        yield Diagnostic("L104", "@metric has an effect on Vector properties only", span)
    elif name == "language" and (kind is None or kind.scalar != "String" or kind.list):
        yield Diagnostic("L104", "@language has an effect on String properties only", span)
    elif name not in KNOWN and len(name) <= _LONGEST:
        for near in difflib.get_close_matches(name, KNOWN, n=1, cutoff=_NEAR):
            message = f"@{name} is a custom annotation without effect"
            yield Diagnostic("L105", message, span, f"did you mean '@{near}'?")
