"""Rows in flight: for each bound variable a column of row ids, later a score and the result columns.

Where only the number of equal rows matters, one row may stand for several of them (`times`), so that they are counted
without being made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.checkpoints import checkpoint
from omnigraph.engine.read.columns.arrays import Mask, Rows, countable
from omnigraph.engine.read.columns.pieces import pieces, taken
from omnigraph.engine.read.columns.rowindex import distinct, distinct_rows, fold, pack
from omnigraph.engine.values.flags import flags


@dataclass(frozen=True, slots=True)
class Bound:
    """One variable: the table its entities live in, and one row id per row of the frame."""

    table_key: str
    rows: Rows


@dataclass(frozen=True, slots=True)
class Frame:
    """A set of assignments; immutable, every step makes a new one."""

    length: int
    bound: Mapping[str, Bound] = field(default_factory=dict)
    score: npt.NDArray[np.float64] | None = None
    outputs: Mapping[str, pa.Array] = field(default_factory=dict)
    times: Rows | None = None  # how many equal rows each row stands for; without it, for itself

    @property
    def count(self) -> int:
        """How many rows these stand for."""
        if self.times is None:
            return self.length
        countable(self.times)
        return int(self.times.sum())

    def bind(self, var: str, table_key: str, rows: Rows) -> Frame:
        """One more variable."""
        return Frame(self.length, {**self.bound, var: Bound(table_key, rows)}, self.score, self.outputs, self.times)

    def rows(self, var: str) -> Rows:
        """The row ids of a variable."""
        return self.bound[var].rows

    def take(self, positions: Rows) -> Frame:
        """The rows at these positions, in that order."""
        picked = pa.array(positions) if self.outputs else None
        return Frame(
            len(positions),
            {var: Bound(one.table_key, taken(one.rows, positions)) for var, one in self.bound.items()},
            None if self.score is None else self.score[positions],
            {name: column.take(picked) for name, column in self.outputs.items()},
            None if self.times is None else taken(self.times, positions),
        )

    def between(self, low: int, high: int) -> Frame:
        """The rows from one position to another, without copying them."""
        if low == 0 and high == self.length:
            return self
        return Frame(
            high - low,
            {var: Bound(one.table_key, one.rows[low:high]) for var, one in self.bound.items()},
            None if self.score is None else self.score[low:high],
            {name: column.slice(low, high - low) for name, column in self.outputs.items()},
            None if self.times is None else self.times[low:high],
        )

    def where(self, mask: Mask) -> Frame:
        """The rows for which the mask is true."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def only(self, variables: Iterable[str]) -> Frame:
        """Forget the other variables; equal rows stay as they are."""
        kept = frozenset(variables)
        if kept >= self.bound.keys():
            return self
        bound = {var: one for var, one in self.bound.items() if var in kept}
        return Frame(self.length, bound, self.score, self.outputs, self.times)

    def codes(self, variables: Iterable[str]) -> tuple[Rows, int]:
        """A number per row, equal exactly where the variables are; and how many numbers there are."""
        code, count = np.zeros(self.length, np.int64), 1
        for var in variables:
            code, count = combine(code, count, *_dense(self.rows(var)))
        return code, count

    def plain(self) -> Frame:
        """The same rows, each for itself."""
        return self if self.times is None else Frame(self.length, self.bound, self.score, self.outputs)

    def repeated(self, times: Rows) -> Frame:
        """Each row so many times; those with none go."""
        countable(times, self.times)
        wide = times if self.times is None else self.times * times
        kept = Frame(self.length, self.bound, self.score, self.outputs, wide)
        return kept.where(times > 0)

    def folded(self) -> Frame:
        """Equal rows as one that stands for them, where finding them is cheap: with one variable left, or none."""
        if not self.bound and self.length != 1:
            return Frame(1, times=np.array([self.count])) if self.length else self
        if len(self.bound) != 1 or self.length <= _FEW_ROWS:
            return self
        if self.times is not None:
            countable(self.times)
        ((var, one),) = self.bound.items()
        rows, times = fold(one.rows, self.times)
        return Frame(len(rows), {var: Bound(one.table_key, rows)}, times=times) if len(rows) < self.length else self

    @property
    def ascends(self) -> bool:
        """Whether rows are known to be distinct because each is behind the one before it, variable by variable."""
        columns = [one.rows for one in self.bound.values()]
        packed = pack(columns) if columns and self.length else None
        return packed is not None and bool((packed.codes[1:] > packed.codes[:-1]).all())

    def unique(self) -> Frame:
        """Each distinct assignment once."""
        if not self.length:
            return self
        if len(self.bound) == 1 and self.score is None and not self.outputs:
            ((var, one),) = self.bound.items()
            rows = distinct_rows(one.rows)
            return Frame(len(rows), {var: Bound(one.table_key, rows)})
        if self.bound and self.score is None and not self.outputs and self.times is None:
            packed = pack([one.rows for one in self.bound.values()])
            if packed is not None:
                codes = distinct_rows(packed.codes)
                if codes is packed.codes:
                    return self
                bound = zip(self.bound.items(), packed.columns(codes), strict=True)
                return Frame(len(codes), {var: Bound(one.table_key, rows) for (var, one), rows in bound})
        code, count = self.codes(self.bound)
        if count == self.length and self.bound:
            return self
        return self.take(np.sort(first_places(code, count)))


START = Frame(1)
_HEAD = 4_096  # rows that are looked at first
# Fewer rows than this are carried on faster than they are looked through.
_FEW_ROWS = 256


def combine(code: Rows, count: int, more: Rows, more_count: int) -> tuple[Rows, int]:
    """Number the pairs of two numberings densely."""
    if count <= 1:
        return more, more_count
    found, inverse = distinct(code * max(more_count, 1) + more)
    return inverse, len(found)


def first_places(code: Rows, count: int) -> Rows:
    """For each of the numbers 0 … count - 1, all of which occur, the first place where it stands."""
    first = np.full(count, -1, np.int64)
    if count < _HEAD < len(code):
        # A few numbers usually all stand near the beginning.
        first[code[:_HEAD][::-1]] = np.arange(_HEAD - 1, -1, -1)
        if first.min() >= 0:
            return first
    # Of several values assigned to one slot the last one stays, so going backwards leaves the first.
    for low, high in pieces(len(code)):
        low, high = len(code) - high, len(code) - low
        first[code[low:high][::-1]] = np.arange(high - 1, low - 1, -1)
    return first


def concatenate(frames: list[Frame]) -> Frame:
    """Frames with the same variables, one after another."""
    if len(frames) == 1:
        return frames[0]
    first = frames[0]
    bound = {}
    for var, one in first.bound.items():
        checkpoint()
        bound[var] = Bound(one.table_key, np.concatenate([frame.rows(var) for frame in frames]))
    times = None
    if any(frame.times is not None for frame in frames):
        times = np.concatenate(
            [np.ones(frame.length, np.int64) if frame.times is None else frame.times for frame in frames]
        )
        countable(times)
    return Frame(sum(frame.length for frame in frames), bound, times=times)


def _dense(rows: Rows) -> tuple[Rows, int]:
    found, inverse = distinct(rows)
    return inverse, len(found)


def numpy_of(column: pa.Array) -> npt.NDArray[Any]:
    """A column without nulls as an array."""
    if pa.types.is_boolean(column.type):
        return flags(column)
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values
