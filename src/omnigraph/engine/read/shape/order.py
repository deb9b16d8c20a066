"""Total order of rows: sort keys first, then the physical ids of the bound variables; null is smallest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import SortKey
from omnigraph.compiler.ir.walk import expressions, variables
from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.columns.pieces import in_order, taken
from omnigraph.engine.read.columns.rowindex import distinct
from omnigraph.engine.read.frames.frame import Frame, combine, numpy_of
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import TYPE, Columns, is_union
from omnigraph.engine.read.shape.numbering import entity_values, one_zero, value_column

Ranks = npt.NDArray[np.int64]
_Values: TypeAlias = Callable[[Rows], tuple[pa.Array, Rows]]
# Looking for the leading values first pays when they are at most this share of all.
_FEW_LEADERS = 8
# So few values are ranked in less time than it takes to look for the leading ones.
_FEW_VALUES = 1_024
# Of more values, about so many are looked at first; choosing from all of them takes ten times as long as comparing.
_MANY_VALUES, _SAMPLE = 1 << 18, 1 << 15


@dataclass(frozen=True, slots=True)
class _Level:
    """One thing to order by: for the rows at some positions, the values and which of them each row has."""

    values: _Values
    each: bool = False  # every row has a value of its own, in the order of rows
    descending: bool = False


def order(run: Run, frame: Frame, keys: Iterable[SortKey], ties: Iterable[str], fetch: int | None = None) -> Rows:
    """Positions of the rows in order, at most `fetch` of them.

    Levels are looked at one after another, each only for the rows that those before it left undecided among the
    first `fetch`; so ids are read for ties only.
    """
    wanted = frame.length if fetch is None else min(fetch, frame.length)
    candidates = np.arange(frame.length)
    if not wanted:
        return candidates[:0]
    code, count = np.zeros(frame.length, np.int64), 1
    for level in _levels(run, frame, keys, ties, some=wanted * _FEW_LEADERS <= frame.length):
        if count == len(candidates):
            break
        run.budget.check()
        values, place = level.values(candidates)
        if count == 1 and wanted * _FEW_LEADERS <= len(values) > _FEW_VALUES:
            ahead = leading(values, wanted, descending=level.descending)
            kept = ahead if level.each else ahead[place]
            picked = np.flatnonzero(kept)
            place = np.arange(len(picked)) if level.each else (np.cumsum(ahead) - 1)[place[picked]]
            candidates, code, values = candidates[picked], code[picked], values.filter(pa.array(ahead))
        ranks, rank_count = dense_ranks(values, descending=level.descending)
        code, count = combine(code, count, ranks[place], rank_count)
        if wanted < len(candidates):
            kept = code <= np.partition(code, wanted - 1)[wanted - 1]
            candidates, code = candidates[kept], code[kept]
            count = int(code.max()) + 1
    return taken(candidates, in_order(code)[:wanted])


def id_ranks(entities: Columns, rows: Rows) -> Ranks:
    """The rank of each row's stored id among these rows, equal for equal rows."""
    ids, place = _ids(entities, rows)
    return dense_ranks(ids)[0][place]


def dense_ranks(column: pa.Array, *, descending: bool = False) -> tuple[Ranks, int]:
    """0, 1, 2 … by value, equal for equal values; null ranks lowest, or last when descending."""
    if pa.types.is_null(column.type) or not len(column):
        return np.zeros(len(column), np.int64), min(len(column), 1)
    if pa.types.is_struct(column.type) and column.type.get_field_index(TYPE) >= 0:
        # Nodes of several types: by id, and between equal ids by the name of the type.
        by_id, by_type = (dense_ranks(column.field(name), descending=descending) for name in ("id", TYPE))
        return combine(*by_id, *by_type)
    placed = ("", "descending", "at_end") if descending else ("", "ascending", "at_start")
    ranks: Ranks = pc.rank(_sortable(column), sort_keys=[placed], tiebreaker="dense").to_numpy().astype(np.int64) - 1
    return ranks, int(ranks.max()) + 1


def leading(column: pa.Array, wanted: int, *, descending: bool) -> Mask:
    """Which values can be among the first `wanted` of their order."""
    everything = np.ones(len(column), np.bool_)
    if pa.types.is_null(column.type):
        return everything
    if not pa.types.is_floating(column.type):  # both zeros compare as equal, so floats can do without
        column = _sortable(column)
    first_null = not descending
    room = wanted - column.null_count if first_null else wanted
    if room <= 0:
        return numpy_of(column.is_null())
    present = column.drop_null()
    if room >= len(present):
        return everything
    within = _up_to(column, _last_of(present, room, descending=descending), descending=descending)
    return numpy_of(pc.fill_null(within, first_null) if column.null_count else within)


def _last_of(values: pa.Array, wanted: int, *, descending: bool) -> pa.Scalar:
    """The last of the first `wanted` values; of many, those go first that are behind the ones of a sample."""
    if len(values) > _MANY_VALUES and wanted * _FEW_LEADERS < _SAMPLE:
        some = values.take(pa.array(np.arange(0, len(values), len(values) // _SAMPLE)))
        values = values.filter(_up_to(values, _last_of(some, wanted, descending=descending), descending=descending))
    best = values.take(pc.select_k_unstable(values, wanted, [("", "descending" if descending else "ascending")]))
    return pc.min(best) if descending else pc.max(best)


def _up_to(values: pa.Array, last: pa.Scalar, *, descending: bool) -> pa.Array:
    return pc.greater_equal(values, last) if descending else pc.less_equal(values, last)


def _sortable(column: pa.Array) -> pa.Array:
    """The column in a type whose natural order is the order of the language."""
    kind = column.type
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8())
    if pa.types.is_date(kind):
        return column.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())
    if pa.types.is_floating(kind):
        return one_zero(column)
    return column.field("id") if pa.types.is_struct(kind) else column


def _levels(run: Run, frame: Frame, keys: Iterable[SortKey], ties: Iterable[str], *, some: bool) -> Iterator[_Level]:
    for key in keys:
        if isinstance(key.expr, ir.Node):
            yield from _node_levels(run, frame, key.expr.var, descending=key.descending)
        else:
            yield _Level(*_key(run, frame, key.expr, some=some), key.descending)
    for var in ties:
        yield from _node_levels(run, frame, var)


def _node_levels(run: Run, frame: Frame, var: str, *, descending: bool = False) -> Iterator[_Level]:
    """By id, and where nodes are of several types, by the name of the type."""
    yield _Level(_tie(run, frame, var), descending=descending)
    if is_union(frame.bound[var].table_key):
        yield _Level(_tie(run, frame, var, TYPE), descending=descending)


def _key(run: Run, frame: Frame, expr: ir.Expr, *, some: bool) -> tuple[_Values, bool]:
    """The values of a key, and whether every row has one of its own."""
    if some and isinstance(expr, ir.Property) and expr.type.is_numeric:
        # The first few of many numbers are found in less time than the different ones.
        return lambda rows: (value_column(run, _part(frame, expr, rows), expr), np.arange(len(rows))), True
    return lambda rows: entity_values(run, _part(frame, expr, rows), expr), False


def _tie(run: Run, frame: Frame, var: str, name: str = "id") -> Callable[[Rows], tuple[pa.Array, Rows]]:
    bound = frame.bound[var]
    return lambda rows: _ids(run.columns(bound.table_key), bound.rows[rows], name)


def _ids(entities: Columns, rows: Rows, name: str = "id") -> tuple[pa.Array, Rows]:
    wanted, place = distinct(rows)
    return entities.values(name, wanted), place


def _part(frame: Frame, expr: ir.Expr, rows: Rows) -> Frame:
    """The rows at some positions, with no more than the expression reads."""
    if len(rows) == frame.length:
        return frame
    parts = list(expressions(expr))
    outputs = {part.name: frame.outputs[part.name] for part in parts if isinstance(part, ir.Column)}
    score = frame.score if any(isinstance(part, ir.Score) for part in parts) else None
    return Frame(frame.length, frame.only(variables(expr)).bound, score, outputs).take(rows)
