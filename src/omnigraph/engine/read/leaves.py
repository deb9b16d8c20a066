"""Where the evaluator finds what only a frame knows: properties of bound entities, identities, scores, text matches."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.engine.arrow import arrow_type
from omnigraph.engine.predicate import Leaf
from omnigraph.engine.read.frame import Frame
from omnigraph.engine.read.run import Run
from omnigraph.engine.read.search import score_column
from omnigraph.engine.read.text import text_matches


def frame_leaf(run: Run, frame: Frame) -> Leaf:
    """Looks expressions up in the rows of a frame; over no rows it touches no table."""

    def leaf(expr: ir.Expr) -> pa.Array:
        if isinstance(expr, ir.Column):
            return frame.outputs[expr.name]
        if frame.length == 0:
            return _nothing(expr)
        match expr:
            case ir.Property(var, name):
                bound = frame.bound[var]
                return run.entities(bound.table_key).values(name, bound.rows)
            case ir.Node(var):
                return pa.array(frame.rows(var))
            case ir.Score():
                return pa.array(frame.score, pa.float64())
            case ir.TextMatch():
                return text_matches(run, frame, expr)
            case ir.Nearest() | ir.Bm25() | ir.Rrf():
                return score_column(run, frame, expr)
            case _:
                raise ir.IllTyped(f"{type(expr).__name__} has no value of its own in a row")

    return leaf


def _nothing(expr: ir.Expr) -> pa.Array:
    kind = expr.type
    return pa.array([], pa.int64() if isinstance(kind, ir.NodeObject) else arrow_type(kind))
