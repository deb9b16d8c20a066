"""Who made a graph, its compactions and its indexes is on record, and what is not a graph is left alone (issue 13, 13)."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from subprocess import run

import pytest

import omnigraph as og
from omnigraph.cli.main import main
from omnigraph.errors import BadRequest, Conflict
from omnigraph.storage.protocol import audit

SCHEMA = "node T { k: String @key  n: I64? @index }"
RECORDS = [{"type": "T", "data": {"k": str(at), "n": at}} for at in range(40)]
# Leases so short that nobody waits for the writer that was killed.
SETTINGS = og.Settings(lease_ttl_ms=200)

KILLED = """
import sys
import omnigraph as og
from omnigraph.storage.base import failpoints

graph = og.open(sys.argv[1], actor="ann", settings=og.Settings(lease_ttl_ms=200))
with failpoints.armed(sys.argv[2] + "=kill"):
    graph.ensure_indices()
"""


def _actors(graph: og.Graph) -> list[str | None]:
    return [commit.actor_id for commit in graph.commits.list(maintenance=True)]


# --- actors --------------------------------------------------------------------------------------


def test_the_first_commit_carries_its_actor(tmp_path: Path) -> None:
    with og.init(tmp_path / "signed", SCHEMA, actor="ann") as graph:
        assert _actors(graph) == ["ann"]
    with og.init(tmp_path / "unsigned", SCHEMA) as graph:
        assert _actors(graph) == [None]


def test_builds_of_indexes_carry_their_actor(tmp_path: Path) -> None:
    with og.init(tmp_path / "graph", SCHEMA, actor="ann") as graph:
        graph.load(RECORDS)
    with og.open(tmp_path / "graph", actor="bob") as graph:
        graph.ensure_indices()
        assert _actors(graph) == ["bob", "ann", "ann"]


def test_compactions_carry_their_actor(tmp_path: Path) -> None:
    with og.init(tmp_path / "graph", SCHEMA, actor="ann") as graph:
        graph.load(RECORDS)
    with og.open(tmp_path / "graph", actor="bob") as graph:
        graph.optimize()
        assert _actors(graph) == ["bob", "ann", "ann"]


def test_the_command_line_signs_what_it_creates_and_compacts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.yaml").write_text("operator: {actor: ann}\n", encoding="utf-8")
    (tmp_path / "s.pg").write_text(SCHEMA, encoding="utf-8")
    place = str(tmp_path / "graph")
    assert main(["init", "--schema", str(tmp_path / "s.pg"), place]) == 0
    with og.open(place, actor="bob") as graph:
        graph.load(RECORDS)
    assert main(["optimize", place]) == 0
    with og.open(place) as graph:
        assert _actors(graph) == ["ann", "bob", "ann"]
    assert main(["init", "--as", "eve", "--schema", str(tmp_path / "s.pg"), str(tmp_path / "other")]) == 0
    with og.open(tmp_path / "other") as graph:
        assert _actors(graph) == ["eve"]


@pytest.mark.parametrize(
    ("point", "kind"), [("mutation.post_table_commit", "RolledForward"), ("publish.pre_commit", "RolledForward")]
)
def test_recovery_of_an_index_build_names_its_actor(tmp_path: Path, point: str, kind: str) -> None:
    with og.init(tmp_path / "graph", SCHEMA, actor="bob") as graph:
        graph.load(RECORDS)
    killed = run([sys.executable, "-c", KILLED, str(tmp_path / "graph"), point], check=False)
    assert killed.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 60
    while not (found := _recovered(tmp_path / "graph")):  # until the lease of the killed writer has run out
        assert time.monotonic() < deadline
    assert [(each.writer_kind, each.kind, each.actor) for each in found] == [("EnsureIndices", kind, "ann")]
    with og.open(tmp_path / "graph") as graph:
        assert _actors(graph) == ["ann", "bob", "bob"]


def _recovered(place: Path) -> list[audit.AuditRecord]:
    with og.open(place, settings=SETTINGS) as graph:
        return audit.records(graph._core.store.root)


# --- directories that are not ours ----------------------------------------------------------------


def _contents(place: Path) -> dict[str, bytes | None]:
    return {str(each.relative_to(place)): each.read_bytes() if each.is_file() else None for each in place.rglob("*")}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    "names",
    [["notes.txt"], [".git/config"], ["nodes/people.csv"], ["schema.pg", "mapping.yaml", "nodes/T.csv"], ["empty/"]],
    ids=lambda names: names[0],
)
def test_a_directory_of_something_else_is_refused_and_left_as_it_is(
    tmp_path: Path, names: list[str], force: bool
) -> None:
    place = tmp_path / "mine"
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).mkdir() if name.endswith("/") else (place / name).write_bytes(b"precious")
    before = _contents(place)
    with pytest.raises(
        Conflict, match=r"is not empty: it contains '.*'.*, which no graph has; create the graph in a new"
    ):
        og.init(place, SCHEMA, force=force)
    assert _contents(place) == before


def test_a_graph_is_still_refused_as_one(tmp_path: Path) -> None:
    og.init(tmp_path / "graph", SCHEMA).close()
    (tmp_path / "graph" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(og.errors.AlreadyInitialized):
        og.init(tmp_path / "graph", SCHEMA)


@pytest.mark.parametrize("name", [None, "lost+found", ".DS_Store"])
def test_an_empty_directory_is_taken(tmp_path: Path, name: str | None) -> None:
    place = tmp_path / "volume"
    place.mkdir()
    if name is not None:
        (place / name).mkdir()
    with og.init(place, SCHEMA) as graph:
        assert graph.load(RECORDS).total_entities == 40


def test_a_file_is_no_place_for_a_graph(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(BadRequest, match="is a file"):
        og.init(tmp_path / "file", SCHEMA)
