"""Hypothesis strategies for schemas: valid declarations that use every feature, and reorderings of them."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import strategies as st

from omnigraph.compiler.catalog.expand import RESERVED
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
from omnigraph.compiler.types import BASE_SCALARS, PropType

_Item = TypeVar("_Item")
_WORD = string.ascii_letters + string.digits + "_"
_KNOWN = frozenset(
    {"key", "unique", "index", "range", "check", "card", "description", "instruction", "embed", "rename_from", "metric"}
)
_PATTERNS = ("^[a-z]+$", "b+", "", r"\d{2,4}", 'say "hi"\n', "(a|b)?", "é")

lower_names = st.builds(str.__add__, st.sampled_from("abcxyz_"), st.text(_WORD, max_size=5)).filter(
    lambda name: name not in RESERVED["edge"] and name not in ("true", "false")
)
upper_names = st.builds(str.__add__, st.sampled_from("ABCXYZ"), st.text(_WORD, max_size=5))
texts = st.text(st.characters(codec="utf-8"), max_size=12)
sentences = texts.filter(lambda text: bool(text.strip()))
enum_values = st.text(_WORD + "-", min_size=1, max_size=5)
numbers = st.one_of(
    st.integers(0, 10**12).map(str),
    st.tuples(st.integers(0, 9999), st.integers(0, 9999)).map(lambda parts: f"{parts[0]}.{parts[1]}"),
)


@st.composite
def prop_types(draw: Callable[[Any], Any]) -> PropType:
    """Any type that a property may have."""
    nullable = draw(st.booleans())
    match draw(st.sampled_from(("scalar", "scalar", "list", "enum", "vector"))):
        case "list":
            listed = [name for name in BASE_SCALARS if name != "Blob"]
            return PropType(draw(st.sampled_from(listed)), list=True, nullable=nullable)
        case "enum":
            values = draw(st.sets(enum_values, min_size=1, max_size=4))
            return PropType("String", nullable=nullable, enum=tuple(sorted(values)))
        case "vector":
            return PropType("Vector", nullable=nullable, dim=draw(st.integers(1, 8)))
        case _:
            return PropType(draw(st.sampled_from(BASE_SCALARS)), nullable=nullable)


@st.composite
def schemas(draw: Callable[[Any], Any]) -> Schema:
    """A schema that compiles: interfaces, nodes that implement them, edges between the nodes."""
    interfaces = [_interface(draw, name, at) for at, name in enumerate(draw(_unique(upper_names, 2)))]
    nodes = [_node(draw, name, interfaces) for name in draw(_unique(upper_names, 3))]
    names = draw(_unique(upper_names, 3, by=str.lower)) if nodes else []
    edges = [_edge(draw, name, nodes) for name in names]
    return Schema(tuple(draw(st.permutations([*interfaces, *nodes, *edges]))))


@st.composite
def reorderings(draw: Callable[[Any], Any], schema: Schema) -> Schema:
    """The same schema with declarations, properties, constraints and annotations in another order."""

    def shuffle(items: Sequence[_Item]) -> tuple[_Item, ...]:
        return tuple(draw(st.permutations(list(items))))

    def columns(each: Constraint) -> Constraint:
        return each if each.name in ("range", "check") else replace(each, args=shuffle(each.args))

    shuffled: list[Interface | Node | Edge] = []
    for each in schema.declarations:
        properties = tuple(replace(prop, annotations=shuffle(prop.annotations)) for prop in shuffle(each.properties))
        if isinstance(each, Interface):
            shuffled.append(replace(each, properties=properties))
            continue
        constraints = tuple(columns(constraint) for constraint in shuffle(each.constraints))
        if isinstance(each, Node):
            each = replace(each, implements=shuffle(each.implements))
        shuffled.append(
            replace(each, properties=properties, constraints=constraints, annotations=shuffle(each.annotations))
        )
    return Schema(shuffle(shuffled))


def _unique(names: st.SearchStrategy[str], most: int, by: Callable[[str], Any] = str) -> st.SearchStrategy[list[str]]:
    return st.lists(names, max_size=most, unique_by=by)


def _interface(draw: Callable[[Any], Any], name: str, at: int) -> Interface:
    # Names of different interfaces never meet, so that any set of them can be implemented together.
    names = [f"i{at}_{each}" for each in draw(_unique(lower_names, 3))]
    properties = []
    for each in names:
        kind = draw(prop_types())
        marks = draw(st.sets(st.sampled_from(_allowed_marks(kind)))) if _allowed_marks(kind) else set()
        annotations = [*_metadata(draw, ("description",)), *(Annotation(mark) for mark in sorted(marks))]
        properties.append(Property(each, kind, tuple(annotations)))
    return Interface(name, tuple(properties))


def _node(draw: Callable[[Any], Any], name: str, interfaces: list[Interface]) -> Node:
    parents = draw(st.lists(st.sampled_from(interfaces), unique=True, max_size=2)) if interfaces else []
    properties = _own_properties(draw)
    inherited = [prop for parent in parents for prop in parent.properties]
    properties += [replace(prop, annotations=()) for prop in inherited if draw(st.integers(0, 3)) == 0]
    properties = _embedded(draw, properties)
    own = {prop.name for prop in properties}
    effective = properties + [prop for prop in inherited if prop.name not in own]
    constraints = _column_constraints(draw, effective, ()) + _value_constraints(draw, effective)
    keyable = [prop.name for prop in effective if prop.type.is_plain_scalar and not prop.type.nullable]
    if keyable and draw(st.booleans()):
        constraints.append(_named("key", draw(st.lists(st.sampled_from(keyable), min_size=1, max_size=2, unique=True))))
    implements = tuple(TypeRef(parent.name) for parent in parents)
    annotations = _metadata(draw, ("description", "instruction"))
    return Node(name, tuple(annotations), implements, tuple(properties), tuple(constraints))


def _edge(draw: Callable[[Any], Any], name: str, nodes: list[Node]) -> Edge:
    ends = [TypeRef(draw(st.sampled_from(nodes)).name) for _ in range(2)]
    properties = _own_properties(draw)
    low = draw(st.integers(0, 3))
    high = draw(st.none() | st.integers(low, 9))
    card = draw(st.none() | st.just(Cardinality(low, high)))
    annotations = _metadata(draw, ("description", "instruction"))
    constraints = _column_constraints(draw, properties, ("src", "dst"))
    return Edge(name, ends[0], ends[1], card, tuple(annotations), tuple(properties), tuple(constraints))


def _own_properties(draw: Callable[[Any], Any]) -> list[Property]:
    properties = []
    for name in draw(_unique(lower_names, 4)):
        kind = draw(prop_types())
        annotations = _metadata(draw, ("description",))
        if kind.is_vector and draw(st.booleans()):
            annotations.append(Annotation("metric", draw(st.sampled_from(("cosine", "dot", "l2")))))
        annotations += [Annotation(mark) for mark in _allowed_marks(kind) if draw(st.integers(0, 3)) == 0]
        properties.append(Property(name, kind, tuple(annotations)))
    return properties


def _embedded(draw: Callable[[Any], Any], properties: list[Property]) -> list[Property]:
    sources = [prop.name for prop in properties if prop.type.scalar == "String" and not prop.type.list]
    found = []
    for prop in properties:
        if sources and prop.type.is_vector and draw(st.booleans()):
            kwargs = draw(st.sampled_from(((), (("model", "m-1", "string"),))))
            source = draw(st.sampled_from(sources))
            embed = Annotation("embed", source, draw(st.sampled_from(("string", "word"))), kwargs)
            prop = replace(prop, annotations=(*prop.annotations, embed))
        found.append(prop)
    return found


def _allowed_marks(kind: PropType) -> list[str]:
    if kind.is_plain_scalar:
        return ["unique", "index"]
    return ["index"] if kind.is_vector else []


def _column_constraints(
    draw: Callable[[Any], Any], properties: list[Property], ends: tuple[str, ...]
) -> list[Constraint]:
    found = []
    for name in ("unique", "index"):
        columns = [*ends, *(prop.name for prop in properties if name in _allowed_marks(prop.type))]
        if columns and draw(st.booleans()):
            found.append(_named(name, draw(st.lists(st.sampled_from(columns), min_size=1, max_size=3, unique=True))))
    return found


def _value_constraints(draw: Callable[[Any], Any], properties: list[Property]) -> list[Constraint]:
    found = []
    for prop in properties:
        if prop.type.is_numeric and draw(st.booleans()):
            low, high = sorted(draw(st.tuples(st.integers(-99, 99), st.integers(-99, 99))))
            texts = (str(low), draw(st.sampled_from((str(high), f"{high}.0" if high >= 0 else str(high)))))
            bounds = draw(st.sampled_from((Bounds(*texts), Bounds(texts[0], None), Bounds(None, texts[1]))))
            found.append(_value_constraint("range", prop.name, ConstraintArg(bounds, "bounds")))
        text = prop.type.scalar == "String" and not prop.type.list
        if text and draw(st.booleans()):
            pattern = draw(st.sampled_from(_PATTERNS))
            found.append(_value_constraint("check", prop.name, ConstraintArg(pattern, "string")))
    return found


def _named(name: str, columns: list[str]) -> Constraint:
    return Constraint(name, tuple(ConstraintArg(each, "name") for each in columns))


def _value_constraint(name: str, prop: str, argument: ConstraintArg) -> Constraint:
    return Constraint(name, (ConstraintArg(prop, "name"), argument))


def _metadata(draw: Callable[[Any], Any], known: tuple[str, ...]) -> list[Annotation]:
    found = [Annotation(name, draw(sentences)) for name in known if draw(st.integers(0, 2)) == 0]
    if draw(st.integers(0, 2)) == 0:
        found.append(draw(_custom()))
    return found


@st.composite
def _custom(draw: Callable[[Any], Any]) -> Annotation:
    name = draw(lower_names.filter(lambda each: each not in _KNOWN))
    if draw(st.booleans()):
        return Annotation(name)
    value, kind = draw(_literals() | lower_names.map(lambda word: (word, "word")))
    keys = draw(st.lists(lower_names, max_size=2, unique=True))
    return Annotation(name, value, kind, tuple((key, *draw(_literals())) for key in keys))


def _literals() -> st.SearchStrategy[tuple[str, str]]:
    return st.one_of(
        texts.map(lambda text: (text, "string")),
        numbers.map(lambda text: (text, "number")),
        st.sampled_from((("true", "bool"), ("false", "bool"))),
    )
