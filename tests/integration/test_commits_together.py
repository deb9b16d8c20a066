"""Writes that wait for one turn are published by one version of the manifest, and stay commits of their own."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.errors import OmnigraphError, PreconditionFailed
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.store import Store
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.note import RowCounts
from omnigraph.storage.protocol import fence, fold
from omnigraph.storage.protocol.trim import trim_manifest
from omnigraph.testing.crash.invariants import violations

SCHEMA = """
node Person { name: String @key  age: I64? }
node City { name: String @key }
node Counter { name: String @key  n: I64 }
"""
ADD = "query add($name: String, $age: I64) { insert Person { name: $name, age: $age } }"
AGE = "query grow($name: String, $age: I64) { update Person set { age: $age } where name = $name }"
FOUND = "query found($name: String) { insert City { name: $name } }"
COUNT = 'query tick() { update Counter set { n: n + 1 } where name = "all" }'
NAMES = "query names() { match { $p: Person } return { $p.name as name, $p.age as age } order { $p.name asc } }"
_OPTIMIZE = """
import sys
import omnigraph as og
with og.open(sys.argv[1]) as graph:
    graph.optimize()
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "graph", SCHEMA)
    made.load(
        [{"type": "Person", "data": {"name": "a", "age": 1}}, {"type": "Counter", "data": {"name": "all", "n": 0}}]
    )
    return made


def written_together(
    graph: og.Graph,
    *acts: Callable[[], object],
    branch: str | None = None,
    after_member: Callable[[], None] = lambda: None,
) -> list[object]:
    """What the acts return or raise, in threads that queue in this order while the first is about to publish."""
    turn = access(graph).store.gates.turn(branch)
    results: list[object] = [None] * len(acts)
    begun, queued = threading.Event(), threading.Event()

    def hold() -> None:
        if not begun.is_set():
            begun.set()
            assert queued.wait(60)

    def run(number: int) -> None:
        try:
            results[number] = acts[number]()
        except OmnigraphError as error:
            results[number] = error

    with failpoints.armed({"mutation.post_effects_pre_publish": hold, "together.post_member": after_member}):
        threads = [threading.Thread(target=run, args=(number,)) for number in range(len(acts))]
        threads[0].start()
        assert begun.wait(60)
        for number, thread in enumerate(threads[1:]):
            thread.start()
            while len(turn._waiting) <= number and thread.is_alive():
                time.sleep(0.001)
        queued.set()
        for thread in threads:
            thread.join()
    return results


def people(graph: og.Graph, at: object = None) -> dict[str, int]:
    found = graph.query(NAMES) if at is None else graph.query(NAMES, at=at)
    return {row["name"]: row["age"] for row in found.rows()}


def three(graph: og.Graph) -> list[og.GraphCommit]:
    """An insert, an update and an insert into another table, published together."""
    done = written_together(
        graph,
        lambda: graph.with_actor("ann").mutate(ADD, params={"name": "b", "age": 2}, message="b comes"),
        lambda: graph.with_actor("bob").mutate(AGE, params={"name": "a", "age": 10}, message="a grows"),
        lambda: graph.with_actor("cem").mutate(FOUND, params={"name": "rome"}),
    )
    commits = [each.commit for each in done]
    assert len({commit.manifest_version for commit in commits}) == 1
    return commits


def test_each_commit_keeps_its_parent_actor_message_and_counts(graph: og.Graph) -> None:
    before = graph.commits.list(limit=1)[0]
    first, second, third = three(graph)
    assert graph.commits.list(limit=4) == [third, second, first, before]
    assert [commit.parent_commit_id for commit in (first, second, third)] == [
        before.graph_commit_id,
        first.graph_commit_id,
        second.graph_commit_id,
    ]
    assert [(c.actor_id, c.message, c.query) for c in (first, second, third)] == [
        ("ann", "b comes", "add"),
        ("bob", "a grows", "grow"),
        ("cem", None, "found"),
    ]
    assert [c.counts for c in (first, second, third)] == [
        {"Person": RowCounts(inserted=1)},
        {"Person": RowCounts(updated=1)},
        {"City": RowCounts(inserted=1)},
    ]
    assert graph.commits.list(actor="bob") == [second]
    assert violations(access(graph).store) == []


def test_a_write_that_is_ready_while_others_are_carried_out_comes_along(graph: og.Graph) -> None:
    turn, late = access(graph).store.gates.turn(None), list[object]()
    thread = threading.Thread(target=lambda: late.append(graph.mutate(FOUND, params={"name": "rome"})))

    def starts_the_late_one() -> None:
        if not thread.ident:
            thread.start()
            while not turn._waiting:
                time.sleep(0.001)

    done = written_together(
        graph,
        lambda: graph.mutate(ADD, params={"name": "b", "age": 2}),
        lambda: graph.mutate(AGE, params={"name": "a", "age": 10}),
        after_member=starts_the_late_one,
    )
    thread.join(60)
    commits = [each.commit for each in (*done, *late)]
    assert len(commits) == 3
    assert len({commit.manifest_version for commit in commits}) == 1
    assert violations(access(graph).store) == []


def test_those_who_came_along_are_answered_before_the_files_are_folded(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered, after_commit = threading.Event(), fold.after_commit

    def folding(*arguments: Any) -> None:
        assert answered.wait(30)
        after_commit(*arguments)

    def along() -> object:
        done = graph.mutate(FOUND, params={"name": "rome"})
        answered.set()
        return done

    monkeypatch.setattr(fold, "after_commit", folding)
    first, second = written_together(graph, lambda: graph.mutate(ADD, params={"name": "b", "age": 2}), along)
    assert first.commit.manifest_version == second.commit.manifest_version
    assert violations(access(graph).store) == []


def test_each_is_built_on_the_open_table_that_the_one_before_it_left(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(name: str) -> Callable[[], object]:
        return lambda: graph.mutate(ADD, params={"name": name, "age": 2})

    searched, base = list[Address](), fence.base

    def searching(store: Store, state: ManifestState, address: Address, *pin: int, **options: Any) -> TableHandle:
        searched.append(address)
        return base(store, state, address, *pin, **options)

    monkeypatch.setattr(fence, "base", searching)
    done = written_together(graph, add("b"), add("c"), add("d"))
    assert len({each.commit.manifest_version for each in done}) == 1
    assert searched == []
    assert sorted(people(graph)) == ["a", "b", "c", "d"]


def test_a_version_that_another_process_has_left_is_built_on(graph: og.Graph) -> None:
    graph.mutate(ADD, params={"name": "b", "age": 2})  # its version is remembered as the newest one
    with subprocess.Popen([sys.executable, "-c", _OPTIMIZE, graph.uri]) as other:
        assert other.wait(60) == 0
    graph.mutate(ADD, params={"name": "c", "age": 3})
    assert sorted(people(graph)) == ["a", "b", "c"]
    assert violations(access(graph).store) == []


@pytest.mark.parametrize("trimmed", [False, True])
def test_the_past_differences_blame_and_feed_tell_them_apart(graph: og.Graph, trimmed: bool) -> None:
    before = graph.commits.list(limit=1)[0]
    first, second, third = three(graph)
    if trimmed:  # the state of their version is then rebuilt from a later one
        for number in range(3):
            graph.mutate(ADD, params={"name": f"later{number}", "age": 0})
        trim_manifest(access(graph).store.root.manifest(), keep=1)
        graph = og.open(graph.uri)
    assert people(graph, at=before) == {"a": 1}
    assert people(graph, at=first) == {"a": 1, "b": 2}
    assert people(graph, at=second.graph_commit_id) == people(graph, at=third) == {"a": 10, "b": 2}
    changes = [list(graph.diff(one, other)) for one, other in ((before, first), (first, second), (second, third))]
    assert [[(each.type_name, each.op) for each in found] for found in changes] == [
        [("Person", "insert")],
        [("Person", "update")],
        [("City", "insert")],
    ]
    assert graph.commits.blame("Person", "a")["age"].commit == second
    assert graph.commits.blame("Person", "b")["age"].commit == first
    assert graph.commits.blame("Person", "b", at=first)["age"].commit == first
    assert graph.commits.blame("Person", "a", at=first)["age"].commit != second


def test_a_tag_keeps_one_of_them_through_a_cleanup(graph: og.Graph) -> None:
    first, _, _ = three(graph)
    graph.tags.create("then", first)
    for number in range(4):
        graph.mutate(AGE, params={"name": "a", "age": 20 + number})
    graph.cleanup(keep=1, confirm=True)
    assert people(graph, at="then") == {"a": 1, "b": 2}
    assert graph.check().ok


def test_what_the_writes_before_affect_is_computed_in_a_turn_of_its_own(graph: og.Graph) -> None:
    done = written_together(graph, *[lambda: graph.mutate(COUNT) for _ in range(4)])
    assert graph.query("query q() { match { $c: Counter } return { $c.n as n } }").scalar() == 4
    assert len({each.commit.manifest_version for each in done}) == 4


def test_a_condition_on_the_head_is_never_published_behind_another(graph: og.Graph) -> None:
    head = graph.commits.list(limit=1)[0].graph_commit_id
    done = written_together(
        graph,
        lambda: graph.mutate(ADD, params={"name": "b", "age": 2}),
        lambda: graph.mutate(ADD, params={"name": "c", "age": 3}, if_commit=head),
        lambda: graph.mutate(ADD, params={"name": "d", "age": 4}),
    )
    assert isinstance(done[1], PreconditionFailed)
    assert people(graph) == {"a": 1, "b": 2, "d": 4}


def test_a_member_that_fails_is_computed_again_and_harms_nobody(graph: og.Graph) -> None:
    hits = []

    def fail_once() -> None:
        hits.append(1)
        if len(hits) == 1:
            raise og.errors.StorageError("lost", kind="Unknown")

    with failpoints.armed():
        done = []
        turn = access(graph).store.gates.turn(None)
        turn.acquire()
        acts = [
            lambda n=n: done.append(graph.mutate(ADD, params={"name": n, "age": 7}).commit) for n in ("b", "c", "d")
        ]
        threads = [threading.Thread(target=act) for act in acts]
        for number, thread in enumerate(threads):
            thread.start()
            while len(turn._waiting) <= number:
                time.sleep(0.001)
        with failpoints.armed({"together.post_member": fail_once}):
            turn.release()
            for thread in threads:
                thread.join()
    assert people(graph) == {"a": 1, "b": 7, "c": 7, "d": 7}
    assert len({commit.graph_commit_id for commit in done}) == 3
    assert violations(access(graph).store) == []


def test_on_a_branch_they_merge_like_any_others(graph: og.Graph) -> None:
    graph.branches.create("side")
    side = graph.branch("side")
    side.mutate(ADD, params={"name": "z", "age": 0})  # its table is its own from here on
    done = written_together(
        graph,
        *[lambda n=n: side.mutate(ADD, params={"name": n, "age": 5}) for n in ("b", "c", "d")],
        branch="side",
    )
    assert len({each.commit.manifest_version for each in done}) == 1
    graph.branches.merge("side")
    assert people(graph) == {"a": 1, "b": 5, "c": 5, "d": 5, "z": 0}
    assert graph.commits.blame("Person", "c")["age"].commit == done[1].commit


def test_the_setting_publishes_each_by_itself(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "alone", SCHEMA, settings=Settings(commits_together=1))
    graph.load([{"type": "Person", "data": {"name": "a", "age": 1}}])
    done = written_together(graph, *[lambda n=n: graph.mutate(ADD, params={"name": n, "age": 5}) for n in "bcd"])
    assert len({each.commit.manifest_version for each in done}) == 3


def test_a_clone_can_be_pushed_to_a_branch_that_begins_at_one_of_them(graph: og.Graph, tmp_path: Path) -> None:
    first, second, _ = three(graph)
    og.clone(graph.uri, tmp_path / "clone")
    graph.mutate(ADD, params={"name": "c", "age": 3})
    clone = og.open(tmp_path / "clone")
    assert people(clone, at=first) == {"a": 1, "b": 2}
    og.pull(clone.uri, graph.uri)
    assert people(clone) == people(graph)
    assert people(clone, at=second) == {"a": 10, "b": 2}
