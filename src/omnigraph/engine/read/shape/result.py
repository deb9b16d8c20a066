"""What a read gives back: Arrow first, everything else derived from it."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, overload

import pyarrow as pa

from omnigraph.display import counted, html_table, text_cell
from omnigraph.engine.read.frames.explain import Explanation
from omnigraph.engine.values.data_frames import pandas_frame, polars_frame
from omnigraph.engine.values.json_values import JS_SAFE, NATIVE, json_objects, json_rows, json_texts
from omnigraph.engine.values.python_values import python_values
from omnigraph.engine.values.text_table import TextColumn, TextLayout, text_table, value_column
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]

    from omnigraph.render.drawing import Drawing
    from omnigraph.render.picture import Picture


class Pictured(Protocol):
    """Makes the picture of a result from the state that it was read from."""

    def __call__(self, result: Result, limit: int, label: str | Sequence[str]) -> Picture: ...


_SHOWN_ROWS = 20
_SHOWN_WIDTH = 40


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The rows of one read, the commit they were read at and the plan that found them."""

    query_name: str
    branch: str | None
    manifest_version: int
    commit_id: str | None
    data: pa.Table | pa.RecordBatch = field(repr=False)  # one batch where a table would cost more than finding the rows
    explanation: Explanation | None = field(repr=False)  # a server keeps its plans to itself
    pictured: Pictured | None = field(default=None, compare=False)
    _row: tuple[str | int, ...] | None = field(default=None, repr=False, compare=False)  # of a result of one row

    @property
    def table(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self.data if isinstance(self.data, pa.Table) else pa.Table.from_batches([self.data])

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names in return order."""
        return tuple(self.data.schema.names)

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> Result: ...

    def __getitem__(self, place: int | slice) -> dict[str, Any] | Result:
        """One row as a dict, or a result with some of the rows."""
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step == 1:
                return replace(self, data=self.data.slice(start, max(0, stop - start)), _row=None)
            return replace(self, data=self.table.take(pa.array(range(start, stop, step), pa.int64())), _row=None)
        at = operator.index(place)
        at += len(self) if at < 0 else 0
        if not 0 <= at < len(self):
            raise IndexError(f"row {place} of {self._counted()}")
        return json_rows(self.data.slice(at, 1), NATIVE)[0]

    def rows(self, *, js_safe: bool = False) -> list[dict[str, Any]]:
        """One dict per row with JSON values: dates as ISO text, vectors as lists, nodes as dicts."""
        if self._row is not None and not js_safe:
            return [dict(zip(self.data.schema.names, self._row, strict=True))]
        return json_rows(self.data, JS_SAFE if js_safe else NATIVE)

    def tuples(self) -> list[tuple[Any, ...]]:
        """One tuple per row with Python values: dates as `date`, instants as `datetime`, nodes as dicts."""
        if self._row is not None:
            return [self._row]
        return list(zip(*map(python_values, self.data.columns), strict=True))

    def scalar(self) -> Any:
        """The one value of a result with one row and one column."""
        if self.data.num_rows != 1 or self.data.num_columns != 1:
            shape = f"{self._counted()} and {counted(self.data.num_columns, 'column')}"
            raise BadRequest(f"expected a single value, but the result has {shape}")
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

    def draw(self, *, limit: int = 40, label: str | Sequence[str] = ()) -> Drawing:
        """The whole nodes of the rows, at most `limit`, and the edges between them, as SVG that notebooks show.

        The query returns them as variables, as in `return { $person, $friend }`. `label` is that of `Graph.draw`.
        """
        from omnigraph.render.drawing import Drawing

        if self.pictured is None:
            raise BadRequest("a result of a server cannot draw itself; `omnigraph draw` draws served graphs")
        return Drawing.of(self.pictured(self, limit, label))

    def to_json(self, *, js_safe: bool = False) -> str:
        """The rows as a JSON array of objects."""
        return f"[{','.join(json_objects(self.table, JS_SAFE if js_safe else NATIVE).to_pylist())}]"

    def __repr__(self) -> str:
        return f"Result(query={self.query_name!r}, rows={len(self)}, columns={list(self.columns)})"

    def __str__(self) -> str:
        """A text table of the first rows."""
        return "\n".join([*text_table(self._shown(), TextLayout(_SHOWN_WIDTH)), self._footer()])

    def _repr_html_(self) -> str:
        """An HTML table of the first rows, for notebooks."""
        columns = self._shown()
        rows = zip(*(map(_cut, column.cells) for column in columns), strict=True)
        table = html_table(self.columns, rows, [column.numeric for column in columns], text_cell)
        return f"{table}<p>{text_cell('', self._footer())}</p>"

    def _shown(self) -> list[TextColumn]:
        few = self.table.slice(0, _SHOWN_ROWS).combine_chunks()
        return [_text_column(name, column) for name, column in zip(self.columns, few.columns, strict=True)]

    def _counted(self) -> str:
        return counted(len(self), "row")

    def _footer(self) -> str:
        few = len(self) <= _SHOWN_ROWS
        return self._counted() if few else f"{self._counted()}, the first {_SHOWN_ROWS} shown"


def _text_column(name: str, column: pa.ChunkedArray) -> TextColumn:
    texts = _column_cells(column)
    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return value_column(name, column.to_pylist() if numeric else texts, texts)


def _column_cells(column: pa.ChunkedArray) -> list[str]:
    plain, quoted = pa.types.is_string(column.type), pa.types.is_temporal(column.type)
    chunks = [chunk if plain else json_texts(chunk) for chunk in column.chunks]
    values = (value for chunk in chunks for value in chunk.to_pylist())
    return ["null" if value is None else value[1:-1] if quoted else value for value in values]


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_WIDTH else text[: _SHOWN_WIDTH - 1] + "…"
