"""Immutable values that say which table versions one manifest version publishes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.display import Displayed
from omnigraph.errors import NotFound
from omnigraph.storage.base.layout import Address, Root
from omnigraph.storage.base.ref_names import branch_of, owner_of
from omnigraph.storage.lance.evidence import VersionEvidence
from omnigraph.storage.lance.version_files import refuse_damaged


@dataclass(frozen=True, slots=True, repr=False)
class TableIdentity(Displayed):
    """Which table this is, whatever it is called: stable id plus the incarnation of its rows."""

    stable_table_id: int
    table_incarnation_id: int


@dataclass(frozen=True, slots=True, repr=False)
class TableEntry(Displayed):
    """One visible table of a snapshot: where it lives and the exact version that is published."""

    table_key: str
    location: str
    identity: TableIdentity
    version: int
    ref: str | None
    row_count: int
    evidence: VersionEvidence

    @property
    def owner(self) -> str | None:
        """The branch that writes to this entry's lineage; None is main. Branches made from it may show it too."""
        return None if self.ref is None else branch_of(owner_of(self.ref))

    def address(self, root: Root) -> Address:
        """The dataset lineage this entry's version belongs to."""
        return root.table(self.location, self.ref)

    def refuse_damaged(self, root: Root) -> None:
        """Raise Corrupt when the version file on a disk is not the one that was published; an absent one passes."""
        if root.is_local:
            refuse_damaged(self.address(root), self.version, self.evidence.crc32)

    def document(self) -> dict[str, Any]:
        """The entry as JSON spells it everywhere."""
        kind, _, name = self.table_key.partition(":")
        return {
            "entity_kind": kind,
            "type_name": name,
            "dataset_path": self.location,
            "published_dataset_version": self.version,
            "native_dataset_branch": self.ref,
            "entity_count": self.row_count,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot(Displayed):
    """Everything a reader needs from one manifest version; entries are sorted by table key."""

    manifest_version: int
    branch: str | None
    entries: Mapping[str, TableEntry]
    heads: Mapping[str, str]
    schema_hash: str | None

    def __iter__(self) -> Iterator[TableEntry]:
        return iter(self.entries.values())

    def entry(self, table_key: str) -> TableEntry:
        """The entry of a type, or NotFound when the snapshot does not show it."""
        try:
            return self.entries[table_key]
        except KeyError:
            raise NotFound(f"type '{table_key}' does not exist at this snapshot") from None

    def find(self, identity: TableIdentity) -> TableEntry | None:
        """The entry with this identity under whatever name it had at this snapshot."""
        return next((entry for entry in self if entry.identity == identity), None)

    def pins(self) -> dict[str, int]:
        """The published version of each visible table."""
        return {entry.table_key: entry.version for entry in self}
