"""The commit graph of one manifest branch, kept as Arrow and decoded only as far as a caller looks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.display import Displayed, instant_text
from omnigraph.errors import Corrupt
from omnigraph.storage.manifest.note import Epoch, RowCounts
from omnigraph.storage.manifest.row_codec import parse_commit
from omnigraph.storage.manifest.rows import CommitRow, Within

LINEAGE_SCHEMA = pa.schema(
    [
        pa.field("commit_id", pa.utf8()),
        pa.field("manifest_version", pa.uint64()),
        pa.field("branch", pa.utf8()),
        pa.field("metadata", pa.utf8()),
    ]
)
_MOST_DEFERRED = 32
_MAX_CHUNKS = 64
_FIRST_PIECE, _LARGEST_PIECE = 8, 1_024
_SINGLE_LOOKS = 2  # after so many commits were looked up one by one, all are read


@dataclass(frozen=True, slots=True, repr=False)
class GraphCommit(Displayed):
    """One commit as callers see it; `manifest_version` is the version that really introduced it.

    `kind`, `message`, `query` (the name of the query that ran) and `counts` (by type) are those of its note; commits of
    older releases have none. `recovered_by` is set when recovery published it for an interrupted writer, `epoch` when
    it brought a batch of a stream. `within` tells storage where a commit stands that was published with later ones.
    """

    graph_commit_id: str
    manifest_branch: str | None
    manifest_version: int
    parent_commit_id: str | None
    merged_parent_commit_id: str | None
    actor_id: str | None
    created_at: int
    kind: str | None = None
    message: str | None = None
    query: str | None = None
    counts: Mapping[str, RowCounts] = field(default_factory=dict, hash=False)
    recovered_by: str | None = None
    epoch: Epoch | None = None
    within: Within | None = field(default=None, repr=False, compare=False)

    def _displayed(self) -> list[tuple[str, Any]]:
        return [
            ("commit", self.graph_commit_id),
            ("branch", self.manifest_branch or "main"),
            ("kind", self.kind),
            ("created_at", self.created_at),
            ("actor", self.actor_id),
            ("message", self.message),
            ("query", self.query),
            ("changes", self.counts),
            ("merged", self.merged_parent_commit_id),
            ("recovered by", self.recovered_by),
        ]

    def _brief(self) -> str:
        told = " ".join(each for each in (self.kind, self.actor_id, instant_text(self.created_at)) if each)
        return f"{self.graph_commit_id} ({told})"

    @property
    def lineage_key(self) -> tuple[int, int, str]:
        """The total order of one branch's commits."""
        return self.manifest_version, self.created_at, self.graph_commit_id

    def document(self) -> dict[str, Any]:
        """The commit as JSON spells it everywhere; the branch of main is null."""
        return {
            "graph_commit_id": self.graph_commit_id,
            "graph_branch": self.manifest_branch,
            "graph_manifest_version": self.manifest_version,
            "parent_commit_id": self.parent_commit_id,
            "merged_parent_commit_id": self.merged_parent_commit_id,
            "actor_id": self.actor_id,
            "created_at": self.created_at,
            "kind": self.kind,
            "message": self.message,
            "query": self.query,
            "counts": {name: each.document() for name, each in sorted(self.counts.items())},
            "recovered_by": self.recovered_by,
        }


class Lineage:
    """Every commit of a manifest branch; immutable, cheap to extend, read and decoded only when it is looked at."""

    __slots__ = ("_depth", "_find_one", "_found", "_load", "_size", "_table")

    def __init__(self, table: pa.Table) -> None:
        self._table: pa.Table | None = table
        self._load: Callable[[], pa.Table] | None = None
        self._find_one: Callable[[str], pa.Table] | None = None
        self._found = 0
        self._depth = 0  # how many lineages are made when this one is looked at, each from the one before
        self._size = int(table.num_rows)

    @classmethod
    def deferred(
        cls, size: int, load: Callable[[], pa.Table], find: Callable[[str], pa.Table] | None = None
    ) -> Lineage:
        """A lineage of `size` commits that `load` reads when somebody looks at them, and `find` when it is only one."""
        lineage = cls(LINEAGE_SCHEMA.empty_table())
        lineage._table, lineage._load, lineage._size, lineage._find_one = None, load, size, find
        return lineage

    @property
    def table(self) -> pa.Table:
        """One row per commit, in the columns of LINEAGE_SCHEMA."""
        load, table = self._load, self._table  # in this order: another thread clears `_load` last
        if table is None:
            assert load is not None
            table = load()  # threads that meet here read the same immutable rows twice
            if table.num_rows != self._size:
                raise Corrupt(f"manifest corrupt: {table.num_rows} commits where a scan has found {self._size}")
            self._table = table
            self._load = None
        return table

    def __len__(self) -> int:
        return self._size

    def __contains__(self, commit_id: str) -> bool:
        return self._find(commit_id) >= 0

    def get(self, commit_id: str) -> GraphCommit | None:
        """One commit, or None when this branch does not know it."""
        find = self._find_one
        if self._table is None and find is not None and self._found < _SINGLE_LOOKS:
            self._found += 1
            rows = find(commit_id)
            return _decoded(rows, 0) if rows.num_rows else None
        position = self._find(commit_id)
        return None if position < 0 else self._decode(position)

    def publisher(self, manifest_version: int, table_key: str, version: int) -> GraphCommit | None:
        """The commit of a manifest version that published a version of a table, if one did."""
        there = pc.indices_nonzero(pc.equal(self.table["manifest_version"], manifest_version))
        together = sorted(self._decoded(there), key=lambda commit: commit.lineage_key)
        for commit in together:
            shown = None if commit.within is None else commit.within.shown.get(table_key)
            if shown is None or shown.version >= version:
                return commit
        return None

    def until(self, commit: GraphCommit, later: int) -> Lineage:
        """This lineage without the `later` commits that were published together with one, after it."""

        def kept(rows: pa.Table) -> pa.Table:
            together = pc.equal(rows["manifest_version"], commit.manifest_version)
            if not pc.any(together).as_py():
                return rows
            keys = [_decoded(rows, at).lineage_key for at in pc.indices_nonzero(together).to_pylist()]
            gone = [key[2] for key in keys if key > commit.lineage_key]
            return rows.filter(pc.invert(pc.is_in(rows["commit_id"], value_set=pa.array(gone, pa.utf8()))))

        find = self._find_one
        single = None if find is None else lambda commit_id: kept(find(commit_id))
        return Lineage.deferred(self._size - later, lambda: kept(self.table), single)

    def beginning(self, text: str) -> list[str]:
        """The ids that begin with a text."""
        ids = self.table["commit_id"]
        found: list[str] = ids.filter(pc.starts_with(ids, text)).to_pylist()
        return found

    def newest_first(self, limit: int | None = None) -> Iterator[GraphCommit]:
        """Commits from the newest to the oldest by lineage key; decodes only what is consumed."""
        return islice(self._descending(), limit)

    def latest(self) -> GraphCommit | None:
        """The maximum by lineage key: the head of a branch that has not committed yet."""
        return next(self.newest_first(1), None)

    def oldest(self) -> GraphCommit | None:
        """The commit with which the graph began."""
        if not len(self):
            return None
        first = pc.min(self.table["manifest_version"])
        return self._decode(int(pc.index(self.table["manifest_version"], first).as_py()))

    def latest_epoch(self, stream: str) -> Epoch | None:
        """The newest batch of a stream, looked for among the commits whose text can have one."""
        texts = self.table["metadata"]
        named = pc.and_(pc.match_substring(texts, '"epoch"'), pc.match_substring(texts, f'"{stream}"'))
        found = [commit for commit in self._decoded(pc.indices_nonzero(named)) if commit.epoch is not None]
        mine = (commit for commit in found if commit.epoch is not None and commit.epoch.stream == stream)
        newest = max(mine, key=lambda commit: commit.lineage_key, default=None)
        return None if newest is None else newest.epoch

    def may_have_deleted(self, type_name: str) -> pa.ChunkedArray:
        """The manifest versions with commits that say they deleted entities of a type, or do not say what they did."""
        texts = self.table["metadata"]
        named = re.escape(json.dumps(type_name, ensure_ascii=False))
        deleting = pc.match_substring_regex(texts, named + r":\[\d+,\d+,[1-9]")
        silent = pc.invert(pc.match_substring(texts, '"counts":'))
        return self.table["manifest_version"].filter(pc.or_(deleting, silent))

    def first_parents(self, commit_id: str) -> Iterator[GraphCommit]:
        """The commit, its parent, the parent's parent, …; ends at genesis or where the branch's knowledge ends."""
        columns = [self.table[name].to_pylist() for name in LINEAGE_SCHEMA.names]
        positions = {name: at for at, name in enumerate(columns[0])}
        current: str | None = commit_id
        while current is not None and (position := positions.get(current)) is not None:
            commit = graph_commit(parse_commit(*(column[position] for column in columns)))
            yield commit
            current = commit.parent_commit_id

    def extended(self, count: int, rows: Callable[[], pa.Table]) -> Lineage:
        """This lineage with more commits at the end, made when they are looked at; shares all existing memory.

        Of commits that are published together only the last one's state is looked at.
        """

        def joined() -> pa.Table:
            table = pa.concat_tables([self.table, rows()])
            # One chunk per commit would make every later kernel call slower; merging now and then keeps it flat.
            return table.combine_chunks() if table.column(0).num_chunks > _MAX_CHUNKS else table

        longer = Lineage.deferred(self._size + count, joined)
        longer._depth = 1 if self._table is not None else self._depth + 1
        if longer._depth >= _MOST_DEFERRED:
            _ = longer.table
        return longer

    def _find(self, commit_id: str) -> int:
        return int(pc.index(self.table["commit_id"], pa.scalar(commit_id, pa.utf8())).as_py())

    def _descending(self) -> Iterator[GraphCommit]:
        order = pc.sort_indices(self.table["manifest_version"], sort_keys=[("", "descending")])
        decoded = chain.from_iterable(self._decoded(at) for at in _growing(order))
        # Normally one commit per manifest version; a tie is resolved by the rest of the lineage key.
        for _, group in groupby(decoded, key=lambda commit: commit.manifest_version):
            yield from sorted(group, key=lambda commit: commit.lineage_key, reverse=True)

    def _decoded(self, positions: pa.Array) -> Iterator[GraphCommit]:
        """The commits at these places; their columns are converted at once, which costs less than cell by cell.

        Taking rows joins all chunks of a column, so it is done within the part of the table that they are in.
        """
        if not len(positions):
            return iter(())
        first, last = pc.min_max(positions).as_py().values()
        rows = self.table.slice(first, last - first + 1).take(pc.subtract(positions, first))
        columns = (rows[name].to_pylist() for name in LINEAGE_SCHEMA.names)
        return (graph_commit(parse_commit(*row)) for row in zip(*columns, strict=True))

    def _decode(self, position: int) -> GraphCommit:
        return _decoded(self.table, position)


def _decoded(table: pa.Table, position: int) -> GraphCommit:
    return graph_commit(parse_commit(*(table[name][position].as_py() for name in LINEAGE_SCHEMA.names)))


def _growing(order: pa.Array) -> Iterator[pa.Array]:
    """An array in pieces: small ones first, because most callers look at few commits."""
    start, size = 0, _FIRST_PIECE
    while start < len(order):
        yield order.slice(start, size)
        start, size = start + size, min(2 * size, _LARGEST_PIECE)


def graph_commit(row: CommitRow) -> GraphCommit:
    """The public value of a commit row."""
    return GraphCommit(
        graph_commit_id=row.commit_id,
        manifest_branch=row.branch,
        manifest_version=row.manifest_version,
        parent_commit_id=row.parent_commit_id,
        merged_parent_commit_id=row.merged_parent_commit_id,
        actor_id=row.actor_id,
        created_at=row.created_at,
        kind=row.note.kind,
        message=row.note.message,
        query=row.note.query,
        counts=row.note.counts,
        recovered_by=row.note.recovered_by,
        epoch=row.note.epoch,
        within=row.within,
    )
