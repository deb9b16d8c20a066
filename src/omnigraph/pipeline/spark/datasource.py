"""The `omnigraph` data source: one type of a graph as a Spark frame, pinned to one snapshot.

    spark.read.format("omnigraph").option("graph", uri).option("type", "Person").load()

`branch`, `snapshot` (a commit) or `version` (of the manifest) say which state. Spark does not tell a Python source
which columns it needs, so `columns` names them, or the schema of the frame or table does; `where` is a predicate for
Lance, `limit` a bound on the rows of each partition. A blob is its bytes; with `blobs=cells` it is a struct of `data`
and `uri`, which can hold references as well. Spark's own hook for filters is not used: Spark 4.3 keeps the filters of
one query for the next one on the same frame, which then misses rows. See `pushing.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from omnigraph.engine.values.arrow import TableType, row_schema, shown
from omnigraph.engine.views.entity import type_named
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest, StorageError
from omnigraph.pipeline.runners import open_graph
from omnigraph.pipeline.spark import feed_stream
from omnigraph.pipeline.spark.refusals import told_plainly
from omnigraph.pipeline.spark.writer import GraphStreamWriter, GraphWriter, Target
from omnigraph.storage.base.layout import Address
from omnigraph.storage.lance.blob_cells import BLOB_CELL, references
from omnigraph.storage.lance.tables import open_table

_OPTIONS = {"graph", "type", "branch", "snapshot", "version", "columns", "where", "limit", "blobs"}
_NOTED = "omnigraph"
_CELL = pa.struct([("data", pa.binary()), ("uri", pa.utf8())])
_PARTITION_ROWS = 1 << 20
_NO_FIELD = re.compile(r"No field named \"?(.+?)\"?\.(?:\s|$)")


class OmnigraphSource(DataSource):
    """One type of one graph state, the changes of a branch as a stream, or a place to write rows of one type to."""

    @classmethod
    def name(cls) -> str:
        return "omnigraph"

    @told_plainly
    def schema(self) -> StructType:
        """The columns of a type, or of the change feed where no type is named."""
        shown = plan_table(self._given).arrow_schema if "type" in self._given else feed_stream.SCHEMA
        found: StructType = from_arrow_schema(shown)
        # Spark 4.3 forgets the options of a table of its catalog, but not the metadata of its columns.
        found.fields[0].metadata = {_NOTED: json.dumps(self._given)}
        return found

    @told_plainly
    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns that the frame has: a table made with some of them reads no others."""
        given = self._given if "graph" in self._given else _noted(schema)
        return _Reader(chosen_columns(plan_table(given), schema.names))

    @told_plainly
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return feed_stream.ChangeReader(self._given)

    @told_plainly
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return GraphWriter(Target.of(self._given, overwrite=overwrite))

    @told_plainly
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        if "stream" not in self._given:
            raise BadRequest("a stream into omnigraph needs the option 'stream': a name for its batches to be known by")
        return GraphStreamWriter(
            Target.of({"load_mode": "merge", **self._given}, overwrite=overwrite), self._given["stream"]
        )

    @property
    def _given(self) -> dict[str, str]:
        """The options; those of a table of the catalog come with a prefix as well."""
        return {name.lower().removeprefix("option."): value for name, value in self.options.items()}


def _noted(schema: StructType) -> dict[str, str]:
    """The options with which a table of the catalog was made."""
    for field in schema.fields:
        if _NOTED in field.metadata:
            found: dict[str, str] = json.loads(field.metadata[_NOTED])
            return found
    raise BadRequest(
        "the omnigraph source needs the option 'graph'; Spark does not keep the options of a table that is created with"
        " a list of columns: leave the list out, or create a temporary view"
    )


@dataclass(frozen=True, slots=True)
class TablePlan:
    """Everything a reader needs about one table at one version: where it is, and how its columns are called."""

    address: Address | None
    version: int
    columns: tuple[tuple[str, str | None], ...]
    arrow_schema: pa.Schema
    row_schema: pa.Schema
    fragments: tuple[tuple[int, ...], ...]
    where: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class FragmentGroup(InputPartition):
    """Some fragments of the table, for one task."""

    fragments: tuple[int, ...]


def plan_table(options: dict[str, str]) -> TablePlan:
    """The plan for a set of options; unknown or missing ones are reported."""
    unknown = sorted(set(options) - _OPTIONS - feed_stream.GIVEN_BY_SPARK)
    if unknown:
        raise BadRequest(f"unknown option '{unknown[0]}' (known: {', '.join(sorted(_OPTIONS))})")
    for needed in ("graph", "type"):
        if needed not in options:
            raise BadRequest(f"the omnigraph source needs the option '{needed}'")
    view = _view(options)
    info = type_named(view, options["type"])
    plan = table_plan(view, info, _chosen(info, options.get("columns")))
    if _wants_cells(options):
        cells = [field.with_type(_CELL) if field.name in info.blobs else field for field in plan.arrow_schema]
        plan = replace(plan, arrow_schema=pa.schema(cells))
    where = options.get("where")
    if where is not None:
        require_predicate(view, info, where)
    return replace(plan, where=where, limit=_limit(options.get("limit")))


def require_predicate(view: View, info: TableType, where: str) -> None:
    """Refuse a predicate that cannot be handed down, before a task of Spark meets it."""
    if any(stored != name for name, stored in view.columns(info).items()):
        raise BadRequest(f"'{info.name}' had other column names at this snapshot; filter the frame instead of 'where'")
    try:
        view.table(info).require_filter(where)
    except StorageError as error:
        if (unknown := _NO_FIELD.search(error.message)) is not None:
            raise _no_column(info, unknown.group(1)) from error
        reason = error.message.rpartition("Invalid user input: ")[2] or error.message
        raise BadRequest(f"where=\"{where}\" cannot be evaluated on '{info.name}': {reason}") from error


def _no_column(info: TableType, name: str) -> BadRequest:
    return BadRequest(f"'{info.name}' has no column '{name}' (it has {', '.join(row_schema(info).names)})")


def _limit(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal():
        raise BadRequest(f"the option 'limit' is a number of rows, not '{text}'")
    return int(text)


def _wants_cells(options: dict[str, str]) -> bool:
    asked = options.get("blobs", "bytes")
    if asked not in ("bytes", "cells"):
        raise BadRequest(f"blobs are read as 'bytes' or as 'cells', not as '{asked}'")
    return asked == "cells"


def _view(options: dict[str, str]) -> View:
    graph = open_graph(options["graph"], options.get("branch", "main"), read_only=True)
    if "snapshot" in options:
        return graph.at(options["snapshot"]).view()
    if "version" in options:
        return graph.at(version=int(options["version"])).view()
    return graph.view()


def _chosen(info: TableType, wanted: str | None) -> list[str]:
    known: list[str] = row_schema(info).names
    if wanted is None:
        return known
    chosen = [name.strip() for name in wanted.split(",") if name.strip()]
    for name in chosen:
        if name not in known:
            raise _no_column(info, name)
    return chosen


def table_plan(view: View, info: TableType, chosen: list[str]) -> TablePlan:
    """The plan for some columns of a type at a view."""
    schema = row_schema(info)
    rows = pa.schema([schema.field(name) for name in chosen])
    fields = [pa.field(name, spark_type(schema.field(name).type)) for name in chosen]
    entry = view.find(info)
    if entry is None or not entry.row_count:
        named = tuple((name, name) for name in chosen)
        return TablePlan(None, 0, named, pa.schema(fields), rows, ())
    physical = view.columns(info)
    columns: tuple[tuple[str, str | None], ...] = tuple((name, physical[name]) for name in chosen)
    groups = _groups(view.table(info).fragment_rows())
    return TablePlan(entry.address(view.tables.root), entry.version, columns, pa.schema(fields), rows, groups)


def _groups(rows: dict[int, int]) -> tuple[tuple[int, ...], ...]:
    groups: list[list[int]] = []
    size = 0
    for number, count in rows.items():
        if not groups or size + count > _PARTITION_ROWS:
            groups.append([])
            size = 0
        groups[-1].append(number)
        size += count
    return tuple(map(tuple, groups))


def chosen_columns(plan: TablePlan, names: Sequence[str]) -> TablePlan:
    """The plan with only some of its columns."""
    at = {name: number for number, (name, _) in enumerate(plan.columns)}
    for name in names:
        if name not in at:
            raise BadRequest(f"the type has no column '{name}' (it has {', '.join(at)})")
    return replace(
        plan,
        columns=tuple(plan.columns[at[name]] for name in names),
        arrow_schema=pa.schema([plan.arrow_schema.field(name) for name in names]),
        row_schema=pa.schema([plan.row_schema.field(name) for name in names]),
    )


class _Reader(DataSourceReader):
    """Reads fragment groups of one plan."""

    def __init__(self, plan: TablePlan) -> None:
        self.plan = plan

    def partitions(self) -> Sequence[InputPartition]:
        return [FragmentGroup(group) for group in self.plan.fragments] or [FragmentGroup(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FragmentGroup)
        if self.plan.address is None or not partition.fragments:
            return
        table = open_table(self.plan.address, self.plan.version)
        stored = list(dict.fromkeys(name for _, name in self.plan.columns if name is not None)) or ["id"]
        left = self.plan.limit
        for batch in table.batches(stored, self.plan.where, blobs="cells", fragments=partition.fragments):
            yield self._shown(batch if left is None else batch.slice(0, left))
            left = None if left is None else left - batch.num_rows
            if left is not None and left <= 0:
                return

    def _shown(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        schema = self.plan.arrow_schema
        arrays = [
            pa.nulls(batch.num_rows, field.type) if stored is None else shown_as(batch.column(stored), field.type)
            for field, (_, stored) in zip(schema, self.plan.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def spark_type(kind: pa.DataType) -> pa.DataType:
    """The Arrow type under which Spark can hold every value of a stored type."""
    if kind == pa.uint32():
        return pa.int64()
    if kind == pa.uint64():
        return pa.decimal128(20, 0)
    if kind == pa.date64():
        return pa.timestamp("us", tz="UTC")  # Spark has no other unit
    if kind == BLOB_CELL:
        return pa.binary()
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(spark_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(spark_type(field.type)) for field in kind])
    return kind


def shown_as(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """A stored column in the type that `spark_type` gives it."""
    if values.type == BLOB_CELL and kind == pa.binary():
        return _plain_bytes(values)
    return shown(values).cast(kind)


def _plain_bytes(cells: pa.Array) -> pa.Array:
    if len(found := references(cells)):
        raise BadRequest(
            f"a blob is a reference to '{found[0]}', which is not opened; read the type with the option blobs=cells"
        )
    return pc.struct_field(cells, "data").cast(pa.binary())
