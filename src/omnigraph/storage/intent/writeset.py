"""The value every write becomes: what changes, table by table, and what the manifest says about it afterwards.

Mutations, loads, merges, schema changes and maintenance all hand a `WriteSet` to the one commit protocol; none of
them commits anything itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import pyarrow as pa

from omnigraph.errors import BadRequest
from omnigraph.storage.lance.staged import Carry, Date, IndexSpec
from omnigraph.storage.manifest.note import CommitKind, Epoch, Note, RowCounts
from omnigraph.storage.manifest.rows import SchemaRow, TableRow, TombstoneRow, VersionRow

if TYPE_CHECKING:
    from omnigraph.storage.lance.continuation import Continuation

WriterKind = Literal["Mutation", "Load", "SchemaApply", "BranchMerge", "EnsureIndices", "Optimize"]
_KINDS: Mapping[WriterKind, CommitKind] = {
    "Mutation": "mutate",
    "Load": "load",
    "SchemaApply": "schema",
    "BranchMerge": "merge",
    "EnsureIndices": "index",
    "Optimize": "compact",
}


@dataclass(frozen=True, slots=True)
class StrictInsert:
    """Add rows whose ids must not exist yet."""

    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Upsert:
    """Add rows, replacing whole rows of the same id; within the batch the last row of an id wins."""

    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Patch:
    """Add or replace whole rows by id and remove others, all in one version; every id is named once.

    `known` has the `id` and `_rowid` of exactly those of them that are there, when the writer has found out already.
    """

    rows: pa.Table
    deleted: pa.Array
    known: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class KnownUpdate:
    """Replace whole rows whose ids must all exist."""

    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the rows with these ids."""

    ids: pa.Array


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Replace the whole table, and its schema, by these rows."""

    rows: pa.Table


@dataclass(frozen=True, slots=True)
class AppendFragments:
    """Add data files that executors have written; the caller has proved the ids new and distinct."""

    fragments: tuple[str, ...]
    row_count: int


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replace the whole table, and its schema, by rows that are made while they are written.

    A branch that has not written to the table yet gets a lineage of its own first, and the files belong there.
    """

    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class AppendParts:
    """Add scratch parts that executors have written; the caller has proved the ids new and distinct."""

    locations: tuple[str, ...]
    row_count: int


@dataclass(frozen=True, slots=True)
class ReplaceParts:
    """Put scratch parts in the place of rows with the same ids, and add others; all of it makes one version.

    Every id of `replacing` exists; the caller has proved those of `fresh` new, and all of them distinct. What is known
    of the `replaced` rows in one version of the table is in parts as well: for each of `replacing` the row ids that its
    fragments take over and when those began (`numbers`), and the rows that give way as sets by fragment (`withdrawn`).
    """

    replacing: tuple[str, ...]
    fresh: tuple[str, ...]
    row_count: int
    replaced: int
    numbers: tuple[str, ...]
    withdrawn: tuple[str, ...]
    version: int


@dataclass(frozen=True, slots=True)
class OverwriteParts:
    """Replace the whole table by scratch parts that executors have written."""

    schema: pa.Schema
    locations: tuple[str, ...]
    row_count: int


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Take over what a version on another line has beyond one that both continue: its data files, and which rows give
    way. The caller has proved that this line has changed none of those rows since, and has none of the new ids."""

    change: Continuation


@dataclass(frozen=True, slots=True)
class RestorePin:
    """Commit the published content once more, so that the published version grows (rename back and forth)."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A published version whose number a new dataset continues."""

    location: str
    ref: str | None
    version: int


@dataclass(frozen=True, slots=True)
class Create:
    """An empty table with this schema; the first step of a new type, whether or not a dropped one left its dataset.

    Versions of a key only grow. A name that was hidden at some version, and whose old dataset now belongs to a renamed
    type, gets a new dataset that starts above that version: it continues the numbers of its `seed`.
    """

    schema: pa.Schema
    seed: Seed | None = None


@dataclass(frozen=True, slots=True)
class BuildIndexes:
    """Build these indexes over the rows as they are; all of them make one version."""

    specs: tuple[IndexSpec, ...]


Step = (
    StrictInsert
    | Upsert
    | Patch
    | KnownUpdate
    | Delete
    | Overwrite
    | AppendFragments
    | Rewrite
    | AppendParts
    | ReplaceParts
    | OverwriteParts
    | TakeOver
    | RestorePin
    | Create
    | BuildIndexes
    | Carry
    | Date
)


@dataclass(frozen=True, slots=True)
class TableWrite:
    """The ordered steps for one table; each becomes one dataset version.

    `location` and `expected` are set only for tables the snapshot does not show: where the dataset is (to be) and
    the version the manifest must report for the key (0 when never registered, the tombstone when dropped).
    """

    table_key: str
    steps: tuple[Step, ...]
    location: str | None = None
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Rename:
    """A type keeps its dataset and identity under another key."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class ManifestDelta:
    """Manifest changes beyond the versions that table steps produce."""

    pointers: tuple[VersionRow, ...] = ()
    registrations: tuple[TableRow, ...] = ()
    renames: tuple[Rename, ...] = ()
    tombstones: tuple[TombstoneRow, ...] = ()
    target_schema: SchemaRow | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.pointers or self.registrations or self.renames or self.tombstones or self.target_schema)


Footprint: TypeAlias = Mapping[str, frozenset[str] | None]
"""What a prepared write has read: per table key the ids it looked at, None where any row of the table may matter."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A commit of a clone: what stays the same wherever it is replayed."""

    commit_id: str
    created_at: int
    note: Note


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSet:
    """One graph commit to be: all of it becomes visible together, or nothing does.

    `reads` is what the write depends on beside the rows it writes, so that a commit which touches none of it need not
    be answered by preparing again; None: everything. `lineage_only` keeps a commit that changes no content (an empty
    load). `kind` is that of the commit where the writer's own does not say it; `counts`, by type name, are those of
    tables that are taken over as they are, the others are counted from their steps. `replayed` is the commit of a clone
    that this one is: it gets the same id, time and note. `epoch` is the batch of a stream that it brings.
    """

    writer_kind: WriterKind
    tables: tuple[TableWrite, ...] = ()
    delta: ManifestDelta = field(default_factory=ManifestDelta)
    actor_id: str | None = None
    merged_parent: str | None = None
    reads: Footprint | None = None
    lineage_only: bool = False
    kind: CommitKind | None = None
    message: str | None = None
    query: str | None = None
    counts: Mapping[str, RowCounts] = field(default_factory=dict)
    replayed: Replayed | None = None
    epoch: Epoch | None = None

    def __post_init__(self) -> None:
        keys = [table.table_key for table in self.tables]
        if len(set(keys)) != len(keys):
            raise BadRequest("a write set names one table twice")
        trimmed = (TableWrite(t.table_key, tuple(filter(_acts, t.steps)), t.location, t.expected) for t in self.tables)
        kept = sorted((table for table in trimmed if table.steps), key=lambda table: table.table_key)
        object.__setattr__(self, "tables", tuple(kept))

    @property
    def has_effect(self) -> bool:
        """Whether there is anything to publish."""
        return bool(self.tables) or not self.delta.is_empty or self.lineage_only

    @property
    def note(self) -> Note:
        """What the commit will say about itself; the counts of written tables are added when it is published."""
        if self.replayed is not None:
            return self.replayed.note
        return Note(self.kind or _KINDS[self.writer_kind], self.message, self.query, self.counts, epoch=self.epoch)

    def footprint(self) -> Footprint | None:
        """Everything another commit must leave alone for this one to stay as it is; None: everything there is."""
        if self.reads is None or not self.delta.is_empty or self.merged_parent is not None:
            return None
        found = dict(self.reads)
        for table in self.tables:
            known, own = found.get(table.table_key, frozenset()), touched_ids(table.steps)
            found[table.table_key] = None if known is None or own is None else known | own
        return found


# Beyond this many, sets of ids cost more than preparing again would.
_MOST_IDS = 16_384


def touched_ids(steps: tuple[Step, ...]) -> frozenset[str] | None:
    """The ids of all rows that steps add, replace or remove; None when they cannot be told, or are too many."""
    found: set[str] = set()
    for step in steps:
        for ids in _named_ids(step):
            if ids is None or len(ids) > _MOST_IDS:
                return None
            found.update(ids.to_pylist())
    return frozenset(found)


def _named_ids(step: Step) -> Iterator[pa.Array | pa.ChunkedArray | None]:
    match step:
        case StrictInsert(rows) | Upsert(rows) | KnownUpdate(rows):
            yield rows["id"]
        case Patch(rows, deleted):
            yield rows["id"]
            yield deleted
        case Delete(ids):
            yield ids
        case BuildIndexes() | RestorePin():
            return  # the rows stay what they are
        case _:
            yield None


def _acts(step: Step) -> bool:
    """A step without rows leaves its table alone, except where emptiness is the content."""
    match step:
        case StrictInsert(rows) | Upsert(rows) | KnownUpdate(rows):
            return bool(rows.num_rows)
        case Patch(rows, deleted):
            return bool(rows.num_rows or len(deleted))
        case Delete(ids):
            return len(ids) > 0
        case AppendFragments(fragments):
            return bool(fragments)
        case AppendParts(locations):
            return bool(locations)
        case _:
            return True
