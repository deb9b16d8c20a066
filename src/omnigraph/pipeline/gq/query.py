"""One read on Spark, from its text to its rows: the plan of the engine, lowered to frames and collected as Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import pyarrow as pa

from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.ir.ops import Distinct, Expand, ExpandTest, MatchOp, NodeScan, Union, pipelines
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import properties
from omnigraph.compiler.temporal import DateTime
from omnigraph.engine.read.execute import match
from omnigraph.engine.read.frames.budget import Budget, limits_from
from omnigraph.engine.read.frames.explain import Explanation
from omnigraph.engine.read.frames.frame import Frame as EngineFrame
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.match.leaves import frame_leaf
from omnigraph.engine.read.plan.outline import Outline, binds, outline
from omnigraph.engine.read.plan.plans import plan_for
from omnigraph.engine.read.query import ReadCall
from omnigraph.engine.read.shape.project import ENDS, result_table, value_type
from omnigraph.engine.read.shape.result import Result
from omnigraph.engine.values.predicate import Bindings
from omnigraph.engine.views.view import View
from omnigraph.ids import now_micros
from omnigraph.pipeline.gq.carry import from_spark, unpacked
from omnigraph.pipeline.gq.frame import Lowering, NodeColumns, Output, Rows
from omnigraph.pipeline.gq.match import Matcher
from omnigraph.pipeline.gq.numbered import NumberedHops
from omnigraph.pipeline.gq.rank import prepare
from omnigraph.pipeline.gq.shape import Shaper
from omnigraph.pipeline.gq.stages import staged
from omnigraph.pipeline.gq.union import united
from omnigraph.pipeline.spark.session import spark_session, without_warnings


def query_on_spark(view: View, call: ReadCall, session: Any = None) -> Result:
    """The rows of a read at one view, computed by Spark; the answer is the engine's."""
    memory = view.tables.memory
    compiled = compile_query(call.source, view.catalog, call.name, mutation=False, memory=memory)
    bindings = Bindings.of(compiled.bind(call.params), DateTime(now_micros() // 1_000))
    plan = plan_for(view, compiled, bindings.params)
    budget = Budget(limits_from() if call.limits is None else call.limits, memory=memory, cancel=call.cancel)
    run = Run(view, bindings, budget, frame_leaf, match, call.embedder, node_ids=call.node_ids)
    table = _execute(spark_session() if session is None else session, run, plan)
    return Result(compiled.name, view.branch, view.version, view.head, table, Explanation(plan))


def _execute(spark: Any, run: Run, plan: ReadPlan) -> pa.Table:
    low = Lowering(spark, run.bindings)
    try:
        with without_warnings(), unpacked("query"):
            rows = _read(low, run, plan, _needed(plan), outline(plan))
            found = _collected(rows)
    finally:
        low.release()
    run.budget.admit_result(found.num_rows)
    kinds = {column.name: value_type(run, column.type) for column in plan.columns}
    outputs = {name: _output(output, kinds[name], rows, found) for name, output in rows.outputs.items()}
    return result_table(run, EngineFrame(found.num_rows, outputs=outputs), plan.columns)


def _read(low: Lowering, run: Run, plan: ReadPlan, needed: Mapping[str, frozenset[str]], known: Outline) -> Rows:
    """The rows of a plan, those of its parts before."""
    rows = Rows(None)
    if plan.source is not None:
        assert known.source is not None
        rows = staged(low, _read(low, run, plan.source.plan, needed, known.source), plan.source)
    if not plan.parts:
        prepare(low, run, plan, _types(plan.match))
        rows = Matcher(low, run, needed, NumberedHops(low, run.view, plan, known)).matched(plan.match, rows)
    shaper = Shaper(low, run)
    for op in plan.result:
        run.budget.check()
        if isinstance(op, Union):
            parts = zip(plan.parts, known.parts, strict=True)
            rows = united(low, [_read(low, run, part, needed, each) for part, each in parts], plan.columns)
            rows = shaper.shape(rows, Distinct()) if op.distinct else rows
        else:
            rows = shaper.shape(rows, op)
    return rows


def _collected(rows: Rows) -> pa.Table:
    columns = dict.fromkeys(chain.from_iterable(map(_columns, rows.outputs.values())))
    frame = rows.frame.orderBy(*(each.expr for each in rows.order)) if rows.order else rows.frame
    found: pa.Table = frame.select(*columns).toArrow()
    return found


def _columns(output: Output) -> Iterable[str]:
    return output.columns.values() if isinstance(output, NodeColumns) else (output,)


def _output(output: Output, kind: pa.DataType, rows: Rows, found: pa.Table) -> pa.Array:
    def column(stored: str) -> pa.Array:
        return from_spark(found[stored].combine_chunks(), rows.kinds[stored])

    if isinstance(output, str):
        return column(output)
    if not pa.types.is_struct(kind):
        return column(output.id)
    ends = ENDS if output.is_edge else {}
    parts = [column(output.columns[ends.get(field.name, field.name)]) for field in kind]
    # A node that `optional` did not find is null as a whole.
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=column(output.id).is_null())


def _needed(plan: ReadPlan) -> Mapping[str, frozenset[str]]:
    """Which properties of each variable anything reads."""
    found: dict[str, set[str]] = {}
    for var, name in properties(plan):
        found.setdefault(var, set()).add(name)
    return {var: frozenset(names) for var, names in found.items()}


def _types(ops: Iterable[MatchOp]) -> dict[str, str]:
    """The table, or the union of tables, of each variable."""
    found: dict[str, str] = {}
    for op in ops:
        match op:
            case NodeScan() | Expand() | ExpandTest():
                found |= binds(op)
            case _:
                for inner in pipelines(op):
                    found |= _types(inner)
    return found
