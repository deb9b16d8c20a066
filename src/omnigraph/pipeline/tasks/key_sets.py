"""Which columns the checks of a table need, by which of them its rows are partitioned, and partitioning them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from omnigraph.compiler.catalog.model import Card, Catalog, EdgeType, NodeType
from omnigraph.compiler.types import PropType
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.values.result import LoadMode
from omnigraph.ids import new_ulid
from omnigraph.pipeline.tasks.key_files import key_path, write_key_file
from omnigraph.storage.base.layout import Root
from omnigraph.storage.lance import parts as scratch
from omnigraph.storage.lance.tables import TableHandle

POSITION = "__position"


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one table from one split; `start` is how many of that table's rows the split has before them.

    Rows of small splits share a part: `further` are the splits after the first, each with the position in the part of
    its first row. `keys` is where its key columns are by partition, of which there are `partitions`; empty when they
    are not.
    """

    table_key: str
    location: str
    split: int
    start: int
    rows: int
    fresh: bool
    keys: str = ""
    partitions: int = 0
    further: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class KeySet:
    """Columns whose values decide about a row's partition, and the columns that go along with staged rows."""

    table_key: str
    number: int
    spread: tuple[str, ...]
    along: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([*self.spread, *self.along]))


def key_sets(catalog: Catalog, table_key: str, mode: LoadMode) -> list[KeySet]:
    """What the checks of one table read, the ids first."""
    info = table_types(catalog)[table_key]
    wanted = {("id",): _beside_ids(info, mode), **dict.fromkeys(unique_groups(info), ("id",))}
    if isinstance(info, EdgeType):
        wanted.setdefault(("src",), ("id",) if has_bounds(info) else ())
        wanted.setdefault(("dst",), ())
    return [KeySet(table_key, number, *columns) for number, columns in enumerate(wanted.items())]


def unique_groups(info: TableType) -> list[tuple[str, ...]]:
    """The groups of columns whose values must be unique beside the key."""
    key = set(info.key or ()) if isinstance(info, NodeType) else set()
    return [group for group in info.unique if set(group) != key]


def has_bounds(edge: EdgeType) -> bool:
    """Whether sources must have a certain number of these edges."""
    return edge.card != Card()


def _beside_ids(info: TableType, mode: LoadMode) -> tuple[str, ...]:
    if isinstance(info, EdgeType):
        return ("src",) if mode in ("merge", "patch") and has_bounds(info) else ()
    key = info.key or ()
    return () if len(key) == 1 and _is_text(info.properties[key[0]]) else tuple(key)


def _is_text(kind: PropType) -> bool:
    """Whether a key of this type is its own id."""
    return kind.scalar == "String" and kind.enum is None and not kind.list


def set_of(catalog: Catalog, table_key: str, mode: LoadMode, spread: Sequence[str]) -> KeySet:
    """The set of a table that is partitioned by these columns."""
    return next(each for each in key_sets(catalog, table_key, mode) if each.spread == tuple(spread))


# --- partitioning ----------------------------------------------------------------------------------------


def write_keys(root: Root, place: str, rows: pa.Table, sets: Sequence[KeySet], partitions: int) -> str:
    """Partition the key columns of stored rows, with the position of each; returns where they are."""
    place = f"{place}-keys-{new_ulid()}"
    position = pa.array(np.arange(rows.num_rows, dtype=np.uint32))
    for each in sets:
        keyed = rows.select(each.columns).append_column(POSITION, position)
        write_key_file(key_path(root, place, each.number), keyed, list(each.spread), partitions)
    return place


def keyed_part(root: Root, catalog: Catalog, mode: LoadMode, part: Part, partitions: int) -> Part:
    """A part with its key columns partitioned, from its own file."""
    sets = sets_of_part(catalog, mode, part.table_key, fresh=part.fresh)
    columns = list(dict.fromkeys(name for each in sets for name in each.columns))
    rows = scratch.open_part(root, part.location).scan(columns)
    return replace(part, keys=write_keys(root, part.location, rows, sets, partitions), partitions=partitions)


def sets_of_part(catalog: Catalog, mode: LoadMode, table_key: str, *, fresh: bool) -> list[KeySet]:
    """The sets that one part's rows belong to: generated ids are new by construction, and never looked up."""
    return [each for each in key_sets(catalog, table_key, mode) if not (fresh and each.spread == ("id",))]


@dataclass(frozen=True, slots=True)
class CommittedKeys:
    """Some fragments of a committed table, and the set of theirs that has to be partitioned."""

    keys: KeySet
    fragments: tuple[int, ...]


def write_committed_keys(
    place: str, table: TableHandle, wanted: CommittedKeys, partitions: int, batch_rows: int
) -> list[str]:
    """Partition key columns of some fragments, a bounded number of rows at a time; returns where they are."""
    along = wanted.keys.along if wanted.keys.table_key.startswith("edge:") else ()
    columns = list(dict.fromkeys([*wanted.keys.spread, "id", *along]))
    found = []
    for rows in _chunks(table, columns, wanted.fragments, batch_rows):
        found.append(f"{place}-{new_ulid()}")
        path = key_path(table.address.root, found[-1], wanted.keys.number)
        write_key_file(path, rows, list(wanted.keys.spread), partitions)
    return found


def _chunks(table: TableHandle, columns: list[str], fragments: Sequence[int], most: int) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in table.batches(columns, fragments=fragments):
        held.append(batch)
        rows += batch.num_rows
        if rows >= most:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)
