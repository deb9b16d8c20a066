"""Arrow tables as pandas and Polars frames that keep every value and its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]


def pandas_frame(table: pa.Table) -> pandas.DataFrame:
    """The table in pandas; whole numbers and booleans among which some are missing have its nullable types.

    Arrow would turn the former into floats, which round above 2⁵³, and the latter into objects.
    """
    try:
        frame = table.to_pandas()
    except ImportError as error:
        raise BadRequest("to_pandas() needs pandas; install it with: pip install pandas") from error
    except (ValueError, OverflowError) as error:
        raise BadRequest(
            f"pandas cannot hold these rows ({error}): its dates end with the year 9999; use to_arrow() or to_polars()"
        ) from error
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
            frame[name] = column.to_pandas(types_mapper=_nullable)
    return frame


def polars_frame(table: pa.Table) -> polars.DataFrame:
    """The table in Polars."""
    try:
        import polars
    except ImportError as error:
        raise BadRequest("to_polars() needs polars; install it with: pip install polars") from error
    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)
    return frame


def _nullable(kind: pa.DataType) -> Any:
    import pandas

    if pa.types.is_boolean(kind):
        return pandas.BooleanDtype()
    sign = "U" if pa.types.is_unsigned_integer(kind) else ""
    return pandas.array([], dtype=f"{sign}Int{kind.bit_width}").dtype
