"""Whole types of a graph as Arrow tables, which every other integration starts from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa

from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.errors import BadRequest, NotFound

NODE_COLUMNS = ("id",)
EDGE_COLUMNS = ("id", "from", "to")
_VARIABLE = "x"


class Queryable(Protocol):
    """A graph or its past, opened here or served."""

    @property
    def schema(self) -> Any: ...

    def query(self, source: str) -> Any: ...


def catalog_of(graph: Queryable) -> Catalog:
    """The types of a graph."""
    return compile_schema(graph.schema.source)


def read_type(
    graph: Queryable, type_name: str, columns: Sequence[str] | None = None, *, limit: int | None = None
) -> pa.Table:
    """The rows of a node or edge type: `id`, for edges `from` and `to`, and its properties, or only some `columns`.

    Blobs are left out, because a table would have to hold all of their bytes.
    """
    chosen = _columns(graph, type_name, columns)
    returned = ", ".join(f"${_VARIABLE}.{name}" for name in chosen)
    end = "" if limit is None else f" limit {limit}"
    found = graph.query(f"match {{ ${_VARIABLE}: {type_name} }} return {{ {returned} }}{end}").to_arrow()
    return found.rename_columns(chosen)


def columns_of(info: NodeType | EdgeType) -> tuple[str, ...]:
    """The columns of a type as a table."""
    fixed = EDGE_COLUMNS if isinstance(info, EdgeType) else NODE_COLUMNS
    return (*fixed, *(name for name in info.properties if name not in info.blobs))


def type_named(catalog: Catalog, name: str) -> NodeType | EdgeType:
    """A node or edge type by its name; NotFound with the nearest one there is."""
    found = catalog.nodes.get(name) or catalog.edges.get(name)
    if found is None:
        near = did_you_mean(name, [*catalog.nodes, *catalog.edges])
        raise NotFound(f"the schema has no type '{name}'{f'; {near}' if near else ''}")
    return found


def _columns(graph: Queryable, type_name: str, wanted: Sequence[str] | None) -> list[str]:
    known = columns_of(type_named(catalog_of(graph), type_name))
    if wanted is None:
        return list(known)
    for name in wanted:
        if name not in known:
            near = did_you_mean(name, known)
            raise BadRequest(f"'{type_name}' has no column '{name}'{f'; {near}' if near else ''}")
    if not wanted:
        raise BadRequest("name at least one column")
    return list(wanted)
