"""The one publication door: graph content, schema and table pointers become visible here and nowhere else."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from omnigraph.errors import (
    BadRequest,
    BranchNotFound,
    Corrupt,
    ExpectedVersionMismatch,
    OperationAborted,
    ReadSetChanged,
    RowLevelCasContention,
    StorageError,
)
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.store import Store
from omnigraph.storage.base.waiting import pause
from omnigraph.storage.intent.capture import branch_row_of, require_token
from omnigraph.storage.intent.publication import Publication, Published
from omnigraph.storage.intent.writeset import Rename
from omnigraph.storage.lance.durable import sync_versions, sync_whole
from omnigraph.storage.lance.tables import CommitOutcome, Landed, Refused, Unknown
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import Loaded, ManifestState
from omnigraph.storage.manifest.rows import (
    CommitRow,
    ControlRow,
    HeadRow,
    ManifestRow,
    ReplayRow,
    TableRow,
    TombstoneRow,
    VersionRow,
    Within,
)

_JITTER_SECONDS = (0.005, 0.050)
_UNPUBLISHED = 32  # more versions than maintenance and dead writers leave between two that are published


def publish(store: Store, publication: Publication, captured: Loaded | None = None) -> Published:
    """Make a commit visible exactly once, or raise without effect."""
    return publish_together(store, (publication,), captured)[0]


@dataclass(frozen=True, slots=True)
class Step:
    """The rows of one publication for a version of the manifest, and the state that they leave."""

    rows: list[ManifestRow]
    state: ManifestState


def publish_together(
    store: Store,
    publications: Sequence[Publication],
    captured: Loaded | None = None,
    steps: Sequence[Step] = (),
) -> tuple[Published, ...]:
    """Make commits of one branch visible by one version of its manifest, all of them exactly once, or raise.

    Each was made on the state that the one before it leaves, and its token says so. The first attempt may run on a
    state captured earlier: whatever has moved since conflicts on the head row, the branch row or a decision row, and
    the next attempt then starts from a fresh scan. `steps` are those from the captured state, if they are known.
    """
    loaded, branch = captured, publications[0].branch
    outcome: CommitOutcome | None = None
    for _ in range(store.settings.publisher_retry_budget + 1):
        if loaded is None and (loaded := _load(store, branch)) is None:
            continue
        done = _already_decided(loaded, publications)
        if done is not None:
            return done
        rows, expected = rows_together(steps or steps_from(store, loaded.state, publications))
        steps = ()  # another attempt runs on another state
        _sync_tables(store, loaded.state, publications)
        outcome = _attempt(loaded, rows)
        if isinstance(outcome, Landed):
            failpoints.hit("publish.after_commit")
            state, fragments = manifest.advance(loaded, rows, outcome, expected), outcome.handle.fragment_count()
            return tuple(_published(state, each, fragments=fragments) for each in publications)
        loaded = None
        if isinstance(outcome, Refused):
            pause(_JITTER_SECONDS)
    # The last attempt may have been the unknown one that landed.
    done = _already_decided(manifest.load(store.root, branch), publications)
    if done is not None:
        return done
    if isinstance(outcome, Unknown):
        raise outcome.cause
    raise RowLevelCasContention(store.settings.publisher_retry_budget + 1)


def _load(store: Store, branch: str | None) -> Loaded | None:
    try:
        failpoints.hit("publish.load_state_contention")
    except StorageError:
        pause(_JITTER_SECONDS)
        return None
    return manifest.load(store.root, branch)


def _sync_tables(store: Store, state: ManifestState, publications: Sequence[Publication]) -> None:
    """Versions of tables are on the disk before the manifest names them; so are those that nothing shows in between."""
    lineages = []
    for row in (row for publication in publications for row in publication.versions):
        known = state.published.get(row.table_key)
        first = known.version + 1 if known is not None and known.ref == row.ref else row.version
        lineage = os.path.dirname(os.path.dirname(row.evidence.manifest_path))
        lineages.append((lineage, range(max(first, row.version - _UNPUBLISHED), row.version + 1)))
    sync_versions(store.root, lineages)


def _attempt(loaded: Loaded, rows: list[ManifestRow]) -> CommitOutcome:
    failpoints.hit("publish.pre_commit")
    outcome = manifest.publish_rows(loaded, rows)
    try:
        failpoints.hit("publish.ack_lost")
    except StorageError as error:
        return Unknown(error)
    return outcome


def _already_decided(loaded: Loaded, publications: Sequence[Publication]) -> tuple[Published, ...] | None:
    state = loaded.state
    decisions = {each.operation_id: state.decision(each.operation_id) for each in publications}
    for operation_id, decision in decisions.items():
        if decision == "aborted":
            raise OperationAborted(operation_id)
    undecided = [operation_id for operation_id, decision in decisions.items() if decision is None]
    if not undecided:
        sync_whole(loaded.handle.address, loaded.handle.dataset)  # their publisher may not have come so far
        return tuple(_published(state, each) for each in publications)
    if len(undecided) < len(publications):
        # A recovery that took this process for dead publishes them one by one; whether it goes on is to be settled.
        raise ReadSetChanged(f"operation:{undecided[0]}", expected="decided with the others", actual="open")
    return None


def _published(state: ManifestState, publication: Publication, *, fragments: int = 0) -> Published:
    commit = state.lineage.get(publication.commit_id)
    if commit is None:
        raise Corrupt(f"commit {publication.commit_id} was published but its row is gone")
    return Published(commit, state, fragments)


def steps_from(store: Store, state: ManifestState, publications: Iterable[Publication]) -> list[Step]:
    """Publications that follow one another, each on the state that the one before it leaves in the same version."""
    version, steps = state.version + 1, list[Step]()
    for publication in publications:
        steps.append(step_of(store, state, publication, version))
        state = steps[-1].state
    return steps


def step_of(store: Store, state: ManifestState, publication: Publication, version: int) -> Step:
    """A publication on this state; refuses one that the state no longer allows, or after which it were unreadable."""
    rows = rows_of(store, state, publication, version)
    return Step(rows, manifest.fold(state, rows, version))


def rows_together(steps: Sequence[Step]) -> tuple[list[ManifestRow], ManifestState | None]:
    """The rows of steps that follow one another, for one version of the manifest; of one alone also the state.

    Rows that every commit replaces (head, branch) are those of the last; every other commit notes what it shows of the
    tables that later ones change, because the version shows only what the last one leaves.
    """
    if len(steps) == 1:
        return steps[0].rows, steps[0].state
    changed: set[str] = set()
    found: dict[str, ManifestRow] = {}
    for later, step in enumerate(reversed(steps)):
        within = Within(later, {key: step.state.published[key] for key in sorted(changed)}) if later else None
        for row in reversed(step.rows):
            placed = replace(row, within=within) if isinstance(row, CommitRow) else row
            found.setdefault(placed.object_id, placed)
        changed |= {row.table_key for row in step.rows if isinstance(row, VersionRow)}
    return list(reversed(found.values())), None  # rows were completed after each state was worked out


def rows_of(store: Store, state: ManifestState, publication: Publication, version: int) -> list[ManifestRow]:
    """The rows of a publication on this state, after checking that the state still allows it."""
    if publication.token is not None:
        require_token(state, publication.token)
    if publication.identifier is not None and publication.identifier != state.identifier:
        raise BranchNotFound(publication.branch or "main")
    for table_key, expected in publication.expected.items():
        actual = state.current_version(table_key)
        if actual != expected:
            raise ExpectedVersionMismatch(table_key, expected=expected, actual=actual)
    delta = publication.delta
    rows: list[ManifestRow] = [*delta.registrations, *delta.tombstones]
    claimed = {row.table_key for row in publication.versions}
    for rename in delta.renames:
        rows += _rename(state, rename, moves_version=rename.target not in claimed)
    rows += _moving(state, [*publication.versions, *delta.pointers])
    if delta.target_schema is not None:
        rows.append(delta.target_schema)
        if publication.branch is None:  # control is a row of main; changes of other branches confirm that they hold it
            rows.append(_held_control(state, publication.operation_id))
    registered = branch_row_of(store, state)
    if registered is not None:
        rows.append(registered)  # unchanged, so that a publish and a seal of the branch conflict
    rows += _lineage(state, publication, version)
    return rows


def _rename(state: ManifestState, rename: Rename, *, moves_version: bool) -> Iterable[ManifestRow]:
    entry = state.snapshot.entry(rename.source)
    yield TombstoneRow(rename.source, entry.version)
    yield TableRow(rename.target, entry.location, entry.identity, renamed_from=rename.source)
    if moves_version:
        yield VersionRow(rename.target, entry.version, entry.ref, entry.row_count, entry.evidence)


def _moving(state: ManifestState, versions: list[VersionRow]) -> list[VersionRow]:
    """Versions that change something; a version that is published already, identically, needs no row."""
    repeated = [key for key, count in Counter(row.table_key for row in versions).items() if count > 1]
    if repeated:
        raise BadRequest(f"two versions of '{repeated[0]}' in one commit")
    moving = [row for row in versions if state.published.get(row.table_key) != row]
    for row in moving:
        known = state.published.get(row.table_key)
        floor = max(known.version if known is not None else 0, state.tombstones.get(row.table_key, 0))
        if row.version <= floor:
            # The greatest version wins when a snapshot is read back, so a smaller one would silently be lost.
            raise ExpectedVersionMismatch(row.table_key, expected=row.version - 1, actual=floor)
    return moving


def _held_control(state: ManifestState, operation_id: str) -> ControlRow:
    control = state.control
    if control is None or control.holder is None or control.holder.operation_id != operation_id:
        holder = control.holder.operation_id if control is not None and control.holder is not None else None
        raise ReadSetChanged("graph_control", expected=operation_id, actual=holder)
    return control


def _lineage(state: ManifestState, publication: Publication, version: int) -> Iterable[ManifestRow]:
    parent = state.effective_head
    yield CommitRow(
        commit_id=publication.commit_id,
        manifest_version=version,
        branch=publication.branch,
        created_at=publication.created_at,
        parent_commit_id=parent,
        merged_parent_commit_id=publication.merged_parent,
        actor_id=publication.actor_id,
        note=publication.note,
    )
    yield HeadRow(publication.branch, publication.commit_id, parent)
    if publication.replayed_by is not None:
        yield ReplayRow(publication.replayed_by, publication.branch, publication.commit_id)
