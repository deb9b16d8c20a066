"""Plans as text: one stable form for golden files and `explain`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir import ops, write_ops
from omnigraph.compiler.ir.link import OPEN_HOPS, Link
from omnigraph.compiler.ir.plan import MutationPlan, Plan, ReadPlan, ResultColumn, Stage
from omnigraph.compiler.lexer import quote
from omnigraph.compiler.temporal import Date, DateTime
from omnigraph.compiler.types import PropType


def format_plan(plan: Plan) -> str:
    """The operators of a plan, one a line, blocks indented."""
    if isinstance(plan, MutationPlan):
        return "\n".join(line for op in plan.ops for line in _mutation(op))
    lines = list(_read(plan, 0))
    lines.append("columns " + ", ".join(_column(column) for column in plan.columns))
    return "\n".join(lines)


def _read(plan: ReadPlan, depth: int) -> Iterator[str]:
    if plan.source is not None:
        yield from _read(plan.source.plan, depth)
        yield "  " * depth + format_operator(plan.source)
    yield from _pipeline(plan.match, depth)
    for op in plan.result:
        yield "  " * depth + _result(op)
        if isinstance(op, ops.Union):
            for part in plan.parts:
                yield "  " * (depth + 1) + "part"
                yield from _read(part, depth + 2)


def format_operator(op: ops.MatchOp | ops.ResultOp | Stage) -> str:
    """One operator on one line; what stands inside a block is not shown."""
    if isinstance(op, Stage):
        columns = [f"column {quote(column.name)}" for column in op.plan.columns]
        return "stage " + ", ".join([*(f"${name}" for name in op.keeps), *columns])
    if isinstance(op, ops.Unwind):
        return f"unwind {format_expr(op.expr)} as ${op.var}"
    if isinstance(op, ops.AntiJoin):
        return f"anti-join on {_variables(op.outer)}"
    if isinstance(op, ops.LeftJoin):
        return "left join" + (f" on {_variables(op.outer)}" if op.outer else "")
    if isinstance(op, ops.Mark):
        what = "mark" if op.call is None else f"fold {format_expr(op.call)} as"
        return f"{what} ${op.var}" + (f" on {_variables(op.outer)}" if op.outer else "")
    if isinstance(op, ops.Either):
        return "either" + (f" on {_variables(op.outer)}" if op.outer else "")
    if isinstance(op, ops.NodeScan | ops.Expand | ops.ExpandTest | ops.Filter | ops.ShortestPath):
        return _match(op)
    return _result(op)


def format_condition(condition: ir.Condition) -> str:
    """A condition in query notation."""
    match condition:
        case ir.Compare(op, left, right) | ir.TextTest(op, left, right):
            return f"{format_expr(left)} {op} {format_expr(right)}"
        case ir.SameNode(left, right, negated):
            return f"${left.var} {'!=' if negated else '='} ${right.var}"
        case ir.In(value, options, negated):
            return f"{format_expr(value)} {'not in' if negated else 'in'} {format_expr(options)}"
        case ir.IsNull(operand, negated):
            return f"{format_expr(operand)} {'is not null' if negated else 'is null'}"
        case ir.IsTrue(operand):
            return format_expr(operand)
        case ir.And(parts):
            return "(" + " and ".join(format_condition(part) for part in parts) + ")"
        case ir.Or(parts):
            return "(" + " or ".join(format_condition(part) for part in parts) + ")"
        case ir.NotTrue(part):
            return f"not ({format_condition(part)})"
        case ir.Not(part):
            return f"false ({format_condition(part)})"
        case ir.Possibly(part):
            return f"possibly ({format_condition(part)})"


def format_expr(expr: ir.Expr) -> str:
    """An expression in query notation; a parameter shows as `:name`."""
    match expr:
        case ir.Const(value):
            return _constant(value)
        case ir.Param(name):
            return f":{name}"
        case ir.Now():
            return "now()"
        case ir.Property(var, name):
            return f"${var}.{name}" if var != ir.TARGET else name
        case ir.Node(var):
            return f"${var}"
        case ir.Arithmetic(op, left, right):
            return f"({format_expr(left)} {op} {format_expr(right)})"
        case ir.TextMatch(function, field, query, distance):
            return _call(function, field, query, *(() if distance is None else (distance,)))
        case ir.Nearest(var, name, _, metric, query, _, probes):
            searched = "" if probes is None else f", {format_expr(probes)} partitions"
            return f"nearest(${var}.{name}, {format_expr(query)}, {metric}{searched})"
        case ir.Bm25(var, name, query):
            return f"bm25(${var}.{name}, {format_expr(query)})"
        case ir.Rrf(first, second, k):
            return _call("rrf", first, second, k)
        case ir.Score():
            return "score"
        case ir.WindowCall():
            return _window(expr)
        case ir.AggregateCall():
            return _aggregate(expr)
        case ir.Function(name, args):
            return _call(name, *args)
        case ir.Record(members, _, node):
            inside = ", ".join(f"{member.name}: {format_expr(member.value)}" for member in members)
            return f"{{ {inside} }}" if node is None else format_expr(node)
        case ir.Choice(conditions, values, otherwise):
            whens = (
                f"when {format_condition(condition)} then {format_expr(value)}"
                for condition, value in zip(conditions, values, strict=True)
            )
            return f"case {' '.join(whens)} else {format_expr(otherwise)} end"
        case ir.Column(name):
            return f"column {quote(name)}"
        case condition:
            return f"({format_condition(condition)})"


def _aggregate(call: ir.AggregateCall) -> str:
    inside = ("distinct " if call.distinct else "") + ("*" if call.arg is None else format_expr(call.arg))
    if call.where is not None:
        inside += f" where {format_condition(call.where)}"
    if call.key is not None:
        inside += f" order {format_expr(call.key)}{' desc' if call.descending else ''}"
    return f"{call.function}({inside})"


def _window(call: ir.WindowCall) -> str:
    parts = ["*" if call.function == "count" else ""] if call.arg is None else [format_expr(call.arg)]
    if call.function in ("lag", "lead") and call.offset != 1:
        parts[0] += f", {call.offset}"
    if call.where is not None:
        parts.append(f"where {format_condition(call.where)}")
    if call.per:
        parts.append("per " + ", ".join(map(format_expr, call.per)))
    if call.keys:
        keys = (format_expr(key.expr) + (" desc" if key.descending else "") for key in call.keys)
        parts.append("order " + ", ".join(keys))
    return f"{call.function}({' '.join(part for part in parts if part)})"


# --- match -----------------------------------------------------------------------------------


def _pipeline(pipeline: Iterable[ops.MatchOp], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for op in pipeline:
        if isinstance(op, ops.Either):
            yield indent + format_operator(op)
            for branch in op.branches:
                yield indent + "  alternative"
                yield from _pipeline(branch.ops, depth + 2)
        elif isinstance(op, ops.AntiJoin | ops.LeftJoin | ops.Mark):
            yield indent + format_operator(op)
            yield from _pipeline(op.ops, depth + 1)
        else:
            yield indent + format_operator(op)


def _match(op: ops.NodeScan | ops.Expand | ops.ExpandTest | ops.Filter | ops.ShortestPath) -> str:
    match op:
        case ops.NodeScan(var, type_name, predicates, joins, columns):
            what = "scan edge" if op.kind == "edge" else "scan"
            return f"{what} ${var}: {type_name}" + _where(predicates) + _on(joins) + _keeping(var, columns)
        case ops.Expand(link, source, predicates, edge_predicates):
            return (
                f"expand ${source} {op.direction} {_link(link)} ${op.target}: {op.target_type}"
                + _where((*predicates, *edge_predicates))
                + _keeping(op.target, op.columns)
                + _keeping(link.edge_var, op.edge_columns)
            )
        case ops.ExpandTest(link, edge_predicates, edge_columns):
            way = "both" if link.undirected else "out"
            ends = f"test ${link.tail} {way} {_link(link)} ${link.head}"
            return ends + _where(edge_predicates) + _keeping(link.edge_var, edge_columns)
        case ops.Filter(condition, late):
            return f"filter {'at last ' if late else ''}{format_condition(condition)}"
        case ops.ShortestPath(link, var, columns):
            many = "" if op.count is None else f" {format_expr(op.count)}"
            cost = "" if op.cost is None else f" by {format_expr(op.cost)}"
            ends = f"{op.kind}{many} ${var}: ${link.tail} {_link(link)} ${link.head}"
            return ends + cost + _keeping(var, columns)


def _link(link: Link) -> str:
    bound = f"${link.edge_var}:" if link.edge_var is not None else ""
    most = "" if link.max_hops == OPEN_HOPS else link.max_hops
    hops = "" if link.is_single else f"{{{link.min_hops},{most}}}"
    steps = "" if link.along is None else f" along ({' and '.join(map(format_condition, link.along.conditions))})"
    return f"{bound}{link.edge}{hops}{steps if link.along is not None and link.along.conditions else ''}"


def _where(conditions: tuple[ir.Condition, ...]) -> str:
    return " where " + " and ".join(format_condition(test) for test in conditions) if conditions else ""


def _on(joins: tuple[ir.Condition, ...]) -> str:
    return " on " + " and ".join(format_condition(test) for test in joins) if joins else ""


def _keeping(var: str | None, columns: tuple[str, ...]) -> str:
    return f" keeping {', '.join(f'${var}.{name}' for name in columns)}" if columns else ""


# --- result ----------------------------------------------------------------------------------


def _result(op: ops.ResultOp) -> str:
    match op:
        case ops.Union(distinct):
            return "union" if distinct else "union all"
        case ops.Rank(call, arm, fetch):
            return f"rank {format_expr(call)}" + (f" arm {_fetch(arm)}" if arm is not None else "") + _top(fetch)
        case ops.Sort(keys, ties, fetch):
            by = [format_expr(key.expr) + (" desc" if key.descending else "") for key in keys]
            tail = [f"ids of {_variables(ties)}"] if ties else []
            return "sort " + ", ".join([*by, *tail]) + _top(fetch)
        case ops.WindowColumns(columns=columns, ties=ties):
            behind = f", then ids of {_variables(ties)}" if ties else ""
            return "windows " + ", ".join(format_expr(column.expr) for column in columns) + behind
        case ops.Project(columns):
            return "project " + _outputs(columns)
        case ops.Aggregate(columns, entities):
            return "aggregate " + ", ".join([*(f"${name}" for name in entities), _outputs(columns)])
        case ops.Having(condition):
            return f"having {format_condition(condition)}"
        case ops.Distinct(entities):
            return "distinct" + (f" {_variables(entities)}" if entities else "")
        case ops.Limit(limit, offset, per):
            kept = f"limit {'all' if limit is None else format_expr(limit)}"
            kept += f" per {', '.join(map(format_expr, per))}" if per else ""
            return kept + (f" offset {format_expr(offset)}" if offset is not None else "")


def _top(fetch: ops.Fetch | None) -> str:
    return f" top {_fetch(fetch)}" if fetch is not None else ""


def _fetch(fetch: ops.Fetch) -> str:
    return format_expr(fetch.limit) + (f"+{format_expr(fetch.offset)}" if fetch.offset is not None else "")


def _outputs(columns: tuple[ops.Output, ...]) -> str:
    return ", ".join(f"{format_expr(column.expr)} as {quote(column.name)}" for column in columns)


def _column(column: ResultColumn) -> str:
    kind = column.type
    shown = str(kind.with_nullable(False)) if isinstance(kind, PropType) else f"object {kind}"
    return f"{quote(column.name)}: {shown}{'?' if column.nullable else ''}"


# --- mutations -------------------------------------------------------------------------------


def _mutation(op: write_ops.MutationOp) -> Iterator[str]:
    if isinstance(op, write_ops.ForEach):
        yield "for each" + (f" ${op.var}" if op.var is not None else "")
        yield from _pipeline(op.match, 1)
        yield _write(op.write).replace(f" where {format_condition(ir.ALWAYS)}", "")
    else:
        yield _write(op)


def _write(op: write_ops.PlainWrite) -> str:
    match op:
        case write_ops.InsertNode(type_name, values):
            return f"insert node {type_name} {_values(values)}"
        case write_ops.InsertEdge(type_name, _, _, source, target, values):
            return f"insert edge {type_name} from {format_expr(source)} to {format_expr(target)} {_values(values)}"
        case write_ops.UpdateNode(type_name, values, predicate):
            return f"update node {type_name} {_values(values)} where {format_condition(predicate)}"
        case write_ops.UpdateEdge(type_name, values, predicate):
            return f"update edge {type_name} {_values(values)} where {format_condition(predicate)}"
        case write_ops.DeleteNode(type_name, predicate, cascades):
            through = ", ".join(_cascade(cascade) for cascade in cascades) or "no edges"
            return f"delete node {type_name} where {format_condition(predicate)} cascading to {through}"
        case write_ops.DeleteEdge(type_name, predicate):
            return f"delete edge {type_name} where {format_condition(predicate)}"


def _values(values: tuple[write_ops.Value, ...]) -> str:
    return "{" + ", ".join(f"{value.property}: {format_expr(value.expr)} as {value.type}" for value in values) + "}"


def _cascade(cascade: write_ops.Cascade) -> str:
    ends = [name for name, holds in (("src", cascade.at_source), ("dst", cascade.at_target)) if holds]
    return f"{cascade.edge}({', '.join(ends)})"


# --- values ----------------------------------------------------------------------------------


def _constant(value: ir.ConstValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quote(value)
        case Date():
            return f"date({quote(str(value))})"
        case DateTime():
            return f"datetime({quote(str(value))})"
        case tuple():
            return "[" + ", ".join(_constant(item) for item in value) + "]"
        case _:
            return repr(value)


def _call(function: str, *args: ir.Expr) -> str:
    return f"{function}({', '.join(format_expr(arg) for arg in args)})"


def _variables(names: tuple[str, ...]) -> str:
    return ", ".join(f"${name}" for name in names)
