"""The lance transactions that staged changes consist of, and the data files they refer to.

Every change of rows touches the smallest fragment of the version it was staged on (a sentinel), so lance itself refuses
the second of two transactions staged on one version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import lance
import pyarrow as pa
from lance import Index, LanceDataset, LanceOperation, Transaction
from lance.fragment import FragmentMetadata, RowIdMeta
from lance.fragment import write_fragments as lance_write_fragments

from omnigraph.storage.base.layout import Address, Root
from omnigraph.storage.lance.durable import sync_data
from omnigraph.storage.lance.fragments import smallest_fragment
from omnigraph.storage.lance.handle import TableHandle

STORAGE_VERSION = "2.2"


@dataclass(frozen=True, slots=True)
class Library:
    """The three calls through which datasets and data files come into being, with the signatures of `lance`.

    Everything else is a method of the dataset that one of them returned. So code that keeps a graph in something else
    than files (`Root.backing`) provides these three, and the rest of this package runs on it unchanged.
    """

    dataset: Callable[..., Any]
    commit: Callable[..., Any]
    write_fragments: Callable[..., Any]


_PYLANCE = Library(lance.dataset, LanceDataset.commit, lance_write_fragments)


def library_of(root: Root) -> Library:
    """What opens, commits and writes the datasets of a graph: lance, unless something else keeps the graph."""
    return _PYLANCE if root.backing is None else root.backing.library


def change_rows(
    base: TableHandle,
    changed: Sequence[FragmentMetadata],
    emptied: Sequence[int] = (),
    created: Sequence[FragmentMetadata] = (),
) -> Transaction:
    """Fragments with other deletions or versions than before, fragments without a row left, and new ones."""
    operation = LanceOperation.Update(
        removed_fragment_ids=list(emptied),
        updated_fragments=list(changed),
        new_fragments=list(created),
        fields_modified=[],
        fields_for_preserving_frag_bitmap=[field.id() for field in base.dataset.lance_schema.fields()],
        update_mode="rewrite_rows",
    )
    return _with_sentinel(base, Transaction(read_version=base.version, operation=operation))


def repeat(base: TableHandle) -> Transaction:
    """All fragments as they are, as the one operation that lance lets nothing pass, neither before it nor after it."""
    fragments = [fragment.metadata for fragment in base.dataset.get_fragments()]
    return Transaction(read_version=base.version, operation=LanceOperation.Merge(fragments, base.dataset.lance_schema))


def write_data(rows: Any, schema: pa.Schema, target: Address | TableHandle, *, mode: str) -> list[FragmentMetadata]:
    """New data files with these rows; nothing refers to them yet."""
    written: list[FragmentMetadata] = library_of(address_of(target).root).write_fragments(
        rows,
        target.dataset if isinstance(target, TableHandle) else target.uri,
        schema=schema,
        mode=mode,
        data_storage_version=STORAGE_VERSION,
        enable_stable_row_ids=True,
        storage_options=address_of(target).root.lance_options,
        allow_external_blob_outside_bases=True,  # what may come in was decided before; storing it opens nothing
    )
    sync_data(address_of(target), written)
    return written


def parse_fragments(fragments: Iterable[str]) -> list[FragmentMetadata]:
    """Fragments from their descriptions."""
    return [FragmentMetadata.from_json(text) for text in fragments]


def number_fragments(fragments: Iterable[FragmentMetadata], row_ids: Iterable[bytes]) -> None:
    """Give the first of new fragments the row ids of sequences."""
    for fragment, sequence in zip(fragments, row_ids, strict=False):
        fragment.row_id_meta = RowIdMeta.from_dict({"Inline": list(sequence)})  # type: ignore[attr-defined]


def segments_named(dataset: LanceDataset, names: set[str]) -> list[Index]:
    """The segments of these indexes, as a transaction names what it removes."""
    if not names:
        return []
    return [
        Index(
            uuid=segment.uuid,
            name=found.name,
            fields=list(found.fields),
            dataset_version=segment.dataset_version_at_last_update,
            fragment_ids=segment.fragment_ids,
            index_version=segment.index_version,
        )
        for found in dataset.describe_indices()
        if found.name in names
        for segment in found.segments
    ]


def address_of(target: Address | TableHandle) -> Address:
    """Where a dataset is, open or not."""
    return target.address if isinstance(target, TableHandle) else target


def _with_sentinel(base: TableHandle, transaction: Transaction) -> Transaction:
    operation: Any = transaction.operation
    sentinel = smallest_fragment(base.dataset)
    if sentinel is None:
        # Nothing to touch in an empty table; a Merge of the new fragments is the strict form there.
        created = list(operation.new_fragments)
        for position, fragment in enumerate(created):
            fragment.id, fragment.row_id_meta = position, None
        transaction.operation = LanceOperation.Merge(created, base.dataset.lance_schema)
        return transaction
    touched = {fragment.id for fragment in operation.updated_fragments} | set(operation.removed_fragment_ids)
    if sentinel.id not in touched:
        operation.updated_fragments = [*operation.updated_fragments, sentinel]
    return transaction
