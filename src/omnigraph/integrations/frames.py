"""Types of a graph as frames: Polars, read when the frame is collected, and pandas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from omnigraph.engine.values.data_frames import pandas_frame, polars_frame
from omnigraph.integrations.tables import Queryable, read_type

if TYPE_CHECKING:
    import pandas
    import polars


def scan_polars(graph: Queryable, type_name: str) -> polars.LazyFrame:
    """A lazy frame of a type; only the columns and as many rows as a query of it needs are read when it is collected.

    Filters are applied by Polars to what was read.
    """
    from polars.io.plugins import register_io_source

    def batches(
        columns: list[str] | None, predicate: polars.Expr | None, rows: int | None, _: int | None
    ) -> Iterator[polars.DataFrame]:
        # A limit counts the rows that a filter lets through, so it can be passed on only without one.
        limit = rows if predicate is None else None
        found = polars_frame(read_type(graph, type_name, columns, limit=limit))
        yield found if predicate is None else found.filter(predicate)

    shape = polars_frame(read_type(graph, type_name, limit=0)).schema
    return register_io_source(batches, schema=shape)


def read_pandas(graph: Queryable, type_name: str, columns: Sequence[str] | None = None) -> pandas.DataFrame:
    """A type as a pandas frame whose index is the id."""
    wanted = None if columns is None else ["id", *(name for name in columns if name != "id")]
    return pandas_frame(read_type(graph, type_name, wanted)).set_index("id")
