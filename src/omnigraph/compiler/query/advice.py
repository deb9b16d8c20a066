"""Remarks on queries that are right but may not be meant: L203 to L207."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeGuard

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.walk import expressions
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.clauses import used_variables
from omnigraph.compiler.query.checked import (
    Bind,
    Checked,
    CheckedClause,
    CheckedMutation,
    CheckedRead,
    EitherMatch,
    ExistsMatch,
    NodeVar,
    NotMatch,
    OptionalMatch,
    Step,
)
from omnigraph.compiler.source import Span
from omnigraph.compiler.types import UNION, union_members


@dataclass(frozen=True, slots=True)
class Advice:
    """One remark on one query, and the place it is about."""

    code: str
    message: str
    span: Span
    type_name: str | None = None
    severity: str = "info"


@dataclass(frozen=True, slots=True)
class _Part:
    """One read as it was checked and as it was written."""

    read: CheckedRead
    written: ast.Read | ast.Stage
    whole: Span


def advise(checked: Checked, catalog: Catalog, large_types: Collection[str]) -> Iterator[Advice]:
    """Everything worth a remark."""
    yield from _unused_parameters(checked)
    body, written = checked.body, checked.query.body
    if isinstance(body, CheckedMutation) or not isinstance(written, ast.Read):
        return
    for read, each in zip(body.reads, _written(written), strict=True):
        part = _Part(read, each, checked.query.name_span)
        yield from _counted_pairs(part, catalog)
        yield from _cross_product(part)
        yield from _order_without_limit(part, large_types)
        yield from _unnamed_aggregates(part)


def _written(read: ast.Read) -> Iterator[ast.Read | ast.Stage]:
    """The reads of a query in the order of `CheckedRead.reads`."""
    for part in (read, *read.more):
        yield from part.stages
        yield part


def _unused_parameters(checked: Checked) -> Iterator[Advice]:
    used = {part.name for part in expressions(checked.body) if isinstance(part, ir.Param)}
    for param in checked.query.params:
        if param.name not in used:
            yield Advice("L203", f"parameter ${param.name} is never used", param.span)


def _cross_product(part: _Part) -> Iterator[Advice]:
    read = part.read
    groups: list[set[str]] = [] if read.source is None else [{read.source.var, *read.source.keeps}]
    for clause in read.clauses:
        if isinstance(clause, NotMatch | ExistsMatch):
            continue
        joined = set(used_variables(clause))
        if isinstance(clause, Step):
            joined |= {name for name in (clause.link.edge_var, clause.path_var) if name is not None}
        if joined:
            apart = [group for group in groups if not group & joined]
            groups = [*apart, joined.union(*(group for group in groups if group & joined))]
    if len(groups) > 1:
        named = [", ".join(f"${name}" for name in sorted(group) if not ir.is_hidden(name)) or "$_" for group in groups]
        message = f"nothing connects {' with '.join(named)}; every combination is a row"
        places = (clause.span for clause in part.written.clauses if _binds(clause) & groups[-1])
        yield Advice("L204", message, next(places, part.whole))


def _binds(clause: ast.Clause) -> set[str]:
    """The variables that a clause names outside of its expressions."""
    match clause:
        case ast.Binding(var):
            return {var}
        case ast.Traversal(left, _, right):
            return {left, right}
        case ast.OptionalBlock(inner):
            return set().union(*map(_binds, inner))
        case ast.EitherBlock(alternatives):
            return set().union(*(_binds(inner) for each in alternatives for inner in each.clauses))
        case _:
            return set()


def _order_without_limit(part: _Part, large_types: Collection[str]) -> Iterator[Advice]:
    read = part.read
    if read.limit is not None or read.grouped or not (read.keys or read.rank):
        return
    scanned = {clause.type_name for clause in read.clauses if isinstance(clause, Bind)}
    reached = {kind.type_name for kind in read.variables.values() if isinstance(kind, NodeVar)}
    types = {name for union in scanned | reached for name in union_members(union)}
    keys = part.written.order
    place = keys[0].span.to(keys[-1].span) if keys else part.whole
    for type_name in sorted(types & set(large_types)):
        yield Advice("L205", f"orders all of {type_name} without a limit", place, type_name)


def _unnamed_aggregates(part: _Part) -> Iterator[Advice]:
    for column, item in zip(part.read.columns, part.written.items, strict=True):
        if column.is_aggregate and column.alias is None:
            message = f"the aggregate column '{column.name}' has no name of its own; add 'as …'"
            yield Advice("L206", message, item.span)


def _counted_pairs(part: _Part, catalog: Catalog) -> Iterator[Advice]:
    """Two nodes are one row of a step, however many edges there are; who counts may have meant the edges."""
    read = part.read
    functions = {column.expr.function for column in read.columns if _counts(column.expr)}
    if not functions:
        return
    links = (link for link in _links(read.clauses) if link.edge_var is None and link.max_hops == 1)
    edges = {name for link in links for name in union_members(link.edge)}
    for name in sorted(edge for edge in edges if not catalog.edges[edge].excludes_parallels):
        what = f"{' and '.join(sorted(functions))}(…) sees two nodes once, however many {name} edges join them"
        hint = f"bind the edge ($a $e:{name[0].lower()}{name[1:]} $b) to see each one, or declare @unique(src, dst)"
        place = next(_steps(part.written.clauses, name), part.whole)
        yield Advice("L207", f"{what}; {hint}", place, name, "warning")


def _steps(clauses: tuple[ast.Clause, ...], edge: str) -> Iterator[Span]:
    """The places of plain steps along an edge type; its name is written in any case."""
    for clause in clauses:
        match clause:
            case ast.Traversal(edge_var=None, hops=None | (1, 1)):
                if edge.lower() in clause.edge.lower().split(UNION):
                    yield clause.span
            case ast.OptionalBlock(inner):
                yield from _steps(inner, edge)
            case ast.EitherBlock(alternatives):
                for each in alternatives:
                    yield from _steps(each.clauses, edge)
            case _:
                pass


def _counts(expr: ir.Expr) -> TypeGuard[ir.AggregateCall]:
    return isinstance(expr, ir.AggregateCall) and expr.function in ("count", "sum", "avg") and not expr.distinct


def _links(clauses: tuple[CheckedClause, ...]) -> Iterator[Link]:
    """The steps that rows come from; those of `not` blocks only say which."""
    for clause in clauses:
        match clause:
            case Step(link):
                yield link
            case OptionalMatch(inner):
                yield from _links(inner)
            case EitherMatch(alternatives):
                for each in alternatives:
                    yield from _links(each.clauses)
            case _:
                pass
