"""What a version of a table has beyond an older one that it continues, told by data files instead of rows.

A large change writes whole data files and withdraws rows of others. Another line of versions of the same table, that of
the branch it is merged into, can take it over as it is: the files get a second name there, and the same rows give way.
So the cost follows the number of files, and no row passes through the process that merges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.errors import StorageError
from omnigraph.storage.base.objects import open_objects
from omnigraph.storage.lance.blob_cells import blob_columns
from omnigraph.storage.lance.checksums import DATA_DIR, Checksums, described_again, from_property
from omnigraph.storage.lance.durable import sync_staged
from omnigraph.storage.lance.fragments import path_of
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.lance.parts import as_fragment, renumbering
from omnigraph.storage.lance.patch import numbered
from omnigraph.storage.lance.row_versions import RowVersions
from omnigraph.storage.lance.tables import Staged, stage_change
from omnigraph.storage.lance.version_tree import ROW_ADDRESS, ROW_ID, UPDATED, files_of, newly_deleted
from omnigraph.storage.lance.withdrawal import Offsets, withdraw

_CREATED = "_row_created_at_version"
_OFFSET_MASK = np.uint64((1 << 32) - 1)


@dataclass(frozen=True, slots=True)
class Continuation:
    """The fragments that `new` has and `old` lacks: rows of the `successors` replace rows of `old`, all others are
    `fresh`. `removed` counts rows of `old` that are gone without a successor."""

    old: TableHandle
    new: TableHandle
    successors: tuple[Any, ...] = field(repr=False)
    fresh: tuple[Any, ...] = field(repr=False)
    updated: int
    inserted: int
    removed: int

    def withdrawn(self) -> Iterator[Offsets]:
        """The rows of `old` that gave way, fragment by fragment."""
        for fragment, after in self._shrunk():
            yield fragment.fragment_id, self._gone_of(fragment, after)

    def _gone_of(self, fragment: Any, after: Any | None) -> np.ndarray:
        return _shown(self.old, fragment) if after is None else _gone(self.old, fragment, self.new, after)

    def applies_to(self, table: TableHandle) -> bool:
        """Whether another version that continues `old` shows the rows that give way where they were."""
        there = {files_of(fragment): fragment for fragment in table.dataset.get_fragments()}
        for fragment, after in self._shrunk():
            mine = there.get(files_of(fragment))
            if mine is None:
                return False
            # Rows that were written again with equal values have not changed, but they are elsewhere.
            if mine.num_deletions != fragment.num_deletions:
                moved = _gone(self.old, fragment, table, mine)
                if len(np.intersect1d(moved, self._gone_of(fragment, after), assume_unique=True)):
                    return False
        return True

    def _shrunk(self) -> Iterator[tuple[Any, Any | None]]:
        """The fragments of `old` that lost rows, each with what is left of it."""
        now = {files_of(fragment): fragment for fragment in self.new.dataset.get_fragments()}
        for fragment in self.old.dataset.get_fragments():
            after = now.get(files_of(fragment))
            # Along a straight line deletions only grow, so an equal number of them means the same ones.
            if after is None or after.num_deletions != fragment.num_deletions:
                yield fragment, after

    def removed_ids(self) -> pa.Array:
        """The ids of rows that gave way and have no successor."""
        none = np.zeros(0, np.uint64)
        succeeded = np.concatenate([none, *(_column(self.new, each, ROW_ID) for each in self.successors)])
        found = [pa.array([], pa.utf8())]
        for number, offsets in self.withdrawn():
            rows = self.old.scan(["id", ROW_ID, ROW_ADDRESS], fragments=[self.old.dataset.get_fragment(number)])
            at = (rows[ROW_ADDRESS].to_numpy() & _OFFSET_MASK).astype(np.int64)
            gone = np.isin(at, offsets) & ~np.isin(rows[ROW_ID].to_numpy(), succeeded)
            found.extend(rows["id"].filter(pa.array(gone)).chunks)
        return pa.concat_arrays(found)


def continuation(old: TableHandle, new: TableHandle) -> Continuation | None:
    """What a version has beyond an older one of its line; None where files alone do not tell.

    They do not where rows were carried to other files unchanged, where a new fragment has rows of both kinds or has
    lost some already, and where blobs lie beside the data.
    """
    if old.schema != new.schema or blob_columns(new.schema):
        return None
    known = {files_of(fragment) for fragment in old.dataset.get_fragments()}
    sorted_out: tuple[list[Any], list[Any]] = ([], [])
    for fragment in new.dataset.get_fragments():
        if files_of(fragment) in known:
            continue
        is_successor = _succeeds(old, new, fragment)
        if is_successor is None:
            return None
        sorted_out[not is_successor].append(fragment)
    successors, fresh = sorted_out
    updated, inserted = (sum(each.physical_rows for each in found) for found in sorted_out)
    removed = old.count_rows() + inserted - new.count_rows()
    return Continuation(old, new, tuple(successors), tuple(fresh), updated, inserted, removed)


def stage_continuation(base: TableHandle, change: Continuation) -> Staged:
    """The same change of another line, in which none of the rows concerned has changed since `old`."""
    described = zip(_taken_over(base, change, change.successors), change.successors, strict=True)
    succeeding = [text for one, each in described for text in numbered([one], _column(change.new, each, ROW_ID))]
    over = _Withdrawal(base, change)
    texts = [*succeeding, *_taken_over(base, change, change.fresh)]
    staged = stage_change(base, texts, over if over.count else None, change.updated)
    if succeeding:
        staged.created = RowVersions.joined(
            RowVersions.of(_column(change.new, each, _CREATED)) for each in change.successors
        )
    return staged


@dataclass(frozen=True, slots=True)
class _Withdrawal:
    """The rows of a version that a change of another line withdraws."""

    base: TableHandle
    change: Continuation

    @property
    def count(self) -> int:
        return self.change.updated + self.change.removed

    def withdrawn(self) -> tuple[list[Any], list[int]]:
        """The descriptions of fragments without these rows, and the ids of fragments that have none left."""
        here = {files_of(fragment): fragment.fragment_id for fragment in self.base.dataset.get_fragments()}
        there = {each.fragment_id: files_of(each) for each in self.change.old.dataset.get_fragments()}
        return withdraw(self.base, ((self._number(here, there[at]), rows) for at, rows in self.change.withdrawn()))

    def _number(self, here: dict[tuple[str, ...], int], files: tuple[str, ...]) -> int:
        if files not in here:
            raise StorageError(f"{self.base.address.uri}: rows to replace are no longer there", kind="Precondition")
        return here[files]


def _taken_over(base: TableHandle, change: Continuation, fragments: Iterable[Any]) -> list[str]:
    """Give the data files of fragments a second name in the line of `base`, and describe them there."""
    source, objects = change.new.address, open_objects(base.address.root)
    numbers, known = renumbering(change.new, base), _checksums(change)
    found: list[str] = []
    copied: list[str] = []
    for fragment in fragments:
        names = [f"{DATA_DIR}/{path_of(file)}" for file in fragment.metadata.files]
        for name in names if source.path != base.address.path else ():
            objects.copy(f"{source.path}/{name}", f"{base.address.path}/{name}")
        copied += names
        own = {name: known[name] for name in names if name in known}
        found.append(as_fragment(described_again(fragment.metadata.to_json(), own), numbers))
    sync_staged(base.address, copied, ())  # all at once: their names are in one directory
    return found


def _checksums(change: Continuation) -> Checksums:
    """Those that were taken when the files were written."""
    found: Checksums = {}
    for version in range(change.old.version + 1, change.new.version + 1):
        made = change.new.transaction(version)
        found |= {} if made is None else from_property(made.properties)
    return found


def _succeeds(old: TableHandle, new: TableHandle, fragment: Any) -> bool | None:
    """Whether the rows of a new fragment replace rows of the older version, or are new; None where neither is true."""
    if fragment.num_deletions or any(file.base_id is not None for file in fragment.metadata.files):
        return None
    rows = new.scan([_CREATED, UPDATED], fragments=[fragment])
    if (rows[UPDATED].to_numpy() <= old.version).any():
        return None
    is_old = rows[_CREATED].to_numpy() <= old.version
    return None if is_old.any() and not is_old.all() else bool(is_old.any())


def _gone(old: TableHandle, before: Any, new: TableHandle, after: Any) -> np.ndarray:
    found = newly_deleted(old, before, new, after)
    return np.setdiff1d(_shown(old, before), _shown(new, after), assume_unique=True) if found is None else found


def _shown(table: TableHandle, fragment: Any) -> np.ndarray:
    """The places of the rows that a version shows of a fragment."""
    return (_column(table, fragment, ROW_ADDRESS) & _OFFSET_MASK).astype(np.int64)


def _column(table: TableHandle, fragment: Any, name: str) -> np.ndarray:
    """A column that the description of a fragment tells, so no data file is read."""
    found: np.ndarray = table.scan([name], fragments=[fragment])[name].to_numpy()
    return found
