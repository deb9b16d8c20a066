"""The cache of this machine: bounded, whole or not there, and safe between processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.errors import BadRequest
from omnigraph.storage.base import disk_cache
from omnigraph.storage.base.disk_cache import keep_column, kept_column, place_of
from omnigraph.storage.base.layout import Root

ROOT = Root("s3://bucket/graph", cache_bytes=200_000)
VALUES = pa.array(range(1_000), pa.int64())  # 8,000 bytes and a frame


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OMNIGRAPH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(disk_cache, "_added", {})
    return tmp_path


def size_of(place: Path) -> int:
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


def test_values_come_back_with_their_type_and_the_facts_about_them() -> None:
    keep_column(ROOT, "pages/x/1", pa.array(["a", None]), {"rows": "2"})
    keep_column(ROOT, "pages/x/2", pa.array([], pa.float32()))
    assert kept_column(ROOT, "pages/x/1") == (pa.array(["a", None]), {"rows": "2"})
    assert kept_column(ROOT, "pages/x/2") == (pa.array([], pa.float32()), {})
    assert kept_column(ROOT, "pages/x/3") is None
    assert kept_column(Root("s3://bucket/other"), "pages/x/1") is None


def test_what_was_used_longest_ago_makes_room(cache: Path) -> None:
    for number in range(100):
        keep_column(ROOT, f"pages/x/{number}", VALUES)
        kept_column(ROOT, "pages/x/0")
    assert size_of(cache) <= 200_000 * 17 / 16
    assert kept_column(ROOT, "pages/x/0") is not None
    assert kept_column(ROOT, "pages/x/99") is not None
    assert kept_column(ROOT, "pages/x/1") is None


def test_nothing_is_kept_where_nothing_may_be(cache: Path) -> None:
    for root in (replace(ROOT, cache_bytes=0), Root("/graph")):
        keep_column(root, "pages/x/1", VALUES)
        assert kept_column(root, "pages/x/1") is None
    assert size_of(cache) == 0


def test_the_size_may_be_written_with_a_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Root("s3://bucket/graph")
    assert disk_cache.allowed_bytes(root) == 16 << 30
    monkeypatch.setenv("OMNIGRAPH_CACHE_BYTES", "1GiB")
    assert disk_cache.allowed_bytes(root) == 1 << 30
    assert og.Settings(cache="3MiB").cache_bytes == 3 << 20
    with pytest.raises(BadRequest, match="cache must be a number of bytes"):
        og.Settings(cache="plenty")


def _truncate(place: Path) -> None:
    place.write_bytes(place.read_bytes()[:-100])


def _scribble(place: Path) -> None:
    place.write_bytes(b"x" * 8_192)


@pytest.mark.parametrize("damage", [_truncate, _scribble])
def test_a_damaged_entry_is_absent_and_goes(damage: Callable[[Path], None]) -> None:
    keep_column(ROOT, "pages/x/1", VALUES)
    place = place_of(ROOT, "pages/x/1.arrow")
    damage(place)
    assert kept_column(ROOT, "pages/x/1") is None
    assert not place.exists()


def test_what_a_dead_process_left_unfinished_goes(cache: Path) -> None:
    keep_column(ROOT, "pages/x/1", VALUES)
    old, young = (place_of(ROOT, "pages/x/1").with_name(name) for name in (".old.draft", ".young.draft"))
    for draft in (old, young):
        draft.write_bytes(b"part")
    os.utime(old, (time.time() - 7_200,) * 2)
    disk_cache._added.clear()
    keep_column(ROOT, "pages/x/2", VALUES)
    assert not old.exists()
    assert young.exists()


def test_readers_and_writers_side_by_side_see_whole_entries_or_none() -> None:
    root = replace(ROOT, cache_bytes=60_000)  # seven entries for thirty names

    def work(worker: int) -> int:
        found = 0
        for step in range(150):
            name = f"pages/x/{(worker * 7 + step) % 30}"
            keep_column(root, name, VALUES)
            kept = kept_column(root, f"pages/x/{(worker + step * 3) % 30}")
            assert kept is None or kept[0].equals(VALUES)
            found += kept is not None
        return found

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(work, range(6))) > 0
