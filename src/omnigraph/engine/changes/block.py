"""The exact changes of one commit against its first parent, in pages of bounded size."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.display import Displayed, counted
from omnigraph.engine.changes.scope import KINDS, OPS, ChangeScope
from omnigraph.engine.changes.token import Position, encoded_digest, entity_mark, find_entity
from omnigraph.engine.values.json_values import Style, json_rows
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.delta import RowDelta, one_column
from omnigraph.engine.views.pairs import TablePair, changed_pairs, require_comparable
from omnigraph.engine.views.time_travel import find_commit, state_at_commit
from omnigraph.errors import (
    BadRequest,
    ChangeCursorRejected,
    ChangeFeedGap,
    ChangeSchemaBoundary,
    CommitHasNoParent,
    HistoricalVersionReclaimed,
    ResourceLimitExceeded,
    StorageError,
)
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.lance.version_tree import UPDATED
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.snapshot import TableIdentity

MAX_CHANGES = 8_192
MAX_BYTES = 32 << 20
DEFAULT_CHANGES = 1_000
_IMAGE = Style(dates="epoch", non_finite="text")
DEFAULT_BYTES = 4 << 20
_IMAGES_AT_ONCE = 256
_SEPARATOR = b"\x1f"

Change = dict[str, Any]
"""`{kind, entity_type: {id, name}, id, op, before?, after?}`"""


@dataclass(frozen=True, slots=True, repr=False)
class Cause(Displayed):
    """The commit behind a block; `authored_at` is when it was written, not when a reader could first see it."""

    graph_commit_id: str
    parent_commit_id: str | None
    merged_parent_commit_id: str | None
    authored_branch: str | None
    actor_id: str | None
    authored_at: int


@dataclass(frozen=True, slots=True, repr=False)
class Block(Displayed):
    """A commit and its changes, or as many of them as fit on the page."""

    cause: Cause
    changes: list[Change] = field(default_factory=list)

    def _displayed(self) -> list[tuple[str, Any]]:
        cause = self.cause
        told = [("commit", cause.graph_commit_id), ("actor", cause.actor_id), ("authored_at", cause.authored_at)]
        few = [
            {"operation": each["op"], "type": each["entity_type"]["name"], "id": each["id"]} for each in self.changes
        ]
        return [*told, ("changes", few)]

    def _brief(self) -> str:
        return f"{self.cause.graph_commit_id}: {counted(len(self.changes), 'change')}"


class Budget:
    """What one page may still hold; its first change is let through whatever its size."""

    def __init__(self, max_changes: int = DEFAULT_CHANGES, max_bytes: int = DEFAULT_BYTES) -> None:
        _require_limit("commit_changes_page_changes", max_changes, MAX_CHANGES)
        _require_limit("commit_changes_page_bytes", max_bytes, MAX_BYTES)
        self.changes = max_changes
        self.bytes = max_bytes
        self.used = False

    @property
    def spent(self) -> bool:
        return self.changes <= 0 or (self.used and self.bytes <= 0)

    def take(self, change: Change) -> bool:
        """Whether the change still fits; if so it is accounted for."""
        size = len(json.dumps(change, separators=(",", ":"), ensure_ascii=False).encode())
        if self.changes <= 0 or (self.used and size > self.bytes):
            return False
        self.used = True
        self.changes -= 1
        self.bytes -= size
        return True


@dataclass(frozen=True)
class TypeChanges:
    """The changes of one entity type in one commit, by id."""

    pair: TablePair
    type_id: str
    delta: RowDelta
    scope: ChangeScope

    @cached_property
    def ids(self) -> pa.Array:
        """Changed ids that the scope lets through, ascending."""
        wanted = np.isin(self._ops, [OPS.index(op) for op in OPS if self.scope.has_op(op)])
        return self.delta.ids.filter(pa.array(wanted))

    @cached_property
    def ops(self) -> np.ndarray:
        """The operation rank of each of `ids`."""
        return self._ops[np.isin(self._ops, [OPS.index(op) for op in OPS if self.scope.has_op(op)])]

    @cached_property
    def _ops(self) -> np.ndarray:
        there = _present(self.delta.ids, self.delta.before)
        here = _present(self.delta.ids, self.delta.after)
        ranks: np.ndarray = np.where(here & there, OPS.index("update"), np.where(here, 0, OPS.index("delete")))
        return ranks

    def changes(self, start: int) -> Iterator[Change]:
        """The changes from a position on; images are made a few hundred at a time."""
        for first in range(start, len(self.ids), _IMAGES_AT_ONCE):
            ids = self.ids.slice(first, _IMAGES_AT_ONCE)
            before, after = (self._images_of(rows, ids) for rows in (self.delta.before, self.delta.after))
            for at, entity_id in enumerate(ids.to_pylist()):
                yield self._change(entity_id, OPS[self.ops[first + at]], before.get(entity_id), after.get(entity_id))

    def _images_of(self, rows: pa.Table, ids: pa.Array) -> Mapping[str, Any]:
        chosen = rows.filter(pc.is_in(rows["id"], value_set=ids))
        return dict(zip(chosen["id"].to_pylist(), _images(chosen, edge=self.pair.kind == "edge"), strict=True))

    def _change(self, entity_id: str, op: str, before: Any, after: Any) -> Change:
        named = {"id": self.type_id, "name": self.pair.type_name}
        change: Change = {"kind": self.pair.kind, "entity_type": named, "id": entity_id, "op": op}
        if before is not None:
            change["before"] = before
        if after is not None:
            change["after"] = after
        return change


class CommitChanges:
    """Every change of one commit, ordered, ready to be read from any position."""

    def __init__(self, core: Core, commit: GraphCommit, scope: ChangeScope) -> None:
        core.require_everything_visible("what a commit changed")
        self.commit = commit
        self.cause = _cause(commit)
        if commit.parent_commit_id is None:
            raise CommitHasNoParent(commit.graph_commit_id)
        try:
            parent = find_commit(core, commit.parent_commit_id, commit.manifest_branch)
            before, after = state_at_commit(core, parent), state_at_commit(core, commit)
            hit("change_feed.pre_table_open")
            self.types = _types(core, before, after, commit, scope)
        except HistoricalVersionReclaimed as error:
            raise ChangeFeedGap(commit.graph_commit_id) from error
        except StorageError as error:
            if error.kind != "NotFound":
                raise
            raise ChangeFeedGap(commit.graph_commit_id) from error  # the version is known, its files are gone

    def fill(self, block: Block, budget: Budget, after: Position | None = None) -> Position | None:
        """Add changes to a block until the page is full; where it stopped, or None when the commit is complete."""
        number, start, index = self._resume(after)
        last: Position | None = after
        for group in self.types[number:]:
            for at, change in enumerate(group.changes(start), start):
                if not budget.take(change):
                    return last or _NOWHERE
                index += 1
                last = Position(group.type_id, entity_mark(change["id"]), int(group.ops[at]), index)
                block.changes.append(change)
            start = 0
        return None

    def _resume(self, after: Position | None) -> tuple[int, int, int]:
        if after is None:
            return 0, 0, 0
        index = 0
        for number, group in enumerate(self.types):
            if group.type_id != after.type_id:
                index += len(group.ids)
                continue
            at = find_entity(after.entity, group.ids)
            if (int(group.ops[at]), index + at + 1) != (after.operation_rank, after.change_index):
                break
            return number, at + 1, after.change_index
        raise ChangeCursorRejected("its position does not exist in the commit")


_NOWHERE = Position("", {}, 0, 0)
"""A page that is full before a commit's first change."""


def began(position: Position | None) -> bool:
    """Whether a position lies behind at least one change."""
    return position is not None and position is not _NOWHERE


def type_identity(domain: str, identity: TableIdentity) -> str:
    """An opaque id of an entity type: it survives a rename and changes when the type is dropped and added again."""
    numbers = (struct.pack("<Q", number) for number in (identity.stable_table_id, identity.table_incarnation_id))
    return encoded_digest(_SEPARATOR.join([domain.encode(), *numbers]))


def _types(
    core: Core, before: ManifestState, after: ManifestState, commit: GraphCommit, scope: ChangeScope
) -> list[TypeChanges]:
    pairs = list(changed_pairs(before.snapshot, after.snapshot))
    for pair in pairs:  # whatever the scope: a reader must not step over a change of schema unknowingly
        _require_no_boundary(core, pair, commit.graph_commit_id)
    domain = after.schema.schema_identity_domain if after.schema is not None else ""
    found = [
        TypeChanges(pair, type_identity(domain, pair.identity), pair.delta(core.tables), scope)
        for pair in pairs
        if scope.has_kind(pair.kind) and scope.has_type(pair.type_name)
    ]
    return sorted(found, key=lambda group: (KINDS.index(group.pair.kind), group.type_id.encode()))


def _require_no_boundary(core: Core, pair: TablePair, commit_id: str) -> None:
    if (pair.before is None or pair.after is None) and pair.entry.row_count:
        raise ChangeSchemaBoundary(commit_id, pair.type_name)
    require_comparable(core.tables, pair, commit_id)


def _cause(commit: GraphCommit) -> Cause:
    return Cause(
        commit.graph_commit_id,
        commit.parent_commit_id,
        commit.merged_parent_commit_id,
        commit.manifest_branch,
        commit.actor_id,
        commit.created_at,
    )


def _present(ids: pa.Array, rows: pa.Table) -> np.ndarray:
    present: np.ndarray = pc.is_in(ids, value_set=one_column(rows, "id")).to_numpy(zero_copy_only=False)
    return present


def _require_limit(resource: str, value: int, ceiling: int) -> None:
    if value < 1:
        raise BadRequest(f"{resource} must be at least 1, not {value}")
    if value > ceiling:
        raise ResourceLimitExceeded(resource, limit=ceiling, actual=value)


def _images(rows: pa.Table, *, edge: bool) -> list[dict[str, Any]]:
    """One image per row: its properties and, for an edge, its endpoints; a node may have properties of their names."""
    structural = {"id", UPDATED, *(("src", "dst") if edge else ())}
    names = [name for name in rows.column_names if name not in structural]
    properties = json_rows(rows.select(names), _IMAGE) if names else [{} for _ in range(rows.num_rows)]
    if not edge:
        return [{"properties": values} for values in properties]
    ends = zip(rows["src"].to_pylist(), rows["dst"].to_pylist(), strict=True)
    return [
        {"properties": values, "endpoints": {"from": source, "to": target}}
        for values, (source, target) in zip(properties, ends, strict=True)
    ]
