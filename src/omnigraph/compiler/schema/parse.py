"""Schema text → declarations. One pass, no recursion: nothing in this grammar nests."""

from __future__ import annotations

import re
from typing import NoReturn

from omnigraph.compiler.cursor import Cursor
from omnigraph.compiler.decode import to_source
from omnigraph.compiler.diagnostics import SchemaError, did_you_mean, fail
from omnigraph.compiler.lexer import FLOAT, INT, LOWER, PUNCT, STRING, UPPER, tokenize
from omnigraph.compiler.schema.ast import (
    Annotation,
    Bounds,
    Cardinality,
    Constraint,
    ConstraintArg,
    Edge,
    Interface,
    Node,
    Property,
    Schema,
    TypeRef,
)
from omnigraph.compiler.schema.hints import hint
from omnigraph.compiler.source import Source, Span
from omnigraph.compiler.types import BASE_SCALARS, MAX_VECTOR_DIM, PropType, type_elsewhere

CONSTRAINTS = ("key", "unique", "index", "range", "check")
MAX_CARDINALITY = 2**32 - 1
_ENUM_WORD = re.compile(r"[A-Za-z0-9_-]+")
_TYPE_NAMES = (*BASE_SCALARS, "Vector", "enum")


def parse_schema(source: Source | str | bytes) -> Schema:
    """The declarations of a schema text, or a ParseError / SchemaError that says where it breaks."""
    cursor = Cursor(tokenize(to_source(source, code="S000")), "S000", "S001", hint)
    declarations: list[Interface | Node | Edge] = []
    while not cursor.at_end():
        declarations.append(_declaration(cursor))
    return Schema(tuple(declarations))


def _declaration(cursor: Cursor) -> Interface | Node | Edge:
    if cursor.take_word("interface") is not None:
        return _interface(cursor)
    if cursor.take_word("node") is not None:
        return _node(cursor)
    if cursor.take_word("edge") is not None:
        return _edge(cursor)
    word = cursor.kind in (LOWER, UPPER)
    return cursor.fail(did_you_mean(cursor.text, ("interface", "node", "edge")) if word else None)


# --- declarations ---


def _interface(cursor: Cursor) -> Interface:
    name, span = cursor.need_upper("an interface name (upper-case initial)")
    cursor.need_punct("{")
    properties: list[Property] = []
    while cursor.take_punct("}") is None:
        if _at_constraint(cursor):
            cursor.fail("an interface holds properties only; put constraints on the nodes that implement it")
        properties.append(_property(cursor))
    return Interface(name, tuple(properties), span)


def _node(cursor: Cursor) -> Node:
    name, span = cursor.need_upper("a node name (upper-case initial)")
    annotations = _header_annotations(cursor)
    implements: list[TypeRef] = []
    if cursor.take_word("implements") is not None:
        implements.append(TypeRef(*cursor.need_upper("an interface name")))
        while cursor.take_punct(",") is not None:
            implements.append(TypeRef(*cursor.need_upper("an interface name")))
    if not cursor.at_punct("{"):
        cursor.fail("annotations come before 'implements'" if implements and cursor.text == "@" else None)
    cursor.advance()
    properties, constraints = _body(cursor, endpoints=False)
    return Node(name, annotations, tuple(implements), properties, constraints, span)


def _edge(cursor: Cursor) -> Edge:
    name, span = cursor.need_upper("an edge name (upper-case initial)")
    cursor.need_punct(":")
    from_type = TypeRef(*cursor.need_upper("a node name"))
    cursor.need_punct("->")
    to_type = TypeRef(*cursor.need_upper("a node name"))
    cardinality = _cardinality(cursor) if _at_cardinality(cursor) else None
    annotations = _header_annotations(cursor)
    properties: tuple[Property, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    if cursor.take_punct("{") is not None:
        properties, constraints = _body(cursor, endpoints=True)
    return Edge(name, from_type, to_type, cardinality, annotations, properties, constraints, span)


def _body(cursor: Cursor, *, endpoints: bool) -> tuple[tuple[Property, ...], tuple[Constraint, ...]]:
    properties: list[Property] = []
    constraints: list[Constraint] = []
    while cursor.take_punct("}") is None:
        if _at_constraint(cursor):
            constraints.append(_constraint(cursor, endpoints=endpoints))
        else:
            properties.append(_property(cursor))
    return tuple(properties), tuple(constraints)


def _at_cardinality(cursor: Cursor) -> bool:
    # `@card` without bounds is an ordinary annotation (and a lint warning), so look for `lo..` before committing.
    ahead = (cursor.peek(0), cursor.peek(1), cursor.peek(2))
    opens = ahead == ((PUNCT, "@"), (LOWER, "card"), (PUNCT, "("))
    return opens and cursor.peek(3)[0] == INT and cursor.peek(4) == (PUNCT, "..")


def _cardinality(cursor: Cursor) -> Cardinality:
    for _ in range(3):
        cursor.advance()
    low, low_span = _count(cursor)
    cursor.need_punct("..")
    high, high_span = _count(cursor) if cursor.kind == INT else (None, low_span)
    cursor.need_punct(")")
    if high is not None and low > high:
        message = f"the minimum {low} is larger than the maximum {high}"
        fail(SchemaError, cursor.source, "S013", message, low_span.to(high_span))
    return Cardinality(low, high)


def _count(cursor: Cursor) -> tuple[int, Span]:
    text, span = cursor.need_number("a whole number")
    value = _small_int(text)
    if value is None or value > MAX_CARDINALITY:
        fail(SchemaError, cursor.source, "S013", f"a cardinality is at most {MAX_CARDINALITY}", span)
    return value, span


def _small_int(text: str) -> int | None:
    # Judged by length first: int() refuses very long digit strings.
    digits = text.lstrip("0")
    return int(digits or "0") if len(digits) <= 19 else None


# --- properties and their types ---


def _property(cursor: Cursor) -> Property:
    if cursor.kind != LOWER:
        _fail_at_property(cursor)
    name, span = cursor.need_lower()
    cursor.need_punct(":")
    first = cursor.index
    kind = _type(cursor)
    type_span = cursor.span_from(first)
    annotations: list[Annotation] = []
    while cursor.at_punct("@") and not _at_constraint(cursor):
        annotations.append(_annotation(cursor))
    return Property(name, kind, tuple(annotations), span, type_span)


def _fail_at_property(cursor: Cursor) -> NoReturn:
    cursor.expect("a property name (lower-case initial)")
    if cursor.text == ",":
        cursor.fail("properties are separated by whitespace, not by commas")
    if cursor.text == "@":
        cursor.fail("an annotation follows the property it describes; a constraint needs parentheses")
    cursor.fail("property names start with a lower-case letter or '_'" if cursor.kind == UPPER else None)


def _type(cursor: Cursor) -> PropType:
    if cursor.take_punct("[") is not None:
        scalar, span = _base(cursor, "a list holds plain scalars: no enum, Vector or list")
        cursor.need_punct("]")
        if scalar == "Blob":
            fail(SchemaError, cursor.source, "S011", "a list cannot hold Blob values", span)
        return PropType(scalar, list=True, nullable=_nullable(cursor))
    if cursor.take_word("enum") is not None:
        values = _enum_values(cursor)
        return PropType("String", nullable=_nullable(cursor), enum=values)
    if cursor.kind == UPPER and cursor.text == "Vector":
        cursor.advance()
        dim = _dimension(cursor)
        return PropType("Vector", nullable=_nullable(cursor), dim=dim)
    scalar, _ = _base(cursor, None)
    return PropType(scalar, nullable=_nullable(cursor))


def _nullable(cursor: Cursor) -> bool:
    return cursor.take_punct("?") is not None


def _base(cursor: Cursor, help_text: str | None) -> tuple[str, Span]:
    if cursor.kind == UPPER and cursor.text in BASE_SCALARS:
        return cursor.need_upper()
    if help_text is None:
        cursor.expect("'Vector'")
    for name in BASE_SCALARS:
        cursor.expect(name)
    known = _TYPE_NAMES if help_text is None else BASE_SCALARS
    word = cursor.text if cursor.kind in (LOWER, UPPER) else ""
    return cursor.fail(type_elsewhere(word) or did_you_mean(word, known) or help_text)


def _enum_values(cursor: Cursor) -> tuple[str, ...]:
    cursor.need_punct("(")
    values: set[str] = set()
    while True:
        word, span = cursor.need_pattern(_ENUM_WORD, "an enum value")
        if word in values:
            fail(SchemaError, cursor.source, "S012", f"enum value '{word}' is listed twice", span)
        values.add(word)
        if cursor.take_punct(",") is None:
            break
    cursor.need_punct(")")
    return tuple(sorted(values))


def _dimension(cursor: Cursor) -> int:
    cursor.need_punct("(")
    if cursor.kind != INT:
        cursor.expect("a whole number")
        cursor.fail()
    text, span = cursor.need_number()
    value = _small_int(text)
    if value is None or not 1 <= value <= MAX_VECTOR_DIM:
        fail(SchemaError, cursor.source, "S010", f"a Vector has 1 to {MAX_VECTOR_DIM} dimensions", span)
    cursor.need_punct(")")
    return value


# --- annotations ---


def _header_annotations(cursor: Cursor) -> tuple[Annotation, ...]:
    annotations: list[Annotation] = []
    while cursor.at_punct("@"):
        if _at_constraint(cursor):
            cursor.fail(f"@{cursor.peek()[1]}(…) is a constraint: it belongs inside the braces")
        annotations.append(_annotation(cursor))
    return tuple(annotations)


def _annotation(cursor: Cursor) -> Annotation:
    first = cursor.need_punct("@")
    name, _ = cursor.need_lower("an annotation name")
    if cursor.take_punct("(") is None:
        return Annotation(name, span=cursor.span_from(first))
    value, kind = _value(cursor, words=True)
    kwargs: list[tuple[str, str, str]] = []
    while cursor.take_punct(",") is not None:
        key, _ = cursor.need_lower("an argument name")
        cursor.need_punct("=")
        kwargs.append((key, *_value(cursor, words=False)))
    if not cursor.at_punct(")"):
        late = name == "card" and cursor.text == ".."
        cursor.fail("@card(…) comes first, directly after the target type" if late else None)
    cursor.advance()
    return Annotation(name, value, kind, tuple(kwargs), cursor.span_from(first))


def _value(cursor: Cursor, *, words: bool) -> tuple[str, str]:
    """Text and spelling of a literal, or of a bare word where one may stand."""
    if cursor.kind == STRING:
        return cursor.need_string()[0], "string"
    if cursor.kind in (INT, FLOAT) or cursor.at_punct("-"):
        return _signed(cursor), "number"
    if cursor.kind == LOWER and cursor.text in ("true", "false"):
        return cursor.need_lower()[0], "bool"
    if words and cursor.kind == LOWER:
        return cursor.need_lower()[0], "word"
    for what in ("a string", "a number", "'true'", "'false'", *(("a name",) if words else ())):
        cursor.expect(what)
    return cursor.fail()


# --- constraints ---


def _at_constraint(cursor: Cursor) -> bool:
    if cursor.peek(0) != (PUNCT, "@") or cursor.peek(2) != (PUNCT, "("):
        return False
    kind, word = cursor.peek(1)
    return kind == LOWER and word in CONSTRAINTS


def _constraint(cursor: Cursor, *, endpoints: bool) -> Constraint:
    first = cursor.need_punct("@")
    name, _ = cursor.need_lower()
    cursor.need_punct("(")
    args = [_argument(cursor, endpoints=endpoints)]
    while cursor.take_punct(",") is not None:
        args.append(_argument(cursor, endpoints=endpoints))
    cursor.need_punct(")")
    return Constraint(name, tuple(args), cursor.span_from(first))


def _argument(cursor: Cursor, *, endpoints: bool) -> ConstraintArg:
    first = cursor.index
    # Later schemas of the same family write the endpoints of an edge as @src and @dst.
    if endpoints and cursor.peek(0) == (PUNCT, "@") and cursor.peek() in ((LOWER, "src"), (LOWER, "dst")):
        cursor.advance()
        name, _ = cursor.need_lower()
        return ConstraintArg(name, "name", cursor.span_from(first))
    signed = cursor.text in ("-", "..") and cursor.kind == PUNCT
    if signed or (cursor.kind in (INT, FLOAT) and cursor.peek() == (PUNCT, "..")):
        bounds = _bounds(cursor)
        return ConstraintArg(bounds, "bounds", cursor.span_from(first))
    value, kind = _value(cursor, words=True)
    return ConstraintArg(value, "name" if kind == "word" else kind, cursor.span_from(first))


def _bounds(cursor: Cursor) -> Bounds:
    low = _signed(cursor) if cursor.text != ".." else None
    cursor.need_punct("..")
    high = None
    if low is None or cursor.kind in (INT, FLOAT) or cursor.text == "-":
        high = _signed(cursor)
    return Bounds(low, high)


def _signed(cursor: Cursor) -> str:
    sign = "-" if cursor.take_punct("-") is not None else ""
    return sign + cursor.need_number()[0]
