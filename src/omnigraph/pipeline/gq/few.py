"""Frames of few rows: collected once, known here, and small to whatever Spark joins them with.

A read that begins at a few nodes stays small for some hops. Its rows are then looked up in neighbour lists, and the
tables that they are joined with are filtered where they are read, so that neither passes through Spark as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Frame: TypeAlias = Any
# So many rows are collected and sent with tasks; more are joined by Spark.
MOST = 20_000


class FewRows:
    """What one query knows about its frames; each is kept, so that its identity stays its own."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._tables: dict[int, tuple[Frame, pa.Table]] = {}
        self._candidates: dict[int, tuple[Frame, Callable[[int], Frame]]] = {}

    def may_be(self, frame: Frame, limited: Callable[[int], Frame] | None = None) -> None:
        """Say that a frame is quick to compute up to some number of rows, by another frame if one is named."""
        self._candidates[id(frame)] = frame, limited or frame.limit

    def known(self, frame: Frame) -> pa.Table | None:
        """The rows of a frame that are known here."""
        found = self._tables.get(id(frame))
        return None if found is None else found[1]

    def collected(self, frame: Frame) -> Frame:
        """The same rows as a frame that is known here, if they turn out to be few."""
        candidate = self._candidates.pop(id(frame), None)
        if candidate is None:
            return frame
        table = candidate[1](MOST + 1).toArrow()
        if table.num_rows > MOST:
            return frame
        return self.made(table, frame.schema)

    def expect(self, frame: Frame, keys: pa.Array | None, near: pa.Array | None) -> None:
        """Note that a frame will be few rows again, if the join of known keys with the near ends of pairs says so."""
        if keys is None or near is None:
            return
        counts = pc.value_counts(near)
        places = pc.index_in(keys, value_set=counts.field("values"))
        if (pc.sum(counts.field("counts").take(places)).as_py() or 0) <= MOST:
            self.may_be(frame)

    def column(self, frame: Frame, name: str) -> pa.Array | None:
        """One column of a frame whose rows are known and few."""
        table = self.known(frame)
        return None if table is None or table.num_rows > MOST else table[name].combine_chunks()

    def made(self, table: pa.Table, schema: Any = None) -> Frame:
        """A frame of rows that are here."""
        frame = self._spark.createDataFrame(table, schema)
        self._tables[id(frame)] = frame, table
        return frame
