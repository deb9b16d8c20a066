"""Total order of rows: sort keys first, then the physical ids of the bound variables; null is smallest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import SortKey
from omnigraph.compiler.ir.walk import expressions, variables
from omnigraph.engine.read.adjacency import Rows
from omnigraph.engine.read.entities import Entities
from omnigraph.engine.read.frame import Frame, combine
from omnigraph.engine.read.numbering import one_zero, per_entity
from omnigraph.engine.read.rowindex import distinct
from omnigraph.engine.read.run import Run

Ranks = npt.NDArray[np.int64]
_Level = Callable[[Rows], tuple[Ranks, int]]


def order(run: Run, frame: Frame, keys: Iterable[SortKey], ties: Iterable[str], fetch: int | None = None) -> Rows:
    """Positions of the rows in order, at most `fetch` of them.

    Keys are looked at one after another, each only for the rows that the keys before it left undecided among the
    first `fetch`; so ids are read for ties only.
    """
    wanted = frame.length if fetch is None else min(fetch, frame.length)
    candidates = np.arange(frame.length)
    if not wanted:
        return candidates[:0]
    code, count = np.zeros(frame.length, np.int64), 1
    for level in _levels(run, frame, keys, ties):
        if count == len(candidates):
            break
        run.budget.check()
        code, count = combine(code, count, *level(candidates))
        if wanted < len(candidates):
            kept = code <= np.partition(code, wanted - 1)[wanted - 1]
            candidates, code = candidates[kept], code[kept]
            count = int(code.max()) + 1
    return candidates[np.argsort(code, kind="stable")][:wanted]


def id_ranks(entities: Entities, rows: Rows) -> Ranks:
    """The rank of each row's stored id among these rows, equal for equal rows."""
    wanted, inverse = distinct(rows)
    return dense_ranks(entities.values("id", wanted))[0][inverse]


def dense_ranks(column: pa.Array, *, descending: bool = False) -> tuple[Ranks, int]:
    """0, 1, 2 … by value, equal for equal values; null ranks lowest, or last when descending."""
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_date(kind):
        column = column.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())
    elif pa.types.is_null(kind):
        return np.zeros(len(column), np.int64), 1
    elif pa.types.is_floating(kind):
        column = one_zero(column)
    elif pa.types.is_struct(kind):
        column = column.field("id")
    if not len(column):
        return np.empty(0, np.int64), 0
    placed = ("", "descending", "at_end") if descending else ("", "ascending", "at_start")
    ranks: Ranks = pc.rank(column, sort_keys=[placed], tiebreaker="dense").to_numpy().astype(np.int64) - 1
    return ranks, int(ranks.max()) + 1


def value_ranks(run: Run, frame: Frame, expr: ir.Expr, *, descending: bool = False) -> tuple[Ranks, int]:
    """Dense ranks of an expression per row; when it reads one variable, each distinct entity is ranked once."""
    if isinstance(expr, ir.Node):
        ranks = id_ranks(run.entities(frame.bound[expr.var].table_key), frame.rows(expr.var))
        top = int(ranks.max()) if len(ranks) else -1
        return (top - ranks if descending else ranks), top + 1
    return per_entity(run, frame, expr, lambda column: dense_ranks(column, descending=descending))


def _levels(run: Run, frame: Frame, keys: Iterable[SortKey], ties: Iterable[str]) -> Iterator[_Level]:
    for key in keys:
        yield lambda rows, key=key: value_ranks(  # type: ignore[misc]
            run, _part(frame, key.expr, rows), key.expr, descending=key.descending
        )
    for var in ties:
        bound = frame.bound[var]
        yield lambda rows, bound=bound: _counted(  # type: ignore[misc]
            id_ranks(run.entities(bound.table_key), bound.rows[rows])
        )


def _part(frame: Frame, expr: ir.Expr, rows: Rows) -> Frame:
    if len(rows) == frame.length:
        return frame
    kept = frame.only(variables(expr))
    needs_outputs = any(isinstance(part, ir.Column) for part in expressions(expr))
    if not needs_outputs:
        kept = Frame(kept.length, kept.bound, kept.score)
    return kept.take(rows)


def _counted(ranks: Ranks) -> tuple[Ranks, int]:
    return ranks, int(ranks.max()) + 1 if len(ranks) else 0
