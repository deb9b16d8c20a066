"""The paths one execution has found so far, by number: their lengths and the ids of their nodes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.ops import ShortestPath
from omnigraph.compiler.types import PropType
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.frames.unions import PATH_TYPES


def path_types(op: ShortestPath) -> dict[str, PropType]:
    """What is known of each path that an operator binds."""
    return {name: _TYPES[name] for name in ("length", *op.columns)}


_TYPES = {"length": PropType("I64"), "nodes": PropType("String", list=True)}


class PathColumns:
    """Grows by one batch each time a search for paths has run; a path keeps its number."""

    def __init__(self) -> None:
        self._batches: list[dict[str, pa.Array]] = []
        self._count = 0

    def add(self, lengths: Rows, nodes: pa.Array | None) -> Rows:
        """The numbers of new paths; without `nodes` they cannot be asked for."""
        held = nodes if nodes is not None else pa.nulls(len(lengths), PATH_TYPES["nodes"])
        self._batches.append({"length": pa.array(lengths, pa.int64()), "nodes": held})
        numbers = self._count + np.arange(len(lengths))
        self._count += len(lengths)
        return numbers

    def values(self, name: str, rows: Rows) -> pa.Array:
        """The value for each path."""
        if len(self._batches) > 1:
            self._batches = [{each: pa.concat_arrays([batch[each] for batch in self._batches]) for each in PATH_TYPES}]
        return self._batches[0][name].take(pa.array(rows))

    def load(self, names: Iterable[str], rows: Rows) -> None:
        """Everything is in memory."""
