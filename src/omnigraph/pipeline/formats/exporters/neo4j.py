"""Files for `neo4j-admin database import`: a file per type whose header names types, id spaces and labels."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.types import FLOATING, INTEGER, PropType
from omnigraph.engine.changes.export import export_rows
from omnigraph.engine.intake.inputs.files import open_output
from omnigraph.engine.values.arrow import TableType, property_names
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.exporters.cells import cell_texts

_LIST = ";"


def write_neo4j_csv(view: View, types: Sequence[TableType], directory: str, schema: str) -> int:
    """`Person.csv` and `Knows.csv`; ids live in a space per node type, as ours do."""
    written = 0
    for info in types:
        kind = "relationships" if isinstance(info, EdgeType) else "nodes"
        with open_output(f"{directory}/{kind}-{info.name}.csv") as file:
            _write(file, view, info)
            written += file.tell()
    return written


def _write(file: pa.NativeFile, view: View, info: TableType) -> None:
    names = property_names(info)
    header = [f"{name}:{_kind(info.properties[name])}" for name in names]
    if isinstance(info, EdgeType):
        fixed, tail = [f":START_ID({info.from_type})", f":END_ID({info.to_type})"], ":TYPE"
        columns = ["src", "dst"]
    else:
        fixed, tail, columns = [f":ID({info.name})"], ":LABEL", ["id"]
    schema = pa.schema([(name, pa.utf8()) for name in [*fixed, *header, tail]])
    with pcsv.CSVWriter(file, schema) as writer:
        for batch in export_rows(view, info):
            cells = [batch.column(name) for name in columns]
            cells += [_cells(info, name, batch.column(name)) for name in names]
            cells.append(pa.repeat(info.name, batch.num_rows))
            writer.write_batch(pa.RecordBatch.from_arrays(cells, schema=schema))


def _kind(kind: PropType) -> str:
    if kind.dim is not None:
        return "float[]"
    if kind.scalar == "U64":
        name = "string"  # Neo4j's integers end where ours may go on
    elif kind.scalar in INTEGER:
        name = "long"
    elif kind.scalar in FLOATING:
        name = "double"
    else:
        name = {"Bool": "boolean", "Date": "date", "DateTime": "datetime"}.get(kind.scalar, "string")
    return f"{name}[]" if kind.list else name


def _cells(info: TableType, name: str, values: pa.Array) -> pa.Array:
    kind = info.properties[name]
    if not kind.list and kind.dim is None:
        return cell_texts(values)
    lists = values.cast(pa.list_(values.type.value_type)) if kind.dim is not None else values
    inner = cell_texts(lists.flatten())
    if pc.any(pc.match_substring(inner, _LIST), min_count=0).as_py():
        raise BadRequest(
            f"'{info.name}.{name}' holds a text with '{_LIST}', which separates the members of lists there"
        )
    offsets = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).cumsum()
    packed = pa.ListArray.from_arrays(pa.array([0, *offsets], pa.int32()), inner)
    return pc.if_else(values.is_null(), pa.scalar(None, pa.utf8()), pc.binary_join(packed, _LIST))
