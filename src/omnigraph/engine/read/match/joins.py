"""Joining rows with the nodes of a scan: by equal values, by values in order, or by any of several equalities.

A join looks at the values of the nodes once, and then says for the rows of any frame which nodes fit, or how many.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import NodeScan
from omnigraph.compiler.ir.ranges import can_fail
from omnigraph.compiler.ir.walk import rebuild, variables
from omnigraph.compiler.types import FLOATING, PropType
from omnigraph.engine.read.columns.arrays import Rows, spread
from omnigraph.engine.read.columns.pieces import in_order, taken
from omnigraph.engine.read.columns.rowindex import RowIndex, distinct_rows
from omnigraph.engine.read.frames.frame import Bound, Frame, numpy_of
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.shape.numbering import one_zero, value_column
from omnigraph.engine.read.shape.order import dense_ranks
from omnigraph.engine.read.topology.adjacency import Adjacency, build
from omnigraph.engine.values.text_numbers import text_numbers

_TURNED = {"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class EqualityJoin:
    """Rows and nodes with equal values; null equals nothing."""

    is_narrow = True

    def __init__(self, run: Run, op: NodeScan, nodes: Rows, condition: ir.Condition) -> None:
        found = _sides(condition, op.var)
        assert found is not None
        _, self._here, there = found
        self.condition, self._run = condition, run
        column = _hashable(value_column(run, Frame(len(nodes), {op.var: Bound(op.table_key, nodes)}), there))
        owners = np.flatnonzero(numpy_of(column.is_valid())) if column.null_count else np.arange(len(column))
        self._there = column.drop_null() if column.null_count else column
        keys, self._distinct = _numbered(self._there)
        count = len(self._distinct)
        self._sizes = np.bincount(keys, minlength=count + 1)
        self._keys, self._owners, self._nodes = keys, owners, nodes[owners]
        self._mirror = (_mirrored(self._here, there), op.table_key, nodes)

    @cached_property
    def _values(self) -> pa.Array:
        """The different values by number."""
        if isinstance(self._distinct, pa.Array):
            return self._distinct
        return self._there.take(pa.array(self._distinct))

    @cached_property
    def _lists(self) -> Adjacency:
        return build(self._keys, self._nodes, np.zeros(len(self._keys), np.int64))

    def counts(self, frame: Frame) -> Rows:
        """How many nodes fit each row."""
        at, wanted = self._places(frame)
        counts = np.zeros(frame.length, np.int64)
        counts[at] = self._sizes[wanted]
        return counts

    def pairs(self, frame: Frame) -> tuple[Rows, Rows]:
        """(row, node) of every pair that fits."""
        at, wanted = self._places(frame)
        owner, found, _ = self._lists.expand(wanted)
        return at[owner], found

    def _places(self, frame: Frame) -> tuple[Rows, Rows]:
        """(row, number of its value) of every row whose value is known; null is never among them."""
        var, table_key, nodes = self._mirror
        mine = frame.bound.get(var) if var is not None else None
        if mine is not None and mine.table_key == table_key and np.array_equal(mine.rows, nodes):
            return self._owners, self._keys  # the same values of the same nodes
        place = pc.index_in(_hashable(value_column(self._run, frame, self._here)), value_set=self._values)
        known = np.flatnonzero(numpy_of(place.is_valid()))
        return known, numpy_of(place.drop_null()).astype(np.int64)


class IdentityJoin:
    """Rows and nodes that are the same node: a row knows which one that is, so no value is looked at."""

    is_narrow = True

    def __init__(self, run: Run, op: NodeScan, nodes: Rows, condition: ir.SameNode, here: str) -> None:
        self.condition, self._run, self._here = condition, run, here
        self._table_key, self._nodes = op.table_key, RowIndex(nodes)

    def counts(self, frame: Frame) -> Rows:
        """How many nodes fit each row: one or none."""
        counts = np.zeros(frame.length, np.int64)
        counts[self.pairs(frame)[0]] = 1
        return counts

    def pairs(self, frame: Frame) -> tuple[Rows, Rows]:
        """(row, node) of every pair that fits."""
        bound, numbering = frame.bound[self._here], self._run.numbering
        codes = numbering.coded(bound.table_key, bound.rows)
        rows = np.flatnonzero(numbering.belongs(self._table_key, codes))
        found = numbering.decoded(self._table_key, codes[rows])
        fits = self._nodes.contains(found)
        return rows[fits], found[fits]


def _numbered(column: pa.Array) -> tuple[Rows, pa.Array | Rows]:
    """(the number of each value, the different values by number or one place of each)."""
    known = text_numbers(column) if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) else None
    if known is not None:
        return known
    encoded = column.dictionary_encode()
    return numpy_of(encoded.indices).astype(np.int64), encoded.dictionary


class OrderJoin:
    """Rows and nodes whose values are in order; what fits a row is one range of the nodes by value."""

    is_narrow = False

    def __init__(self, run: Run, op: NodeScan, nodes: Rows, condition: ir.Compare) -> None:
        found = _sides(condition, op.var)
        assert found is not None
        self._op, self._here, there = found
        self.condition, self._run, self._nodes = condition, run, nodes
        self._column = value_column(run, Frame(len(nodes), {op.var: Bound(op.table_key, nodes)}), there)

    def counts(self, frame: Frame) -> Rows:
        """How many nodes fit each row."""
        start, stop, _ = self._ranges(frame)
        return stop - start

    def pairs(self, frame: Frame) -> tuple[Rows, Rows]:
        """(row, node) of every pair that fits."""
        start, stop, order = self._ranges(frame)
        owner, entry = spread(start, stop)
        return owner, self._nodes[order[entry]]

    def _ranges(self, frame: Frame) -> tuple[Rows, Rows, Rows]:
        here = value_column(self._run, frame, self._here)
        # Ranks among the values of both sides compare as the values do, whatever their type.
        ranks, _ = dense_ranks(pa.concat_arrays([here, self._column]))
        mine, theirs = ranks[: len(here)], ranks[len(here) :]
        present = np.flatnonzero(numpy_of(self._column.is_valid()))
        order = taken(present, in_order(taken(theirs, present)))
        theirs = theirs[order]
        left = np.searchsorted(theirs, mine, side="left")
        right = np.searchsorted(theirs, mine, side="right")
        everything, nothing = np.full(len(mine), len(theirs)), np.zeros(len(mine), np.int64)
        start, stop = {
            "<": (right, everything),
            "<=": (left, everything),
            ">": (nothing, left),
            ">=": (nothing, right),
        }[self._op]
        known = numpy_of(here.is_valid())
        return start * known, stop * known, order


class AnyJoin:
    """Rows and nodes of which one of several joins holds, each pair once."""

    is_narrow = True

    def __init__(self, run: Run, op: NodeScan, nodes: Rows, condition: ir.Or) -> None:
        self.condition = condition
        self._parts = [EqualityJoin(run, op, nodes, part) for part in condition.parts]

    def counts(self, frame: Frame) -> Rows:
        """How many nodes fit each row, at most."""
        found = np.zeros(frame.length, np.int64)
        for part in self._parts:
            found += part.counts(frame)
        return found

    def pairs(self, frame: Frame) -> tuple[Rows, Rows]:
        """(row, node) of every pair that fits."""
        found = [part.pairs(frame) for part in self._parts]
        rows, nodes = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
        if not len(rows):
            return rows, nodes
        width = int(nodes.max()) + 1
        if (int(rows.max()) + 1) * width >= 1 << 62:
            picked = np.unique(np.stack([rows, nodes]), axis=1)
            return picked[0], picked[1]
        both = distinct_rows(rows * width + nodes)
        return both // width, both % width


Join: TypeAlias = EqualityJoin | IdentityJoin | OrderJoin | AnyJoin


def join_of(run: Run, op: NodeScan, nodes: Rows) -> Join | None:
    """How to find the nodes that fit a row without trying all of them; None where no condition says so."""
    for condition in op.joins:
        match condition:
            case ir.SameNode(ir.Node(left), ir.Node(right), negated=False) if op.var in (left, right) and left != right:
                return IdentityJoin(run, op, nodes, condition, right if left == op.var else left)
    for condition in op.joins:
        if is_equality(condition, op.var):
            return EqualityJoin(run, op, nodes, condition)
    for condition in op.joins:
        if isinstance(condition, ir.Or) and joins_by(condition, op.var):
            return AnyJoin(run, op, nodes, condition)
        if isinstance(condition, ir.Compare) and joins_by(condition, op.var):
            return OrderJoin(run, op, nodes, condition)
    return None


def join_counts(run: Run, frame: Frame, op: NodeScan, nodes: Rows) -> Rows | None:
    """How many nodes fit each row, where one condition decides that and pairs need not be distinguished."""
    if len(op.joins) != 1:
        return None
    join = join_of(run, op, nodes)
    return None if join is None or isinstance(join, AnyJoin) else join.counts(frame)


def joins_by(condition: ir.Condition, var: str) -> bool:
    """Whether a condition between a variable and those before it can be looked up instead of tried."""
    match condition:
        case ir.Or(parts):
            return all(is_equality(part, var) for part in parts)
        case ir.Compare("<" | "<=" | ">" | ">=", left) if _sides(condition, var) is not None:
            kind = left.type
            return isinstance(kind, PropType) and kind.scalar not in FLOATING and not can_fail(condition)
        case _:
            return is_equality(condition, var)


def is_equality(condition: ir.Condition, var: str) -> bool:
    """Whether a hash join can answer the condition."""
    if not isinstance(condition, ir.Compare | ir.SameNode) or can_fail(condition):
        return False
    return (
        isinstance(condition, ir.SameNode | ir.Compare)
        and (found := _sides(condition, var)) is not None
        and (found[0] == "=")
    )


def _sides(condition: ir.Condition, var: str) -> tuple[str, ir.Expr, ir.Expr] | None:
    """(comparison, the side that reads rows, the side that reads the variable and nothing else)."""
    match condition:
        case ir.Compare(op, left, right) if op in _TURNED and left.type.scalar == right.type.scalar:  # type: ignore[union-attr]
            pass
        case ir.SameNode(left, right, negated=False):
            op = "="
        case _:
            return None
    for here, there, sign in ((left, right, op), (right, left, _TURNED[op])):
        if variables(there) == {var} and variables(here) and var not in variables(here):
            return sign, here, there
    return None


def _mirrored(here: ir.Expr, there: ir.Expr) -> str | None:
    """The variable of the one side if the other is the same expression of the properties of another variable."""
    mine, theirs = variables(here), variables(there)
    if len(mine) != 1 or len(theirs) != 1:
        return None
    (var,), (other,) = mine, theirs

    def renamed(node: Any) -> Any:
        return replace(node, var=other) if isinstance(node, ir.Property) else rebuild(node, renamed)

    return var if renamed(here) == there else None


def _hashable(column: pa.Array) -> pa.Array:
    """Values that hash as they compare: both zeros are one number, and not a number equals nothing."""
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), one_zero(column))
