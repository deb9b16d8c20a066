"""What is known about a stored table read as one type: its columns, the names of its content, its pages."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.engine.read.columns.pages import PagedTable
from omnigraph.engine.values.arrow import TableType, row_schema
from omnigraph.engine.views.view import View
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.manifest.snapshot import TableEntry


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a type as the catalog has them, and the names they are stored under at one version."""

    types: Mapping[str, pa.DataType]
    stored: Mapping[str, str | None]
    as_named: bool

    @classmethod
    def of(cls, view: View, info: TableType) -> Layout:
        """Compare the catalog with what is stored."""
        schema, found, stored = row_schema(info), view.table(info).schema, view.columns(info)
        plain = (field for field in schema if field.name not in info.blobs)
        same = all(stored[field.name] == field.name and found.field(field.name).type == field.type for field in plain)
        types = {field.name: field.type for field in schema}
        return cls(types, stored, same and not view.masks(info))


class VersionKey:
    """Names the exact content of a table among all graphs of the process; its hash is worked out once."""

    __slots__ = ("_hash", "parts")

    def __init__(self, *parts: Hashable) -> None:
        self.parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, VersionKey) and self.parts == other.parts)


@dataclass(slots=True)
class TableFacts:
    """What is known about one entry read as one type; the same for every query that meets the same two objects."""

    entry: TableEntry
    info: TableType
    masks: frozenset[str]
    content_key: Hashable = None
    version_key: VersionKey | None = None
    layout: Layout | None = None
    fetches: int = 0
    pages: PagedTable | None = None

    @classmethod
    def of(cls, view: View, entry: TableEntry, info: TableType) -> TableFacts:
        """The known ones, or new ones."""
        known, place, masks = view.tables.memory.cache(_FACTS), (id(entry), id(info)), view.masks(info)
        found = known.get(place)
        # Holding both objects keeps their ids theirs.
        if found is None or found.entry is not entry or found.info is not info or found.masks != masks:
            found = cls(entry, info, masks)
            known.put(place, found)
        return found

    def keep_pages(self, view: View, pages: PagedTable | None) -> None:
        """From now on rows are looked for in pages, if there are any."""
        self.pages = pages
        view.tables.memory.cache(_FACTS).put((id(self.entry), id(self.info)), self)  # it has grown


def _facts_bytes(facts: TableFacts) -> int:
    return _FACTS_BYTES if facts.pages is None else _FACTS_BYTES + facts.pages.nbytes


_FACTS_BYTES = 4 << 10
_FACTS: CacheKind[TableFacts] = CacheKind("facts about tables", _facts_bytes, share=1 / 16, entries=1_024, by_name=True)
