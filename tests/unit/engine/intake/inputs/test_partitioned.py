"""A partitioned file gives back every row once, in the partition of its value, and a range of it reads nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.engine.intake.inputs.partitioned import PartitionedFile, write_partitioned
from omnigraph.errors import Corrupt


def table(rows: int) -> pa.Table:
    ids = [None if at % 17 == 3 else f"id-{at}" for at in range(rows)]
    return pa.table({"id": pa.array(ids, pa.utf8()), "at": pa.array(range(rows), pa.uint32())})


def numbers(rows: pa.Table, partitions: int) -> np.ndarray:
    """Some partition for each row that has an id."""
    return np.array(
        [-1 if name is None else at * 7 % partitions for at, name in enumerate(rows["id"].to_pylist())], int
    )


@pytest.mark.parametrize("partitions", [1, 2, 8, 1_024, 40_000])
@pytest.mark.parametrize("rows", [0, 1, 5_000])
def test_every_row_with_a_value_is_in_its_partition_in_the_order_given(
    tmp_path: Path, rows: int, partitions: int
) -> None:
    path, given = str(tmp_path / "keys"), table(rows)
    wanted = numbers(given, partitions)
    write_partitioned(path, given, wanted, partitions)
    file = PartitionedFile.open(path)
    found = file.read(0, partitions)
    assert sorted(found) == sorted(set(wanted.tolist()) - {-1})
    for number, batch in found.items():
        assert batch.column("at").to_pylist() == np.flatnonzero(wanted == number).tolist()
        assert file.counts[number] == batch.num_rows
    assert not rows or found[min(found)].schema == given.schema


def test_a_range_is_read_without_what_lies_around_it(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    write_partitioned(str(path), table(5_000), numbers(table(5_000), 16), 16)
    file = PartitionedFile.open(str(path))
    wanted = file.read(5, 8)
    begin, end = int(file.starts[5]), int(file.starts[8])
    data = bytearray(path.read_bytes())
    data[:begin], data[end : int(file.starts[16])] = bytes(begin), bytes(int(file.starts[16]) - end)
    path.write_bytes(bytes(data))
    assert PartitionedFile.open(str(path)).read(5, 8) == wanted
    assert sorted(wanted) == [5, 6, 7]


def test_a_file_that_was_cut_is_not_taken_for_a_shorter_one(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    write_partitioned(str(path), table(5_000), numbers(table(5_000), 16), 16)
    file = PartitionedFile.open(str(path))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(Corrupt, match="ends before"):
        file.read(0, 16)
