"""A table per type, as CSV or Parquet, with the schema and a mapping beside them: the directory loads as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.engine.changes.export import export_rows, referring_columns
from omnigraph.engine.intake.inputs.files import open_output
from omnigraph.engine.values.arrow import TableType, row_schema, shown, shown_type
from omnigraph.engine.views.view import View
from omnigraph.pipeline.formats.exporters.cells import cell_texts
from omnigraph.storage.lance.blob_cells import BLOB_CELL

WriteTable = Callable[[Any, View, TableType], None]


def write_csv(view: View, types: Sequence[TableType], directory: str, schema: str) -> int:
    """`nodes/Person.csv`, `edges/Knows.csv`: empty cells are null, quoted empty cells are empty texts."""
    return _write(view, types, directory, schema, "csv")


def write_parquet(view: View, types: Sequence[TableType], directory: str, schema: str) -> int:
    """The same as Parquet, with the types that the graph stores."""
    return _write(view, types, directory, schema, "parquet")


def _write(view: View, types: Sequence[TableType], directory: str, schema: str, suffix: str) -> int:
    write = _WRITERS[suffix]
    mapping: dict[str, Any] = {"sources": {}, "nodes": {}, "edges": {}}
    written = 0
    for info in types:
        kind = "edges" if isinstance(info, EdgeType) else "nodes"
        path = f"{kind}/{info.name}.{suffix}"
        with open_output(f"{directory}/{path}") as file:
            write(file, view, info)
            written += file.tell()
        entry = view.find(info)
        if entry is None or not entry.row_count:
            continue  # an empty file has nothing to load, and CSV would not even know its columns
        source = f"{kind}_{info.name}"
        mapping["sources"][source] = {"format": suffix, "path": path}
        ends = {"src": "src", "dst": "dst"} if kind == "edges" else {}
        mapping[kind][info.name] = {"from": source, "id": "id", **ends}
    return written + _beside(directory, schema, mapping)


def _beside(directory: str, schema: str, mapping: dict[str, Any]) -> int:
    import yaml  # type: ignore[import-untyped,unused-ignore]

    texts = {"schema.pg": schema, "mapping.yaml": yaml.safe_dump(mapping, sort_keys=False, default_flow_style=None)}
    for name, text in texts.items():
        with open_output(f"{directory}/{name}") as file:
            file.write(text.encode())
    return sum(len(text.encode()) for text in texts.values())


def _csv(file: Any, view: View, info: TableType) -> None:
    names = row_schema(info).names
    schema = pa.schema([(name, pa.utf8()) for name in names])
    with pcsv.CSVWriter(file, schema) as writer:
        for batch in export_rows(view, info):
            writer.write_batch(pa.RecordBatch.from_arrays([cell_texts(each) for each in batch.columns], schema=schema))


def _parquet(file: Any, view: View, info: TableType) -> None:
    # A column of blobs is binary unless it holds references, which need a place of their own.
    cells = referring_columns(view, info)
    fields = [each if each.name in cells else each.with_type(_parquet_type(each.type)) for each in row_schema(info)]
    schema = pa.schema([field.remove_metadata() for field in fields])
    with pq.ParquetWriter(file, schema) as writer:
        for batch in export_rows(view, info):
            columns = [_parquet_values(each, field.type) for each, field in zip(batch.columns, schema, strict=True)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def _parquet_values(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if values.type == BLOB_CELL and kind != BLOB_CELL:
        return pc.struct_field(values, "data")
    return shown(values)  # Parquet would keep only the day of a date64


def _parquet_type(kind: pa.DataType) -> pa.DataType:
    return pa.large_binary() if kind == BLOB_CELL else shown_type(kind)


_WRITERS: dict[str, WriteTable] = {"csv": _csv, "parquet": _parquet}
