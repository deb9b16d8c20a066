"""Rows that give way, as sets that tasks make: the fragments without them are those that a list of rows gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.storage.base.layout import normalize_root
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.columns import key_field
from omnigraph.storage.lance.tables import Landed, TableHandle
from omnigraph.storage.lance.withdrawal import RowSets, by_fragment, row_sets, united, withdraw

SCHEMA = pa.schema([key_field()])
SIZES = (40, 1, 300, 7)


@pytest.fixture
def base(tmp_path: Path) -> TableHandle:
    """A table of four fragments."""
    address = normalize_root(tmp_path).table("nodes/x")
    land(tables.stage_create(address, SCHEMA))
    for number, size in enumerate(SIZES):
        rows = pa.table({"id": [f"{number}-{at}" for at in range(size)]}, schema=SCHEMA)
        land(tables.stage_append(tables.open_table(address), tables.write_fragments(address, rows, SCHEMA)))
    return tables.open_table(address)


def land(staged: tables.Staged) -> None:
    assert isinstance(tables.commit(staged), Landed)


def addresses(base: TableHandle) -> dict[str, int]:
    found = base.scan(["id", "_rowaddr"])
    return dict(zip(found["id"].to_pylist(), found["_rowaddr"].to_pylist(), strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_sets_of_several_tasks_withdraw_the_rows_that_a_list_withdraws(base: TableHandle, seed: int) -> None:
    generator = np.random.default_rng(seed)
    known = addresses(base)
    chosen = [name for name in known if generator.random() < 0.5 or name.startswith("1-" if seed % 2 else "3-")]
    places = np.array([known[name] for name in generator.permutation(chosen)], np.uint64)
    shares = [row_sets(share) for share in np.array_split(places, 3)]
    joined = united(shares)
    assert joined["fragment"].to_pylist() == sorted({int(place) >> 32 for place in places})
    sets = RowSets(base, [joined.slice(0, 2), joined.slice(2)], len(places))
    shrunk, emptied = sets.withdrawn()
    expected = withdraw(base, by_fragment(places))
    assert emptied == expected[1]
    assert [each.num_deletions for each in shrunk] == [each.num_deletions for each in expected[0]]
    land(tables.stage_append(base, [], sets))
    assert set(addresses(tables.open_table(base.address))) == known.keys() - set(chosen)


def test_a_fragment_that_lost_rows_before_is_emptied_by_the_rest(base: TableHandle) -> None:
    known = addresses(base)
    first = np.array([known[f"2-{at}"] for at in range(0, 300, 2)], np.uint64)
    land(tables.stage_append(base, [], RowSets(base, [row_sets(first)], len(first))))
    later = tables.open_table(base.address)
    rest = np.array([place for name, place in addresses(later).items() if name.startswith("2-")], np.uint64)
    shrunk, emptied = RowSets(later, [row_sets(rest)], len(rest)).withdrawn()
    assert (shrunk, emptied) == ([], [later.dataset.get_fragments()[2].fragment_id])


def test_a_set_takes_an_eighth_of_a_byte_for_a_row_at_most() -> None:
    generator = np.random.default_rng(3)
    rows = 1 << 20
    for share in (0.001, 0.5, 0.99):
        places = np.flatnonzero(generator.random(rows) < share).astype(np.uint64) | np.uint64(5 << 32)
        assert row_sets(places).nbytes <= rows // 8 + 1_000
    assert row_sets(np.arange(rows, dtype=np.uint64)).nbytes < 200, "rows that lie together take next to nothing"
    assert row_sets(np.zeros(0, np.uint64)).num_rows == 0
