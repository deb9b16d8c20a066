"""The pending image of one mutation: rows it has written and ids it has deleted, over one pinned view.

Later statements read through it, so they see earlier ones; nothing is stored until the whole mutation is committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.walk import properties
from omnigraph.engine.values.arrow import TableType, empty_rows, row_schema, to_stored
from omnigraph.engine.values.predicate import Bindings, Evaluator
from omnigraph.engine.values.pushdown import push
from omnigraph.engine.values.rowset import one_array
from omnigraph.engine.views.view import View
from omnigraph.engine.write.change_set import EdgeColumn, TableChange
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.engine.write.reads import Reads
from omnigraph.storage.intent.writeset import Delete, KnownUpdate, Step, StrictInsert, Upsert
from omnigraph.storage.protocol.table_steps import last_per_id

Origin: TypeAlias = Literal["fresh", "keyed", "existing"]
"""Where pending rows come from: inserts under a new id, inserts by key (which may exist), rows read before."""


@dataclass(slots=True)
class PendingTable:
    """What one mutation does to one table."""

    info: TableType
    _origins: set[Origin] = field(default_factory=set)
    _written: list[pa.Table] = field(default_factory=list)
    _deleted: list[pa.Array] = field(default_factory=list)

    @property
    def rows(self) -> pa.Table:
        """The last version of every row written so far, in the order of writing."""
        if len(self._written) > 1:
            self._written = [last_per_id(pa.concat_tables(self._written))]
        return self._written[0] if self._written else empty_rows(self.info)

    @property
    def deleted(self) -> pa.Array:
        """Every id deleted so far, each once."""
        if len(self._deleted) > 1:
            self._deleted = [pa.concat_arrays(self._deleted)]
        return self._deleted[0] if self._deleted else pa.array([], pa.utf8())

    def write(self, rows: pa.Table, origin: Origin) -> None:
        """Add whole rows, saying what is known about their ids."""
        self._written.append(rows)
        self._origins.add(origin)

    def delete(self, ids: pa.Array) -> None:
        """Add ids that were not deleted before."""
        self._deleted.append(ids)

    def change(self) -> TableChange:
        """This table's part of the change set."""
        return TableChange(self.info, (self.rows,) if self._written else (), self.deleted)

    def steps(self) -> tuple[Step, ...]:
        """This table's part of the write set."""
        if not self._written:
            return (Delete(self.deleted),)
        rows = to_stored(self.info, self.rows)
        if self._origins == {"fresh"}:
            return (StrictInsert(rows),)
        return (KnownUpdate(rows),) if self._origins == {"existing"} else (Upsert(rows),)


class Staging:
    """Reads committed and pending rows as one image, and collects what a mutation changes."""

    def __init__(self, view: View, bindings: Bindings, reads: Reads) -> None:
        self.view = view
        self.bindings = bindings
        self.reads = reads
        self._tables: dict[str, PendingTable] = {}

    def __iter__(self) -> Iterator[PendingTable]:
        return iter(self._tables[key] for key in sorted(self._tables))

    def table(self, info: TableType) -> PendingTable:
        """The pending side of one table."""
        return self._tables.setdefault(info.table_key, PendingTable(info))

    def matching(self, info: TableType, condition: ir.Condition) -> pa.Table:
        """Whole rows of the image for which the condition is true; pending rows hide committed ones of their id."""
        pending = self.table(info).rows
        names = row_schema(info).names
        committed = without_ids(self._committed(info, condition, names), pending["id"])
        if not pending.num_rows:
            return committed
        kept = pending.filter(Evaluator.over(pending, self.bindings).keep(condition))
        return pa.concat_tables([committed, kept])

    def matching_ids(self, info: TableType, condition: ir.Condition) -> pa.Array:
        """Ids of committed rows for which the condition is true and that are not deleted yet."""
        found = self._committed(info, condition, ["id"])
        return one_array(without_ids(found, self.table(info).deleted)["id"])

    def edges_at(self, info: EdgeType, nodes: pa.Array, ends: Sequence[EdgeColumn]) -> pa.Array:
        """Ids of committed edges with one of these nodes at one of their ends, not deleted yet."""
        pinned = PinnedRows(self.view, self.reads)
        found = pa.concat_tables([pinned.edges(info.table_key, end, nodes) for end in ends])
        distinct = pa.table({"id": pc.unique(found["id"])})  # a self-loop is found at both ends
        return one_array(without_ids(distinct, self.table(info).deleted)["id"])

    def _committed(self, info: TableType, condition: ir.Condition, columns: list[str]) -> pa.Table:
        self.reads.condition(info, condition, self.bindings)
        pushed = push(condition, self.bindings)
        if pushed.keeps_nothing or not self.view.entry(info).row_count:
            return empty_rows(info).select(columns)
        read = {name for _, name in properties(pushed.rest)} if pushed.rest is not None else set()
        needed = [*columns, *sorted(read - set(columns))]
        rows = stored_rows(self.view, info, needed, pushed.filter)
        if pushed.rest is not None:
            rows = rows.filter(Evaluator.over(rows, self.bindings).keep(pushed.rest))
        return rows.select(columns)


def stored_rows(view: View, info: TableType, columns: list[str], filter: str | None) -> pa.Table:
    """Committed rows in the row schema."""
    rows = view.table(info).scan(columns, filter, blobs="cells" if info.blobs else None)
    wanted = pa.schema([row_schema(info).field(name) for name in columns])
    return rows.cast(wanted)


def without_ids(rows: pa.Table, ids: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The rows whose id is not among `ids`."""
    if not rows.num_rows or not len(ids):
        return rows
    return rows.filter(pc.invert(pc.is_in(rows["id"], value_set=ids)))
