"""Clones and backups of graphs with branches, tags and history, also while others write."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.cli.main import main
from omnigraph.errors import BadRequest, Conflict, Corrupt, NotFound, StorageError
from omnigraph.storage.base.objects_local import LocalObjects
from omnigraph.storage.transfer.listing import version_of

SCHEMA = "node P { k: String @key n: I32? body: String? }\nedge K: P -> P"
COUNT = "query c() { match { $p: P } return { count($p) as n } }"


def rows(*keys: str) -> bytes:
    return "\n".join(json.dumps({"type": "P", "data": {"k": key, "n": 1}}) for key in keys).encode()


def count(graph: og.Graph) -> int:
    return int(graph.query(COUNT).rows()[0]["n"])


@pytest.fixture
def source(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "source.omni", schema=SCHEMA)
    graph.load(rows("a", "b", "c"), mode="append")
    graph.tags.create("first")
    graph.branches.create("review/x")
    graph.branch("review/x").mutate('query m() { update P set { n: 7 } where k = "a" }')
    graph.mutate('query m() { insert P { k: "d" } }')
    graph.mutate('query m() { delete P where k = "b" }')
    graph.optimize()
    return graph


def exported(graph: og.Graph) -> bytes:
    stream = io.BytesIO()
    graph.export(stream)
    return stream.getvalue()


def same(one: og.Graph, other: og.Graph) -> None:
    assert sorted(branch for branch in one.branches.list()) == sorted(branch for branch in other.branches.list())
    for branch in one.branches.list():
        left, right = one.branch(branch), other.branch(branch)
        assert exported(left) == exported(right)
        assert [c.graph_commit_id for c in left.commits.list()] == [c.graph_commit_id for c in right.commits.list()]


def test_a_clone_has_branches_tags_and_history_and_stands_alone(source: og.Graph, tmp_path: Path) -> None:
    done = og.clone(tmp_path / "source.omni", tmp_path / "copy.omni")
    assert done.files == done.copied_files
    assert done.bytes > 0
    copy = og.open(tmp_path / "copy.omni")
    same(source, copy)
    assert copy.at("first").query(COUNT).rows() == [{"n": 3}]

    # Both go on by themselves: writes, merges, cleanup; then the original disappears.
    copy.branches.merge("review/x", into="main")
    copy.load(rows("new"), mode="merge")
    copy.cleanup(keep=1, confirm=True)
    assert count(source) == 3
    shutil.rmtree(tmp_path / "source.omni")
    again = og.open(tmp_path / "copy.omni")
    assert again.get("P", "a") == {"id": "a", "k": "a", "n": 7, "body": None}
    assert count(again) == 4
    assert again.branch("review/x").get("P", "a")["n"] == 7


def test_a_clone_beside_writers_is_one_state_of_every_branch(source: og.Graph, tmp_path: Path) -> None:
    stop = threading.Event()

    def write() -> None:
        writer = og.open(tmp_path / "source.omni")
        number = 0
        while not stop.is_set():
            number += 1
            # Two rows per commit: a torn copy would show an odd number.
            writer.load(rows(f"w{number}", f"v{number}"), mode="append")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for turn in range(3):
            done = og.clone(tmp_path / "source.omni", tmp_path / f"copy{turn}.omni")
            copy = og.open(tmp_path / f"copy{turn}.omni")
            assert copy.commits.head() == done.heads["main"]
            assert (count(copy) - 3) % 2 == 0
            copy.mutate('query m() { insert P { k: "mine" } }')  # nothing unpublished stands in the way
            assert not [each for each in copy.repair().datasets if each.action == "preview"]
    finally:
        stop.set()
        thread.join()


def test_some_branches_and_less_history(source: og.Graph, tmp_path: Path) -> None:
    source.branches.create("other")
    source.branch("other").mutate('query m() { insert P { k: "o" } }')
    og.clone(tmp_path / "source.omni", tmp_path / "some.omni", branches=["other"], depth=1)
    copy = og.open(tmp_path / "some.omni")
    assert sorted(copy.branches.list()) == ["main", "other"]
    assert copy.branch("other").get("P", "o") is not None
    assert not [name for name in LocalObjects(str(tmp_path / "some.omni")).list_tree("") if "review" in name]
    with pytest.raises(NotFound, match=r"no branch 'nope'.*other"):
        og.clone(tmp_path / "source.omni", tmp_path / "none.omni", branches=["nope"])
    assert not (tmp_path / "none.omni").exists()


def test_a_clone_that_broke_off_is_continued(source: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    original = LocalObjects.copy_in

    def failing(self: LocalObjects, name: str, *rest: Any) -> None:
        if len(written) == 20:
            raise KeyboardInterrupt
        written.append(name)
        original(self, name, *rest)

    monkeypatch.setattr(LocalObjects, "copy_in", failing)
    with pytest.raises(KeyboardInterrupt):
        og.clone(tmp_path / "source.omni", tmp_path / "copy.omni")
    assert not (tmp_path / "copy.omni").exists()
    monkeypatch.undo()
    with pytest.raises(Conflict, match="--resume"):
        og.clone(tmp_path / "source.omni", tmp_path / "copy.omni")
    # A file that was damaged on the way is sent again.
    damaged = next(name for name in written if "/data/" in name)
    place = tmp_path / "copy.omni.cloning" / damaged
    place.write_bytes(bytes(len(place.read_bytes())))
    done = og.clone(tmp_path / "source.omni", tmp_path / "copy.omni", resume=True)
    assert 0 < done.copied_files < done.files
    same(source, og.open(tmp_path / "copy.omni"))


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EINVAL])
def test_where_the_kernel_does_not_copy_files_the_bytes_are_copied(
    source: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    original, calls = os.copy_file_range, []

    def stopping(source_file: int, target_file: int, count: int) -> int:
        calls.append(count)
        if len(calls) % 2:
            return original(source_file, target_file, 100)  # and no more than the beginning of a file
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "copy_file_range", stopping)
    done = og.clone(tmp_path / "source.omni", tmp_path / "copy.omni")
    assert len(calls) >= done.files
    same(source, og.open(tmp_path / "copy.omni"))


def test_a_copy_that_the_disk_has_changed_is_refused(
    source: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = LocalObjects.copy_in

    def changing(self: LocalObjects, name: str, *rest: Any) -> None:
        original(self, name, *rest)
        if "/data/" in name or name.startswith("objects/"):
            place = Path(self._path(name))
            place.write_bytes(place.read_bytes()[:-9] + b"elsewhere")

    monkeypatch.setattr(LocalObjects, "copy_in", changing)
    with pytest.raises(StorageError, match="does not read back"):
        og.clone(tmp_path / "source.omni", tmp_path / "copy.omni")
    assert not (tmp_path / "copy.omni").exists()
    with pytest.raises(StorageError, match="does not read back"):
        og.Backups(tmp_path / "backups").create(tmp_path / "source.omni")


def test_places_that_cannot_take_a_copy(source: og.Graph, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    with pytest.raises(Conflict, match="not empty"):
        og.clone(tmp_path / "source.omni", tmp_path / "full")
    with pytest.raises(BadRequest, match="inside each other"):
        og.clone(tmp_path / "source.omni", tmp_path / "source.omni" / "copy")
    with pytest.raises(NotFound):
        og.clone(tmp_path / "nothing.omni", tmp_path / "copy.omni")
    assert (tmp_path / "full" / "file").read_text() == "mine"


def test_backups_send_what_is_new_and_restore_any_of_them(source: og.Graph, tmp_path: Path) -> None:
    backups = og.Backups(tmp_path / "backups")
    first = backups.create(tmp_path / "source.omni")
    assert first.copied_files > 0
    source.mutate('query m() { insert P { k: "later" } }')
    second = backups.create(tmp_path / "source.omni")
    assert 0 < second.copied_bytes < first.copied_bytes
    assert backups.create(tmp_path / "source.omni").copied_files == 0

    assert len(backups.list()) == 3
    assert backups.verify() == ()
    backups.restore(tmp_path / "then.omni", backup=backups.list()[0].id)
    then = og.open(tmp_path / "then.omni")
    assert then.get("P", "later") is None
    assert then.branch("review/x").get("P", "a")["n"] == 7
    backups.restore(tmp_path / "now.omni")
    same(source, og.open(tmp_path / "now.omni"))

    pruned = backups.prune(keep=1)
    assert len(pruned.removed) == 2
    assert backups.verify() == ()
    backups.restore(tmp_path / "kept.omni")
    same(source, og.open(tmp_path / "kept.omni"))


def test_a_branch_with_a_schema_of_its_own_comes_back_with_it(source: og.Graph, tmp_path: Path) -> None:
    grown = SCHEMA.replace("n: I32?", "n: I64? born: Date?") + "\nnode Q { k: String @key }"
    side = source.branch("review/x")
    side.schema.apply(grown)
    side.load(b'{"type": "P", "data": {"k": "e", "born": "2020-01-05"}}\n{"type": "Q", "data": {"k": "q"}}')
    backups = og.Backups(tmp_path / "backups")
    backups.create(tmp_path / "source.omni")
    source.schema.apply(SCHEMA.replace("body: String?", "body: String? tag: String?"))  # later than the backup
    backups.restore(tmp_path / "then.omni")
    og.clone(tmp_path / "source.omni", tmp_path / "clone.omni")

    same(source, og.open(tmp_path / "clone.omni"))
    then = og.open(tmp_path / "then.omni")
    assert exported(then.branch("review/x")) == exported(side)
    for graph, kept in ((then, SCHEMA), (og.open(tmp_path / "clone.omni"), source.schema.source)):
        assert graph.schema.source == kept
        assert graph.branch("review/x").schema.source == grown
        graph.branches.merge("review/x")
        assert (graph.get("P", "e")["born"], graph.get("Q", "q")["k"]) == ("2020-01-05", "q")
        assert graph.check().ok


def test_a_damaged_backup_is_found_and_not_restored(source: og.Graph, tmp_path: Path) -> None:
    backups = og.Backups(tmp_path / "backups")
    backups.create(tmp_path / "source.omni")
    snapshot = backups.list()[0]
    name, (_, digest) = next((name, found) for name, found in snapshot.files.items() if "/data/" in name)
    place = tmp_path / "backups" / "objects" / digest[:2] / digest
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(bytes(content))
    assert name in backups.verify()
    with pytest.raises(Corrupt, match="checksum"):
        backups.restore(tmp_path / "copy.omni")
    assert not (tmp_path / "copy.omni").exists()


def test_a_backup_that_breaks_off_leaves_no_snapshot(
    source: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = LocalObjects.write

    def failing(self: LocalObjects, name: str, text: str) -> None:
        if name.startswith("snapshots/"):
            raise KeyboardInterrupt
        original(self, name, text)

    monkeypatch.setattr(LocalObjects, "write", failing)
    backups = og.Backups(tmp_path / "backups")
    with pytest.raises(KeyboardInterrupt):
        backups.create(tmp_path / "source.omni")
    monkeypatch.undo()
    assert backups.list() == []
    assert backups.create(tmp_path / "source.omni").copied_files == 0
    with pytest.raises(NotFound, match="no backups"):
        og.Backups(tmp_path / "elsewhere").restore(tmp_path / "copy.omni")


def test_the_command_line_clones_backs_up_and_restores(
    source: og.Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, backups = str(tmp_path / "source.omni"), str(tmp_path / "backups")
    assert main(["clone", graph, str(tmp_path / "copy.omni")]) == 0
    assert "cloned to" in capsys.readouterr().out
    assert main(["backup", "create", graph, backups, "--keep", "2"]) == 0
    capsys.readouterr()
    assert main(["backup", "list", backups, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert len(listed["backups"]) == 1
    assert main(["backup", "verify", backups]) == 0
    assert main(["restore", backups, str(tmp_path / "restored.omni")]) == 0
    assert main(["backup", "prune", backups, "--keep", "1"]) == 0
    capsys.readouterr()
    same(source, og.open(tmp_path / "restored.omni"))
    assert main(["restore", backups, str(tmp_path / "restored.omni")]) != 0
    assert "not empty" in capsys.readouterr().err


def test_names_of_version_files() -> None:
    assert version_of("__manifest/_versions/18446744073709551614.manifest") == 1
    assert version_of("__manifest/_versions/latest_version_hint.json") is None
    assert version_of("nodes/a/data/18446744073709551614.manifest") is None
