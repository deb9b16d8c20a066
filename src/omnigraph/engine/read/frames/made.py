"""Rows that an execution makes itself: those of a stage, items of lists, values of windows; their columns by number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from omnigraph.engine.read.columns.arrays import Rows

PLACE = "id"  # what rows of one kind are ordered by among each other


class MadeColumns:
    """Grows by one batch each time the operator that makes the rows has run; a row keeps its number."""

    def __init__(self) -> None:
        self._batches: list[Mapping[str, pa.Array]] = []
        self._count = 0

    def add(self, columns: Mapping[str, pa.Array], places: Rows) -> Rows:
        """The numbers of new rows."""
        self._batches.append({**columns, PLACE: pa.array(places, pa.int64())})
        numbers = self._count + np.arange(len(places))
        self._count += len(places)
        return numbers

    def values(self, name: str, rows: Rows) -> pa.Array:
        """The value for each row."""
        if len(self._batches) > 1:
            names = self._batches[0]
            self._batches = [{each: pa.concat_arrays([batch[each] for batch in self._batches]) for each in names}]
        column = self._batches[0][name]
        if len(rows) == len(column) and self._is_everything(rows):
            return column
        return column.take(pa.array(rows))

    def load(self, names: Iterable[str], rows: Rows) -> None:
        """Everything is in memory."""

    def kind(self, name: str) -> pa.DataType:
        """The type of a column."""
        return self._batches[0][name].type

    @staticmethod
    def _is_everything(rows: Rows) -> bool:
        return bool(len(rows)) and bool((rows == np.arange(len(rows))).all())
