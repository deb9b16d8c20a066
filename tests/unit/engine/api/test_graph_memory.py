"""The memory of opened graphs: every cache draws on one budget, closing releases it, and none at all is enough."""

from __future__ import annotations

import gc
import pickle
import weakref
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.read.columns.held import COLUMNS
from omnigraph.errors import BadRequest
from omnigraph.memory.budget import PROCESS, MemoryBudget, worker_budget
from omnigraph.storage.base.layout import normalize_root
from omnigraph.testing.graphs.huts import RECORDS, SCHEMA

READS = {
    "scan": "query q() { match { $h: Hut $h.alt > 1000 } return { $h.code, $h.alt } order { $h.code } }",
    "key": 'query q() { match { $h: Hut { code: "h1" } } return { $h.name } }',
    "hops": "query q() { match { $h: Hut $h path{1,3} $o } return { $h.code, $o.code } order { $h.code, $o.code } }",
    "text": 'query q() { match { $h: Hut search($h.name, "alm") } return { $h.code } }',
    "rank": 'query q() { match { $h: Hut } return { $h.code } order { bm25($h.name, "alm") } limit 3 }',
    "count": "query q() { match { $h: Hut } return { count(*) as n } }",
}


def graph_at(place: Path, memory: int | str | None = None) -> og.Graph:
    graph = og.init(place, SCHEMA, settings=og.Settings(memory=memory))
    graph.load(RECORDS.strip().splitlines())
    return graph


def memory_of(graph: og.Graph) -> MemoryBudget:
    return graph._core.store.memory


def answers(graph: og.Graph) -> dict[str, list[dict[str, Any]]]:
    """Every read, and then what a branch, a write on it and a merge show."""
    found = {name: graph.query(text).rows() for name, text in READS.items()}
    graph.branches.create("side")
    graph.branch("side").mutate('query m() { insert Hut { code: "new" name: "alm" } }')
    graph.branches.merge("side")
    return found | {f"{name}, merged": graph.query(text).rows() for name, text in READS.items()}


def test_closing_a_graph_releases_all_it_kept(tmp_path: Path) -> None:
    graph = graph_at(tmp_path / "g")
    answers(graph)
    memory = memory_of(graph)
    held = [cache.get(key) for cache in memory.caches() for key in list(cache.keys())]
    watched = [weakref.ref(value) for value in held if type(value).__weakrefoffset__]
    usage = memory.usage()
    assert {"columns", "plans", "compiled queries", "manifests", "open tables", "lance"} <= usage.keys()
    assert 0 < memory.used <= memory.limit
    assert memory.used == sum(usage.values())
    graph.close()
    assert (memory.used, set(memory.usage().values())) == (0, {0})
    del held
    gc.collect()
    assert watched
    assert [value() for value in watched if value() is not None] == []


def test_a_graph_that_was_dropped_without_closing_keeps_nothing(tmp_path: Path) -> None:
    graph = graph_at(tmp_path / "g")
    answers(graph)
    memory = weakref.ref(memory_of(graph))
    del graph
    gc.collect()
    assert memory() is None


@pytest.mark.parametrize("memory", [0, 4_096, "64KiB", "1MiB"])
def test_a_graph_that_may_keep_little_or_nothing_gives_the_same_answers(tmp_path: Path, memory: int | str) -> None:
    expected = answers(graph_at(tmp_path / "default"))
    with graph_at(tmp_path / "small", memory) as small:
        assert answers(small) == expected
        kept = memory_of(small)
        assert kept.used - kept.library_bytes <= kept.limit


def test_two_graphs_have_two_budgets_and_one_does_not_close_the_other(tmp_path: Path) -> None:
    one, other = graph_at(tmp_path / "one"), og.open(tmp_path / "one")
    assert memory_of(one) is not memory_of(other)
    expected = one.query(READS["scan"]).rows()
    assert other.query(READS["scan"]).rows() == expected
    one.close()
    assert memory_of(other).used > 0
    assert other.query(READS["scan"]).rows() == expected
    with pytest.raises(BadRequest, match="closed"):
        one.query(READS["scan"])


def test_a_graph_makes_room_when_the_process_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Graphs that other tests of this process left to the garbage collector would count, with the limits they were given.
    monkeypatch.setattr(PROCESS, "_budgets", weakref.WeakSet())
    idle = graph_at(tmp_path / "idle")
    idle.query(READS["scan"])
    assert len(memory_of(idle).cache(COLUMNS))
    busy = graph_at(tmp_path / "busy")
    monkeypatch.setattr(PROCESS, "allowed", 2 * memory_of(busy).estimate)
    busy.query(READS["text"])
    assert PROCESS.estimate <= PROCESS.capacity
    assert not len(memory_of(idle).cache(COLUMNS))


def test_memory_comes_from_the_environment_unless_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    og.init(tmp_path / "g", SCHEMA).close()
    monkeypatch.setenv("OMNIGRAPH_MEMORY", "3MiB")
    with og.open(tmp_path / "g") as graph:
        assert memory_of(graph).limit == 3 << 20
    with og.open(tmp_path / "g", settings=og.Settings(memory="5MiB")) as graph:
        assert memory_of(graph).limit == 5 << 20
    monkeypatch.setenv("OMNIGRAPH_MEMORY", "plenty")
    with pytest.raises(BadRequest, match="OMNIGRAPH_MEMORY must be a number of bytes or a size such as 512MiB or 2GiB"):
        og.open(tmp_path / "g")


@pytest.mark.parametrize("memory", ["plenty", -1, "-1"])
def test_a_size_that_is_none_is_refused_where_it_is_given(memory: int | str) -> None:
    with pytest.raises(BadRequest, match="memory must be a number of bytes"):
        og.Settings(memory=memory)


def test_another_process_gets_a_budget_of_its_own_with_the_graph(tmp_path: Path) -> None:
    graph = graph_at(tmp_path / "g")
    received = pickle.loads(pickle.dumps(graph._core.store.root))
    assert received == graph._core.store.root == normalize_root(tmp_path / "g")
    assert received.memory is worker_budget()
