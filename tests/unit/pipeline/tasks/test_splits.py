"""However input is cut, each line is read once, by one task, under its own number."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.compiler.catalog import compile_schema
from omnigraph.engine.intake.frame_shape import FrameShape
from omnigraph.engine.intake.inputs import lines
from omnigraph.engine.intake.inputs.files import InputFile
from omnigraph.engine.values.text_hashes import text_hashes
from omnigraph.errors import BadRequest, ResourceLimitExceeded
from omnigraph.pipeline.tasks import decode
from omnigraph.pipeline.tasks.buckets import partition_numbers
from omnigraph.pipeline.tasks.decode import _record_pieces, decode_split
from omnigraph.pipeline.tasks.splits import Source, cut, in_tasks, task_rows

TEXTS = [
    b"",
    b"\n",
    b"a",
    b"a\n",
    b"a\nb",
    b"\n\na\n\n",
    b"one\ntwo two\r\nthree" + b"x" * 40 + b"\n\nfive\n",
    b"".join(b"%d\n" % number for number in range(40)),
]


def source(path: Path, data: bytes) -> Source:
    path.write_bytes(data)
    return Source(InputFile(str(path), len(data)), str(path))


@pytest.mark.parametrize("data", TEXTS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 1_000])
def test_splits_together_are_the_file(tmp_path: Path, data: bytes, size: int) -> None:
    splits = cut([source(tmp_path / "f.jsonl", data)], split_bytes=size)
    assert b"".join(piece for split in splits for piece in _record_pieces(split)) == data


def test_compressed_files_are_one_split(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % number for number in range(1_000))
    packed = source(tmp_path / "f.jsonl.gz", gzip.compress(data))
    splits = cut([packed], split_bytes=10)
    assert len(splits) == 1
    assert b"".join(_record_pieces(splits[0])) == data
    broken = source(tmp_path / "g.jsonl.gz", gzip.compress(data)[:-20])
    with pytest.raises(BadRequest, match="cannot be read"):
        list(_record_pieces(cut([broken])[0]))


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("start", [b"", b"{}\n"])
def test_a_line_beyond_the_limit_is_measured_and_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: bytes, end: bytes
) -> None:
    limit = 5 << 20
    monkeypatch.setattr(lines, "LINE_BYTES", limit)
    monkeypatch.setattr(decode, "LINE_BYTES", limit)
    catalog = compile_schema("node A { x: String }")
    long = source(tmp_path / "f.jsonl", start + b"x" * (limit + 3_000_000) + end)
    for split_bytes in (1 << 20, 1 << 30):
        splits = cut([long], split_bytes=split_bytes)
        with pytest.raises(ResourceLimitExceeded) as refused:
            [piece for split in splits for piece in decode_split(split, catalog, 1)]
        assert refused.value.actual == limit + 3_000_000


def test_row_groups_are_shared_out_with_their_row_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": range(25)}), path, row_group_size=4)
    parquet = Source(InputFile(str(path), 1), str(path), FrameShape(type="A"))
    splits = cut([parquet], split_rows=9)
    assert [(split.start, split.stop, split.first) for split in splits] == [(0, 2, 1), (2, 4, 9), (4, 7, 17)]
    (tmp_path / "bad.parquet").write_bytes(b"not parquet at all")
    with pytest.raises(BadRequest, match="is not a Parquet file"):
        cut([Source(InputFile(str(tmp_path / "bad.parquet"), 1), None, FrameShape(type="A"))])


def test_every_value_is_in_one_partition_and_partitions_are_about_equal() -> None:
    texts = pa.array([None, "", "a", "ä", *(f"person-{number}" for number in range(20_000)), "x" * 200])
    numbers = partition_numbers([texts], 8)
    assert numbers[0] == -1
    sizes = np.bincount(numbers[1:], minlength=8)
    assert sizes.max() < 1.2 * sizes.min()
    assert len(set(text_hashes(texts.drop_null()).tolist())) == len(texts) - 1
    sliced = texts.slice(3, 50)
    assert text_hashes(sliced).tolist() == text_hashes(texts).tolist()[3:53]
    assert text_hashes(texts.cast(pa.large_utf8())).tolist()[1:] == text_hashes(texts).tolist()[1:]


def test_texts_of_one_beginning_are_told_apart_whatever_their_length() -> None:
    texts = [("0123456789" * 4)[:length] for length in range(41)] + ["a\0", "a\0\0", "a", "\0"]
    assert len(set(text_hashes(pa.array(texts)).tolist())) == len(texts)


def test_equal_tuples_of_other_spelling_share_a_partition() -> None:
    left = partition_numbers([pa.array([0.0, 1.5]), pa.array([1, 2])], 64)
    right = partition_numbers([pa.array([-0.0, 1.5]), pa.array([1, 2], pa.int32())], 64)
    assert left.tolist() == right.tolist()


def sizes_of_tasks(sizes: list[int], *, cores: int = 2, **options: int) -> list[list[int]]:
    sources = [Source(InputFile(f"{at}.jsonl", size), None) for at, size in enumerate(sizes)]
    splits = cut(sources, cores=cores)
    together = task_rows(splits, cores=cores, split_bytes=64 << 20, split_rows=1 << 20, **options)
    tasks = in_tasks(splits, lambda split: split, together)
    assert [split for mine in tasks for split in mine] == splits
    return [[split.source.file.size for split in mine] for mine in tasks]


def test_small_files_are_read_together_and_large_ones_are_not() -> None:
    assert [len(mine) for mine in sizes_of_tasks([20] * 300)] == [128, 128, 44]
    large = 7 << 20
    assert sizes_of_tasks([20, 20, large, large, 20, large]) == [[20, 20], [large], [large], [20], [large]]
    assert sizes_of_tasks([1 << 20] * 3) == [[1 << 20] * 3]


def test_where_tasks_wait_for_others_small_files_are_spread_over_the_cores() -> None:
    assert [len(mine) for mine in sizes_of_tasks([48_000] * 40, fewest=1)] == [10, 10, 10, 10]
