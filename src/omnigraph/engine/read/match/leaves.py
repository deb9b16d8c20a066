"""Where the evaluator finds what only a frame knows: properties of bound entities, identities, scores, text matches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.walk import variables
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.frames.frame import Bound, Frame
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import OPTIONAL, is_union
from omnigraph.engine.values.arrow import arrow_type
from omnigraph.engine.values.predicate import Leaf


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
                return run.columns(bound.table_key).values(name, bound.rows)
            case ir.Node(var):
                return _identity(run, frame.bound[var])
            case ir.Score():
                return pa.array(frame.score, pa.float64())
            case ir.TextMatch():
                from omnigraph.engine.read.search.text_predicates import text_matches

                nothing = pa.scalar(None, pa.utf8()) if expr.function == ir.SNIPPET else pa.scalar(value=False)
                return _piecewise(run, frame, expr, lambda part: text_matches(run, part, expr), nothing)
            case ir.Nearest():
                from omnigraph.engine.read.search.ranking import score_column

                nothing = pa.scalar(None, pa.float64())
                return _piecewise(run, frame, expr, lambda part: score_column(run, part, expr), nothing)
            case ir.Bm25() | ir.Rrf():
                from omnigraph.engine.read.search.ranking import score_column

                return _piecewise(run, frame, expr, lambda part: score_column(run, part, expr), pa.scalar(0.0))
            case _:
                raise ir.IllTyped(f"{type(expr).__name__} has no value of its own in a row")

    return leaf


def _identity(run: Run, bound: Bound) -> pa.Array:
    """Who each entity is, comparable between variables over different types; null is not an entity."""
    codes = run.numbering.coded(bound.table_key, bound.rows)
    return pa.array(codes, mask=codes < 0) if bound.table_key.startswith(OPTIONAL) else pa.array(codes)


def _piecewise(
    run: Run, frame: Frame, expr: ir.Expr, compute: Callable[[Frame], pa.Array], missing: pa.Scalar
) -> pa.Array:
    """A search over rows of one table at a time; `missing` where the entity to look at is null."""
    composite = [var for var in sorted(variables(expr)) if _is_composite(frame.bound[var].table_key)]
    if not composite:
        return compute(frame)
    bound = frame.bound[composite[0]]
    places = [np.flatnonzero(bound.rows < 0)]
    parts = [pa.repeat(missing, len(places[0]))]
    for member, at, rows in _members(run, bound):
        piece = frame.take(at)
        plain = replace(piece, bound={**piece.bound, composite[0]: Bound(member, rows)})
        parts.append(_piecewise(run, plain, expr, compute, missing))
        places.append(at)
    order = np.empty(frame.length, np.int64)
    order[np.concatenate(places)] = np.arange(frame.length)
    return pa.concat_arrays(parts).take(pa.array(order))


def _members(run: Run, bound: Bound) -> Iterator[tuple[str, Rows, Rows]]:
    key = bound.table_key.removeprefix(OPTIONAL)
    if is_union(key):
        yield from run.numbering.split(key, bound.rows)
    elif len(there := np.flatnonzero(bound.rows >= 0)):
        yield key, there, bound.rows[there]


def _is_composite(table_key: str) -> bool:
    return table_key.startswith(OPTIONAL) or is_union(table_key)


def _nothing(expr: ir.Expr) -> pa.Array:
    kind = expr.type
    return pa.array([], pa.int64() if isinstance(kind, ir.NodeObject) else arrow_type(kind))
