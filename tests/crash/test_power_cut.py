"""A power cut takes what was not brought to the disk: acknowledged commits stay, others leave nothing in the way.

The disk is modelled from the calls of `fsync`: the bytes of a file are there if it was synced after it was last written,
its name if its directory was synced since. Of everything else a cut leaves either an empty file, as ext4 does, or nothing.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.engine.merge import by_files
from omnigraph.errors import Corrupt
from omnigraph.storage.base.layout import MANIFEST
from omnigraph.storage.base.syncing import machine_started_at
from omnigraph.storage.lance import version_files

SCHEMA = "node Hut { code: String @key  beds: I32? @index }\nedge Path: Hut -> Hut"
BEFORE_THE_START = 5.0


class Disk:
    """What would survive a power cut, as far as `fsync` was asked for."""

    def __init__(self, graph: Path, real: Callable[[int], None]) -> None:
        self.graph = graph
        self.at_sync: Callable[[], None] | None = None
        self._real = real
        self._written: dict[int, tuple[int, int]] = {}
        self._named: dict[int, set[tuple[str, int]]] = {}
        self._lock = threading.Lock()

    def fsync(self, descriptor: int) -> None:
        """What `os.fsync` does, noted down; `at_sync` is called before it counts."""
        with self._lock:
            path, found = os.readlink(f"/proc/self/fd/{descriptor}"), os.fstat(descriptor)
            if self.at_sync is not None and path.startswith(str(self.graph)):
                self.at_sync()
            self._real(descriptor)
            if os.path.isdir(path):
                self._named[found.st_ino] = {(entry.name, entry.inode()) for entry in os.scandir(path)}
            else:
                self._written[found.st_ino] = found.st_mtime_ns, found.st_size

    def after_power_cut(self, target: Path, *, names_stay: bool) -> Path:
        """A copy of the graph as the disk has it."""
        started = machine_started_at()
        target.mkdir(parents=True)
        for folder, _, files in os.walk(self.graph):
            there = self._named.get(os.stat(folder).st_ino, set())
            copied = target / Path(folder).relative_to(self.graph)
            copied.mkdir(exist_ok=True)
            for name in files:
                source = Path(folder, name)
                found = source.stat()
                if not names_stay and (name, found.st_ino) not in there:
                    continue
                shutil.copyfile(source, copied / name)
                if self._written.get(found.st_ino) != (found.st_mtime_ns, found.st_size):
                    os.truncate(copied / name, 0)
                os.utime(copied / name, (started - BEFORE_THE_START, started - BEFORE_THE_START))
        return target


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    found = Disk(tmp_path / "huts.omni", os.fsync)
    monkeypatch.setattr(os, "fsync", found.fsync)
    return found


def codes(graph: og.Graph) -> set[str]:
    found = graph.query("query q() { match { $h: Hut } return { $h.code as code } }")
    return {row["code"] for row in found.rows()}


def huts(first: int, stop: int) -> list[dict[str, object]]:
    return [{"type": "Hut", "data": {"code": f"h{each}", "beds": each}} for each in range(first, stop)]


def insert(graph: og.Graph, code: str) -> None:
    graph.mutate("query m($c: String) { insert Hut { code: $c, beds: 1 } }", params={"c": code})


def lived(graph: og.Graph) -> set[str]:
    """A little of everything that is acknowledged; more commits than the manifest and the table take to be folded."""
    graph.load([{"type": "Hut", "data": {"code": f"h{each}", "beds": each}} for each in range(5)])
    for each in range(20):
        insert(graph, f"n{each}")
    graph.mutate('query m() { update Hut set { beds: beds + 1 } where code = "h1" }')
    graph.mutate('query m() { delete Hut where code = "h2" }')
    graph.branches.create("review")
    insert(graph.branch("review"), "r1")
    graph.branches.merge("review")
    graph.ensure_indices()
    with graph.transaction() as inside:
        insert(inside, "t1")
    return codes(graph)


@pytest.mark.parametrize("names_stay", [True, False], ids=["empty files", "no files"])
def test_what_was_acknowledged_survives_a_power_cut(disk: Disk, tmp_path: Path, names_stay: bool) -> None:
    graph = og.init(disk.graph, SCHEMA, settings=og.Settings(sync=True))
    expected = lived(graph)
    head = graph.commits.head()
    graph.close()

    after = og.open(
        disk.after_power_cut(tmp_path / "after.omni", names_stay=names_stay), settings=og.Settings(sync=True)
    )
    assert after.commits.head() == head
    assert codes(after) == expected
    assert "r1" in codes(after.branch("review"))
    assert after.check().findings == ()
    insert(after, "later")
    assert codes(after) == expected | {"later"}


@pytest.mark.parametrize("names_stay", [True, False], ids=["empty files", "no files"])
def test_files_that_tables_take_over_survive_a_power_cut(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names_stay: bool
) -> None:
    monkeypatch.setattr(by_files, "LARGE_CHANGE", 1)
    graph = og.init(disk.graph, SCHEMA, settings=og.Settings(sync=True))
    graph.load(huts(0, 5), on_error="skip")  # in tasks, which write scratch parts
    graph.branches.create("review")
    graph.branch("review").load(huts(3, 9), "merge", on_error="skip")
    graph.branches.merge("review")
    graph.close()

    after = og.open(
        disk.after_power_cut(tmp_path / "after.omni", names_stay=names_stay), settings=og.Settings(sync=True)
    )
    assert codes(after) == codes(after.branch("review")) == {f"h{each}" for each in range(9)}
    assert after.check().findings == ()


@pytest.mark.parametrize("names_stay", [True, False], ids=["empty files", "no files"])
def test_a_power_cut_at_any_step_of_a_commit_leaves_it_whole_or_not_at_all(
    disk: Disk, tmp_path: Path, names_stay: bool
) -> None:
    graph = og.init(disk.graph, SCHEMA, settings=og.Settings(sync=True))
    graph.load([{"type": "Hut", "data": {"code": f"h{each}", "beds": each}} for each in range(3)])
    cuts: list[Path] = []
    disk.at_sync = lambda: cuts.append(disk.after_power_cut(tmp_path / f"cut{len(cuts)}", names_stay=names_stay))
    graph.mutate('query m() { insert Hut { code: "new" } }')
    graph.mutate('query m() { update Hut set { beds: 7 } where code = "h1" }')
    disk.at_sync = None
    graph.close()

    assert len(cuts) > 20
    before = {"h0", "h1", "h2"}
    states = set()
    for cut in cuts:
        after = og.open(cut, settings=og.Settings(sync=False))
        found, beds = codes(after), after.get("Hut", "h1")["beds"]
        assert found in (before, before | {"new"})
        assert beds in (1, 7)
        assert beds == 1 or "new" in found
        assert after.check().findings == ()
        insert(after, "later")
        assert codes(after) == found | {"later"}
        states.add((len(found), beds))
        after.close()
    assert states >= {(3, 1), (4, 1)}


def test_a_commit_that_is_not_believed_at_first_is_on_the_disk_as_well(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.init(disk.graph, SCHEMA, settings=og.Settings(sync=True))
    monkeypatch.setattr(version_files, "LONG_COMMIT_SECONDS", -1.0)  # every commit takes too long
    insert(graph, "slow")
    after = og.open(disk.after_power_cut(tmp_path / "after.omni", names_stay=True))
    assert codes(after) == {"slow"}


def test_without_syncing_nothing_is_brought_to_the_disk_by_a_commit(disk: Disk) -> None:
    graph = og.init(disk.graph, SCHEMA, settings=og.Settings(sync=False))
    synced: list[None] = []
    disk.at_sync = lambda: synced.append(None)
    insert(graph, "new")
    assert not synced


def test_an_empty_version_file_of_later_than_the_start_of_the_machine_is_damage(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", SCHEMA)
    insert(graph, "a")
    graph.close()
    newest = min((tmp_path / "g.omni" / MANIFEST / "_versions").glob("*.manifest"))
    os.truncate(newest, 0)
    with pytest.raises(Corrupt, match="ends after 0 bytes"):
        og.open(tmp_path / "g.omni")
    assert newest.exists()


def test_an_empty_intent_is_removed_by_the_next_writer(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", SCHEMA)
    lost = tmp_path / "g.omni" / "__recovery" / "01M7KSMQREQPF01TR6FZDRNPAD.json"
    lost.parent.mkdir(exist_ok=True)
    lost.touch()
    os.utime(lost, (machine_started_at() - BEFORE_THE_START,) * 2)
    insert(graph, "a")
    graph.close()
    reopened = og.open(tmp_path / "g.omni")
    assert codes(reopened) == {"a"}
    assert not lost.exists()
