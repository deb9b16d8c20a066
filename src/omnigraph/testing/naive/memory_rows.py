"""Committed rows held in memory, answering the validator's questions by looking at every row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.values.arrow import TableType, row_schema, table_types
from omnigraph.engine.write.change_set import EdgeColumn

Row = Mapping[str, Any]


class MemoryRows:
    """Rows by table key; implements CommittedView."""

    def __init__(self, catalog: Catalog, rows: Mapping[str, Sequence[Row]] | None = None) -> None:
        self._tables = {key: rows_table(info, (rows or {}).get(key, ())) for key, info in table_types(catalog).items()}

    def present(self, table_key: str, ids: pa.Array | pa.ChunkedArray) -> pa.Array:
        wanted = set(ids.to_pylist())
        return pa.array([found for found in self._ids(table_key) if found in wanted], pa.utf8())

    def ids(self, table_key: str) -> pa.Array:
        return pa.array(self._ids(table_key), pa.utf8())

    def holders(self, table_key: str, tuples: pa.Table) -> pa.Table:
        names = tuples.column_names
        wanted = set(_tuples(tuples))
        table = self._tables[table_key].select(["id", *names])
        return table.filter(pa.array([held in wanted for held in _tuples(table.select(names))], pa.bool_()))

    def edges(self, table_key: str, column: EdgeColumn, values: pa.Array) -> pa.Table:
        wanted = set(values.to_pylist())
        edges = self.all_edges(table_key)
        return edges.filter(pa.array([value in wanted for value in edges[column].to_pylist()], pa.bool_()))

    def all_edges(self, table_key: str) -> pa.Table:
        return self._tables[table_key].select(["id", "src", "dst"])

    def _ids(self, table_key: str) -> list[str]:
        return list(self._tables[table_key]["id"].to_pylist())


def rows_table(info: TableType, rows: Iterable[Row]) -> pa.Table:
    """Python rows (absent members are null) as a table in the row schema."""
    schema = row_schema(info)
    found = list(rows)
    return pa.table([pa.array([row.get(f.name) for row in found], f.type) for f in schema], schema=schema)


def _tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
