"""The pending image of one mutation: rows it has written and ids it has deleted, over one pinned view.

Later statements read through it, so they see earlier ones; nothing is stored until the whole mutation is committed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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
from omnigraph.engine.write.reads import Reads, named_ids
from omnigraph.storage.intent.writeset import Delete, KnownUpdate, Patch, Step, StrictInsert, Upsert
from omnigraph.storage.lance.tables import ID_CHUNK, quote
from omnigraph.storage.protocol.table_steps import last_per_id

Origin: TypeAlias = Literal["fresh", "keyed", "existing"]
"""Where pending rows come from: inserts under a new id, inserts by key (which may exist), rows read before."""


@dataclass(slots=True)
class PendingTable:
    """What one mutation, or a batch of them, does to one table; an id is written or deleted, never both."""

    info: TableType
    _origins: set[Origin] = field(default_factory=set)
    _written: list[pa.Table] = field(default_factory=list)
    _deleted: list[pa.Array] = field(default_factory=list)
    # Where the last row of an id is among `_written`, and which ids are deleted, as far as somebody has asked.
    _places: dict[str, tuple[int, int]] = field(default_factory=dict)
    _placed: int = 0
    _gone: set[str] = field(default_factory=set)
    _counted: int = 0
    _reported: int = 0

    @property
    def rows(self) -> pa.Table:
        """The last version of every row written so far, in the order of writing."""
        if len(self._written) > 1:
            self._replace([last_per_id(pa.concat_tables(self._written))])
        return self._written[0] if self._written else empty_rows(self.info)

    @property
    def deleted(self) -> pa.Array:
        """Every id deleted so far, each once."""
        if len(self._deleted) > 1:
            self._counted = 1 if self._counted == len(self._deleted) else 0
            self._deleted = [pa.concat_arrays(self._deleted)]
        return self._deleted[0] if self._deleted else pa.array([], pa.utf8())

    @property
    def is_untouched(self) -> bool:
        return not (self._written or self._deleted)

    def newest(self) -> pa.Table | None:
        """What was written last and has not been looked at by this method before."""
        if self._reported == len(self._written):
            return None
        self._reported = len(self._written)
        return self._written[-1]

    def find(self, entity_id: str) -> pa.Table | None:
        """The pending row of one id, without touching the others."""
        for batch in range(self._placed, len(self._written)):
            self._places |= {each: (batch, row) for row, each in enumerate(self._written[batch]["id"].to_pylist())}
        self._placed = len(self._written)
        place = self._places.get(entity_id)
        return None if place is None else self._written[place[0]].slice(place[1], 1)

    def is_deleted(self, entity_id: str) -> bool:
        """Whether an id is among the deleted ones."""
        for ids in self._deleted[self._counted :]:
            self._gone.update(ids.to_pylist())
        self._counted = len(self._deleted)
        return entity_id in self._gone

    def write(self, rows: pa.Table, origin: Origin) -> None:
        """Add whole rows, saying what is known about their ids; what was deleted before is there again."""
        self._written.append(rows)
        self._origins.add(origin)
        if self._deleted and pc.any(pc.is_in(rows["id"], value_set=self.deleted)).as_py():
            left = self.deleted.filter(pc.invert(pc.is_in(self.deleted, value_set=one_array(rows["id"]))))
            self._deleted, self._gone, self._counted = [left] if len(left) else [], set(), 0
            self._origins.add("keyed")

    def delete(self, ids: pa.Array) -> None:
        """Add ids that were not deleted before."""
        self._deleted.append(ids)

    def forget(self, ids: pa.Array) -> pa.Array:
        """Take back what was written under these ids; returns those that were."""
        if not self._written:
            return ids.slice(0, 0)
        known = ids.filter(pc.is_in(ids, value_set=one_array(self.rows["id"])))
        if len(known):
            self._replace([without_ids(self.rows, known)])
        return known

    def change(self) -> TableChange:
        """This table's part of the change set."""
        return TableChange(self.info, (self.rows,) if self.rows.num_rows else (), self.deleted)

    def steps(self) -> tuple[Step, ...]:
        """This table's part of the write set."""
        if not self.rows.num_rows:
            return (Delete(self.deleted),)
        rows = to_stored(self.info, self.rows)
        if len(self.deleted):
            return (Patch(rows, self.deleted),)
        if self._origins == {"fresh"}:
            return (StrictInsert(rows),)
        return (KnownUpdate(rows),) if self._origins == {"existing"} else (Upsert(rows),)

    def _replace(self, written: list[pa.Table]) -> None:
        self._written, self._places, self._placed, self._reported = written, {}, 0, len(written)


@dataclass(frozen=True, slots=True)
class Fetched:
    """Committed rows that were read ahead: of these ids, where each is."""

    rows: pa.Table
    ids: frozenset[str]
    places: Mapping[str, int]


class Staging:
    """Reads committed and pending rows as one image, and collects what a mutation changes."""

    def __init__(self, view: View, bindings: Bindings, reads: Reads) -> None:
        self.view = view
        self.bindings = bindings
        self.reads = reads
        self._tables: dict[str, PendingTable] = {}
        self._fetched: dict[str, Fetched] = {}

    def __iter__(self) -> Iterator[PendingTable]:
        return iter(self._tables[key] for key in sorted(self._tables))

    def table(self, info: TableType) -> PendingTable:
        """The pending side of one table."""
        return self._tables.setdefault(info.table_key, PendingTable(info))

    def matching(self, info: TableType, condition: ir.Condition) -> pa.Table:
        """Whole rows of the image for which the condition is true; pending rows hide committed ones of their id."""
        named = self._named(info, condition)
        if named is not None:
            return named
        pending = self.table(info).rows
        names = row_schema(info).names
        committed = without_ids(self._committed(info, condition, names), pending["id"])
        committed = without_ids(committed, self.table(info).deleted)
        if not pending.num_rows:
            return committed
        kept = pending.filter(Evaluator.over(pending, self.bindings).keep(condition))
        return pa.concat_tables([committed, kept])

    def matching_ids(self, info: TableType, condition: ir.Condition) -> pa.Array:
        """Ids of rows of the image for which the condition is true."""
        named = self._named(info, condition)
        if named is not None:
            return one_array(named["id"])
        table = self.table(info)
        found = without_ids(self._committed(info, condition, ["id"]), table.deleted)
        if table.rows.num_rows:
            kept = table.rows.filter(Evaluator.over(table.rows, self.bindings).keep(condition))
            found = pa.concat_tables([without_ids(found, table.rows["id"]), kept.select(["id"]).cast(found.schema)])
        return one_array(found["id"])

    def delete(self, info: TableType, ids: pa.Array) -> None:
        """Remove rows of the image; those that only this write has made leave nothing to delete."""
        table = self.table(info)
        taken_back = table.forget(ids)
        if len(taken_back):
            committed = PinnedRows(self.view, self.reads).present(info.table_key, taken_back)
            untouched = ids.filter(pc.invert(pc.is_in(ids, value_set=taken_back)))
            ids = pa.concat_arrays([untouched, committed])
        if len(ids):
            table.delete(ids)

    def fetch(self, info: TableType, ids: Collection[str]) -> None:
        """Read the committed rows of these ids at once, for conditions that name some of them."""
        rows = row_schema(info).empty_table()
        if ids and self.view.entry(info).row_count:
            self.reads.rows(info.table_key, ids)
            wanted = sorted(ids)
            parts = (wanted[start : start + ID_CHUNK] for start in range(0, len(wanted), ID_CHUNK))
            filters = (f"id IN ({','.join(map(quote, part))})" for part in parts)
            names = row_schema(info).names
            rows = pa.concat_tables([stored_rows(self.view, info, names, each) for each in filters]).combine_chunks()
        places = {each: row for row, each in enumerate(rows["id"].to_pylist())}
        self._fetched[info.table_key] = Fetched(rows, frozenset(ids), places)

    def _named(self, info: TableType, condition: ir.Condition) -> pa.Table | None:
        """Whole rows of the image, by ids that the condition names and that were fetched; None for other conditions."""
        fetched = self._fetched.get(info.table_key)
        ids = None if fetched is None else named_ids(info, condition, self.bindings)
        if fetched is None or ids is None or not fetched.ids.issuperset(ids):
            return None
        table, found = self.table(info), []
        for each in dict.fromkeys(ids):
            row = table.find(each)
            if row is None and each in fetched.places and not table.is_deleted(each):
                row = fetched.rows.slice(fetched.places[each], 1)
            if row is not None:
                found.append(row)
        rows = pa.concat_tables(found) if len(found) > 1 else found[0] if found else empty_rows(info)
        return rows.filter(Evaluator.over(rows, self.bindings).keep(condition)) if found else rows

    def edges_at(self, info: EdgeType, nodes: pa.Array, ends: Sequence[EdgeColumn]) -> pa.Array:
        """Ids of edges of the image with one of these nodes at one of their ends."""
        pinned = PinnedRows(self.view, self.reads)
        found = pa.concat_tables([pinned.edges(info.table_key, end, nodes) for end in ends])
        pending = self.table(info).rows
        if pending.num_rows:
            at = [pc.is_in(pending[end], value_set=nodes) for end in ends]
            there = pending.filter(at[0] if len(at) == 1 else pc.or_(*at))
            found = pa.concat_tables([found, there.select(found.column_names).cast(found.schema)])
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
