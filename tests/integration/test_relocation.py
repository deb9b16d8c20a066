"""A graph with branches is moved, copied and mounted elsewhere: every branch, merge, tag and commit goes with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.testing.crash.invariants import violations
from relocation_trial import NAMES, add, build, compact_branches, heads, observed, opened, thin_out, work


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    place = tmp_path / "origin" / "g.omni"
    build(str(place)).close()
    return place


def test_a_moved_graph_shows_everything_and_takes_all_work(origin: Path, tmp_path: Path) -> None:
    before = observed(opened(str(origin)))
    place = tmp_path / "another place #1 100%" / "h.omni"
    place.parent.mkdir()
    origin.rename(place)
    assert observed(opened(str(place), read_only=True)) == before
    _works(place)
    assert not origin.exists()


@pytest.mark.slow
def test_a_graph_is_moved_again_and_back(origin: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.omni"
    for word, (source, target) in {"there": (origin, other), "back": (other, origin)}.items():
        source.rename(target)
        work(opened(str(target)), word)
    shown = observed(opened(str(origin)))
    origin.rename(other)
    assert observed(opened(str(other), read_only=True)) == shown


@pytest.mark.parametrize(
    "command",
    [pytest.param(["cp", "-r"], id="cp -r"), pytest.param(["cp", "-a"], id="cp -a", marks=pytest.mark.slow)],
)
def test_a_copy_reads_and_writes_its_own_files_only(origin: Path, tmp_path: Path, command: list[str]) -> None:
    before = observed(opened(str(origin)))
    place = tmp_path / "copy.omni"
    subprocess.run([*command, origin, place], check=True)
    hidden = origin.with_name("hidden")
    origin.rename(hidden)
    assert observed(opened(str(place), read_only=True)) == before
    _works(place)
    hidden.rename(origin)
    assert observed(opened(str(origin), read_only=True)) == before


@pytest.mark.slow
def test_both_sides_go_their_own_ways(origin: Path, tmp_path: Path) -> None:
    place = tmp_path / "copy.omni"
    shutil.copytree(origin, place)
    sides = {"left": origin, "right": place}
    for word, side in sides.items():
        work(opened(str(side)), word)
    shown = {word: heads(opened(str(side))) for word, side in sides.items()}
    assert shown["left"]["main"] != shown["right"]["main"]
    thin_out(opened(str(origin)))
    assert heads(opened(str(place))) == shown["right"]
    thin_out(opened(str(place)))
    for word, side in sides.items():
        shown[word].pop("idle")
        assert heads(opened(str(side))) == shown[word]
    shutil.rmtree(origin)
    assert heads(opened(str(place))) == shown["right"]
    opened(str(place)).branches.create("idle")
    _works(place, word="alone")


def test_a_graph_on_a_disk_that_cannot_be_written_is_read_anywhere(origin: Path, tmp_path: Path) -> None:
    before = observed(opened(str(origin)))
    place = tmp_path / "copy.omni"
    shutil.copytree(origin, place)
    shutil.rmtree(origin)
    files = _files(place)
    assert observed(opened(str(place), read_only=True)) == before
    assert _files(place) == files


@pytest.mark.slow
def test_two_names_of_one_graph_are_used_in_turn(origin: Path, tmp_path: Path) -> None:
    """As two hosts do that mount one file system at different places: each goes on where the other stopped."""
    mount = tmp_path / "mount"
    mount.symlink_to(origin.parent, target_is_directory=True)
    places = [str(origin), str(mount / origin.name)]
    graphs = [opened(place) for place in places]
    for number in range(6):
        for name in ("main", *NAMES):
            add(graphs[number % 2].branch(name), f"turn-{number}", 600 + number)
    for place in places:
        graph = opened(place)
        for name in ("main", *NAMES):
            assert {f"turn-{number}" for number in range(6)} <= heads(graph)[name]["rows"]["node:Doc"].keys()
    work(graphs[1], "linked")
    shown = heads(graphs[0])
    thin_out(graphs[0])
    shown.pop("idle")
    assert heads(opened(places[1])) == shown


_WRITER = """
import sys
import omnigraph as og
branch = og.open(sys.argv[1]).branch("review")
print("ready", flush=True)
sys.stdin.readline()
for number in range(8):
    branch.mutate('query q($n: String) { insert Doc { name: $n } }', params={"n": f"{sys.argv[2]}-{number}"})
"""


@pytest.mark.slow
def test_two_names_of_one_graph_are_written_to_at_once(origin: Path, tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    mount.symlink_to(origin.parent, target_is_directory=True)
    places = {"a": str(origin), "b": str(mount / origin.name)}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, place, who], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for who, place in places.items()
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=120)
    assert [writer.returncode for writer in writers] == [0, 0]
    for place in places.values():
        graph = opened(place)
        found = heads(graph)["review"]["rows"]["node:Doc"]
        assert {f"{who}-{number}" for who in places for number in range(8)} <= found.keys()
        assert violations(graph._core.store) == []


def test_cleanup_of_a_fresh_copy_frees_what_it_says(origin: Path, tmp_path: Path) -> None:
    """The files of a copy are younger than the versions they belong to."""
    graph = opened(str(origin))
    for body in (os.urandom(500_000).hex(), "short"):
        graph.mutate("query q($b: String) { update Doc set { body: $b } where age >= 0 }", params={"b": body})
    graph.optimize()
    place = tmp_path / "copy.omni"
    subprocess.run(["cp", "-r", origin, place], check=True)
    for branch in ("team/deep", *(name for name in NAMES if name != "team/deep")):
        for side in (origin, place):
            opened(str(side)).branches.delete(branch)
    for side in (origin, place):
        assert _size(side) > 1_000_000
        opened(str(side)).cleanup(keep=1, confirm=True)
        assert _size(side) < 500_000


def _works(place: Path, word: str = "moved") -> None:
    """All work succeeds there, cleanup included, and no branch loses anything by it."""
    work(opened(str(place)), word)
    compact_branches(opened(str(place)))
    graph = opened(str(place))
    shown = heads(graph)
    if "idle" in shown:
        thin_out(graph)
        shown.pop("idle")
    assert heads(opened(str(place))) == shown
    assert violations(opened(str(place))._core.store) == []


def _files(place: Path) -> dict[str, tuple[int, int]]:
    return {
        os.path.join(folder, name): ((found := os.stat(os.path.join(folder, name))).st_size, found.st_mtime_ns)
        for folder, _, names in os.walk(place)
        for name in names
    }


def _size(place: Path) -> int:
    return sum(size for size, _ in _files(place).values())
