"""A topology is the same whether it is built, advanced from an older version, or mapped from disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.read.execute import match
from omnigraph.engine.read.frames.budget import Budget
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.match.expand import Steps
from omnigraph.engine.read.match.leaves import frame_leaf
from omnigraph.engine.read.topology import edge_lookup
from omnigraph.engine.read.topology import files as files_module
from omnigraph.engine.read.topology import store as topologies_module
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.read.topology.advance import Origin, advance
from omnigraph.engine.read.topology.edge_lookup import edges_at
from omnigraph.engine.read.topology.membership import are_neighbours
from omnigraph.engine.read.topology.store import cached_topology, ready_topology, topology
from omnigraph.engine.read.topology.topology import DIRECTIONS, Ends, build_both, build_topology
from omnigraph.engine.values.predicate import Bindings
from omnigraph.storage.lance.tables import TableHandle

SCHEMA = "node A { k: String @key  n: I32? }\nnode B { k: String @key }\nedge E: A -> A { w: I32? }\nedge F: A -> B { }"


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[og.Graph]:
    # Every table counts as large, so that keeping and advancing happen.
    monkeypatch.setattr(files_module, "WORTH_KEEPING", 0)
    monkeypatch.setattr(topologies_module, "WORTH_KEEPING", 0)
    made = og.init(tmp_path / "graph.omni", schema=SCHEMA)
    nodes = [f'{{"type":"A","data":{{"k":"a{number}"}}}}' for number in range(6)]
    edges = [("a0", "a1"), ("a0", "a1"), ("a1", "a2"), ("a2", "a0"), ("a3", "a3"), ("a4", "a0"), ("a1", "a0")]
    lines = [
        f'{{"edge":"E","from":"{source}","to":"{target}","data":{{"id":"e{number}"}}}}'
        for number, (source, target) in enumerate(edges)
    ]
    made.load([*nodes, '{"type":"B","data":{"k":"b"}}', *lines, '{"edge":"F","from":"a1","to":"b"}'])
    yield made
    made.close()


def ends_of(graph: og.Graph, edge: str = "E", *, keep: bool = True) -> Ends:
    run = Run(graph.view(), Bindings({}, None), Budget(), frame_leaf, match)  # type: ignore[arg-type]
    head = "node:A" if edge == "E" else "node:B"
    return Ends(run.entities(f"edge:{edge}"), run.entities("node:A"), run.entities(head), keep)


def content(lists: Adjacency) -> list[tuple[int, ...]]:
    columns = (lists.owners, lists.neighbours, lists.edges)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def assert_answers_alike(found: Adjacency, expected: Adjacency) -> None:
    """The same from the same questions, whatever the lists look like inside."""
    rows = np.arange(12)
    assert len(found) == len(expected)
    assert [part.tolist() for part in found.expand(rows)] == [part.tolist() for part in expected.expand(rows)]
    assert [part.tolist() for part in found.step(rows[::-1])] == [part.tolist() for part in expected.step(rows[::-1])]
    near, far = np.repeat(rows, len(rows)), np.tile(rows, len(rows))
    assert are_neighbours(found, near, far).tolist() == are_neighbours(expected, near, far).tolist()
    between = zip(found.edges_between(near, far), expected.edges_between(near, far), strict=True)
    assert all(one.tolist() == other.tolist() for one, other in between)


CHANGES = {
    "an edge comes": 'insert E { from: "a5" to: "a0" }',
    "a parallel edge and a loop come": 'insert E { from: "a0" to: "a1" } insert E { from: "a0" to: "a0" }',
    "edges go": 'delete E where from = "a0"',
    "an edge property changes": 'update E set { w: 7 } where from = "a1"',
    "a node property changes": 'update A set { n: 7 } where k = "a1"',
    "a node comes with an edge": 'insert A { k: "new" } insert E { from: "new" to: "a2" }',
    "a node goes with its edges": 'delete A where k = "a0"',
    "an unrelated node comes": 'insert A { k: "new" }',
}


@pytest.mark.parametrize("fold_at", [0.0, 10.0], ids=["folded", "laid over"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_advanced_topology_equals_a_built_one(
    graph: og.Graph, change: str, fold_at: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.engine.read.topology.advance._MOST_CHANGED", 1.0)
    monkeypatch.setattr("omnigraph.engine.read.topology.advance._FOLD_AT", fold_at)
    before = ends_of(graph)
    older = topology(before)
    for direction in DIRECTIONS:
        older.lists(direction)
    graph.mutate(f"query m() {{ {change} }}")
    after = ends_of(graph)
    advanced = advance(older, Origin.of(before), after)
    assert advanced is not None
    built = build_topology(after)
    assert advanced.span >= built.span
    for direction in DIRECTIONS:
        found, expected = advanced.lists(direction), built.lists(direction)
        assert content(found) == content(expected)
        assert_answers_alike(found, expected)
        assert_answers_alike(found.simple, expected.simple)


def test_an_edge_that_is_loaded_again_with_other_ends_moves(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.engine.read.topology.advance._MOST_CHANGED", 1.0)
    before = ends_of(graph)
    older = topology(before)
    older.lists("in")
    graph.load(['{"edge":"E","from":"a0","to":"a1","data":{"id":"e4"}}'], mode="merge")
    after = ends_of(graph)
    advanced = advance(older, Origin.of(before), after)
    assert advanced is not None
    for direction in ("out", "in"):
        assert content(advanced.lists(direction)) == content(build_topology(after).lists(direction))


@pytest.mark.parametrize("mode", ["nodes", "edges"])
def test_a_replaced_table_is_never_advanced_over(graph: og.Graph, mode: str) -> None:
    before = ends_of(graph)
    older = topology(before)
    nodes = [f'{{"type":"A","data":{{"k":"a{number}"}}}}' for number in reversed(range(6))]
    edges = [f'{{"edge":"E","from":"a{n}","to":"a0","data":{{"id":"e{n}"}}}}' for n in range(6)]
    graph.load(nodes if mode == "nodes" else edges, mode="overwrite")
    after = ends_of(graph)
    assert advance(older, Origin.of(before), after) is None
    assert content(topology(after).out) == content(build_topology(after).out)


def test_a_topology_of_another_branch_is_not_taken_for_this_one(graph: og.Graph) -> None:
    before = ends_of(graph)
    older = topology(before)
    graph.branches.create("side")
    side = graph.branch("side")
    assert ends_of(side).key == before.key
    side.mutate('query m() { insert E { from: "a5" to: "a4" } }')
    assert advance(older, Origin.of(before), ends_of(side)) is None


def test_a_fresh_process_maps_what_was_kept(graph: og.Graph) -> None:
    ends = ends_of(graph)
    built = topology(ends)
    expected = {direction: content(built.lists(direction)) for direction in DIRECTIONS}
    graph._core.store.memory.clear()
    mapped = cached_topology(ends_of(graph))
    assert mapped is not None
    assert isinstance(mapped.out.neighbours.base, np.memmap)
    assert {direction: content(lists) for direction, lists in mapped.known().items()} == expected


def test_a_fresh_process_advances_from_what_was_kept(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.engine.read.topology.advance._MOST_CHANGED", 1.0)
    topology(ends_of(graph))
    graph.mutate('query m() { insert E { from: "a5" to: "a0" } }')
    graph._core.store.memory.clear()
    monkeypatch.setattr(topologies_module, "build_topology", lambda ends: pytest.fail("built from scratch"))
    after = ends_of(graph)
    assert content(topology(after).out) == content(build_topology(after).out)


@pytest.mark.parametrize("damage", ["missing", "cut", "noise"])
def test_damaged_files_are_built_anew_and_change_no_answer(graph: og.Graph, damage: str) -> None:
    ends = ends_of(graph)
    expected = content(topology(ends).out)
    graph._core.store.memory.clear()
    (victim,) = (Path(graph.uri) / "__derived").rglob("*.out/neighbours.npy")
    if damage == "missing":
        victim.unlink()
    elif damage == "cut":
        victim.write_bytes(victim.read_bytes()[:-4])
    else:
        victim.write_bytes(b"noise")
    assert cached_topology(ends_of(graph)) is None
    assert content(topology(ends_of(graph)).out) == expected


def test_a_read_only_graph_keeps_nothing(graph: og.Graph) -> None:
    reader = og.open(graph.uri, read_only=True)
    assert reader.query("query q() { match { $a: A $a e $b } return { count(*) as n } }").scalar() == 6
    assert not (Path(graph.uri) / "__derived").exists()


def test_only_a_few_versions_are_kept_per_table(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.engine.read.topology.advance._MOST_CHANGED", -1.0)
    for _ in range(6):
        graph.mutate('query m() { insert E { from: "a5" to: "a0" } }')
        topology(ends_of(graph))
    kept = list((Path(graph.uri) / "__derived").rglob("*.out"))
    assert len(kept) <= files_module.KEPT_PER_TABLE


@pytest.mark.parametrize("deleted", [False, True], ids=["all rows in place", "gaps between row ids"])
@pytest.mark.parametrize("many", [1, 1 << 30], ids=["short ids as numbers", "ids as texts"])
def test_lists_made_beside_each_other_are_those_made_one_after_the_other(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch, deleted: bool, many: int
) -> None:
    monkeypatch.setattr("omnigraph.engine.read.topology.topology._MANY_ENDS", many)
    if deleted:
        graph.mutate('query m() { delete A where k = "a0" }')
    for edge in ("E", "F"):
        both, one = build_both(ends_of(graph, edge)), build_topology(ends_of(graph, edge))
        for direction in DIRECTIONS:
            assert content(both.lists(direction)) == content(one.lists(direction))


@pytest.mark.parametrize("long", ["no id", "a node", "an end of an edge", "an end far on", "a node of the other type"])
def test_edges_are_read_piece_by_piece_where_all_ids_are_short(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch, long: str
) -> None:
    edge = "F" if long.endswith("type") else "E"
    key = "b: longer than eight bytes" if edge == "F" else "a: longer than eight bytes"
    if long != "no id":
        graph.mutate(f'query m() {{ insert {"B" if edge == "F" else "A"} {{ k: "{key}" }} }}')
    if long.startswith("an end"):
        graph.mutate(f'query m() {{ insert E {{ from: "a1" to: "{key}" }} insert E {{ from: "a2" to: "a1" }} }}')
    expected = content(build_topology(ends_of(graph, edge)).out)
    monkeypatch.setattr("omnigraph.engine.read.topology.topology._MANY_ENDS", 1)
    monkeypatch.setattr("omnigraph.engine.read.topology.topology._READ_ROWS", 8 if long == "an end far on" else 2)
    whole: list[bool] = []
    scan = TableHandle.scan

    def watched(handle: TableHandle, columns: Any = None, *args: Any, **options: Any) -> pa.Table:
        whole.append("src" in (columns or ()))
        return scan(handle, columns, *args, **options)

    monkeypatch.setattr(TableHandle, "scan", watched)
    assert content(build_topology(ends_of(graph, edge)).out) == expected
    assert any(whole) == (long != "no id")


def test_edges_between_two_node_types_use_the_row_ids_of_each(graph: og.Graph) -> None:
    out = topology(ends_of(graph, "F")).out
    assert content(out) == [(1, 0, 0)]


def test_look_ups_and_topology_give_the_same_lists(graph: og.Graph) -> None:
    from omnigraph.compiler.ir.link import Link

    run = Run(graph.view(), Bindings({}, None), Budget(), frame_leaf, match)  # type: ignore[arg-type]
    rows = np.arange(6)
    for direction in DIRECTIONS:
        found = []
        for mode in ("csr", "indexed"):
            run.traversal = mode
            steps = Steps(run, Link("E", "x", "y", "A", "A"), direction)
            found.append([column.tolist() for column in steps.around(rows).expand(rows)])
        assert found[0] == found[1]


def test_repeated_look_ups_end_in_a_topology(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    from omnigraph.compiler.ir.link import Link

    monkeypatch.setattr("omnigraph.engine.read.match.expand.SMALL_EDGE_TABLE", 0)
    run = Run(graph.view(), Bindings({}, None), Budget(), frame_leaf, match)  # type: ignore[arg-type]
    steps = Steps(run, Link("E", "x", "y", "A", "A"), "out")
    assert len(steps.around(np.array([1]))) == 2
    assert cached_topology(steps._ends) is None
    assert len(steps.around(np.array([1]))) == 7
    assert cached_topology(steps._ends) is not None


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_edges_are_found_by_their_ends_through_an_advanced_topology(
    graph: og.Graph, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    topology(ends_of(graph))
    graph.mutate(f"query m() {{ {change} }}")
    view = graph.view()
    edge = view.catalog.edges["E"]
    scanned = view.table(edge).scan(["id", "src", "dst"]).to_pylist()
    ready = ready_topology(ends_of(graph))
    monkeypatch.setattr(edge_lookup, "ready_topology", lambda ends: ready)
    if ready is not None:  # a fifth of the edges has changed otherwise, and the columns are looked at
        monkeypatch.setattr(TableHandle, "take_ids", None)
    for end in ("src", "dst"):
        for ids in (["a0"], ["a1", "a3", "gone"], ["a5", "new"], []):
            found = edges_at(view, edge, end, pa.array(ids, pa.utf8()), ["id", "src", "dst"])
            expected = [row for row in scanned if row[end] in ids]
            assert sorted(found.to_pylist(), key=str) == sorted(expected, key=str)


def test_edges_are_found_by_their_ends_without_a_topology(graph: og.Graph) -> None:
    view = graph.view()
    found = edges_at(view, view.catalog.edges["E"], "dst", pa.array(["a0"]), ["id"])
    assert sorted(found["id"].to_pylist()) == ["e3", "e5", "e6"]
    assert cached_topology(ends_of(graph)) is None
