"""Lowering: a checked query becomes the plan that says what it means; passes make it fast afterwards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.groups import Groups
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import (
    AntiJoin,
    Branch,
    Distinct,
    Either,
    Expand,
    ExpandTest,
    Fetch,
    Filter,
    Having,
    LeftJoin,
    Limit,
    Mark,
    MatchOp,
    NodeScan,
    Output,
    Project,
    Rank,
    ResultOp,
    Sort,
    SortKey,
    Union,
    Unwind,
    WindowColumns,
)
from omnigraph.compiler.ir.plan import MutationPlan, Plan, ReadPlan, ResultColumn, Stage
from omnigraph.compiler.ir.ranges import can_fail
from omnigraph.compiler.ir.walk import rebuild
from omnigraph.compiler.ir.write_ops import ForEach, MutationOp, PlainWrite
from omnigraph.compiler.query.checked import (
    Bind,
    Checked,
    CheckedClause,
    CheckedMutation,
    CheckedRead,
    CheckedStage,
    Column,
    Driven,
    EitherMatch,
    ExistsMatch,
    NotMatch,
    OptionalMatch,
    PathVar,
    RowVar,
    Step,
    UnwindMatch,
    Where,
)


def lower(checked: Checked) -> Plan:
    """The plan of a checked query, operators in clause order."""
    if isinstance(checked.body, CheckedMutation):
        return MutationPlan(tuple(_write(each) for each in checked.body.statements))
    return _read(checked.body)


def _read(read: CheckedRead) -> ReadPlan:
    columns = tuple(ResultColumn(column.name, column.expr.type, column.nullable) for column in read.columns)
    if read.parts:
        return ReadPlan((), tuple(_united(read)), columns, tuple(map(_read, read.parts)))
    if read.source is None:
        return ReadPlan(_match(read.clauses, frozenset()), _result(read), columns)
    source = _stage(read.source)
    bound = frozenset({source.var, *source.keeps})
    return ReadPlan(_match(read.clauses, bound), _result(read), columns, source=source)


def _stage(stage: CheckedStage) -> Stage:
    """The plan of a stage: what is a node stays bound, so that only values become columns."""
    read = stage.read
    nodes = {ir.Column(each.name, each.expr.type): each.expr for each in read.columns if _is_node(each)}

    def bare(node: Any) -> Any:
        return nodes[node] if isinstance(node, ir.Column) and node in nodes else rebuild(node, bare)

    keys = tuple(SortKey(bare(key.expr), key.descending) for key in read.keys)
    values = replace(read, keys=keys, per=tuple(map(bare, read.per)))
    plan = _read(replace(values, columns=tuple(column for column in read.columns if not _is_node(column))))
    return Stage(replace(plan, result=_result(values, stage.keeps)), stage.var, stage.keeps)


def _is_node(column: Column) -> bool:
    return isinstance(column.expr, ir.Node)


def _united(read: CheckedRead) -> list[ResultOp]:
    ops: list[ResultOp] = [Union(read.distinct)]
    if read.keys:
        ops.append(Sort(read.keys))
    if read.limit is not None or read.offset is not None:
        ops.append(Limit(read.limit, read.offset))
    return ops


def _write(statement: PlainWrite | Driven) -> MutationOp:
    if isinstance(statement, Driven):
        return ForEach(_match(statement.clauses, frozenset()), statement.write, statement.var)
    return statement


# --- match -----------------------------------------------------------------------------------


def _match(clauses: tuple[CheckedClause, ...], outer: frozenset[str]) -> tuple[MatchOp, ...]:
    ops: list[MatchOp] = []
    bound = set(outer)
    stepped = {clause.link.edge_var for clause in clauses if isinstance(clause, Step)}
    for clause in _steps_first(clauses, stepped):
        match clause:
            case Bind(var, type_name, conditions, kind):
                # A second binding of a variable only adds its conditions.
                if var not in bound:
                    ops.append(NodeScan(var, type_name, kind=kind))
                    bound.add(var)
                ops.extend(Filter(condition) for condition in conditions)
            case Step(link, never, path, marks):
                if marks and link.along is not None:
                    along = replace(link.along, marks=tuple(_mark(mark, frozenset(mark.outer)) for mark in marks))
                    link = replace(link, along=along)
                    path = None if path is None else replace(path, link=replace(path.link, along=along))
                ops.extend(_step(link, bound))
                bound |= {link.tail, link.head, *(() if link.edge_var is None else (link.edge_var,))}
                if never:
                    ops.append(Filter(ir.NEVER))
                if path is not None:
                    ops.append(path)
            case Where(condition):
                ops.append(Filter(condition))
            case NotMatch(inner, reads):
                ops.append(AntiJoin(_match(inner, frozenset(bound)), reads))
            case OptionalMatch(inner, reads, binds):
                ops.append(LeftJoin(_match(inner, frozenset(bound)), reads, binds))
                bound |= set(binds)
            case UnwindMatch(expr, var):
                ops.append(Unwind(expr, var))
                bound.add(var)
            case ExistsMatch():
                ops.append(_mark(clause, frozenset(bound)))
            case EitherMatch(alternatives, reads, binds):
                branches = tuple(Branch(_match(each.clauses, frozenset(bound))) for each in alternatives)
                ops.append(Either(branches, reads, binds))
                bound |= set(binds)
    return tuple(ops)


def _mark(mark: ExistsMatch, bound: frozenset[str]) -> Mark:
    return Mark(_match(mark.clauses, bound), mark.outer, mark.var, mark.call, mark.ties)


def _steps_first(clauses: tuple[CheckedClause, ...], stepped: set[str | None]) -> list[CheckedClause]:
    """An edge that a traversal binds needs no scan of its own, wherever its binding stands."""
    scans = [clause for clause in clauses if isinstance(clause, Bind) and clause.var in stepped]
    if not scans:
        return list(clauses)
    rest = [clause for clause in clauses if clause not in scans]
    at = max(place for place, clause in enumerate(rest) if isinstance(clause, Step)) + 1
    return [*rest[:at], *scans, *rest[at:]]


def _step(link: Link, bound: set[str]) -> list[MatchOp]:
    if link.tail in bound and link.head in bound:
        return [ExpandTest(link)]
    if link.tail == link.head:
        return [NodeScan(link.tail, link.tail_type), ExpandTest(link)]
    if link.tail in bound:
        return [Expand(link, link.tail)]
    if link.head in bound:
        return [Expand(link, link.head)]
    return [NodeScan(link.tail, link.tail_type), Expand(link, link.tail)]


# --- result ----------------------------------------------------------------------------------


def _result(read: CheckedRead, keeps: tuple[str, ...] = ()) -> tuple[ResultOp, ...]:
    """The result operators; of a stage, the variables that it keeps are distinguished but are not columns."""
    read, windows = _with_windows(read)
    ties = [column for column in read.columns if column.is_key]
    if keeps:
        read = replace(read, columns=tuple(column for column in read.columns if not _is_node(column)))
    ops: list[ResultOp] = []
    fetch = Fetch(read.limit, read.offset) if read.limit is not None else None
    if read.rank is not None:
        ops.append(Rank(read.rank, arm=fetch if isinstance(read.rank, ir.Rrf) else None))
    ops.extend(windows)
    columns = tuple(Output(column.name, _reuse_score(column.expr, read.rank)) for column in read.columns)
    ops.extend(_grouped(read, columns, ties, keeps) if read.grouped else _projected(read, columns, keeps))
    if read.limit is not None or read.offset is not None:
        ops.append(Limit(read.limit, read.offset, read.per))
    return tuple(ops)


def _with_windows(read: CheckedRead) -> tuple[CheckedRead, list[ResultOp]]:
    """The read with its windows as properties of a variable, and the operator that binds it."""
    calls: dict[ir.WindowCall, ir.Property] = {}

    def known(node: Any) -> Any:
        if isinstance(node, ir.WindowCall):
            return calls.setdefault(node, ir.Property(read.window_var, f"w{len(calls)}", node.type))
        return rebuild(node, known)

    columns = tuple(replace(column, expr=known(column.expr)) for column in read.columns)
    keys = tuple(SortKey(known(key.expr), key.descending) for key in read.keys)
    per = tuple(map(known, read.per))
    if not calls:
        return read, []
    outputs = tuple(Output(value.name, call) for call, value in calls.items())
    # Windows do not depend on what the result is ranked by.
    op = WindowColumns(read.window_var, outputs, _row_order(replace(read, rank=None), ()).ties)
    return replace(read, columns=columns, keys=keys, per=per), [op]


def _projected(read: CheckedRead, columns: tuple[Output, ...], keeps: tuple[str, ...]) -> list[ResultOp]:
    # Sorting before projecting lets keys read what is not returned; Distinct then keeps the first of equal rows.
    order = _row_order(read, read.keys)
    ops: list[ResultOp] = [order, Project(columns), *_having(read.having)]
    if read.having and can_fail(order, *columns):
        ops = _narrowed(read, columns, order)
    return [*ops, Distinct(keeps)] if read.distinct else ops


def _narrowed(read: CheckedRead, columns: tuple[Output, ...], order: Sort) -> list[ResultOp]:
    """The same where something may overflow: that is computed for the rows that `having` leaves only."""
    failing = {column.name: column.expr for column in columns if can_fail(column)}

    def inlined(node: Any) -> Any:
        if isinstance(node, ir.Column):
            return failing.get(node.name, node)
        return rebuild(node, inlined)

    first = tuple(column for column in columns if column.name not in failing)
    again = (
        each if each.name in failing else Output(each.name, ir.Column(each.name, each.expr.type)) for each in columns
    )
    return [Project(first), *_having(tuple(map(inlined, read.having))), order, Project(tuple(again))]


def _grouped(
    read: CheckedRead, columns: tuple[Output, ...], ties: list[Column], keeps: tuple[str, ...]
) -> list[ResultOp]:
    groups = Groups.of(read, columns)
    aggregate = replace(groups.aggregate, entities=keeps)
    ops: list[ResultOp] = [aggregate, *_having(tuple(map(groups.inlined, read.having)))]
    # Groups come in the order of their keys, or of their first rows where those have none; lists keep that of rows.
    by_rows = read.rank is not None or not all(_has_order(column) for column in ties)
    if (by_rows and aggregate.is_keyed) or any(_collects(column) for column in aggregate.columns):
        ops.insert(0, _row_order(read, ()))
    if aggregate.is_keyed and (read.keys or not by_rows):
        keys = tuple(SortKey(groups.inlined(key.expr), key.descending) for key in read.keys)
        used = {key.expr for key in keys}
        rest = (
            column.expr if keeps and _is_node(column) else ir.Column(column.name, column.expr.type)
            for column in ties
            if _has_order(column)
        )
        ops.append(Sort((*keys, *(SortKey(column) for column in rest if column not in used))))
    # What is computed from aggregates is so for the groups that are left.
    return ops if groups.are_plain else [*ops, Project(groups.outputs)]


def _row_order(read: CheckedRead, keys: tuple[SortKey, ...]) -> Sort:
    # A path follows from its ends, which have names and come first; where there are several, they have an order.
    entities = (name for name, kind in read.variables.items() if not isinstance(kind, PathVar | RowVar))
    kept = () if read.source is None else (read.source.var, *read.source.keeps)
    ties = tuple(sorted(name for name in entities if not ir.is_hidden(name) and name not in kept))
    # Rows of the stage before keep their order, and stand for what they have; items of lists come last.
    made = tuple(name for name, kind in read.variables.items() if isinstance(kind, RowVar) and name not in kept)
    several = (name for name, kind in read.variables.items() if isinstance(kind, PathVar) and kind.several)
    ties = (*kept[:1], *ties, *sorted(name for name in several if name not in kept), *made)
    if read.rank is None:
        return Sort(keys, ties)
    best_first = SortKey(ir.Score(), descending=not isinstance(read.rank, ir.Nearest))
    # Equal scores: further keys, then the ranked entity, so that its rows stay together.
    entity = () if ir.is_hidden(read.rank.var) else (read.rank.var,)
    return Sort((best_first, *keys), (*entity, *(name for name in ties if name not in entity)))


def _having(conditions: tuple[ir.Condition, ...]) -> list[ResultOp]:
    """What may overflow is asked last and together: a row that something else drops must not fail."""
    failing = tuple(condition for condition in conditions if can_fail(condition))
    ops: list[ResultOp] = [Having(condition) for condition in conditions if condition not in failing]
    return [*ops, Having(failing[0] if len(failing) == 1 else ir.And(failing))] if failing else ops


def _collects(column: Output) -> bool:
    return isinstance(column.expr, ir.AggregateCall) and column.expr.function == "collect"


def _reuse_score(expr: ir.Expr, rank: ir.RankCall | None) -> ir.Expr:
    return ir.Score() if rank is not None and expr == rank else expr


def _has_order(column: Column) -> bool:
    kind = column.expr.type
    return isinstance(kind, ir.NodeObject) or not (kind.list or kind.is_vector or kind.members is not None)
