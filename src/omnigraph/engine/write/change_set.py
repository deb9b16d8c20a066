"""What a write changes, table by table, and what the validator needs to know about committed rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.values.arrow import TableType, empty_rows
from omnigraph.engine.values.rowset import last_positions, one_array
from omnigraph.storage.lance.id_columns import all_distinct

EdgeColumn: TypeAlias = Literal["id", "src", "dst"]


def _no_ids() -> pa.Array:
    return pa.array([], pa.utf8())


@dataclass(frozen=True)
class TableChange:
    """Whole rows to write and ids to remove in one table.

    `batches` are in order: within one batch a repeated unique tuple is an error, across batches the last row of an id
    wins. `replaced` means that no committed row survives; `new` that no id may exist yet; `distinct` that no id may
    occur twice. `places` (columns line, file) says where the rows of a single batch came from.
    """

    info: TableType
    batches: tuple[pa.Table, ...] = ()
    deleted: pa.Array = field(default_factory=_no_ids)
    replaced: bool = False
    new: bool = False
    distinct: bool = False
    places: pa.Table | None = None

    @cached_property
    def rows(self) -> pa.Table:
        """Every changed row, repeated ids included."""
        return pa.concat_tables(self.batches) if self.batches else empty_rows(self.info)

    @cached_property
    def repeats(self) -> bool:
        """Whether an id occurs in several rows."""
        return not all_distinct(self.rows["id"])

    @cached_property
    def final_positions(self) -> np.ndarray:
        """Positions in `rows` of the last row of each id, ascending."""
        return last_positions(one_array(self.rows["id"])) if self.repeats else np.arange(self.rows.num_rows)

    @cached_property
    def final(self) -> pa.Table:
        """The changed rows as they will be: one per id."""
        if not self.repeats:
            return self.rows
        return self.rows.take(pa.array(self.final_positions))

    @cached_property
    def ids(self) -> pa.Array:
        """The ids of `final`."""
        return one_array(self.final["id"])

    @cached_property
    def touched(self) -> pa.Array:
        """Ids of committed rows that this change rewrites or removes."""
        return pa.concat_arrays([self.ids, self.deleted]) if len(self.deleted) else self.ids

    def survivors(self, committed: pa.Table) -> pa.Table:
        """The committed rows (with a column `id`) that this change leaves as they are."""
        if self.replaced:
            return committed.slice(0, 0)
        return committed.filter(pc.invert(pc.is_in(committed["id"], value_set=self.touched)))


ChangeSet: TypeAlias = Mapping[str, TableChange]


class CommittedView(Protocol):
    """Committed rows of one snapshot, by lookup; a type without a table has no rows."""

    def present(self, table_key: str, ids: pa.Array | pa.ChunkedArray) -> pa.Array:
        """Those of the ids that exist."""
        ...

    def ids(self, table_key: str) -> pa.Array:
        """Every id of a table."""
        ...

    def holders(self, table_key: str, tuples: pa.Table) -> pa.Table:
        """The rows that hold one of these distinct, null-free tuples: column `id` and the columns of `tuples`."""
        ...

    def edges(self, table_key: str, column: EdgeColumn, values: pa.Array) -> pa.Table:
        """The edges whose column is among the values: columns id, src, dst."""
        ...

    def all_edges(self, table_key: str) -> pa.Table:
        """Every edge of a table: columns id, src, dst."""
        ...
