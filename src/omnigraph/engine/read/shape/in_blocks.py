"""Reads of everything in a table that memory may not keep: block by block, each folded before the next one is read.

What a block holds is let go of with it, so a read takes the memory of one block and of its answer, however large the
table is. Only folds whose parts add up to the same digits are taken this way; sums of doubles have an order of their
own and are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Aggregate, NodeScan, Output, Project, ResultOp, Sort, WindowColumns
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import properties, variables
from omnigraph.compiler.types import INTEGER, PropType
from omnigraph.engine.read.columns.rowindex import EXACT
from omnigraph.engine.read.frames.frame import Bound, Frame
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import is_union
from omnigraph.engine.read.shape.aggregate import aggregate
from omnigraph.engine.read.shape.project import output_columns

# Groups of all blocks together: more of them are not much smaller than the rows.
_MOST_PARTS = 1 << 22
# A column of an answer may not end so.
_ROWS = "#rows"


def read_in_blocks(run: Run, plan: ReadPlan, unordered: int | None) -> tuple[Frame, tuple[ResultOp, ...]] | None:
    """The rows after the first operators of the result, and the operators that are left.

    None for a plan that reads more than one table, or one that memory may keep, or folds what does not add up. More
    rows than `unordered` may come in any order.
    """
    match plan.match:
        case (NodeScan(predicates=(), joins=()) as scan,) if not is_union(scan.table_key):
            pass
        case _:
            return None
    if plan.source is not None or plan.parts or not run.exists(scan.table_key):
        return None
    match plan.result:
        case (Aggregate() as op, *rest) if _adds_up(op) and _names(op):
            pass
        case (Sort(), Project() as op, *rest) if unordered is not None:
            if run.entities(scan.table_key).row_count <= unordered:
                return None
        case _:
            return None
    if any(variables(each) or (isinstance(each, Sort | WindowColumns) and each.ties) for each in rest):
        return None
    ranges = run.entities(scan.table_key).blocks()
    if not ranges:
        return None
    with run.profile.measure(scan) as step:
        step.rows = run.entities(scan.table_key).row_count
        run.profile.note(f"in {len(ranges)} blocks")
    with run.profile.measure(op) as step:
        blocks = _blocks(run, scan, ranges, _names(op))
        found = _aggregated(run, blocks, op) if isinstance(op, Aggregate) else _projected(run, blocks, op)
        run.entities(scan.table_key).let_go()
        if found is None:
            return None
        step.rows = found.length
    return found, tuple(rest)


def _names(op: Aggregate | Project) -> list[str]:
    parts = [name for column in op.columns for _, name in properties(column.expr)]
    return list(dict.fromkeys(parts))


def _blocks(run: Run, scan: NodeScan, ranges: Iterable[tuple[int, int]], names: list[str]) -> Iterator[Frame | None]:
    """The rows of each block, whose columns are held until the next; None where one cannot be read so."""
    table = run.entities(scan.table_key)
    for first, end in ranges:
        run.budget.check()
        rows = table.hold_block(names, first, end)
        yield None if rows is None else Frame(len(rows), {scan.var: Bound(scan.table_key, rows)})


def _projected(run: Run, blocks: Iterator[Frame | None], op: Project) -> Frame | None:
    parts: dict[str, list[pa.Array]] = {column.name: [] for column in op.columns}
    length = held = 0
    for block in blocks:
        if block is None:
            return None
        length += block.length
        for name, values in output_columns(run, block, op.columns):
            parts[name].append(values)
            held += values.nbytes
        run.budget.admit(1, row_bytes=held)
    return Frame(length, outputs={name: pa.concat_arrays(parts.pop(name)) for name in list(parts)})


# --- folds ---------------------------------------------------------------------------------------------


def _adds_up(op: Aggregate) -> bool:
    """Whether the folds of all rows can be told from those of parts of them."""
    plain = all(not isinstance(key.expr, ir.Node | ir.Record) for key in op.keys)
    return plain and not op.entities and all(_call_adds_up(call) for _, call in _calls(op))


def _call_adds_up(call: ir.AggregateCall) -> bool:
    if call.distinct or call.key is not None:
        return False
    if call.function in ("count", "min", "max"):
        return call.function == "count" or not isinstance(call.arg, ir.Node | ir.Record)
    kind = None if call.arg is None else call.arg.type
    integers = isinstance(kind, PropType) and kind.scalar in INTEGER and not kind.list
    return call.function in ("sum", "avg") and integers


def _calls(op: Aggregate) -> Iterator[tuple[str, ir.AggregateCall]]:
    for column in op.columns:
        if isinstance(column.expr, ir.AggregateCall):
            yield column.name, column.expr


def _aggregated(run: Run, blocks: Iterator[Frame | None], op: Aggregate) -> Frame | None:
    partial = Aggregate((*op.keys, *_partial(op)))
    parts: list[dict[str, pa.Array]] = []
    length = 0
    for block in blocks:
        folded = None if block is None else _whole_numbers(aggregate(run, block, partial).outputs, op)
        length += 0 if folded is None else len(next(iter(folded.values())))
        if folded is None or length > _MOST_PARTS:
            return None
        parts.append(folded)
    columns = {name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}
    merged = aggregate(run, Frame(length, outputs=columns), _merging(op))
    return replace(merged, outputs={column.name: _final(column, merged.outputs) for column in op.columns})


def _partial(op: Aggregate) -> Iterator[Output]:
    """What is folded of a block: an average is the sum and the number of its values."""
    for name, call in _calls(op):
        yield Output(name, replace(call, function="sum") if call.function == "avg" else call)
        if call.function == "avg":
            yield Output(name + _ROWS, replace(call, function="count", type=ir.INT64))


def _whole_numbers(outputs: Mapping[str, pa.Array], op: Aggregate) -> dict[str, pa.Array] | None:
    """Sums of integers as integers; None where a double did not hold one."""
    found = dict(outputs)
    for name, call in _calls(op):
        if call.function in ("sum", "avg"):
            largest = pc.max(pc.abs(found[name])).as_py()
            if largest is not None and not largest < EXACT:
                return None
            found[name] = found[name].cast(pa.int64())
    return found


def _merging(op: Aggregate) -> Aggregate:
    """The same groups over the folds of all blocks."""
    columns = [Output(key.name, ir.Column(key.name, key.expr.type)) for key in op.keys]
    for part in _partial(op):
        call = part.expr
        assert isinstance(call, ir.AggregateCall)
        function = "sum" if call.function == "count" else call.function
        kind = ir.INT64 if function == "sum" else call.type
        merged = ir.AggregateCall(function, ir.Column(part.name, kind), distinct=False, type=kind)
        columns.append(Output(part.name, merged))
    return Aggregate(tuple(columns))


def _final(column: Output, merged: Mapping[str, pa.Array]) -> pa.Array:
    found, call = merged[column.name], column.expr
    if not isinstance(call, ir.AggregateCall) or call.function not in ("count", "avg"):
        return found
    if call.function == "count":
        return found.cast(pa.int64())
    sums = found.fill_null(0.0).to_numpy(zero_copy_only=False)
    rows = merged[column.name + _ROWS].to_numpy(zero_copy_only=False)
    return pc.if_else(
        pa.array(rows > 0), pa.array(np.divide(sums, rows, out=np.zeros(len(sums)), where=rows > 0)), None
    )
