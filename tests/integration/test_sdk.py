"""The embedded SDK as a whole: many threads, two processes, closed and read-only handles, and every plausible mistake."""

from __future__ import annotations

import io
import math
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, OmnigraphError
from omnigraph.storage.intent import sidecar
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.naive.observe import image_of

SCHEMA = "node Person { name: String @key  age: I32?  seen: DateTime? }\nedge Knows: Person -> Person { weight: F64? }"
INSERT = "query add($name: String, $age: I32?) { insert Person { name: $name, age: $age } }"
READ = "query all($name: String?) { match { $p: Person } return { $p.name as name } }"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "g.omni", SCHEMA)
    made.mutate('query q() { insert Person { name: "ana" } insert Knows { from: "ana", to: "ana" } }')
    made.branches.create("review")
    return made


def names(graph: og.Graph) -> set[str]:
    return set(image_of(graph.view())["node:Person"])


# --- several users of one graph ----------------------------------------------------------------------


def test_threads_share_a_handle_for_every_kind_of_work(graph: og.Graph) -> None:
    stop = threading.Event()

    def write(worker: int) -> None:
        for number in range(3):
            assert graph.mutate(INSERT, params={"name": f"w{worker}-{number}"}, branch="main").commit is not None

    def load() -> None:
        for number in range(3):
            graph.load([{"type": "Person", "data": {"name": f"l-{number}"}}], branch="review")

    def read() -> int:
        sizes = [0]
        while not stop.is_set():
            rows = graph.query(READ).rows()
            sizes.append(len(rows))
            assert len({row["name"] for row in rows}) == len(rows)
        assert sizes == sorted(sizes)  # a later read never shows less
        return len(sizes)

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        writers = [pool.submit(write, worker) for worker in range(3)] + [pool.submit(load)]
        for writer in writers:
            writer.result()
        stop.set()
        assert all(reader.result() > 1 for reader in readers)
    assert names(graph) == {"ana"} | {f"w{worker}-{number}" for worker in range(3) for number in range(3)}
    assert names(graph.branch("review")) == {"ana", "l-0", "l-1", "l-2"}
    assert violations(graph._core.store) == []


WRITER = """
import sys
import omnigraph as og
graph = og.open(sys.argv[1], actor=sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for number in range(5):
    graph.mutate('query q($n: String) { insert Person { name: $n } }', params={"n": f"{sys.argv[2]}-{number}"})
"""


def test_two_processes_write_through_the_sdk_at_once(graph: og.Graph) -> None:
    command = [sys.executable, "-c", WRITER, graph.uri]
    writers = [
        subprocess.Popen([*command, actor], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for actor in ("act-a", "act-b")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.communicate("go\n", timeout=300)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert names(graph) == {"ana"} | {f"act-{who}-{number}" for who in "ab" for number in range(5)}
    history = graph.commits.list()
    assert [c.parent_commit_id for c in history] == [*(c.graph_commit_id for c in history[1:]), None]
    assert {c.actor_id for c in history} == {None, "act-a", "act-b"}
    assert violations(graph._core.store) == []


# --- handles that may not ----------------------------------------------------------------------------

Verb = Callable[[og.Graph], Any]
READS: dict[str, Verb] = {
    "query": lambda g: g.query(READ),
    "explain": lambda g: g.explain(READ),
    "view": lambda g: g.view(),
    "snapshot": lambda g: g.snapshot(),
    "get": lambda g: g.get("Person", "ana"),
    "at": lambda g: g.at(version=1),
    "branch": lambda g: g.branch("review"),
    "diff": lambda g: g.diff("main", "review"),
    "export": lambda g: g.export(io.BytesIO()),
    "refresh": lambda g: g.refresh(),
    "sync": lambda g: g.sync("main"),
    "branches.list": lambda g: g.branches.list(),
    "commits.list": lambda g: g.commits.list(),
    "commits.head": lambda g: g.commits.head(),
    "commits.log": lambda g: g.commits.log(),
    "commits.blame": lambda g: g.commits.blame("Person", "ana"),
    "commits.history": lambda g: g.commits.history("Person", "ana"),
    "changes.poll": lambda g: g.changes.poll(start="beginning"),
    "tags.list": lambda g: g.tags.list(),
    "schema.source": lambda g: g.schema.source,
    "schema.plan": lambda g: g.schema.plan(SCHEMA),
}
WRITES: dict[str, Verb] = {
    "mutate": lambda g: g.mutate(INSERT, params={"name": "x"}),
    "load": lambda g: g.load([{"type": "Person", "data": {"name": "x"}}]),
    "branches.create": lambda g: g.branches.create("x"),
    "branches.delete": lambda g: g.branches.delete("review"),
    "branches.merge": lambda g: g.branches.merge("review"),
    "commits.revert": lambda g: g.commits.revert(str(g.commits.head())),
    "commits.cherry_pick": lambda g: g.commits.cherry_pick(str(g.commits.head()), branch="review"),
    "tags.create": lambda g: g.tags.create("x"),
    "tags.delete": lambda g: g.tags.delete("x"),
    "schema.apply": lambda g: g.schema.apply(SCHEMA + "\nnode Pet { name: String @key }"),
    "transaction": lambda g: g.transaction().__enter__(),
    "optimize": lambda g: g.optimize(),
    "ensure_indices": lambda g: g.ensure_indices(),
    "cleanup": lambda g: g.cleanup(keep=1, confirm=True),
    "repair": lambda g: g.repair(confirm=True),
}


def files(graph: og.Graph) -> dict[str, int]:
    place = Path(graph.uri)
    return {str(path.relative_to(place)): path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("verb", READS)
def test_a_read_only_handle_reads_without_a_single_write(graph: og.Graph, verb: str) -> None:
    before = files(graph)
    READS[verb](og.open(graph.uri, read_only=True))
    assert files(graph) == before


@pytest.mark.parametrize("verb", WRITES)
def test_a_read_only_handle_refuses_to_write(graph: og.Graph, verb: str) -> None:
    before = files(graph)
    with pytest.raises(BadRequest, match="read-only"):
        WRITES[verb](og.open(graph.uri, read_only=True))
    assert files(graph) == before


@pytest.mark.parametrize("verb", [*READS, *WRITES])
def test_a_closed_handle_refuses_everything(graph: og.Graph, verb: str) -> None:
    with og.open(graph.uri) as handle:
        assert handle.branch_name == "main"
    with pytest.raises(BadRequest, match="closed"):
        (READS | WRITES)[verb](handle)


def test_leaving_the_block_by_an_error_closes_the_handle_and_keeps_the_error(graph: og.Graph) -> None:
    handle = og.open(graph.uri)

    def fail_inside() -> None:
        with handle:
            handle.mutate(INSERT, params={"name": "kept"})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    with pytest.raises(BadRequest, match="closed"):
        handle.view()
    assert "kept" in names(graph)


# --- mistakes ----------------------------------------------------------------------------------------

ODD: list[Any] = [
    None, 0, -1, 1, 2**70, 1.5, math.nan, True, "", " ", "x", "../x", "main", "a\0b", "é" * 300, "\ud800", b"x",
    b"\xff", [], ["a"], [None], {}, {"a": 1}, {"name": object()}, (), object(), Exception, datetime(2020, 1, 1),
    date(2020, 1, 1), Path("nope"), pa.table({"name": ["z"]}), "01ARZ3NDEKTSV4RRFFQ69G5FAV", "review", int,
]  # fmt: skip
FRAME = pa.table({"name": ["frame"]})
MISTAKES: dict[str, Callable[[og.Graph, Any], Any]] = {
    "open": lambda g, odd: og.open(odd),
    "open.branch": lambda g, odd: og.open(g.uri, branch=odd),
    "open.read_only": lambda g, odd: og.open(g.uri, read_only=odd),
    "open.actor": lambda g, odd: og.open(g.uri, actor=odd).mutate(INSERT, params={"name": "by"}),
    "open.settings": lambda g, odd: og.open(g.uri, settings=odd),
    "init": lambda g, odd: og.init(odd, SCHEMA),
    "init.schema": lambda g, odd: og.init(f"{g.uri}-{id(odd)}", odd),
    "branch": lambda g, odd: g.branch(odd),
    "sync": lambda g, odd: og.open(g.uri).sync(odd),
    "branches.create": lambda g, odd: g.branches.create(odd),
    "branches.create.from": lambda g, odd: g.branches.create("made", odd),
    "branches.delete": lambda g, odd: g.branches.delete("x" if odd == "review" else odd),
    "branches.merge": lambda g, odd: g.branches.merge(odd),
    "branches.merge.into": lambda g, odd: g.branches.merge("review", into=odd),
    "branches.merge.strategy": lambda g, odd: g.branches.merge("review", strategy=odd),
    "branches.merge.resolve": lambda g, odd: g.branches.merge("review", resolve=odd),
    "commits.list": lambda g, odd: g.commits.list(odd),
    "commits.list.limit": lambda g, odd: g.commits.list(limit=odd),
    "commits.show": lambda g, odd: g.commits.show(odd),
    "commits.head": lambda g, odd: g.commits.head(odd),
    "commits.changes": lambda g, odd: g.commits.changes(odd),
    "commits.log": lambda g, odd: g.commits.log(limit=odd),
    "commits.blame": lambda g, odd: g.commits.blame("Person", odd),
    "commits.history": lambda g, odd: g.commits.history("Person", odd),
    "commits.history.limit": lambda g, odd: g.commits.history("Person", "ana", limit=odd),
    "commits.revert": lambda g, odd: g.commits.revert(odd),
    "at": lambda g, odd: g.at(odd),
    "at.version": lambda g, odd: g.at(version=odd),
    "at.time": lambda g, odd: g.at(time=odd),
    "get": lambda g, odd: g.get(odd, "ana"),
    "get.id": lambda g, odd: g.get("Person", odd),
    "get.at": lambda g, odd: g.get("Person", "ana", at=odd),
    "view": lambda g, odd: g.view(odd),
    "diff": lambda g, odd: g.diff(odd),
    "diff.after": lambda g, odd: g.diff("main", odd),
    "diff.types": lambda g, odd: g.diff("main", "review", types=odd),
    "query": lambda g, odd: g.query(odd),
    "query.name": lambda g, odd: g.query(READ, odd),
    "query.params": lambda g, odd: g.query(READ, params=odd),
    "query.param": lambda g, odd: g.query(READ, params={"name": odd}),
    "query.at": lambda g, odd: g.query(READ, at=odd),
    "query.runner": lambda g, odd: g.query(READ, runner=odd),
    "query.limits": lambda g, odd: g.query(READ, limits=odd),
    "query.cancel": lambda g, odd: g.query(READ, cancel=odd),
    "mutate": lambda g, odd: g.mutate(odd),
    "mutate.name": lambda g, odd: g.mutate(INSERT, odd, {"name": "m"}),
    "mutate.params": lambda g, odd: g.mutate(INSERT, params=odd),
    "mutate.param": lambda g, odd: g.mutate(INSERT, params={"name": odd}),
    "mutate.age": lambda g, odd: g.mutate(INSERT, params={"name": "m", "age": odd}),
    "mutate.branch": lambda g, odd: g.mutate(INSERT, params={"name": "m"}, branch=odd),
    "mutate.if_commit": lambda g, odd: g.mutate(INSERT, params={"name": "m"}, if_commit=odd),
    "load": lambda g, odd: g.load(odd, "merge"),
    "load.mode": lambda g, odd: g.load([], odd),
    "load.type": lambda g, odd: g.load(FRAME, "merge", type=odd),
    "load.frame": lambda g, odd: g.load(odd, "merge", type="Person"),
    "load.edge": lambda g, odd: g.load(FRAME, edge=odd),
    "load.columns": lambda g, odd: g.load(FRAME, "merge", type="Person", columns=odd),
    "load.column": lambda g, odd: g.load(FRAME, "merge", type="Person", columns={"name": odd}),
    "load.from": lambda g, odd: g.load([], branch="review", from_=odd),
    "load.runner": lambda g, odd: g.load([], runner=odd),
    "load.on_error": lambda g, odd: g.load([], on_error=odd),
    "load.max_errors": lambda g, odd: g.load([], on_error="skip", max_errors=odd),
    "load.progress": lambda g, odd: g.load([], progress=odd),
    "load.record": lambda g, odd: g.load([odd], "merge"),
    "load.data": lambda g, odd: g.load([{"type": "Person", "data": odd}], "merge"),
    "load.value": lambda g, odd: g.load([{"type": "Person", "data": {"name": "r", "age": odd}}], "merge"),
    "load.record.type": lambda g, odd: g.load([{"type": odd, "data": {}}]),
    "export": lambda g, odd: g.export(odd),
    "export.types": lambda g, odd: g.export(io.BytesIO(), odd),
    "schema.plan": lambda g, odd: g.schema.plan(odd),
    "schema.apply": lambda g, odd: g.schema.apply(odd),
    "tags.create": lambda g, odd: g.tags.create(odd),
    "tags.create.commit": lambda g, odd: g.tags.create("tagged", odd),
    "tags.show": lambda g, odd: g.tags.show(odd),
    "changes.poll": lambda g, odd: g.changes.poll(cursor=odd),
    "changes.poll.start": lambda g, odd: g.changes.poll(start=odd),
    "changes.baseline": lambda g, odd: g.changes.baseline(odd),
    "cleanup": lambda g, odd: g.cleanup(keep=odd),
}


@pytest.fixture(scope="module")
def sturdy(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    """One graph for all mistakes: none of them may leave it in a state that spoils the next."""
    made = og.init(tmp_path_factory.mktemp("sturdy") / "g.omni", SCHEMA)
    made.mutate(INSERT, params={"name": "ana"})
    made.branches.create("review")
    return made


@pytest.mark.parametrize("verb", MISTAKES)
def test_a_mistake_is_an_error_of_ours_and_harms_nothing(
    sturdy: og.Graph, verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some of the odd values are names of files
    for odd in ODD:
        try:
            MISTAKES[verb](sturdy, odd)
        except OmnigraphError as error:
            said = str(error).strip()
        except Exception as error:
            pytest.fail(f"{verb}({odd!r}) raised {error!r}")
        else:
            said = "it was accepted"
        assert said, f"{verb}({odd!r}) is refused without a word"
    assert sidecar.pending(sturdy._core.store.objects) == []
    assert sturdy.mutate(INSERT, params={"name": f"after {verb}"}).commit is not None


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda g: g.branch(3), "name must be text, not a value of type int"),
        (lambda g: g.commits.list(limit="5"), "limit must be an integer or None, not this text"),
        (lambda g: g.at(version=True), "version must be an integer or None, not a value of type bool"),
        (lambda g: g.query(READ, params=["x"]), "params must be a mapping or None, not this list"),
        (lambda g: g.export(3), "target must be text or a path or a binary file, not a value of type int"),
        (lambda g: g.export(io.BytesIO(), "Person"), "types must be a sequence of text, not this text"),
        (lambda g: og.open(g.uri, actor=7), "actor must be text or None, not a value of type int"),
        (lambda g: og.open(g.uri, actor="a\0b"), "actor must be text or None, not text that holds a NUL"),
        (lambda g: g.export("no/such/place/x.jsonl"), "cannot be written: No such file or directory"),
    ],
)
def test_the_message_names_the_argument_and_what_it_takes(sturdy: og.Graph, mistake: Verb, message: str) -> None:
    with pytest.raises(OmnigraphError) as caught:
        mistake(sturdy)
    assert message in str(caught.value)
