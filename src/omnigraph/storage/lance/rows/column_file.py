"""One column of one data file, read in ranges of offsets.

Lance's own ways to rows go through a version and cost the same for one row as for some thousand. A data file never
changes, whatever versions show of it, so what is read here may be kept as long as there is room for it. Of a graph on
an object store it is kept on the disk of this machine, for every process that comes later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.disk_cache import keep_column, kept_column
from omnigraph.storage.base.errors import translated
from omnigraph.storage.base.layout import Root
from omnigraph.storage.lance.rows.row_places import DataFile
from omnigraph.storage.lance.tables import open_data_file

_STORED_BYTES, _NAME = "stored_bytes", "name"


@dataclass(slots=True)
class ColumnFile:
    """The column of a field in a file: its type, how many rows there are and how many bytes they take there."""

    root: Root
    path: str
    number: int
    name: str
    type: pa.DataType
    rows: int
    stored_bytes: int
    _reader: Any = field(default=None, repr=False)
    _beside: tuple[tuple[str, ...], Any] = field(default=((), None), repr=False)

    @classmethod
    def open(cls, root: Root, file: DataFile, number: int) -> ColumnFile:
        """The column of a field; LookupError when the file does not have it, or has it in parts."""
        known = kept_column(root, _about(file.path, number)) if not root.is_local else None
        if known is not None:
            (empty, about) = known
            return cls(root, file.path, number, about[_NAME], empty.type, file.rows, int(about[_STORED_BYTES]))
        schema, sizes = _described(root, file.path)
        places = _places(schema, file.fields)
        name, place = places[number]
        # The file calls a column what it was called when the file was written.
        kind, size = schema.field(name).type, sizes[file.columns[place]]
        if not root.is_local:
            keep_column(root, _about(file.path, number), pa.array([], kind), {_NAME: name, _STORED_BYTES: str(size)})
        return cls(root, file.path, number, name, kind, file.rows, size)

    def read(self, start: int, count: int) -> pa.Array:
        """The values at some consecutive offsets."""
        if self._reader is None:
            self._reader = open_data_file(self.root, self.path, [self.name])
        with translated(self.path):
            table = self._reader.read_range(start, count, batch_size=count).to_table()
        column = table.column(0)
        values = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if not self.root.is_local:
            keep_column(self.root, self._kept_name(start, count), values)
        return values

    def read_with(self, others: Sequence[ColumnFile], start: int, count: int) -> list[pa.Array]:
        """The same of this column and of others of the file; a few rows of all take as long as those of one."""
        names = (self.name, *(other.name for other in others))
        if self._beside[0] != names:
            self._beside = names, open_data_file(self.root, self.path, names)
        with translated(self.path):
            table = self._beside[1].read_range(start, count, batch_size=count).to_table()
        return [table[name].combine_chunks() for name in names]

    def kept(self, start: int, count: int) -> pa.Array | None:
        """The same if this machine has it already; always None for a graph on this machine."""
        found = None if self.root.is_local else kept_column(self.root, self._kept_name(start, count))
        return None if found is None or len(found[0]) != count or found[0].type != self.type else found[0]

    def _kept_name(self, start: int, count: int) -> str:
        return f"{_kept_below(self.path)}/{self.number}.{start}.{count}"


def _described(root: Root, path: str) -> tuple[pa.Schema, tuple[int, ...]]:
    """The columns of a file, and how many bytes each takes there; looked at once for all of them."""

    def look() -> tuple[pa.Schema, tuple[int, ...]]:
        reader = open_data_file(root, path)
        return reader.metadata().schema, tuple(each.size_bytes for each in reader.file_statistics().columns)

    return root.memory.cache(_DESCRIBED).get_or_build(path, look)


_DESCRIBED: CacheKind[tuple[pa.Schema, tuple[int, ...]]] = CacheKind(
    "columns of data files", lambda found: 512 * (len(found[1]) + 1), share=1 / 64, entries=1_024
)


def _about(path: str, number: int) -> str:
    return f"{_kept_below(path)}/{number}"


def _kept_below(path: str) -> str:
    """The names of data files are never used again, so the path stands for the content."""
    return f"pages/{hashlib.sha256(path.encode()).hexdigest()[:32]}"


def _places(schema: pa.Schema, fields: tuple[int, ...]) -> dict[int, tuple[str, int]]:
    """Name and place of each field among those that a file has values of, in the order of its schema.

    A list has the values of its items and counts once. What counts more than once, or not at all (blobs do), would
    make every name uncertain.
    """
    if len(schema) != len(fields) or any(pa.types.is_struct(kind) or pa.types.is_map(kind) for kind in schema.types):
        return {}
    return {field: (name, place) for place, (field, name) in enumerate(zip(fields, schema.names, strict=True))}
