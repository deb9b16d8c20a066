"""What the reads of the query language are made of, taken from its syntax tree and its registry, and what a text uses.

A construct is a kind of node, an optional part of one, or one of the words that a part may be. `everything` follows
from the definitions, so a new operator, function, clause or modifier is asked for without being listed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

from omnigraph.compiler.functions import AGGREGATES, FUNCTIONS
from omnigraph.compiler.functions.search import SPECIAL
from omnigraph.compiler.functions.windows import PLACES, RUNNING
from omnigraph.compiler.query import ast, ast_expression
from omnigraph.compiler.query.format_expression import PRECEDENCE
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.query.parse_expression import COMPARISONS, WORD_COMPARISONS
from omnigraph.compiler.source import Span
from omnigraph.compiler.types import UNION, PropType

_CONSTANTS = {"now", "date", "datetime", "duration"}  # literals, or functions of the registry as well
_LATE = {"collect", "first", "last"}  # aggregates of records and of ordered rows

# The words that a part of a node may be. Every other text is a name.
WORDS: Mapping[tuple[str, str], frozenset[str]] = {
    ("Compare", "op"): COMPARISONS | WORD_COMPARISONS,
    ("Range", "low_op"): frozenset({"<", "<=", ">", ">="}),
    ("Range", "high_op"): frozenset({"<", "<=", ">", ">="}),
    ("Binary", "op"): frozenset(PRECEDENCE),
    ("Unary", "op"): frozenset({"-"}),
    ("Call", "name"): frozenset(FUNCTIONS) | (SPECIAL.keys() - _CONSTANTS),
    ("Agg", "name"): frozenset(AGGREGATES),
    ("Window", "name"): PLACES | RUNNING,
    ("Literal", "kind"): frozenset({"string", "int", "float", "bool", "null", "date", "datetime", "duration"}),
    ("Traversal", "path_kind"): frozenset({"shortest", "all shortest", "cheapest", "simple"}),
    ("Sort", "direction"): frozenset({"asc", "desc"}),
}
NAMES = frozenset(
    {
        *(("Binding", name) for name in ("var", "type_name")),
        *(("Traversal", name) for name in ("left", "edge", "right", "edge_var", "path_var")),
        *(("Along", name) for name in ("edge", "source", "target")),
        *((kind, "name") for kind in ("PropMatch", "Unwind", "Member", "Var", "Prop", "Alias")),
        ("Prop", "var"),
        ("Item", "alias"),
        ("Literal", "value"),
    }
)
# What the types of the tree do not tell.
SHAPES = frozenset(
    {
        *(f"hops {each}" for each in ("{n}", "{0,n}", "{m,n}", "{m,}")),
        *(f"Prop.{name}" for name in ("length", "cost", "nodes", "edges", "nodes.…", "edges.…", "from", "to", "id")),
        *(f"Binding.{name}" for name in ("several types", "an interface", "an edge", "several edges", "again")),
        "Traversal.several edges",
        "Agg of a whole entity",
        "a long list",
    }
)


def everything() -> frozenset[str]:
    """Every construct that a read can have."""
    found: set[str] = set(SHAPES)
    for kind in _kinds(ast.Read):
        found |= {kind.__name__, *_parts_of(kind)}
    modifiers = {"distinct", "where", "clauses"}
    found |= {f"Agg {name}.{each}" for name in AGGREGATES for each in modifiers}
    found |= {f"Agg {name}.key" for name in _LATE}
    found |= {f"Window {name}.{each}" for name in PLACES | RUNNING for each in ("per", "order")}
    return frozenset(found | {f"Window {name}.where" for name in RUNNING})


def used(text: str, interfaces: frozenset[str] = frozenset(), edges: frozenset[str] = frozenset()) -> frozenset[str]:
    """What a query uses; `interfaces` and `edges` are those of its schema."""
    (query,) = parse_queries(text).queries
    assert isinstance(query.body, ast.Read)
    found: set[str] = set()
    bound: set[str] = set()
    for node in _walk(query.body):
        found |= {type(node).__name__, *_used_parts(node), *_shapes(node)}
        if isinstance(node, ast.Binding):
            found |= set(_bindings(node, interfaces, edges))
            found |= {"Binding.again"} if node.var in bound else set()
            bound.add(node.var)
    return frozenset(found)


def _kinds(root: type) -> Iterator[type]:
    """The kinds of nodes that a tree may have."""
    seen: dict[type, None] = {root: None}
    for kind in (pending := [root]):
        for hint in _hints(kind).values():
            for each in _within(hint):
                if isinstance(each, type) and is_dataclass(each) and each not in {Span, PropType, *seen}:
                    seen[each] = None
                    pending.append(each)
    yield from seen


def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, {**vars(ast_expression), **vars(ast)})
    return {field.name: hints[field.name] for field in fields(kind) if not field.name.endswith("span")}


def _within(hint: Any) -> Iterator[Any]:
    inside = get_args(hint)
    if not inside:
        yield hint
    for each in inside:
        yield from _within(each)


def _parts_of(kind: type) -> Iterator[str]:
    for name, hint in _hints(kind).items():
        label = f"{kind.__name__}.{name}"
        words = WORDS.get((kind.__name__, name))
        if words is not None:
            yield from (f"{label} {word}" for word in words)
        elif hint is bool or NoneType in get_args(hint) or (isinstance(hint, UnionType) and NoneType in _within(hint)):
            if (kind.__name__, name) != ("Literal", "value"):
                yield label
        elif str not in _within(hint):
            yield label


def texts_of(kind: type) -> Iterator[tuple[str, str]]:
    """The parts of a node that are texts: each is a name or one of some words."""
    return ((kind.__name__, name) for name, hint in _hints(kind).items() if str in _within(hint))


def all_texts() -> frozenset[tuple[str, str]]:
    """The same of all kinds of nodes."""
    return frozenset(each for kind in _kinds(ast.Read) for each in texts_of(kind))


def _walk(node: Any) -> Iterator[Any]:
    yield node
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, tuple):
            for each in value:
                if is_dataclass(each):
                    yield from _walk(each)
        elif is_dataclass(value) and not isinstance(value, Span | PropType):
            yield from _walk(value)


def _used_parts(node: Any) -> Iterator[str]:
    kind = type(node).__name__
    for name in _hints(type(node)):
        value = getattr(node, name)
        if (kind, name) in WORDS:
            if value is not None and not (kind == "Traversal" and node.path_var is None):
                yield f"{kind}.{name} {value}"
        elif value or value == 0:
            yield f"{kind}.{name}"
            if kind in ("Agg", "Window") and name != "name":
                yield f"{kind} {node.name}.{name}"


def _shapes(node: Any) -> Iterator[str]:
    match node:
        case ast.Traversal(hops=(low, high)):
            several = "{m,}" if high is None else "{n}" if low == high else "{0,n}" if low == 0 else "{m,n}"
            yield f"hops {several}"
        case ast.Prop(name=name):
            head, dot, _ = name.partition(".")
            yield f"Prop.{head}.…" if dot else f"Prop.{name}"
        case ast.Agg(arg=ast.Var()):
            yield "Agg of a whole entity"
        case ast.ListLiteral(items) if isinstance(items, ast.Literals):
            yield "a long list"
    if isinstance(node, ast.Traversal) and UNION in node.edge:
        yield "Traversal.several edges"


def _bindings(node: ast.Binding, interfaces: frozenset[str], edges: frozenset[str]) -> Iterator[str]:
    names = node.type_name.split(UNION)
    if len(names) > 1:
        yield "Binding.several edges" if names[0] in edges else "Binding.several types"
    elif names[0] in edges:
        yield "Binding.an edge"
    elif names[0] in interfaces:
        yield "Binding.an interface"
