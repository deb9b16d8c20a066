"""The local object adapter: the common behaviour, and what only a file system can get wrong."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.errors import Corrupt, StorageError
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import PROBE_PREFIX, normalize_root
from omnigraph.storage.base.objects import Objects, open_objects, prove_create_if_absent
from omnigraph.testing.services.object_behaviour import BEHAVIOURS, Behaviour


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return open_objects(normalize_root(tmp_path / "g"))


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda behaviour: behaviour.__name__)
def test_local_objects_behave(behaviour: Behaviour, objects: Objects) -> None:
    behaviour(objects)


def test_temporary_files_of_a_dead_writer_are_not_listed(objects: Objects, tmp_path: Path) -> None:
    objects.write("d/a.json", "x")
    (tmp_path / "g/d/a.json#123").write_text("torn")
    (tmp_path / "g/d/a#b.json").write_text("a name with a hash sign")
    assert sorted(objects.list_dir("d")) == ["a#b.json", "a.json"]
    assert sorted(objects.list_tree("d")) == ["d/a#b.json", "d/a.json"]


def test_no_temporary_file_is_left_behind(objects: Objects, tmp_path: Path) -> None:
    objects.write("a", "1")
    objects.write("a", "2")
    objects.write_if_absent("b", "1")
    objects.write_if_absent("b", "2")
    assert sorted(os.listdir(tmp_path / "g")) == ["a", "b"]


def test_an_empty_directory_does_not_exist_as_an_object(objects: Objects, tmp_path: Path) -> None:
    (tmp_path / "g/__manifest/_versions").mkdir(parents=True)
    assert not objects.exists("__manifest")


def test_bytes_that_are_no_text_are_corrupt(objects: Objects, tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    (tmp_path / "g/x").write_bytes(b"\xff\xfe")
    with pytest.raises(Corrupt, match="not UTF-8"):
        objects.read("x")


def test_a_file_in_place_of_a_directory_is_loud_when_writing(objects: Objects, tmp_path: Path) -> None:
    objects.write("d", "a file")
    with pytest.raises(StorageError):
        objects.write("d/x", "1")
    assert objects.read_if_exists("d/x") is None
    assert objects.list_dir("d/x") == []


def test_the_probe_leaves_a_colliding_file_alone(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(["TAKEN", "FREE"])
    monkeypatch.setattr("omnigraph.storage.base.objects.new_ulid", lambda: next(names))
    objects.write(f"{PROBE_PREFIX}TAKEN", "mine")
    prove_create_if_absent(objects)
    assert objects.list_tree("") == [f"{PROBE_PREFIX}TAKEN"]
    assert objects.read(f"{PROBE_PREFIX}TAKEN") == "mine"


def test_the_probe_gives_up_when_every_name_is_taken(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.storage.base.objects.new_ulid", lambda: "TAKEN")
    objects.write(f"{PROBE_PREFIX}TAKEN", "mine")
    with pytest.raises(StorageError, match="no unused name"):
        prove_create_if_absent(objects)


def test_a_failing_probe_strands_nothing(objects: Objects, tmp_path: Path) -> None:
    with failpoints.armed("storage.local_create_if_absent_probe=raise"), pytest.raises(StorageError):
        prove_create_if_absent(objects)
    assert not (tmp_path / "g").exists()


def test_a_store_that_overwrites_on_create_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = open_objects(normalize_root(tmp_path))
    monkeypatch.setattr(os, "link", os.replace)  # a file system where linking replaces the target
    with pytest.raises(StorageError, match="overwrites on create-if-absent") as caught:
        prove_create_if_absent(objects)
    assert caught.value.kind == "Configuration"


FULL_DISK = """
import resource, signal, sys
from omnigraph.errors import StorageError
from omnigraph.storage.base.layout import normalize_root
from omnigraph.storage.base.objects import open_objects
objects = open_objects(normalize_root(sys.argv[1]))
objects.write("a", "old")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
for write in (objects.write, objects.write_if_absent):
    try:
        write("a", "x" * 5000)
    except StorageError as error:
        print(error.kind, objects.read("a"), objects.list_dir(""))
"""


def test_a_full_disk_is_a_permanent_error_that_keeps_the_old_text(tmp_path: Path) -> None:
    assert resource.RLIM_INFINITY != 1000
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.splitlines() == ["Permanent old ['a']", "Permanent old ['a']"]
