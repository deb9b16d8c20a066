"""Roaring bitmaps that are written: byte for byte what lance writes, and read back as what they were."""

from __future__ import annotations

import numpy as np
import pytest
from lance.dataset import serialize_row_addrs

from omnigraph.storage.lance.rows.roaring import roaring_bitmap, roaring_values, row_mask

_RANDOM = np.random.default_rng(3)
SETS = {
    "nothing": [],
    "one row": [5],
    "as many as an array takes": range(4_096),
    "one more than an array takes": range(4_097),
    "containers side by side": range(65_000, 140_000),
    "ends of containers": [65_535, 65_536, (1 << 32) - 1],
    "a tenth of the rows": sorted(_RANDOM.choice(300_000, 30_000, replace=False).tolist()),
}


@pytest.mark.parametrize("numbers", SETS.values(), ids=SETS)
def test_a_mask_of_rows_is_what_lance_itself_writes(numbers: list[int]) -> None:
    assert row_mask(np.array(numbers, np.int64)) == serialize_row_addrs(list(numbers))


def test_row_ids_of_more_than_32_bits_have_a_bitmap_for_each_upper_half() -> None:
    rows = [3, (1 << 32) - 1, 1 << 32, (7 << 32) + 9]
    assert row_mask(np.array(rows, np.int64)) == serialize_row_addrs(rows)


@pytest.mark.parametrize("numbers", SETS.values(), ids=SETS)
def test_what_is_written_is_read_back(numbers: list[int]) -> None:
    assert roaring_values(roaring_bitmap(np.array(numbers, np.int64))).tolist() == list(numbers)
