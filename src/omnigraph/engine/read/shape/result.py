"""What a read gives back: Arrow first, everything else derived from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.engine.read.frames.explain import Explanation
from omnigraph.engine.values.data_frames import pandas_frame, polars_frame
from omnigraph.engine.values.json_values import JS_SAFE, NATIVE, json_objects, json_rows, json_texts
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]

_SHOWN_ROWS = 20
_SHOWN_WIDTH = 40


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The rows of one read, the commit they were read at and the plan that found them."""

    query_name: str
    branch: str | None
    manifest_version: int
    commit_id: str | None
    table: pa.Table = field(repr=False)
    explanation: Explanation | None = field(repr=False)  # a server keeps its plans to itself

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names in return order."""
        return tuple(self.table.column_names)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def rows(self, *, js_safe: bool = False) -> list[dict[str, Any]]:
        """One dict per row with JSON values: dates as ISO text, vectors as lists, nodes as dicts."""
        return json_rows(self.table, JS_SAFE if js_safe else NATIVE)

    def scalar(self) -> Any:
        """The one value of a result with one row and one column."""
        if self.table.num_rows != 1 or self.table.num_columns != 1:
            shape = f"{self.table.num_rows} rows and {self.table.num_columns} columns"
            raise BadRequest(f"a single value was asked for, but the result has {shape}")
        return next(iter(self.rows()[0].values()))

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table; column types are known even without rows."""
        return self.table

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame; needs pandas. Integers and booleans with nulls have its nullable types."""
        return pandas_frame(self.table)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a Polars frame; needs polars."""
        return polars_frame(self.table)

    def to_json(self, *, js_safe: bool = False) -> str:
        """The rows as a JSON array of objects."""
        return f"[{','.join(json_objects(self.table, JS_SAFE if js_safe else NATIVE).to_pylist())}]"

    def __repr__(self) -> str:
        return f"Result(query={self.query_name!r}, rows={len(self)}, columns={list(self.columns)})"

    def __str__(self) -> str:
        """A text table of the first rows."""
        shown = [list(self.columns), *self._cells()]
        widths = [max(len(row[place]) for row in shown) for place in range(len(self.columns))]
        lines = [" │ ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in shown]
        lines.insert(1, "─┼─".join("─" * width for width in widths))
        return "\n".join([*lines, self._footer()])

    def _repr_html_(self) -> str:
        """An HTML table of the first rows, for notebooks."""
        import html  # with a table of every entity there is

        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._cells()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{html.escape(self._footer())}</p>"

    def _cells(self) -> list[list[str]]:
        few = self.table.slice(0, _SHOWN_ROWS).combine_chunks()
        columns = [_column_cells(column) for column in few.columns]
        return [list(row) for row in zip(*columns, strict=True)]

    def _footer(self) -> str:
        rows = f"{len(self)} row{'' if len(self) == 1 else 's'}"
        return rows if len(self) <= _SHOWN_ROWS else f"{rows}, the first {_SHOWN_ROWS} shown"


def _column_cells(column: pa.ChunkedArray) -> list[str]:
    plain, quoted = pa.types.is_string(column.type), pa.types.is_temporal(column.type)
    chunks = [chunk if plain else json_texts(chunk) for chunk in column.chunks]
    return [_cell(value[1:-1] if quoted and value else value) for chunk in chunks for value in chunk.to_pylist()]


def _cell(value: str | None) -> str:
    text = "null" if value is None else "".join(letter if letter.isprintable() else " " for letter in value)
    return text if len(text) <= _SHOWN_WIDTH else text[: _SHOWN_WIDTH - 1] + "…"
