"""What the name at a place of a text stands for, and where that is declared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from omnigraph.compiler.assist import words
from omnigraph.compiler.assist.docs import call_text, edge_text, node_text, property_text
from omnigraph.compiler.assist.names import Names, names_at, owner_of
from omnigraph.compiler.catalog.model import Catalog, TypeInfo
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.formatter import Language
from omnigraph.compiler.lexer import LOWER, UPPER, VAR, Tokens, tokenize
from omnigraph.compiler.schema.ast import Edge, Interface, Node
from omnigraph.compiler.schema.parse import parse_schema
from omnigraph.compiler.source import Source, Span


@dataclass(frozen=True, slots=True)
class Meaning:
    """What stands at a place: its span, a text about it, and where it is declared."""

    span: Span
    text: str
    here: Span | None = None  # declared in the same text
    in_schema: tuple[str, str | None] | None = None  # declared in the schema: a type, and a property of it


def explain(text: str, offset: int, language: Language, catalog: Catalog | None) -> Meaning | None:
    """What the name at an offset stands for."""
    tokens = tokenize(Source(text))
    at = next(
        (
            at
            for at in range(len(tokens.kinds) - 1)
            if tokens.starts[at] <= offset <= tokens.ends[at] and tokens.kinds[at] in (LOWER, UPPER, VAR)
        ),
        None,
    )
    if at is None:
        return None
    if language == "pg":
        return _in_schema(tokens, at, catalog, text)
    names = names_at(tokens, offset, catalog)
    return None if names is None else _in_query(tokens, at, names, catalog)


def find_declaration(schema: Source, type_name: str, prop: str | None = None) -> Span | None:
    """Where a schema text declares a type, or a property of it or of an interface that it implements."""
    try:
        declarations = parse_schema(schema).declarations
    except CompileError:
        return None
    by_name: dict[str, Interface | Node | Edge] = {each.name: each for each in declarations}
    declared = by_name.get(type_name)
    if declared is None:
        return None
    if prop is None:
        return declared.span
    named = declared.implements if isinstance(declared, Node) else ()
    owners = [declared, *(by_name[each.name] for each in named if each.name in by_name)]
    return next((each.span for owner in owners for each in owner.properties if each.name == prop), None)


def _in_query(tokens: Tokens, at: int, names: Names, catalog: Catalog | None) -> Meaning | None:
    kind, word = tokens.kinds[at], tokens.texts[at]
    span = tokens.span(at)
    following = tokens.texts[at + 1] if at + 1 < len(tokens.texts) else ""
    if kind == VAR:
        return _variable(word[1:], span, names, catalog)
    if kind == UPPER:
        return _type(word, span, catalog)
    if following == "(" and word in words.CALLS:
        return Meaning(span, _code(call_text(word)))
    if catalog is None:
        return None
    if at > 1 and tokens.texts[at - 1] == "." and tokens.kinds[at - 2] == VAR:
        return _property(names.info(tokens.texts[at - 2][1:], catalog), word, span)
    if following == ":":
        return _property(_owner(tokens, at, names, catalog), word, span)
    edge = catalog.edge(word)
    if edge is not None and at > 0 and tokens.texts[at - 1] in (*_variables(tokens, at), ":", "<", "|"):
        return Meaning(span, _code(edge_text(edge)), in_schema=(edge.name, None))
    return None


def _variables(tokens: Tokens, at: int) -> Iterable[str]:
    return (tokens.texts[at - 1],) if tokens.kinds[at - 1] == VAR else ()


def _variable(name: str, span: Span, names: Names, catalog: Catalog | None) -> Meaning | None:
    here = names.places.get(name)
    if name in names.params:
        return Meaning(span, _code(f"${name}: {names.params[name]}\n\nA parameter."), here)
    info = names.info(name, catalog) if catalog is not None else None
    if info is None:
        return None if here is None else Meaning(span, _code(f"${name}"), here)
    listed = "".join(f"\n- `{each}: {kind}`" for each, kind in info.properties.items())
    return Meaning(span, _code(f"${name}: {info.name}") + (f"\n{listed}" if listed else ""), here)


def _type(name: str, span: Span, catalog: Catalog | None) -> Meaning | None:
    if catalog is None:
        return Meaning(span, _code(name)) if name in words.TYPES else None
    declared = catalog.nodes.get(name) or catalog.interfaces.get(name)
    if declared is not None:
        return Meaning(span, _code(node_text(declared)), in_schema=(name, None))
    edge = catalog.edges.get(name)
    return None if edge is None else Meaning(span, _code(edge_text(edge)), in_schema=(name, None))


def _property(info: TypeInfo | None, name: str, span: Span) -> Meaning | None:
    if info is None or (name not in info.properties and name != "id"):
        return None
    first = info.name.partition("|")[0]
    return Meaning(span, _code(property_text(info, name)), in_schema=(first, name))


def _owner(tokens: Tokens, at: int, names: Names, catalog: Catalog) -> TypeInfo | None:
    """The type whose braces a `name: value` stands in."""
    depth = 0
    for before in range(at - 1, names.body, -1):
        depth += (tokens.texts[before] == "}") - (tokens.texts[before] == "{")
        if depth < 0:
            return owner_of(tokens, before, names, catalog)
    return None


def _in_schema(tokens: Tokens, at: int, catalog: Catalog | None, text: str) -> Meaning | None:
    word, span = tokens.texts[at], tokens.span(at)
    if tokens.kinds[at] != UPPER:
        return None
    here = find_declaration(Source(text), word)
    found = _type(word, span, catalog)
    if found is not None:
        return Meaning(span, found.text, here)
    return None if here is None else Meaning(span, _code(word), here)


def _code(text: str) -> str:
    """The first line as code, the rest as it is."""
    head, _, rest = text.partition("\n")
    return f"```\n{head}\n```\n{rest}".rstrip()
