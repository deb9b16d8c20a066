"""One entity by id at one view, as flat JSON."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.engine.values.arrow import TableType, row_schema, table_types
from omnigraph.engine.values.json_values import json_rows
from omnigraph.engine.views.view import View
from omnigraph.errors import NotFound
from omnigraph.storage.lance.tables import in_list


def entity_at(view: View, type_name: str, entity_id: str, *, blobs: bool = True) -> dict[str, Any] | None:
    """The entity's id, endpoints and properties, with or without blobs; None when it is absent at this view."""
    info = type_named(view, type_name)
    if view.find(info) is None:
        return None
    rows = rows_with_ids(view, info, [entity_id], blobs=blobs)
    return json_rows(rows)[0] if rows.num_rows else None


def rows_with_ids(view: View, info: TableType, ids: list[str], *, blobs: bool = True) -> pa.Table:
    """The rows with these ids in the row schema, or in what is left of it without blobs."""
    return _rows(view, info, in_list("id", ids), blobs=blobs)


def all_rows(view: View, info: TableType) -> pa.Table:
    """Every row of a type in the row schema."""
    return _rows(view, info, None)


def _rows(view: View, info: TableType, filter: str | None, *, blobs: bool = True) -> pa.Table:
    """Stored rows under their current names; properties that did not exist yet are null."""
    left_out = frozenset() if blobs else info.blobs
    physical = {name: column for name, column in view.columns(info).items() if name not in left_out}
    present = [column for column in physical.values() if column is not None]
    rows = view.table(info).scan(present, filter, blobs="cells" if info.blobs and blobs else None)
    schema = pa.schema([field for field in row_schema(info) if field.name not in left_out])
    arrays = [
        rows[column].cast(field.type) if (column := physical[field.name]) is not None else _absent(rows, field)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, names=schema.names)


def type_named(view: View, name: str) -> TableType:
    """A node type, else an edge type (in any case); `node:` or `edge:` in front picks the kind."""
    catalog = view.catalog
    if (exact := table_types(catalog).get(name)) is not None:
        return exact
    found = catalog.nodes.get(name) or catalog.edge(name)
    if found is None:
        near = did_you_mean(name, [*catalog.nodes, *catalog.edges])
        raise NotFound(f"the schema has no type '{name}'{f'; {near}' if near else ''}")
    return found


def _absent(rows: pa.Table, field: pa.Field) -> pa.Array:
    return pa.nulls(rows.num_rows, field.type)
