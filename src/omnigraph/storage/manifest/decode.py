"""Manifest rows to state: one vectorised reduction for scans, and the same reduction for rows just published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import Corrupt
from omnigraph.storage.lance.refs import Identifier
from omnigraph.storage.manifest.commits import LINEAGE_SCHEMA, GraphCommit, Lineage
from omnigraph.storage.manifest.row_codec import (
    encode_rows,
    parse_abort,
    parse_branch,
    parse_control,
    parse_head,
    parse_schema,
    parse_table,
    parse_version,
)
from omnigraph.storage.manifest.rows import (
    BRANCH_PREFIX,
    VERSION_DIGITS,
    AbortRow,
    BranchRow,
    CommitRow,
    ControlRow,
    HeadRow,
    ManifestRow,
    ReplayRow,
    SchemaRow,
    TableRow,
    TombstoneRow,
    VersionRow,
)
from omnigraph.storage.manifest.scan import COMMIT_COLUMNS, CREATED_AT, Scan, scan_of
from omnigraph.storage.manifest.snapshot import Snapshot, TableEntry

Decision = Literal["published", "aborted"]


@dataclass(frozen=True)
class ManifestState:
    """Everything one manifest version of one branch says; derived from exactly one scan and never changed."""

    branch: str | None
    version: int
    identifier: Identifier
    registrations: Mapping[str, TableRow]
    published: Mapping[str, VersionRow]  # the greatest version row per key, hidden ones included
    tombstones: Mapping[str, int]
    heads: Mapping[str, str]
    schema: SchemaRow | None
    control: ControlRow | None
    branch_row: BranchRow | None
    lineage: Lineage
    aborts: pa.Table
    replays: pa.Table  # operations that published commits made elsewhere
    snapshot: Snapshot

    @property
    def graph_head(self) -> str | None:
        """The exact value of this branch's head row; None on a branch that has not committed yet."""
        return self.heads.get(self.branch or "main")

    @cached_property
    def effective_head(self) -> str | None:
        """The commit a new commit would have as its parent."""
        if self.graph_head is not None:
            return self.graph_head
        latest = self.lineage.latest()
        return None if latest is None else latest.graph_commit_id

    def decision(self, operation_id: str) -> Decision | None:
        """What was decided about an operation, or None while it is open."""
        if operation_id in self.lineage or _position(self.replays, operation_id) >= 0:
            return "published"
        return "aborted" if _position(self.aborts, operation_id) >= 0 else None

    def abort_row(self, operation_id: str) -> AbortRow | None:
        """The abort marker of an operation."""
        position = _position(self.aborts, operation_id)
        if position < 0:
            return None
        row = self.aborts.slice(position, 1).to_pylist()[0]
        return parse_abort(row["object_id"], row["table_branch"], row["metadata"])

    def current_version(self, table_key: str) -> int:
        """What an expectation is compared with: the visible version, else the tombstone, else 0."""
        entry = self.snapshot.entries.get(table_key)
        return entry.version if entry is not None else self.tombstones.get(table_key, 0)


def decode_state(scan: Scan | pa.Table, *, branch: str | None, version: int, identifier: Identifier) -> ManifestState:
    """The state in one scan of a manifest version; fails closed on anything that contradicts itself.

    Commits are checked when they are read; a replaced version that is there twice decides nothing.
    """
    scan = scan_of(scan) if isinstance(scan, pa.Table) else scan
    rows = _DecidingRows(scan)
    aborts = rows.of("operation_abort", *_ABORT_COLUMNS)
    return _assemble(
        branch=branch,
        version=version,
        identifier=identifier,
        registrations=_registrations(rows.of("table")),
        published=_versions(rows.of("table_version")),
        tombstones=_tombstones(rows.of("table_tombstone")),
        heads=_heads(rows.of("graph_head")),
        schema=next((parse_schema(text) for text in rows.metadata("graph_schema")), None),
        control=next((parse_control(text) for text in rows.metadata("graph_control")), None),
        branch_row=_branch_row(rows.of("graph_branch"), branch),
        lineage=Lineage.deferred(rows.commits, lambda: _history(scan.commits(), aborts), _finder(scan)),
        aborts=aborts,
        replays=rows.of("operation_replay", *_ABORT_COLUMNS),
    )


def fold(state: ManifestState, rows: Iterable[ManifestRow], version: int) -> ManifestState:
    """The state after these rows were published at exactly `version`; equals a rescan of that version."""
    changed: dict[str, Any] = {
        "registrations": dict(state.registrations),
        "published": dict(state.published),
        "tombstones": dict(state.tombstones),
        "heads": dict(state.heads),
    }
    commits: list[CommitRow] = []
    aborts: list[AbortRow] = []
    replays: list[ReplayRow] = []
    for row in rows:
        match row:
            case TableRow():
                changed["registrations"][row.table_key] = row
            case VersionRow():
                _publish(changed["published"], row)
            case TombstoneRow():
                known = changed["tombstones"].get(row.table_key, 0)
                changed["tombstones"][row.table_key] = max(known, row.version)
            case HeadRow():
                changed["heads"][row.branch or "main"] = row.head_commit_id
            case CommitRow():
                commits.append(replace(row, manifest_version=version))
            case AbortRow():
                aborts.append(row)
            case ReplayRow():
                replays.append(row)
            case SchemaRow():
                changed["schema"] = row
            case ControlRow():
                changed["control"] = row
            case BranchRow():
                if row.branch == state.branch:
                    changed["branch_row"] = row
    if commits:
        changed["lineage"] = state.lineage.extended(len(commits), partial(_commit_rows, commits, version))
    for name, decided in (("aborts", aborts), ("replays", replays)):
        if decided:
            known = getattr(state, name)
            changed[name] = pa.concat_tables([known, encode_rows(decided).select(known.column_names)]).combine_chunks()
    unchanged = {name: getattr(state, name) for name in _PARTS if name not in changed}
    return _assemble(branch=state.branch, version=version, identifier=state.identifier, **unchanged, **changed)


def state_within(state: ManifestState, commit: GraphCommit) -> ManifestState:
    """The state right after a commit, from that of its version, which publishes later commits too."""
    within = commit.within
    assert within is not None, "the last commit of a version has the state of the version"
    changed: dict[str, Any] = {
        "published": {**state.published, **within.shown},
        "heads": {**state.heads, state.branch or "main": commit.graph_commit_id},
        "lineage": state.lineage.until(commit, within.later),
    }
    unchanged = {name: getattr(state, name) for name in _PARTS if name not in changed}
    return _assemble(branch=state.branch, version=state.version, identifier=state.identifier, **unchanged, **changed)


_ABORT_COLUMNS = ("object_id", "table_branch", "metadata")
_PARTS = (
    "registrations", "published", "tombstones", "heads", "schema", "control", "branch_row", "lineage", "aborts",
    "replays",
)  # fmt: skip


def _assemble(
    *,
    branch: str | None,
    version: int,
    identifier: Identifier,
    registrations: dict[str, TableRow],
    published: dict[str, VersionRow],
    tombstones: dict[str, int],
    heads: dict[str, str],
    schema: SchemaRow | None,
    **rest: Any,
) -> ManifestState:
    for key in tombstones.keys() - registrations.keys():
        raise Corrupt(f"manifest corrupt: tombstone for unregistered table '{key}'")
    entries = {
        key: _entry(published[key], registrations)
        for key in sorted(published)
        if tombstones.get(key, 0) < published[key].version
    }
    _refuse_shared_identity(entries.values())
    frozen_heads = MappingProxyType(heads)
    schema_hash = None if schema is None else schema.schema_ir_hash
    return ManifestState(
        branch=branch,
        version=version,
        identifier=identifier,
        registrations=MappingProxyType(registrations),
        published=MappingProxyType(published),
        tombstones=MappingProxyType(tombstones),
        heads=frozen_heads,
        schema=schema,
        snapshot=Snapshot(version, branch, MappingProxyType(entries), frozen_heads, schema_hash),
        **rest,
    )


class _DecidingRows:
    """The whole rows that decide a state: all but commits and the versions that a later one has replaced.

    Rows of unknown types are simply never asked for. A replaced version was complete when it was the newest one,
    and is looked at again whenever the manifest version that published it is.
    """

    def __init__(self, scan: Scan) -> None:
        types = scan.keys["object_type"]
        is_commit, is_version = pc.equal(types, "graph_commit"), pc.equal(types, "table_version")
        self.commits: int = pc.sum(is_commit).as_py() or 0
        decisive = pc.indices_nonzero(pc.invert(pc.or_(is_commit, is_version)))
        newest = _newest_versions(scan.keys.select(["object_id", "table_version"]), pc.indices_nonzero(is_version))
        self._rows = scan.rows_at(pa.concat_arrays([decisive, newest])).combine_chunks()
        _refuse_duplicates(self._rows["object_id"])

    def of(self, object_type: str, *columns: str) -> pa.Table:
        found = self._rows.filter(pc.equal(self._rows["object_type"], object_type))
        return found.select(list(columns)) if columns else found

    def metadata(self, object_type: str) -> list[str | None]:
        return list(self.of(object_type)["metadata"].to_pylist())


def _newest_versions(keys: pa.Table, at: pa.Array) -> pa.Array:
    """Of the places of version rows, those with the greatest version of each key; an id is a key and a version."""
    rows = keys.take(at).combine_chunks()
    _require(rows, "table_version", "table_version")
    if not rows.num_rows:
        return at
    named = pc.binary_slice(rows["object_id"].chunk(0).cast(pa.binary()), 0, -1 - VERSION_DIGITS)
    codes = named.dictionary_encode().indices.to_numpy()
    versions = rows["table_version"].chunk(0).to_numpy()
    greatest = np.zeros(codes.max() + 1, versions.dtype)
    np.maximum.at(greatest, codes, versions)
    return at.filter(pa.array(versions == greatest[codes]))


def _refuse_duplicates(object_ids: pa.ChunkedArray) -> None:
    if len(pc.unique(object_ids)) == len(object_ids):
        return
    counts = pc.value_counts(object_ids)
    repeated = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
    raise Corrupt(f"manifest corrupt: duplicate object_id '{repeated[0].as_py()}'")


def _registrations(rows: pa.Table) -> dict[str, TableRow]:
    _require(rows, "table", "location")
    columns = zip(*(rows[name].to_pylist() for name in ("table_key", "location", "metadata")), strict=True)
    return {key: parse_table(key, location, metadata) for key, location, metadata in columns}


def _versions(rows: pa.Table) -> dict[str, VersionRow]:
    _require(rows, "table_version", "row_count", "metadata")
    found = {}
    for row in rows.to_pylist():
        key, version = row["table_key"], row["table_version"]
        parsed = parse_version(key, version, row["table_branch"], row["row_count"], row["metadata"])
        if row["object_id"] != parsed.object_id:
            raise Corrupt(f"manifest corrupt: the row of '{key}' at {version} has the object_id '{row['object_id']}'")
        found[key] = parsed
    return found


def _tombstones(rows: pa.Table) -> dict[str, int]:
    _require(rows, "table_tombstone", "table_version")
    return _greatest(rows)


def _greatest(rows: pa.Table) -> dict[str, int]:
    grouped = rows.group_by("table_key", use_threads=False).aggregate([("table_version", "max")])
    return dict(zip(grouped["table_key"].to_pylist(), grouped["table_version_max"].to_pylist(), strict=True))


def _heads(rows: pa.Table) -> dict[str, str]:
    pairs = zip(rows["object_id"].to_pylist(), rows["metadata"].to_pylist(), strict=True)
    parsed = [parse_head(object_id, metadata) for object_id, metadata in pairs]
    return {row.branch or "main": row.head_commit_id for row in parsed}


def _branch_row(rows: pa.Table, branch: str | None) -> BranchRow | None:
    if branch is None:
        return None
    own = rows.filter(pc.equal(rows["object_id"], f"{BRANCH_PREFIX}{branch}")).to_pylist()
    return parse_branch(own[0]["object_id"], own[0]["metadata"]) if own else None


def _finder(scan: Scan) -> Callable[[str], pa.Table] | None:
    find = scan.commit
    return None if find is None else lambda commit_id: _lineage_table(find(commit_id))


def _history(commits: pa.Table, aborts: pa.Table) -> pa.Table:
    """Every commit, after proving that each operation was decided once."""
    _refuse_duplicates(pa.chunked_array([*commits["object_id"].chunks, *aborts["object_id"].chunks], pa.utf8()))
    return _lineage_table(commits)


def _lineage_table(commits: pa.Table) -> pa.Table:
    # The recorded version is one too small after a rebase; the version that created the row is the truth.
    return commits.select(list(COMMIT_COLUMNS)).rename_columns(LINEAGE_SCHEMA.names).cast(LINEAGE_SCHEMA)


def _commit_rows(commits: list[CommitRow], version: int) -> pa.Table:
    """Commits that were just published, as a scan of their version finds them."""
    rows = encode_rows(commits)
    return _lineage_table(rows.append_column(CREATED_AT, pa.array([version] * rows.num_rows, pa.uint64())))


def _publish(published: dict[str, VersionRow], row: VersionRow) -> None:
    known = published.get(row.table_key)
    if known is not None and known != row and known.version >= row.version:
        raise Corrupt(f"manifest corrupt: '{row.table_key}' would go back from {known.version} to {row.version}")
    published[row.table_key] = row


def _entry(row: VersionRow, registrations: Mapping[str, TableRow]) -> TableEntry:
    registered = registrations.get(row.table_key)
    if registered is None:
        raise Corrupt(f"manifest corrupt: version {row.version} of unregistered table '{row.table_key}'")
    return TableEntry(
        row.table_key, registered.location, registered.identity, row.version, row.ref, row.row_count, row.evidence
    )


def _refuse_shared_identity(entries: Iterable[TableEntry]) -> None:
    owners: dict[int, str] = {}
    for entry in entries:
        other = owners.setdefault(entry.identity.stable_table_id, entry.table_key)
        if other != entry.table_key:
            raise Corrupt(f"manifest corrupt: '{other}' and '{entry.table_key}' share one identity")


def _require(rows: pa.Table, object_type: str, *columns: str) -> None:
    for column in columns:
        if rows[column].null_count:
            raise Corrupt(f"manifest corrupt: a {object_type} row has no {column}")


def _position(table: pa.Table, object_id: str) -> int:
    return int(pc.index(table["object_id"], pa.scalar(object_id, pa.utf8())).as_py())
