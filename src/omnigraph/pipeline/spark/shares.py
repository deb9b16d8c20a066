"""Frames that tasks make, a share each, with a size that Spark can plan by.

Spark takes a frame for as large as the numbers that its tasks begin with, and sends what it takes for small to every
task of a join: a table of ten million rows behind ten numbers was collected on the driver for that. So there are as
many numbers as take about the bytes of the rows. All but one of each share are left out by a filter in the JVM, which
Spark expects to leave out nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from omnigraph.pipeline.spark.session import without_warnings

Batches = Iterator[pa.RecordBatch]
_NUMBER = 8
_LARGE = 128 << 20  # what Spark would not take for small, whatever more it is


def shared_frame(spark: Any, read: Callable[[int], Batches], shares: int, size: int, schema: Any) -> Any:
    """The rows that `read` gives for the shares 0, 1, …, one task each; `size` is about how many bytes they take."""
    each = max(1, -(-min(size, _LARGE) // (_NUMBER * max(1, shares))))

    def work(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read(number // each)

    with without_warnings():
        numbers = spark.range(0, shares * each, 1, max(1, shares))
        return (numbers if each == 1 else numbers.where(f"id % {each} = 0")).mapInArrow(work, schema)
