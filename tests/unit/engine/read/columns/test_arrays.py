"""Rows that a mask chooses: the same whichever way their number and their share suggest."""

from __future__ import annotations

import numpy as np
import pytest

from omnigraph.engine.read.columns.arrays import chosen


@pytest.mark.parametrize("count", [0, 7, 100_003])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.0999, 0.1, 0.5, 0.99, 1.0])
def test_exactly_the_rows_of_the_mask_are_chosen_in_their_order(count: int, share: float) -> None:
    random = np.random.default_rng(2)
    rows = np.sort(random.choice(1 << 40, count, replace=False)) if count < 10 else np.arange(5, 5 + count) * 3
    mask = np.zeros(count, np.bool_)
    mask[random.permutation(count)[: int(count * share)]] = True
    found = chosen(rows, mask)
    assert found.dtype == np.int64
    assert found.tolist() == [row for row, wanted in zip(rows.tolist(), mask.tolist(), strict=True) if wanted]


def test_all_rows_stay_the_same_array() -> None:
    rows = np.arange(100_000)
    assert chosen(rows, np.ones(len(rows), np.bool_)) is rows


def test_rows_and_masks_may_be_parts_of_other_arrays() -> None:
    rows, mask = np.arange(300_000)[1::2], (np.arange(300_000) % 40 == 1)[1::2]
    assert chosen(rows, mask).tolist() == list(range(1, 300_000, 40))
