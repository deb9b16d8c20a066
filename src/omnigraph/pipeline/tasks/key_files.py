"""Files of key columns: where they lie beside a part, and how their rows are spread over partitions."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.engine.intake.inputs.partitioned import write_partitioned
from omnigraph.engine.values.rowset import one_array
from omnigraph.pipeline.tasks.buckets import partition_numbers
from omnigraph.storage.base.layout import Root


def write_key_file(path: str, rows: pa.Table, spread: list[str], partitions: int) -> None:
    """Write rows by the partitions of some of their columns, within each in the order given; nulls are left out."""
    write_partitioned(path, rows, partition_numbers([one_array(rows[name]) for name in spread], partitions), partitions)


def key_path(root: Root, place: str, number: int) -> str:
    """Where the rows of one key set are, of all that were partitioned together."""
    return f"{root.child(place)}/{number}"
