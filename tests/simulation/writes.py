"""The writes of simulated clients: what each asks the protocol for, and what it must have done once it is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa

from omnigraph.errors import Conflict
from omnigraph.storage.base.layout import PRIVATE_PREFIX
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import (
    Delete,
    ManifestDelta,
    Overwrite,
    Replayed,
    StrictInsert,
    TableWrite,
    Upsert,
    WriteSet,
)
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.note import Note
from omnigraph.storage.manifest.rows import VersionRow
from omnigraph.testing.graphs.tiny import NODE_SCHEMA, A, B, K, rows_of

Rows = Mapping[str, tuple[str, int]]
Content = Mapping[str, Rows]
"""By table key the rows of a branch: id → (who wrote it, value)."""

Kind = Literal["count", "insert", "twice", "delete", "overwrite", "note", "merge", "follow", "replay", "schema"]
EMPTY: Content = {A: {}, B: {}, K: {}}
COUNTERS = ("c0", "c1", "c2")


@dataclass(frozen=True, slots=True)
class OfClone:
    """A commit of another clone of the graph, to be replayed on the commit it was made on."""

    commit_id: str
    base: str | None
    created_at: int


@dataclass(slots=True, eq=False)
class Write:
    """One write of a client; its name is the actor of its commit, so that a published commit tells which write it is."""

    name: str
    kind: Kind
    branch: str | None
    row: str
    source: str | None = None  # the branch that a merge takes from
    of_clone: OfClone | None = None  # what a replay repeats
    outcome: Literal["open", "acknowledged", "refused", "unknown", "no effect"] = "open"
    commit_id: str | None = None  # once it is published

    @property
    def is_private(self) -> bool:
        """Whether it is part of a transaction: one that was given up by others fails as a whole, when it is merged."""
        return (self.branch or "").startswith(PRIVATE_PREFIX)

    def prepare(self, store: Store, txn: Txn) -> WriteSet | None:
        """What the protocol is asked to do on a captured state."""
        written = {
            "count": self._count,
            "insert": lambda store, txn: {key: (StrictInsert(self._rows(self.name)),) for key in (A, B, K)},
            "twice": lambda store, txn: {
                A: (Upsert(self._rows(f"{self.name}a")), Upsert(self._rows(f"{self.name}b"))),
                B: (Upsert(self._rows(f"{self.name}a")),),
            },
            "delete": lambda store, txn: {key: (Delete(pa.array([self.row], pa.utf8())),) for key in (A, B, K)},
            "overwrite": lambda store, txn: {K: (Overwrite(self._rows(self.name)),)},
            "note": lambda store, txn: {},
        }
        if self.kind == "merge":
            return self._merge(store, txn)
        if self.kind == "follow":
            return self._follow(store, txn)
        if self.kind == "schema":
            return self._schema(txn)
        if self.of_clone is not None:
            return self._replay(txn, self.of_clone)
        steps = written[self.kind](store, txn)
        reads = {key: frozenset([self.row]) for key in (A, B)} if self.kind == "count" else {}
        planned = tuple(TableWrite(key, each) for key, each in steps.items())
        return WriteSet(
            writer_kind="Mutation", tables=planned, actor_id=self.name, reads=reads, lineage_only=self.kind == "note"
        )

    def applied(self, content: Content, merged: Content | None, inherited: frozenset[str]) -> Content:
        """The content after this write, from the content before it; `merged` is that of the commit it merges.

        `inherited` are the tables that its branch has not written to.
        """
        match self.kind:
            case "count":
                return self._counted(content, {key: value(content, key, self.row) + 1 for key in (A, B)})
            case "insert" | "replay":
                return {key: {**rows, self.name: (self.name, 0)} for key, rows in content.items()}
            case "twice":
                first, second = f"{self.name}a", f"{self.name}b"
                more: Content = {A: {first: (self.name, 0), second: (self.name, 0)}, B: {first: (self.name, 0)}, K: {}}
                return {key: {**rows, **more[key]} for key, rows in content.items()}
            case "delete":
                return {
                    key: {name: row for name, row in rows.items() if name != self.row} for key, rows in content.items()
                }
            case "overwrite":
                return {**content, K: {self.name: (self.name, 0)}}
            case "note" | "schema":
                return content
            case "follow":
                return {key: (merged or content)[key] if key in inherited else rows for key, rows in content.items()}
            case "merge":
                taken = merged or EMPTY
                return {
                    key: {**rows, **{name: (self.name, taken[key][name][1]) for name in _counted_in(taken, key)}}
                    for key, rows in content.items()
                }

    def _count(self, store: Store, txn: Txn) -> dict[str, tuple[Upsert, ...]]:
        found = {}
        for key in (A, B):
            entry = txn.snapshot.entry(key)
            rows = tables.open_table(entry.address(store.root), entry.version).take_ids([self.row], ["id", "value"])
            current = rows["value"][0].as_py() if rows.num_rows else 0
            found[key] = (Upsert(self._rows(self.row, value=current + 1)),)
        return found

    def _merge(self, store: Store, txn: Txn) -> WriteSet | None:
        taken = manifest.load(store.root, self.source).state
        if taken.effective_head is None or taken.effective_head in txn.state.lineage:
            return None
        steps = []
        for key in (A, B):
            rows = content_of(store, taken, key)
            counters = {name: rows[name][1] for name in COUNTERS if name in rows}
            if counters:
                table = pa.table(
                    [list(counters), [self.name] * len(counters), pa.array(counters.values(), pa.int64())],
                    schema=NODE_SCHEMA,
                )
                steps.append(TableWrite(key, (Upsert(table),)))
        return WriteSet(
            writer_kind="BranchMerge", tables=tuple(steps), actor_id=self.name, merged_parent=taken.effective_head,
            lineage_only=True,
        )  # fmt: skip

    def _follow(self, store: Store, txn: Txn) -> WriteSet | None:
        """Bring a branch up to main by pointers: tables that it has not written to show main's newer versions."""
        taken = manifest.load(store.root).state
        own = txn.snapshot.entries
        pointers = tuple(
            VersionRow(entry.table_key, entry.version, None, entry.row_count, entry.evidence)
            for entry in taken.snapshot
            if own[entry.table_key].ref is None and own[entry.table_key].version < entry.version
        )
        if not pointers:
            return None
        return WriteSet(
            writer_kind="BranchMerge",
            delta=ManifestDelta(pointers=pointers),
            actor_id=self.name,
            merged_parent=taken.effective_head,
        )

    def _replay(self, txn: Txn, of_clone: OfClone) -> WriteSet | None:
        """What a push does with one commit."""
        if txn.effective_head == of_clone.commit_id:
            return None  # somebody else has transferred it
        if txn.effective_head != of_clone.base:
            raise Conflict(f"the branch is at {txn.effective_head}, the commit was made on {of_clone.base}")
        return WriteSet(
            writer_kind="Mutation",
            tables=tuple(TableWrite(key, (Upsert(self._rows(self.name)),)) for key in (A, B, K)),
            actor_id=self.name,
            lineage_only=True,
            replayed=Replayed(of_clone.commit_id, of_clone.created_at, Note("load")),
        )

    def _schema(self, txn: Txn) -> WriteSet:
        """Another schema, of which the tables know nothing."""
        assert txn.state.schema is not None
        target = replace(txn.state.schema, schema_ir_hash=f"sha256:{self.name}")
        return WriteSet(writer_kind="SchemaApply", delta=ManifestDelta(target_schema=target), actor_id=self.name)

    def _counted(self, content: Content, values: Mapping[str, int]) -> Content:
        changed = {key: {**content[key], self.row: (self.name, each)} for key, each in values.items()}
        return {**content, **changed}

    def _rows(self, row: str, *, value: int = 0) -> pa.Table:
        return rows_of([row], op=self.name, value=value)


def value(content: Content, key: str, row: str) -> int:
    """The value of a counter; 0 when it is not there."""
    found = content[key].get(row)
    return 0 if found is None else found[1]


def content_of(store: Store, state: ManifestState, key: str) -> Rows:
    """The rows of a table that a state shows, read as any reader would."""
    entry = state.snapshot.entry(key)
    return as_rows(tables.open_table(entry.address(store.root), entry.version).scan(["id", "op", "value"]))


def as_rows(table: pa.Table) -> Rows:
    """Rows by id; a table that holds an id twice gets a name that nothing else has."""
    found: dict[str, tuple[str, int]] = {}
    for name, op, number in zip(*(table[column].to_pylist() for column in ("id", "op", "value")), strict=True):
        found[f"{name} (twice)" if name in found else name] = (op, number)
    return found


def _counted_in(content: Content, key: str) -> list[str]:
    return [name for name in COUNTERS if key in (A, B) and name in content[key]]
