"""The behaviour every object store adapter must show, as plain functions that take an empty store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from omnigraph.errors import StorageError
from omnigraph.storage.base.objects import Objects, prove_create_if_absent

Behaviour = Callable[[Objects], None]


def text_round_trips_and_is_replaced(objects: Objects) -> None:
    objects.write("a.json", "first")
    assert objects.read("a.json") == "first"
    objects.write("a.json", "zweite Fassung: größer ✓\n")
    assert objects.read("a.json") == "zweite Fassung: größer ✓\n"
    objects.write("empty", "")
    assert objects.read("empty") == ""


def bytes_of_any_length_round_trip(objects: Objects) -> None:
    pieces = [bytes([number % 251]) * (1 << 20) for number in range(11)]
    objects.write_pieces("large/data.bin", iter(pieces))
    assert b"".join(objects.read_pieces("large/data.bin")) == b"".join(pieces)
    objects.write_pieces("large/empty.bin", [])
    assert b"".join(objects.read_pieces("large/empty.bin")) == b""
    assert objects.list_sizes("large") == {"large/data.bin": 11 << 20, "large/empty.bin": 0}
    with pytest.raises(StorageError) as caught:
        list(objects.read_pieces("large/none.bin"))
    assert caught.value.kind == "NotFound"


def bytes_that_break_off_leave_nothing(objects: Objects) -> None:
    def broken() -> Iterator[bytes]:
        yield b"x" * 100
        raise StorageError("the source went away")

    with pytest.raises(StorageError):
        objects.write_pieces("broken.bin", broken())
    assert objects.stat("broken.bin") is None


def a_missing_object_is_typed(objects: Objects) -> None:
    with pytest.raises(StorageError) as caught:
        objects.read("nothing")
    assert caught.value.kind == "NotFound"
    assert objects.read_if_exists("nothing") is None
    assert objects.read_if_exists("no/such/folder/file") is None
    assert objects.stat("nothing") is None


def create_if_absent_keeps_the_first_text(objects: Objects) -> None:
    assert objects.write_if_absent("deep/er/claim", "one") is True
    assert objects.write_if_absent("deep/er/claim", "two") is False
    assert objects.read("deep/er/claim") == "one"


def create_if_absent_has_one_winner(objects: Objects) -> None:
    for attempt in range(5):
        winners: list[int] = []
        ready = threading.Barrier(8)

        def race(
            number: int, name: str = f"race{attempt}", won: list[int] = winners, go: threading.Barrier = ready
        ) -> None:
            go.wait()
            if objects.write_if_absent(name, str(number)):
                won.append(number)

        threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [str(number) for number in winners] == [objects.read(f"race{attempt}")]


def existence_covers_objects_and_prefixes(objects: Objects) -> None:
    objects.write("folder/file", "x")
    assert objects.exists("folder/file")
    assert objects.exists("folder")
    assert not objects.exists("fold")
    assert not objects.exists("folder/other")


def deletion_is_idempotent(objects: Objects) -> None:
    objects.write("gone", "x")
    objects.delete("gone")
    objects.delete("gone")
    objects.delete("never/was")
    assert not objects.exists("gone")


def a_listing_shows_direct_files_only(objects: Objects) -> None:
    for name in ("d/1.json", "d/2.json", "d/sub/3.json", "e/4.json"):
        objects.write(name, "x")
    assert sorted(objects.list_dir("d")) == ["1.json", "2.json"]
    assert sorted(objects.list_tree("d")) == ["d/1.json", "d/2.json", "d/sub/3.json"]
    assert sorted(objects.list_entries("d")) == ["1.json", "2.json", "sub"]
    assert {"d", "e"} <= set(objects.list_entries(""))
    assert objects.list_dir("missing") == []
    assert objects.list_entries("missing") == []
    assert objects.list_tree("missing") == []


def an_emptied_place_contains_nothing(objects: Objects) -> None:
    for name in ("only.json", "folder/only.json"):
        objects.write(name, "x")
        objects.delete(name)
    assert [name for name in objects.list_entries("") if name != "folder"] == []
    assert objects.list_entries("folder") == []
    assert objects.list_dir("") == []


def a_listing_sees_the_latest_write(objects: Objects) -> None:
    for number in range(20):
        objects.write(f"__recovery/{number}.json", "x")
        assert len(objects.list_dir("__recovery")) == number + 1
    for number in range(20):
        objects.delete(f"__recovery/{number}.json")
        assert len(objects.list_dir("__recovery")) == 19 - number


def a_copy_is_a_second_name_that_outlives_the_first(objects: Objects) -> None:
    objects.write("copies/one", "text")
    for _ in range(2):
        objects.copy("copies/one", "copies/deep/two")
    objects.delete("copies/one")
    assert objects.read("copies/deep/two") == "text"
    with pytest.raises(StorageError) as missing:
        objects.copy("copies/one", "copies/three")
    assert missing.value.kind == "NotFound"


def a_rename_replaces_the_target(objects: Objects) -> None:
    objects.write("x.staging", "new")
    objects.write("x", "old")
    objects.rename("x.staging", "x")
    assert objects.read("x") == "new"
    assert not objects.exists("x.staging")
    with pytest.raises(StorageError) as caught:
        objects.rename("x.staging", "x")
    assert caught.value.kind == "NotFound"
    assert objects.read("x") == "new"


def a_prefix_is_deleted_with_everything_below(objects: Objects) -> None:
    for name in ("t/a", "t/b/c", "t/b/d/e", "tt/keep"):
        objects.write(name, "x")
    objects.delete_prefix("t")
    objects.delete_prefix("t")
    assert not objects.exists("t")
    assert objects.exists("tt/keep")


def stat_tells_the_size(objects: Objects) -> None:
    objects.write("s", "1234ü")
    info = objects.stat("s")
    assert info is not None
    assert info.size == 6


def names_may_contain_spaces_and_percent_signs(objects: Objects) -> None:
    objects.write("_refs/branches/review%2Fx.json", "ref")
    objects.write("a b/c d", "spaced")
    assert objects.list_dir("_refs/branches") == ["review%2Fx.json"]
    assert objects.read("_refs/branches/review%2Fx.json") == "ref"
    assert objects.read("a b/c d") == "spaced"


def a_replacement_needs_the_version_it_was_made_from(objects: Objects) -> None:
    assert objects.read_tagged("ledger") is None
    assert objects.write_if_match("ledger", "x", "no such version") is False
    objects.write("ledger", "one")
    first = objects.read_tagged("ledger")
    assert first is not None
    assert first[0] == "one"
    assert objects.write_if_match("ledger", "two", first[1]) is True
    assert objects.write_if_match("ledger", "three", first[1]) is False
    assert objects.read("ledger") == "two"


def the_create_if_absent_probe_leaves_nothing(objects: Objects) -> None:
    objects.write("keep", "x")
    prove_create_if_absent(objects)
    assert objects.list_tree("") == ["keep"]


BEHAVIOURS: tuple[Behaviour, ...] = (
    text_round_trips_and_is_replaced,
    a_missing_object_is_typed,
    create_if_absent_keeps_the_first_text,
    create_if_absent_has_one_winner,
    existence_covers_objects_and_prefixes,
    deletion_is_idempotent,
    a_listing_shows_direct_files_only,
    an_emptied_place_contains_nothing,
    a_listing_sees_the_latest_write,
    a_rename_replaces_the_target,
    a_copy_is_a_second_name_that_outlives_the_first,
    a_prefix_is_deleted_with_everything_below,
    stat_tells_the_size,
    names_may_contain_spaces_and_percent_signs,
    a_replacement_needs_the_version_it_was_made_from,
    the_create_if_absent_probe_leaves_nothing,
)
