"""What the names of a query stand for, read from its tokens, so that it works on texts that are being written."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.compiler.catalog.model import Catalog, EdgeType, TypeInfo
from omnigraph.compiler.lexer import LOWER, UPPER, VAR, Tokens
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.checked import EdgeVar, NodeVar, PathVar, Variable
from omnigraph.compiler.source import Source, Span
from omnigraph.compiler.types import UNION, union_name


@dataclass(slots=True)
class Names:
    """The parameters and variables of one query, with the places that introduce them."""

    start: int
    end: int
    body: int  # the token that opens the body
    params: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)

    def info(self, name: str, catalog: Catalog) -> TypeInfo | None:
        """What can be read of a variable."""
        variable = self.variables.get(name)
        return None if variable is None else Scope(catalog, Source(""), {}).info(variable)


def names_at(tokens: Tokens, offset: int, catalog: Catalog | None) -> Names | None:
    """The names of the query around an offset."""
    start, end = _around(tokens, offset)
    if start is None:
        return None
    names = Names(start, end, _body(tokens, start, end))
    _read_params(tokens, names)
    if catalog is not None:
        _read_bindings(tokens, names, catalog)
        for _ in range(2):  # types reach a traversal's end from either side
            _read_traversals(tokens, names, catalog)
    return names


def owner_of(tokens: Tokens, brace: int, names: Names, catalog: Catalog) -> TypeInfo | None:
    """The type that the entries behind an opening brace belong to."""
    owner = tokens.texts[brace - 2] if tokens.texts[brace - 1] == "set" else tokens.texts[brace - 1]
    if owner.startswith("$"):
        return names.info(owner[1:], catalog)
    return catalog.nodes.get(owner) or catalog.edges.get(owner)


def _around(tokens: Tokens, offset: int) -> tuple[int | None, int]:
    """The tokens of the query at an offset: from `query` before a name to the next one outside of braces."""
    start, last = None, len(tokens.kinds) - 1
    for at in range(last):
        if tokens.texts[at] == "query" and tokens.kinds[at + 1] == LOWER and tokens.texts[at + 2 : at + 3] == ["("]:
            if tokens.starts[at] > offset:
                return start, at
            start = at
    return start, last


def _body(tokens: Tokens, start: int, end: int) -> int:
    return next((at for at in range(start, end) if tokens.texts[at] == "{"), end)


def _read_params(tokens: Tokens, names: Names) -> None:
    for at in range(names.start + 1, names.body):
        if tokens.kinds[at] == VAR and tokens.texts[at + 1] == ":":
            name = tokens.texts[at][1:]
            names.params[name] = _type_text(tokens, at + 2)
            names.places[name] = tokens.span(at)


def _type_text(tokens: Tokens, at: int) -> str:
    """The type that begins at a token, as it is written."""
    closers = {"[": "]", "Vector": ")", "enum": ")"}
    stop = at
    closer = closers.get(tokens.texts[at])
    while closer is not None and stop < len(tokens.texts) - 1 and tokens.texts[stop] != closer:
        stop += 1
    stop += tokens.texts[stop + 1 : stop + 2] == ["?"]
    return "".join(tokens.texts[at : stop + 1]).replace(",", ", ")


def _read_bindings(tokens: Tokens, names: Names, catalog: Catalog) -> None:
    for at in range(names.body, names.end - 2):
        if tokens.kinds[at] != VAR:
            continue
        name = tokens.texts[at][1:]
        names.places.setdefault(name, tokens.span(at))
        if tokens.texts[at + 1] != ":" or tokens.kinds[at + 2] != UPPER or name in names.params:
            continue
        found = [tokens.texts[at + 2]]
        stop = at + 3
        while tokens.texts[stop] == UNION and tokens.kinds[stop + 1] == UPPER:
            found.append(tokens.texts[stop + 1])
            stop += 2
        variable = _variable_of(found, catalog)
        if variable is not None:
            names.variables.setdefault(name, variable)


def _variable_of(types: list[str], catalog: Catalog) -> Variable | None:
    if len(types) == 1 and types[0] in catalog.interfaces:
        implementing = [name for name, info in catalog.nodes.items() if types[0] in info.implements]
        return NodeVar(union_name(implementing), types[0])
    if all(name in catalog.nodes for name in types):
        return NodeVar(union_name(types))
    return EdgeVar(union_name(types)) if all(name in catalog.edges for name in types) else None


def _read_traversals(tokens: Tokens, names: Names, catalog: Catalog) -> None:
    for at in range(names.body, names.end - 2):
        if tokens.kinds[at] != VAR:
            continue
        step = at + 1
        edge_var = None
        if tokens.kinds[step] == VAR and tokens.texts[step + 1] == ":":
            edge_var, step = tokens.texts[step][1:], step + 2
        step += tokens.texts[step] == "<"
        edge = catalog.edge(tokens.texts[step]) if tokens.kinds[step] == LOWER else None
        if edge is None:
            continue
        right = next((after for after in range(step + 1, min(step + 8, names.end)) if tokens.kinds[after] == VAR), None)
        _relate(names, tokens.texts[at][1:], edge, None if right is None else tokens.texts[right][1:])
        if edge_var is not None:
            names.variables.setdefault(edge_var, EdgeVar(edge.name))
        if tokens.texts[at - 1] == ":" and {*tokens.texts[at - 4 : at - 2]} & {"shortest", "cheapest", "simple"}:
            nodes, cheapest = union_name((edge.from_type, edge.to_type)), "cheapest" in tokens.texts[at - 4 : at - 2]
            path = PathVar(nodes=nodes, edges=edge.name, has_cost=cheapest)
            names.variables.setdefault(tokens.texts[at - 2][1:], path)


def _relate(names: Names, left: str, edge: EdgeType, right: str | None) -> None:
    """Give the ends of a traversal the types that its edge says, in the direction that fits what is known."""
    known = {name: names.variables[name] for name in (left, right) if name in names.variables}
    left_type = known[left].type_name if left in known and isinstance(known[left], NodeVar) else None
    right_type = known[right].type_name if right in known and isinstance(known[right], NodeVar) else None
    turned = (left_type is not None and left_type != edge.from_type and left_type == edge.to_type) or (
        left_type is None and right_type is not None and right_type != edge.to_type and right_type == edge.from_type
    )
    first, second = (edge.to_type, edge.from_type) if turned else (edge.from_type, edge.to_type)
    if left != "_":
        names.variables.setdefault(left, NodeVar(first))
    if right is not None and right != "_":
        names.variables.setdefault(right, NodeVar(second))
