"""One blob of one entity: how large it is, which bytes it has, or where outside the graph they lie."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from omnigraph.display import Displayed
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.views.entity import type_named
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest, Corrupt, NotFound
from omnigraph.storage.lance.blob_cells import EXTERNAL
from omnigraph.storage.lance.tables import TableHandle, in_list
from omnigraph.storage.manifest.snapshot import TableEntry

_ROW_ID = "_rowid"
_UPDATED = "_row_last_updated_at_version"


@dataclass(frozen=True, slots=True, repr=False)
class Blob(Displayed):
    """A stored value at one view; `uri` is set when the value is a reference to an object outside the graph.

    `etag` is equal only for equal bytes, and is known without reading them. `snapshot_id` is where it was found.
    """

    size: int
    etag: str
    uri: str | None = None
    snapshot_id: str | None = None
    _table: TableHandle | None = field(default=None, repr=False, compare=False)
    _column: str = field(default="", repr=False, compare=False)
    _row_id: int = field(default=0, repr=False, compare=False)

    @property
    def is_external(self) -> bool:
        """Whether the bytes lie outside the graph."""
        return self.uri is not None

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """Some of its bytes, by default all of them; a range that reaches beyond the end is cut."""
        if self.uri is not None or self._table is None:
            raise BadRequest(f"this blob is a reference to {self.uri}; read it from there")
        if offset < 0 or (length is not None and length < 0):
            raise BadRequest("offset and length must not be negative")
        start = min(offset, self.size)
        end = self.size if length is None else min(self.size, start + length)
        if start == end:
            return b""
        return self._table.read_blob_range(self._column, self._row_id, start, end - start)


def find_blob(view: View, type_name: str, entity_id: str, property_name: str) -> Blob:
    """The blob of an entity; NotFound when the entity is absent or has none, BadRequest for what cannot have one."""
    info = type_named(view, type_name)
    if property_name not in info.properties:
        raise BadRequest(f"'{info.name}' has no property '{property_name}'")
    if property_name not in info.blobs:
        raise BadRequest(f"'{info.name}.{property_name}' is not a Blob")
    entry, column = view.find(info), None
    if entry is not None:
        column = view.columns(info)[property_name]
    row = None if entry is None or column is None else _row(view.table(info), column, entity_id)
    if entry is None or column is None or row is None or row[column] is None:
        raise NotFound(f"{info.name} '{entity_id}' has no '{property_name}'")
    return _blob(view, info, entry, column, row)


def _row(table: TableHandle, column: str, entity_id: str) -> dict[str, Any] | None:
    rows = table.scan([column, _ROW_ID, _UPDATED], in_list("id", [entity_id]), blobs="all_descriptions")
    return rows.to_pylist()[0] if rows.num_rows else None


def _blob(view: View, info: TableType, entry: TableEntry, column: str, row: dict[str, Any]) -> Blob:
    stored = row[column]
    if stored["kind"] == EXTERNAL:
        if stored["position"] or stored["size"]:
            raise Corrupt(f"'{info.name}.{column}' refers to a part of an external object")
        return Blob(0, "", stored["blob_uri"], view.head)
    tag = _etag(entry, column, row)
    return Blob(int(stored["size"]), tag, None, view.head, view.table(info), column, int(row[_ROW_ID]))


def _etag(entry: TableEntry, column: str, row: dict[str, Any]) -> str:
    """What wrote the value: a row id and the version that last touched the row, in one lineage of one table."""
    parts: list[object] = [entry.location, entry.ref, column, row[_ROW_ID], row[_UPDATED], row[column]["size"]]
    if entry.ref is not None:
        # A branch that is deleted and created again counts its versions anew; its files are others.
        parts += [entry.version, entry.evidence.e_tag, entry.evidence.manifest_path]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
