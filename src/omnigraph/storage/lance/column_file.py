"""One column of one data file, read in ranges of offsets.

Lance's own ways to rows go through a version and cost the same for one row as for some thousand. A data file never
changes, whatever versions show of it, so what is read here may be kept as long as there is room for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.storage.base.errors import translated
from omnigraph.storage.lance.row_places import DataFile
from omnigraph.storage.lance.tables import open_data_file


@dataclass(frozen=True, slots=True)
class ColumnFile:
    """The column of a field in a file: its type, how many rows there are and how many bytes they take there."""

    path: str
    type: pa.DataType
    rows: int
    stored_bytes: int
    _reader: Any

    @classmethod
    def open(cls, file: DataFile, field: int) -> ColumnFile:
        """The column of a field; LookupError when the file does not have it, or has it in parts."""
        reader = open_data_file(file.path)
        schema: pa.Schema = reader.metadata().schema
        places = _places(schema, file.fields)
        name, place = places[field]
        # The file calls a column what it was called when the file was written.
        kind, size = schema.field(name).type, reader.file_statistics().columns[file.columns[place]].size_bytes
        return cls(file.path, kind, file.rows, size, open_data_file(file.path, [name]))

    def read(self, start: int, count: int) -> pa.Array:
        """The values at some consecutive offsets."""
        with translated(self.path):
            table = self._reader.read_range(start, count, batch_size=count).to_table()
        column = table.column(0)
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _places(schema: pa.Schema, fields: tuple[int, ...]) -> dict[int, tuple[str, int]]:
    """Name and place of each field among those that a file has values of, in the order of its schema.

    A list has the values of its items and counts once. What counts more than once, or not at all (blobs do), would
    make every name uncertain.
    """
    if len(schema) != len(fields) or any(pa.types.is_struct(kind) or pa.types.is_map(kind) for kind in schema.types):
        return {}
    return {field: (name, place) for place, (field, name) in enumerate(zip(fields, schema.names, strict=True))}
