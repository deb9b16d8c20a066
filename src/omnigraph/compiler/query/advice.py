"""Remarks on queries that are right but may not be meant: L203 to L207."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeGuard

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.walk import expressions
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
from omnigraph.compiler.types import union_members


@dataclass(frozen=True, slots=True)
class Advice:
    """One remark on one query."""

    code: str
    message: str
    type_name: str | None = None
    severity: str = "info"


def advise(checked: Checked, catalog: Catalog, large_types: Collection[str]) -> Iterator[Advice]:
    """Everything worth a remark."""
    yield from _unused_parameters(checked)
    if not isinstance(checked.body, CheckedMutation):
        for read in checked.body.reads:
            yield from _counted_pairs(read, catalog)
            yield from _cross_product(read)
            yield from _order_without_limit(read, large_types)
            yield from _unnamed_aggregates(read)


def _unused_parameters(checked: Checked) -> Iterator[Advice]:
    used = {part.name for part in expressions(checked.body) if isinstance(part, ir.Param)}
    for param in checked.params:
        if param.name not in used:
            yield Advice("L203", f"parameter ${param.name} is never used")


def _cross_product(read: CheckedRead) -> Iterator[Advice]:
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
        yield Advice("L204", f"nothing connects {' with '.join(named)}; every combination is a row")


def _order_without_limit(read: CheckedRead, large_types: Collection[str]) -> Iterator[Advice]:
    if read.limit is not None or read.grouped or not (read.keys or read.rank):
        return
    scanned = {clause.type_name for clause in read.clauses if isinstance(clause, Bind)}
    reached = {kind.type_name for kind in read.variables.values() if isinstance(kind, NodeVar)}
    types = {name for union in scanned | reached for name in union_members(union)}
    for type_name in sorted(types & set(large_types)):
        yield Advice("L205", f"orders all of {type_name} without a limit", type_name)


def _unnamed_aggregates(read: CheckedRead) -> Iterator[Advice]:
    for column in read.columns:
        if column.is_aggregate and column.alias is None:
            yield Advice("L206", f"the aggregate column '{column.name}' has no name of its own; add 'as …'")


def _counted_pairs(read: CheckedRead, catalog: Catalog) -> Iterator[Advice]:
    """Two nodes are one row of a step, however many edges there are; who counts may have meant the edges."""
    functions = {column.expr.function for column in read.columns if _counts(column.expr)}
    if not functions:
        return
    links = (link for link in _links(read.clauses) if link.edge_var is None and link.max_hops == 1)
    edges = {name for link in links for name in union_members(link.edge)}
    for name in sorted(edge for edge in edges if not catalog.edges[edge].excludes_parallels):
        what = f"{' and '.join(sorted(functions))}(…) sees two nodes once, however many {name} edges join them"
        hint = f"bind the edge ($a $e:{name[0].lower()}{name[1:]} $b) to see each one, or declare @unique(src, dst)"
        yield Advice("L207", f"{what}; {hint}", name, "warning")


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
