"""Spreading rows over numbered partitions by a hash of some columns, so that equal values always meet in one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from omnigraph.engine.intake.columns.identity import canonical_text
from omnigraph.engine.values.text_hashes import mixed_bits, text_hashes


def partition_numbers(columns: Sequence[pa.Array], partitions: int) -> np.ndarray:
    """The partition of each row; -1 where any of the columns is null."""
    present = np.ones(len(columns[0]), bool)
    mixed = np.zeros(len(present), np.uint64)
    for column in columns:
        present &= column.is_valid().to_numpy(zero_copy_only=False)
        mixed = mixed_bits(mixed * np.uint64(31) + text_hashes(canonical_text(column)))
    numbers = (mixed % np.uint64(partitions)).astype(np.int64)
    numbers[~present] = -1
    return numbers


def partitions_for(rows: int, most: int, limit: int = 1 << 10) -> int:
    """How many partitions leave about `most` rows in each: a power of two, so that different estimates agree often.

    >>> partitions_for(100, 100), partitions_for(101, 100), partitions_for(900, 100)
    (1, 2, 16)
    """
    return int(min(limit, 1 << max(0, -(-rows // max(most, 1)) - 1).bit_length()))
