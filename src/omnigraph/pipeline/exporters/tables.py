"""A table per type, as CSV or Parquet, with the schema and a mapping beside them: the directory loads as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.engine.arrow import TableType, row_schema
from omnigraph.engine.export import export_rows
from omnigraph.engine.view import View
from omnigraph.engine.write.files import open_output
from omnigraph.pipeline.exporters.cells import cell_texts

WriteTable = Callable[[Any, TableType, Iterator[pa.RecordBatch]], None]


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
            write(file, info, export_rows(view, info))
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


def _csv(file: Any, info: TableType, rows: Iterator[pa.RecordBatch]) -> None:
    names = row_schema(info).names
    schema = pa.schema([(name, pa.utf8()) for name in names])
    with pcsv.CSVWriter(file, schema) as writer:
        for batch in rows:
            writer.write_batch(pa.RecordBatch.from_arrays([cell_texts(each) for each in batch.columns], schema=schema))


def _parquet(file: Any, info: TableType, rows: Iterator[pa.RecordBatch]) -> None:
    schema = pa.schema([pa.field(each.name, _parquet_type(each.type), each.nullable) for each in row_schema(info)])
    with pq.ParquetWriter(file, schema) as writer:
        for batch in rows:
            columns = [_instants(each) for each in batch.columns]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def _parquet_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_parquet_type(kind.value_type))
    return pa.timestamp("ms", tz="UTC") if kind == pa.date64() else kind


def _instants(values: pa.Array) -> pa.Array:
    """Instants as instants: Parquet has no date64 and would keep only the day."""
    if _parquet_type(values.type) == values.type:
        return values
    plain = pa.list_(pa.int64()) if pa.types.is_list(values.type) else pa.int64()
    return values.cast(plain).cast(_parquet_type(values.type))


_WRITERS: dict[str, WriteTable] = {"csv": _csv, "parquet": _parquet}
