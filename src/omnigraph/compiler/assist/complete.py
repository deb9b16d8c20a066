"""Completion: what could stand at a place of a query or schema text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from omnigraph.compiler.assist import words
from omnigraph.compiler.assist.docs import call_text, edge_text, node_text, property_text
from omnigraph.compiler.assist.names import Names, names_at, owner_of
from omnigraph.compiler.catalog.model import Catalog, EdgeType, TypeInfo
from omnigraph.compiler.formatter import Language
from omnigraph.compiler.lexer import BAD, LOWER, PUNCT, UPPER, VAR, Tokens, tokenize
from omnigraph.compiler.query.check.scope import PATH
from omnigraph.compiler.query.checked import NodeVar
from omnigraph.compiler.schema.ast import Interface, Node
from omnigraph.compiler.source import Source, Span
from omnigraph.compiler.types import union_members


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing that could stand there. `kind`: type, edge, property, variable, parameter, function, keyword."""

    text: str
    kind: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """The tokens before the word that is being written, and that word."""

    tokens: Tokens
    at: int  # how many tokens stand before the word
    word: Span

    def before(self, back: int = 1) -> str:
        """The text of an earlier token."""
        return self.tokens.texts[self.at - back] if self.at >= back else ""

    def kind_before(self, back: int = 1) -> str:
        """The kind of an earlier token."""
        return self.tokens.kinds[self.at - back] if self.at >= back else ""


def complete(text: str, offset: int, language: Language, catalog: Catalog | None) -> tuple[Span, tuple[Candidate, ...]]:
    """What could stand at an offset, and the part of the text that it would replace."""
    place = _place(text, offset)
    if place is None:
        return Span(offset, offset), ()
    found = _in_schema(place) if language == "pg" else _in_query(place, catalog)
    typed = text[place.word.start : offset].lower()
    unique = {each.text: each for each in found}
    return place.word, tuple(each for each in unique.values() if each.text.lower().startswith(typed))


def _place(text: str, offset: int) -> Place | None:
    """None inside strings and comments."""
    tokens = tokenize(Source(text))
    at = 0
    while at < len(tokens.kinds) - 1 and tokens.ends[at] < offset:
        at += 1
    start, end = tokens.starts[at], tokens.ends[at]
    if start < offset <= end and tokens.kinds[at] in (LOWER, UPPER, VAR):
        return Place(tokens, at, Span(start, end))
    if start < offset < end or _in_comment(text, tokens, at, offset) or _in_string(tokens, at):
        return None
    if text[offset - 1 : offset] == "$":
        return Place(_until(text, offset - 1), len(_until(text, offset - 1).kinds) - 1, Span(offset - 1, offset))
    at += start < offset  # a token that ends here
    return Place(tokens, at, Span(offset, offset))


def _until(text: str, offset: int) -> Tokens:
    return tokenize(Source(text[:offset]))


def _in_string(tokens: Tokens, at: int) -> bool:
    """Whether a string begins before and does not end: its quote is the last token that was read."""
    return at > 0 and tokens.kinds[at - 1] == BAD and tokens.texts[at - 1] == '"'


def _in_comment(text: str, tokens: Tokens, at: int, offset: int) -> bool:
    gap = text[tokens.ends[at - 1] if at else 0 : offset]
    return "//" in gap.rpartition("\n")[2] or gap.rfind("/*") > gap.rfind("*/")


# --- queries ---------------------------------------------------------------------------------


def _in_query(place: Place, catalog: Catalog | None) -> Iterator[Candidate]:
    names = names_at(place.tokens, max(place.word.start - 1, 0), catalog)
    if names is None or (names.end < len(place.tokens.kinds) - 1 and place.at >= names.end):
        yield Candidate("query", "keyword")
        return
    if place.at <= names.body:
        yield from _in_header(place)
        return
    blocks = _blocks(place, names)
    if not blocks:
        yield Candidate("query", "keyword")
        return
    if catalog is None:
        yield from _expression(place, names)
        return
    yield from _in_body(place, names, blocks, catalog)


def _in_header(place: Place) -> Iterator[Candidate]:
    if place.before() == "@":
        yield from _keywords(words.QUERY_ANNOTATIONS)
    elif place.before() in (":", "["):
        yield from (Candidate(name, "type") for name in (*words.TYPES, *words.TYPE_KEYWORDS))


def _in_body(place: Place, names: Names, blocks: list[int], catalog: Catalog) -> Iterator[Candidate]:
    block = place.tokens.texts[blocks[-1] - 1] if blocks[-1] else ""
    if place.before() == "." and place.kind_before(2) == VAR:
        yield from _properties(names.info(place.before(2)[1:], catalog), of_entity=True)
    elif place.before() in (":", "|") and place.kind_before(2) in (VAR, UPPER):
        yield from _after_colon(place, names, catalog)
    elif place.before() in ("insert", "update", "delete"):
        yield from _types(catalog)
        yield from _variables(names) if place.before() != "insert" else ()
    elif place.tokens.kinds[blocks[-1] - 1] == UPPER or block == "set":
        yield from _entries(place, names, blocks[-1], catalog)
    elif block in ("match", "not", "optional", "exists", "either", "or"):
        yield from _clause(place, names, catalog)
    elif len(blocks) == 1:
        yield from _keywords(words.QUERY_KEYWORDS)
        yield from _expression(place, names)
    else:
        yield from _expression(place, names)


def _blocks(place: Place, names: Names) -> list[int]:
    """The braces that are open at the place, outer ones first."""
    opened: list[int] = []
    for at in range(names.body, place.at):
        if place.tokens.kinds[at] == PUNCT and place.tokens.texts[at] == "{":
            opened.append(at)
        elif place.tokens.kinds[at] == PUNCT and place.tokens.texts[at] == "}" and opened:
            opened.pop()
    return opened


def _after_colon(place: Place, names: Names, catalog: Catalog) -> Iterator[Candidate]:
    if place.kind_before(3) == VAR and place.before() == ":":
        yield from _edges(names, place.before(3)[1:], catalog)
    else:
        yield from _types(catalog)
        yield from (Candidate(name, "type", "interface") for name in catalog.interfaces)


def _clause(place: Place, names: Names, catalog: Catalog) -> Iterator[Candidate]:
    """Inside `match`: an edge after a variable that begins a clause, otherwise anything that begins one."""
    if place.kind_before() == VAR and place.before(2) not in ("(", ",") and place.kind_before(2) != LOWER:
        yield from _edges(names, place.before()[1:], catalog)
        yield from _keywords(words.QUERY_OPERATORS)
    elif place.before() == "<" and place.kind_before(2) == VAR:
        yield from _edges(names, place.before(2)[1:], catalog)
    else:
        yield from _variables(names)
        yield from _keywords(("not", "optional", "shortest", "cheapest", "simple", "exists", "either", "unwind"))
        yield from _expression(place, names)


def _entries(place: Place, names: Names, brace: int, catalog: Catalog) -> Iterator[Candidate]:
    """Between the braces after a type: names of its properties, or the value of one."""
    tokens = place.tokens
    if place.before() == ":":
        yield from _expression(place, names)
        return
    info = owner_of(tokens, brace, names, catalog)
    used = {tokens.texts[at] for at in range(brace, place.at) if tokens.texts[at + 1] == ":"}
    yield from (each for each in _properties(info, of_entity=False) if each.text not in used)
    if isinstance(info, EdgeType) and tokens.texts[brace - 2] == "insert":
        yield from (Candidate(name, "property", "an endpoint") for name in ("from", "to") if name not in used)


def _expression(place: Place, names: Names) -> Iterator[Candidate]:
    yield from _variables(names)
    yield from (Candidate(name, "function", call_text(name).partition("\n")[0]) for name in words.CALLS)
    yield from _keywords((*words.CONSTANTS, "case", "distinct", "as", "asc", "desc", *words.QUERY_OPERATORS))


def _variables(names: Names) -> Iterator[Candidate]:
    for name, kind in names.variables.items():
        yield Candidate(f"${name}", "variable", kind.type_name)
    for name, kind_text in names.params.items():
        yield Candidate(f"${name}", "parameter", kind_text)


def _types(catalog: Catalog) -> Iterator[Candidate]:
    for name, node in catalog.nodes.items():
        yield Candidate(name, "type", node_text(node).partition("\n")[0])
    for name, edge in catalog.edges.items():
        yield Candidate(name, "type", edge_text(edge).partition("\n")[0])


def _edges(names: Names, var: str, catalog: Catalog) -> Iterator[Candidate]:
    """Edges that touch the type of a variable; all of them as long as it has none."""
    variable = names.variables.get(var)
    types = union_members(variable.type_name) if isinstance(variable, NodeVar) else tuple(catalog.nodes)
    for edge in catalog.edges.values():
        if edge.from_type in types or edge.to_type in types:
            yield Candidate(edge.name[0].lower() + edge.name[1:], "edge", edge_text(edge).partition("\n")[0])


def _properties(info: TypeInfo | None, *, of_entity: bool) -> Iterator[Candidate]:
    if info is None:
        return
    for name in info.properties:
        yield Candidate(name, "property", property_text(info, name).partition("\n")[0])
    if of_entity and info.name != PATH.name:
        yield Candidate("id", "property", "id: String")


def _keywords(found: Iterable[str]) -> Iterator[Candidate]:
    return (Candidate(word, "keyword") for word in found)


# --- schemas ---------------------------------------------------------------------------------


def _in_schema(place: Place) -> Iterator[Candidate]:
    opened = 0
    for at in range(place.at):
        opened += (place.tokens.texts[at] == "{") - (place.tokens.texts[at] == "}")
    if place.before() == "@":
        yield from _keywords(words.SCHEMA_ANNOTATIONS)
    elif place.before() in ("->", "implements") or (place.before() == ":" and not opened):
        kind = Interface if place.before() == "implements" else Node
        yield from _declared(place.tokens, kind)
    elif place.before() in (":", "[") and opened:
        yield from (Candidate(name, "type") for name in (*words.TYPES, *words.TYPE_KEYWORDS))
    elif not opened:
        yield from _keywords(words.SCHEMA_KEYWORDS)


def _declared(tokens: Tokens, kind: type[Interface] | type[Node]) -> Iterator[Candidate]:
    word = "interface" if kind is Interface else "node"
    for at in range(1, len(tokens.kinds)):
        if tokens.kinds[at] == UPPER and tokens.texts[at - 1] == word:
            yield Candidate(tokens.texts[at], "type", word)
