"""Committed rows behind one pinned view, as the validator asks for them: lookups pushed down, or one narrow scan."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.engine.read.topology.edge_lookup import edges_at
from omnigraph.engine.values.arrow import TableType, arrow_type, row_schema, table_types
from omnigraph.engine.values.rowset import one_array, tuple_codes
from omnigraph.engine.views.view import View, stored_names
from omnigraph.engine.write.change_set import EdgeColumn
from omnigraph.engine.write.reads import Reads
from omnigraph.storage.lance.tables import ID_CHUNK, TableHandle, quote

# Beyond this many values one scan of the column costs less than looking each of them up.
_PROBE_LIMIT = 16_384
_EDGE_COLUMNS = ["id", "src", "dst"]
_NO_IDS = pa.array([], pa.utf8())
_NO_EDGES = pa.table(dict.fromkeys(_EDGE_COLUMNS, _NO_IDS))


class PinnedRows:
    """The rows of one view; implements CommittedView. What is asked for is noted in `reads`."""

    def __init__(self, view: View, reads: Reads | None = None) -> None:
        self._view = view
        self._reads = Reads() if reads is None else reads
        self._types = table_types(view.catalog)

    def present(self, table_key: str, ids: pa.Array | pa.ChunkedArray) -> pa.Array:
        """Those of the ids that exist."""
        self._reads.rows(table_key, ids)
        table = self._table(table_key)
        if table is None or not len(ids):
            return _NO_IDS
        return one_array(_among(table, "id", ids, ["id"])["id"])

    def rows_of(self, info: TableType, ids: pa.Array) -> pa.Table:
        """The rows of some ids, in the row schema."""
        self._reads.rows(info.table_key, ids)
        schema, table = row_schema(info), self._table(info.table_key)
        if table is None or not len(ids):
            return schema.empty_table()
        stored = stored_names(table.schema, info)
        names = {field.name: stored.get(field.name) or field.name for field in schema}
        wanted = list(names.values())
        if len(ids) <= _PROBE_LIMIT:
            texts = ids.to_pylist()
            found = pa.concat_tables(
                table.scan(wanted, f"`id` IN ({','.join(map(quote, texts[at : at + ID_CHUNK]))})", blobs="cells")
                for at in range(0, len(texts), ID_CHUNK)
            )
        else:
            batches = (pa.Table.from_batches([batch]) for batch in table.batches(wanted, blobs="cells"))
            found = pa.concat_tables([rows.filter(pc.is_in(rows["id"], value_set=ids)) for rows in batches])
        columns = [one_array(found[names[each.name]]).cast(each.type) for each in schema]
        return pa.Table.from_arrays(columns, schema=schema)

    def ids(self, table_key: str) -> pa.Array:
        """Every id of a table."""
        self._reads.whole(table_key)
        table = self._table(table_key)
        return _NO_IDS if table is None else one_array(table.scan(["id"])["id"])

    def holders(self, table_key: str, tuples: pa.Table) -> pa.Table:
        """The rows that hold one of these distinct, null-free tuples: column `id` and the columns of `tuples`."""
        self._reads.whole(table_key)
        names = tuples.column_names
        table = self._table(table_key)
        if table is None or not tuples.num_rows:
            return pa.table([_NO_IDS, *(column.slice(0, 0) for column in tuples.columns)], names=["id", *names])
        stored = stored_names(table.schema, self._types[table_key])
        columns = [stored[name] or name for name in names]  # a merge looks at rows with the schema they will have
        probe = self._probe_column(table_key, names)
        if probe is None:
            found = table.scan(["id", *columns])
        else:
            found = _among(table, stored[probe] or probe, pc.unique(one_array(tuples[probe])), ["id", *columns])
        if columns != names or found.select(columns).schema.types != tuples.schema.types:
            found = pa.table(
                [found["id"], *(found[one].cast(kind) for one, kind in zip(columns, tuples.schema.types, strict=True))],
                names=["id", *names],
            )
        pooled = [pa.chunked_array([*tuples[name].chunks, *found[name].chunks]) for name in names]
        codes = tuple_codes(pooled)
        wanted = pa.array(codes[: tuples.num_rows])
        return found.filter(pc.is_in(pa.array(codes[tuples.num_rows :]), value_set=wanted))

    def edges(self, table_key: str, column: EdgeColumn, values: pa.Array) -> pa.Table:
        """The edges whose column is among the values: columns id, src, dst."""
        if column == "id":
            self._reads.rows(table_key, values)
        else:
            self._reads.whole(table_key)
        table = self._table(table_key)
        if table is None or not len(values):
            return _NO_EDGES
        if column == "id":
            return _among(table, column, values, _EDGE_COLUMNS)
        info = self._types[table_key]
        assert isinstance(info, EdgeType)
        return edges_at(self._view, info, column, values, _EDGE_COLUMNS)

    def all_edges(self, table_key: str) -> pa.Table:
        """Every edge of a table: columns id, src, dst."""
        self._reads.whole(table_key)
        table = self._table(table_key)
        return _NO_EDGES if table is None else table.scan(_EDGE_COLUMNS)

    def _table(self, table_key: str) -> TableHandle | None:
        info = self._types[table_key]
        entry = self._view.find(info)
        return self._view.table(info) if entry is not None and entry.row_count else None

    def _probe_column(self, table_key: str, names: Sequence[str]) -> str | None:
        """A column of the tuple that a filter can look up: an endpoint, or text."""
        properties = self._types[table_key].properties
        for name in names:
            if name not in properties or arrow_type(properties[name]) == pa.utf8():
                return name
        return None


def _among(table: TableHandle, column: str, values: pa.Array | pa.ChunkedArray, columns: Sequence[str]) -> pa.Table:
    """The rows of a text column that are among distinct values."""
    if len(values) > _PROBE_LIMIT:
        wanted = list(columns) if column in columns else [*columns, column]
        rows = table.scan(wanted)
        return rows.filter(pc.is_in(rows[column], value_set=values)).select(list(columns))
    texts = values.to_pylist()
    parts = [
        table.scan(columns, f"`{column}` IN ({','.join(map(quote, texts[start : start + ID_CHUNK]))})")
        for start in range(0, len(texts), ID_CHUNK)
    ]
    return pa.concat_tables(parts)
