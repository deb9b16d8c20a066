"""The only door to lance: open datasets at exact versions, stage transactions on them, commit them strictly.

A staged transaction is inert data files plus a description; nothing is visible in the dataset until `commit`.
Lance refuses the second of two transactions staged on one version, because both touch a sentinel (`transactions`).
Writers elsewhere do not carry one, so `commit` also reports whether it landed in the exact slot `base + 1` under the
planned uuid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import pyarrow as pa
from lance import LanceDataset, LanceOperation, Transaction
from lance.file import LanceFileReader
from lance.fragment import FragmentMetadata
from lance.optimize import Compaction

from omnigraph import host
from omnigraph.errors import HistoricalVersionReclaimed, OmnigraphError, StorageError
from omnigraph.storage.base.errors import (
    brief,
    is_conflict,
    is_failure,
    kind_of,
    translate,
    translated,
)
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.layout import Address, Root
from omnigraph.storage.lance import index_segments
from omnigraph.storage.lance.checksums import (
    DATA_DIR,
    as_property,
    checksums_of,
    deletions_of,
    described,
    in_descriptions,
)
from omnigraph.storage.lance.datasets import (
    private_copy,
    reopen,
)
from omnigraph.storage.lance.durable import index_names, sync_created, sync_staged, sync_successor
from omnigraph.storage.lance.fragments import dominant_fragments, row_total, same_content
from omnigraph.storage.lance.handle import ID_CHUNK, Filter, IndexInfo, NearestRows, TableHandle, in_list, quote
from omnigraph.storage.lance.opening import clone, dataset_exists, forget_cached, landed, latest_version, open_table
from omnigraph.storage.lance.refs import Identifier, Ref, create_ref, delete_ref, list_refs
from omnigraph.storage.lance.replace_large import dated
from omnigraph.storage.lance.staged import CommitOutcome, Date, IndexSpec, Landed, Refused, Staged, Unknown
from omnigraph.storage.lance.transaction_log import BARRIER, BRANCH, EFFECT, NEUTRALIZE, OPERATION_ID, TransactionInfo
from omnigraph.storage.lance.transactions import (
    address_of,
    change_rows,
    library_of,
    number_fragments,
    parse_fragments,
    repeat,
    segments_named,
    write_data,
)
from omnigraph.storage.lance.version_files import slept
from omnigraph.storage.lance.withdrawal import Withdrawal

__all__ = [
    "BRANCH", "EFFECT", "ID_CHUNK", "NEUTRALIZE", "OPERATION_ID", "CommitOutcome", "Filter",
    "Identifier", "IndexInfo", "IndexSpec", "Landed", "NearestRows", "Ref", "Refused", "Staged", "TableHandle",
    "TransactionInfo", "Unknown", "build_segment", "can_compact", "clone", "commit",
    "compact", "create_ref", "dataset_exists", "delete_ref", "forget_cached", "in_list", "join_segments",
    "latest_version", "list_refs", "locate", "merge_rows", "open_data_file", "open_table", "preserves_content", "quote",
    "stage_append", "stage_barrier", "stage_change", "stage_create", "stage_index", "stage_overwrite", "stage_restore",
    "write_fragments",
]  # fmt: skip


def open_data_file(root: Root, path: str, columns: Sequence[str] | None = None) -> Any:
    """A reader of some columns of one data file, for `ColumnFile`; it knows nothing of versions."""
    with translated(path):
        wanted = None if columns is None else list(columns)
        return LanceFileReader(path, storage_options=root.lance_options, columns=wanted)


# --- staging -----------------------------------------------------------------------------------------


def stage_create(address: Address, schema: pa.Schema, rows: pa.Table | None = None) -> Staged:
    """A new dataset with this schema, empty or with its first rows; committing it twice has one winner."""
    with translated(address.uri):
        fragments: list[FragmentMetadata] = []
        if rows is not None and rows.num_rows:
            fragments = write_data(rows, schema, address, mode="create")
        transaction = Transaction(read_version=0, operation=LanceOperation.Overwrite(schema, fragments))
        known = checksums_of(address, fragments)
    count = 0 if rows is None else rows.num_rows
    return Staged(address, 0, transaction, address.uri, inserted=count, checksums=known)


def stage_overwrite(
    base: TableHandle,
    schema: pa.Schema,
    rows: pa.Table | pa.RecordBatchReader | None = None,
    *,
    fragments: Iterable[str] = (),
) -> Staged:
    """Replace the whole content and schema by rows, or by fragments written elsewhere; neither means truncate."""
    texts = list(fragments)
    with translated(base.address.uri):
        written, known = parse_fragments(texts), in_descriptions(texts)
        if rows is not None:
            written = write_data(rows, schema, base.address, mode="overwrite")
            known = checksums_of(base.address, written)
        transaction = Transaction(read_version=base.version, operation=LanceOperation.Overwrite(schema, written))
    count = row_total(written)
    return Staged(base.address, base.version, transaction, base.dataset, inserted=count, checksums=known)


def stage_append(
    base: TableHandle,
    fragments: Iterable[str],
    over: Withdrawal | None = None,
    row_ids: Iterable[bytes] = (),
) -> Staged:
    """Add fragments; with `over`, as many of their rows as it has found, numbered like those, take their places.

    `row_ids` are sequences for the first fragments that are not numbered yet. The caller has proved the ids of all
    other rows unique and absent from base.
    """
    return stage_change(base, fragments, over, 0 if over is None else over.count, row_ids)


def stage_change(
    base: TableHandle,
    fragments: Iterable[str],
    over: Withdrawal | None,
    replaced: int,
    row_ids: Iterable[bytes] = (),
) -> Staged:
    """Add fragments, the first `replaced` rows of which succeed rows of `over`; all rows of `over` are withdrawn."""
    texts = list(fragments)
    with translated(base.address.uri):
        created = parse_fragments(texts)
        number_fragments(created, row_ids)
        shrunk, emptied = ([], []) if over is None else over.withdrawn()
        known = in_descriptions(texts) | deletions_of(base.address, shrunk)
    counts = row_total(created) - replaced, replaced, 0 if over is None else over.count - replaced
    transaction = change_rows(base, shrunk, emptied, created)
    return Staged(base.address, base.version, transaction, base.dataset, *counts, checksums=known)


def stage_carried(base: TableHandle, fragments: Iterable[FragmentMetadata]) -> Staged:
    """Add fragments under the row ids they name. No writer builds on an unpublished base; the slot shows if one did."""
    transaction = Transaction(read_version=base.version, operation=LanceOperation.Append(list(fragments)))
    return Staged(base.address, base.version, transaction, base.dataset)


def stage_dates(base: TableHandle, step: Date) -> Staged:
    """State in which versions the rows of fragments were created that `stage_carried` has added."""
    with translated(base.address.uri):
        transaction = change_rows(base, dated(base, step))
    return Staged(base.address, base.version, transaction, base.dataset)


def stage_restore(base: TableHandle, version: int) -> Staged:
    """Make an older version's content the newest again; lance lands a stale one too, so check `Landed.exact`."""
    transaction = Transaction(read_version=base.version, operation=LanceOperation.Restore(version=version))
    return Staged(base.address, base.version, transaction, base.dataset)


def stage_index(base: TableHandle, specs: Sequence[IndexSpec]) -> Staged:
    """Build indexes, or further segments of them, as one transaction; no specs at all make an empty version."""
    with translated(base.address.uri):
        built = index_segments.all_built(base.dataset, specs, lambda: private_copy(base))
        removed = segments_named(base.dataset, {spec.name for spec in specs if spec.fragments is None})
        transaction = Transaction(read_version=base.version, operation=LanceOperation.CreateIndex(built, removed))
    return Staged(base.address, base.version, transaction, base.dataset)


def stage_barrier(base: TableHandle) -> Staged:
    """The same content once more; nothing that was staged on an earlier version can be committed after it."""
    with translated(base.address.uri):
        return Staged(base.address, base.version, repeat(base), base.dataset, properties={EFFECT: BARRIER})


def build_segment(base: TableHandle, spec: IndexSpec) -> Any:
    """Build one index over the fragments of a spec, for `join_segments` on this version; runs on any worker."""
    with translated(base.address.uri):
        return index_segments.built_here(base.dataset, spec)


def join_segments(base: TableHandle, spec: IndexSpec, parts: Sequence[Any]) -> IndexSpec:
    """The spec with what `build_segment` has built of it in parts, for `stage_index` on this version."""
    with translated(base.address.uri):
        return replace(spec, segments=index_segments.joined(base.address, base.dataset, spec, parts))


def write_fragments(
    target: Address | TableHandle,
    rows: pa.Table | pa.RecordBatchReader,
    schema: pa.Schema,
    *,
    mode: Literal["append", "overwrite"] = "append",
) -> list[str]:
    """Write data files for a later `stage_append` or `stage_overwrite`, described as JSON; runs on any worker.

    An open table as the target spares lance from looking for its newest version, which means listing them all.
    """
    with translated(address_of(target).uri):
        written = write_data(rows, schema, target, mode=mode)
        return described(written, checksums_of(address_of(target), written))


# --- committing --------------------------------------------------------------------------------------


def commit(staged: Staged) -> CommitOutcome:
    """Commit one staged transaction exactly once; never repeat a call, lance would apply it again."""
    staged.transaction.uuid = staged.uuid
    staged.transaction.transaction_properties = {**staged.properties, **as_property(staged.checksums)}
    hit("table_commit.pre")
    _sync_ahead(staged)
    started = host.monotonic()
    try:
        dataset = library_of(staged.address.root).commit(
            staged.target,
            staged.transaction,
            storage_options=staged.address.root.lance_options,
            enable_stable_row_ids=True if staged.base_version == 0 else None,
            max_retries=0,
        )
        if staged.base_version == 0:
            sync_created(staged.address, dataset.version)
        hit("table_commit.ack_lost")
    except BaseException as error:
        if not (is_failure(error) or isinstance(error, Exception)):
            raise
        return _failed_commit(staged, error)
    finally:
        slept(staged.address, started)
    return Landed(dataset.version, _is_exact(staged, dataset), landed(staged.address, dataset))


def locate(address: Address, uuid: str, *, after: int) -> int | None:
    """The version above `after` at which a transaction landed, or None when no version up to the newest has it."""
    return open_table(address, control=True).find_transaction(uuid, after=after)


def merge_rows(base: TableHandle, rows: pa.Table, *, key: str, update: bool = True) -> CommitOutcome:
    """Insert rows by key in one step with lance's key filter: of two concurrent inserts of one key one is refused.

    `Landed.exact` says that nothing else landed between base and this commit. Only for datasets whose key column
    carries the primary-key annotation and no index; never for graph tables. A commit that took so long that versions
    since its base may have been removed is Unknown: it can have landed among them, where it is never read.
    """
    started = host.monotonic()
    try:
        # A private dataset object: lance moves it to the committed version in place.
        dataset = private_copy(base)
        builder = dataset.merge_insert(key).when_not_matched_insert_all()
        if update:
            builder = builder.when_matched_update_all()
        builder.conflict_retries(0).use_index(False).execute(rows)
        long = slept(base.address, started)
        sync_successor(base.address, base.dataset, dataset)
    except BaseException as error:
        if not (is_failure(error) or isinstance(error, Exception)):
            raise
        if is_conflict(error):
            return Refused(brief(error))
        return Unknown(error if isinstance(error, OmnigraphError) else translate(error, base.address.uri))
    if long:
        return Unknown(StorageError(f"{base.address.uri}: a commit took too long to be believed", kind="Unknown"))
    return Landed(dataset.version, dataset.version == base.version + 1, landed(base.address, dataset))


def compact(base: TableHandle, *, tiered: bool = False) -> TableHandle:
    """Rewrite small fragments into larger ones, content unchanged, and return the newest version.

    `tiered` leaves a fragment alone while it outweighs all smaller ones together, so that frequent calls rewrite
    each row only a logarithmic number of times. Lance 14 breaks the indexes that a ref inherits from its parent when
    it compacts what they cover, so of such a ref only what was written since is rewritten, until its indexes have been
    built on the ref itself.
    """
    inherited = [index for index in base.indices() if index.inherited] if base.address.ref is not None else []
    covered = frozenset[int]().union(*(index.fragments for index in inherited))
    with translated(base.address.uri):
        dataset, before = reopen(base), index_names(base.address)
        excluded = covered.union(dominant_fragments(dataset) if tiered else ())
        dataset.optimize.compact_files(excluded_fragment_ids=sorted(excluded))
    newest = open_table(base.address, control=True)
    sync_successor(base.address, base.dataset, newest.dataset, index_names(base.address) - before)
    return newest


def can_compact(base: TableHandle) -> bool:
    """Whether `compact` would rewrite anything: adjacent small fragments, or ones with many deleted rows."""
    with translated(base.address.uri):
        return bool(Compaction.plan(base.dataset, {}).num_tasks())


def preserves_content(address: Address, info: TransactionInfo) -> bool:
    """Whether a version certainly holds the same rows and schema as the version before it."""
    if info.never_changes_rows or not info.is_unmapped:
        return info.never_changes_rows
    try:
        before, after = (open_table(address, version).dataset for version in (info.version - 1, info.version))
    except HistoricalVersionReclaimed:
        return False  # this can no longer be decided
    return same_content(before, after)


def _sync_ahead(staged: Staged) -> None:
    """Data was synced when it was written; deletions and indexes of the transaction are now."""
    deletions = [name for name in staged.checksums if not name.startswith(DATA_DIR)]
    built = getattr(staged.transaction.operation, "new_indices", ())
    sync_staged(staged.address, deletions, [str(index.uuid) for index in built])


def _failed_commit(staged: Staged, error: BaseException) -> CommitOutcome:
    if is_conflict(error):
        return Refused(brief(error))
    if staged.base_version == 0 and kind_of(error) == "NotFound" and dataset_exists(staged.address):
        return Refused("the dataset exists already")  # lance looks for version 0 of a dataset that has been created
    return Unknown(error if isinstance(error, OmnigraphError) else translate(error, staged.address.uri))


def _is_exact(staged: Staged, dataset: LanceDataset) -> bool:
    handle = TableHandle(staged.address, dataset)
    return handle.version == staged.slot == handle.find_transaction(staged.uuid, after=staged.base_version)
