"""What a kernel is given and may give back, and the steps that many of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.values.arithmetic import Failed
from omnigraph.engine.values.fixed import Fixed, Operand, broadcast

Numbers: TypeAlias = npt.NDArray[Any]
Answer: TypeAlias = "pa.Array | tuple[pa.Array, Failed | None]"
Kernel: TypeAlias = "Callable[[Call], Answer]"


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of a function over `length` rows, their Arrow types, and the type of the result."""

    args: tuple[Operand, ...]
    kinds: tuple[pa.DataType, ...]
    length: int
    kind: pa.DataType

    def column(self, at: int) -> pa.Array:
        """An argument as a full column."""
        arg = self.args[at]
        return broadcast(arg.value, self.kinds[at], self.length) if isinstance(arg, Fixed) else arg

    def columns(self) -> list[pa.Array]:
        """All of them."""
        return [self.column(at) for at in range(len(self.args))]

    def constant(self, at: int, default: Any = None) -> Any:
        """An argument that does not depend on the row; the default where it was left out."""
        if at >= len(self.args):
            return default
        arg = self.args[at]
        assert isinstance(arg, Fixed)
        return arg.value


def with_options(call: Call, compute: Callable[..., pa.Array], *defaults: Any) -> pa.Array:
    """`compute(column, *options)` where options may differ by row: once for each combination of them that occurs."""
    count = 1 + len(defaults)
    args = [call.args[at] if at < len(call.args) else Fixed(defaults[at - 1]) for at in range(count)]
    column = call.column(0)
    if all(isinstance(arg, Fixed) for arg in args[1:]):
        return compute(column, *(arg.value for arg in args[1:]))
    code = np.zeros(call.length, np.int64)
    known = np.ones(call.length, np.bool_)
    for arg in args[1:]:
        if not isinstance(arg, Fixed):
            encoded = arg.dictionary_encode()
            known &= arg.is_valid().to_numpy(zero_copy_only=False)
            numbers = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            _, code = np.unique(code * max(len(encoded.dictionary), 1) + numbers, return_inverse=True)
    parts, places = [pa.nulls(0, call.kind)], []
    rows = np.flatnonzero(known)
    for group in np.split(rows[np.argsort(code[rows], kind="stable")], _starts(code[rows])):
        if len(group):
            options = (arg.value if isinstance(arg, Fixed) else arg[int(group[0])].as_py() for arg in args[1:])
            parts.append(compute(column.take(pa.array(group)), *options).cast(call.kind))
            places.append(group)
    order = np.full(call.length, -1, np.int64)
    if places:
        order[np.concatenate(places)] = np.arange(len(rows))
    return pa.concat_arrays(parts).take(pa.array(order, mask=order < 0))


def _starts(code: Numbers) -> Numbers:
    return np.flatnonzero(np.diff(np.sort(code, kind="stable"))) + 1


def numpy_of(column: pa.Array, fill: Any = 0) -> Numbers:
    """The values of a column of numbers, with something harmless for null."""
    filled = column.fill_null(fill) if column.null_count else column
    return filled.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def valid(columns: Sequence[pa.Array]) -> Numbers | None:
    """Where no column is null; None for everywhere."""
    masks = [column.is_valid().to_numpy(zero_copy_only=False) for column in columns if column.null_count]
    return None if not masks else np.logical_and.reduce(masks)


def masked(values: Numbers, known: Numbers | None, kind: pa.DataType) -> pa.Array:
    """A column of an Arrow type, null where it is not known."""
    return pa.array(values, kind, mask=None if known is None else ~known)


def refused(column: pa.Array, rows: Numbers, why: str) -> tuple[pa.Array, Failed | None]:
    """The column without the rows that have no value."""
    if not rows.any():
        return column, None
    mask = pa.array(rows)
    return pc.if_else(mask, pa.scalar(None, column.type), column), Failed(mask, why)
