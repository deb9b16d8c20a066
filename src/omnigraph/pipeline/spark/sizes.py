"""How large a type is, told to Spark's planner, which takes every Python source for larger than any other table.

Spark 4.3 asks a Python source for its partitions only. What it does look at is a limit: a frame with one has at most
so many rows, each as large as the types of its columns say. So a frame of one partition gets a limit that it cannot
reach, high enough for its size to come out as that of its files where that is more. Joins are planned by it: a small
table is sent to every task of a join, instead of being exchanged with the large one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.views.view import View
from omnigraph.pipeline.spark.datasource import TablePlan
from omnigraph.storage.lance.version_contents import version_contents

# What Spark counts for a value of a type, and for a row.
_ROW, _TEXT, _BYTES, _DECIMAL = 8, 20, 100, 16
_MOST = (1 << 31) - 1
_DATA = ".lance"


@dataclass(frozen=True, slots=True)
class TableSize:
    """How many rows a table has, and how many bytes its files."""

    rows: int
    bytes: int

    @classmethod
    def of(cls, view: View, info: TableType, plan: TablePlan) -> TableSize | None:
        """The size of a type; None where telling it would cost something, or where it is not known.

        Rows of several partitions would have to be brought together for a limit.
        """
        entry = view.find(info)
        if entry is None or not plan.fragments:
            return cls(0, 0)
        if len(plan.fragments) > 1:
            return None
        files = [file.size for file in version_contents(view.table(info)) if file.name.endswith(_DATA)]
        return None if None in files else cls(entry.row_count, sum(size or 0 for size in files))

    def told(self, frame: Any, schema: pa.Schema) -> Any:
        """A frame of the type with such columns that tells this size."""
        row = _ROW + sum(width(field.type) for field in schema)
        # A task that stops at its limit would not read to the end, which costs its process.
        limit = min(max(self.rows + 1, -(-self.bytes // row)), _MOST)
        # Spark does not count the partitions of a Python source either, and would exchange its rows for the limit.
        return frame.coalesce(1).limit(limit)


def width(kind: pa.DataType) -> int:
    """How many bytes Spark takes a value of a type for.

    >>> width(pa.list_(pa.float32())), width(pa.struct([("a", pa.utf8()), ("b", pa.bool_())]))
    (4, 21)
    """
    if pa.types.is_list(kind):
        return width(kind.value_type)
    if pa.types.is_struct(kind):
        return sum(width(field.type) for field in kind)
    if pa.types.is_decimal(kind):
        return _DECIMAL
    if pa.types.is_boolean(kind):
        return 1
    if pa.types.is_primitive(kind):
        return int(kind.bit_width // 8)
    return _BYTES if pa.types.is_binary(kind) else _TEXT
