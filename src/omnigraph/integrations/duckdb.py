"""Types and results of a graph as tables of DuckDB."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from omnigraph.integrations.tables import Queryable, catalog_of, read_type, type_named

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from omnigraph.engine.read.shape.result import Result


def register_types(connection: DuckDBPyConnection, graph: Queryable, types: Iterable[str] | None = None) -> list[str]:
    """Give a connection a view of each type, named like it, and return the names.

    The rows are those of now, as Arrow tables that DuckDB reads without copying them.
    """
    catalog = catalog_of(graph)
    names = (
        [type_named(catalog, name).name for name in types] if types is not None else [*catalog.nodes, *catalog.edges]
    )
    for name in names:
        connection.register(name, read_type(graph, name))
    return names


def register_result(connection: DuckDBPyConnection, name: str, result: Result) -> None:
    """Give a connection a view of a result; columns such as `p.name` are quoted in SQL: `select "p.name" from …`."""
    connection.register(name, result.to_arrow())
