"""One view of a graph: a snapshot, the catalog it is read with and its head commit; nothing in it ever changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.values.arrow import PROPERTY_ID, TableType, property_names, row_schema
from omnigraph.engine.views.table_tasks import NoTasks, TableTasks
from omnigraph.errors import NotFound, OmnigraphError
from omnigraph.memory.budget import MemoryBudget
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.errors import Missing
from omnigraph.storage.base.layout import Root
from omnigraph.storage.lance.tables import TableHandle, open_table
from omnigraph.storage.manifest.snapshot import Snapshot, TableEntry, TableIdentity

_OPEN: CacheKind[TableHandle] = CacheKind("open tables", lambda handle: 64 << 10, entries=256, by_name=True)
_PROPERTY_ID = PROPERTY_ID.encode()


class OpenTables:
    """Datasets opened at exact versions, shared by every view of one graph; what is unused longest is forgotten."""

    def __init__(
        self, root: Root, distribute_rows: int | None = None, tasks: TableTasks | None = None, threads: int = 1
    ) -> None:
        self.root = root
        self.threads = threads  # that one query may use
        self.distribute_rows = distribute_rows
        self.tasks: TableTasks = NoTasks() if tasks is None else tasks
        self.canonical = root.canonical
        self._open = root.memory.cache(_OPEN)

    @property
    def memory(self) -> MemoryBudget:
        """What the graph keeps in memory."""
        return self.root.memory

    def get(self, entry: TableEntry) -> TableHandle:
        """The dataset behind an entry; an exact version never changes, so an open one stays right."""
        key = (self.canonical, entry.location, entry.ref, entry.version, entry.evidence)
        known = self._open.get(key)
        if known is None:
            missing = _when_missing(self.root, entry)
            known = open_table(entry.address(self.root), entry.version, crc32=entry.evidence.crc32, missing=missing)
            self._open.put(key, known)
        return known

    def clear(self) -> None:
        """Forget what may have changed its meaning: the graph was re-created, or a branch of it was."""
        self.memory.forget_names()


def _when_missing(root: Root, entry: TableEntry) -> Missing:
    """How to explain that a file of this entry's version is not there; asked only after a read has failed."""

    def explained(error: OmnigraphError) -> OmnigraphError:
        from omnigraph.storage.base.store import store_for
        from omnigraph.storage.maintenance.missing import explain_missing  # reads that succeed never need it

        return explain_missing(store_for(root), entry, error)

    return explained


def stored_names(stored: pa.Schema, info: TableType) -> dict[str, str | None]:
    """Each column of a type → its name in a stored version of the table, by identity; None when it has none."""
    by_identity = {
        field.metadata[_PROPERTY_ID]: field.name
        for field in stored
        if field.metadata is not None and _PROPERTY_ID in field.metadata
    }
    found: dict[str, str | None] = {name: name for name in row_schema(info).names if name not in info.properties}
    for name in property_names(info):
        found[name] = by_identity.get(str(info.property_ids[name]).encode())
    return found


@dataclass(frozen=True, slots=True)
class View:
    """What one read or one write attempt sees."""

    snapshot: Snapshot
    catalog: Catalog
    head: str | None
    tables: OpenTables
    masked: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def branch(self) -> str | None:
        return self.snapshot.branch

    @property
    def version(self) -> int:
        return self.snapshot.manifest_version

    def find(self, info: TableType) -> TableEntry | None:
        """The entry of a type, followed through renames; None when the type did not exist yet."""
        identity = TableIdentity(info.type_id, info.incarnation_id)
        usual = self.snapshot.entries.get(info.table_key)
        return usual if usual is not None and usual.identity == identity else self.snapshot.find(identity)

    def entry(self, info: TableType) -> TableEntry:
        found = self.find(info)
        if found is None:
            raise NotFound(f"type '{info.name}' does not exist at this snapshot")
        return found

    def table(self, info: TableType) -> TableHandle:
        """The rows of a type at this view."""
        return self.tables.get(self.entry(info))

    def columns(self, info: TableType) -> dict[str, str | None]:
        """Each column of a type under its current name → its name at this view; None when it did not exist yet."""
        # A masked property is read like one that did not exist yet: as null, by every operator, from no index.
        return {**stored_names(self.table(info).schema, info), **dict.fromkeys(self.masks(info))}

    def masks(self, info: TableType) -> frozenset[str]:
        """The properties of a type that are empty at this view, whatever is stored."""
        return self.masked.get(info.name, frozenset())
