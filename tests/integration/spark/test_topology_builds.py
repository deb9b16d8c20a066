"""Topologies that are built piece by piece are those that one build makes, whoever runs the pieces."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.read.columns import key_index_store
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.key_index import KeyPart
from omnigraph.engine.read.topology import files
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.read.topology.files import load_lists
from omnigraph.engine.read.topology.spread_lists import build_spread
from omnigraph.engine.read.topology.store import topology
from omnigraph.engine.read.topology.topology import Ends, Topology, build_topology
from omnigraph.pipeline.spark import lists
from omnigraph.pipeline.spark.lists import MappedLists, mapped_lists
from omnigraph.storage.base.derived import DERIVED_DIR

SCHEMA = """
node Person { handle: String @key }
node Place { name: String @key }
edge Knows: Person -> Person
edge Visits: Person -> Place
"""
AGAINST = 'query q() { match { $p: Person { handle: "p5" } $b knows $p } return { $b.handle } order { $b.handle } }'
PEOPLE, PLACES, EDGES = 3_000, 40, 110_000


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    """Two edge types, in several fragments, with parallel edges and loops, and with nodes and edges deleted."""
    made = og.init(tmp_path_factory.mktemp("topologies") / "graph", SCHEMA)
    people, places = _named("p", PEOPLE), _named("at", PLACES)
    made.load(pa.table({"handle": people}), type="Person", runner="inline")
    made.load(pa.table({"name": places}), type="Place", runner="inline")
    generator = np.random.default_rng(11)
    for _ in range(2):
        for edge, heads in (("Knows", people), ("Visits", places)):
            ends = [(people, PEOPLE), (heads, len(heads))]
            picked = [names.take(pa.array(generator.integers(0, count, EDGES // 2))) for names, count in ends]
            made.load(pa.table(dict(zip(("from", "to"), picked, strict=True))), edge=edge, runner="inline")
    made.mutate('query gone() { delete Person where handle = "p7" }')
    return made


def _named(letter: str, count: int) -> pa.Array:
    return pc.binary_join_element_wise(letter, pa.array(np.arange(count)).cast(pa.utf8()), "")


def _ends(graph: og.Graph, edge: str) -> Ends:
    view = graph.view()
    info = view.catalog.edges[edge]
    tails, heads = (Entities(view, view.catalog.nodes[name]) for name in (info.from_type, info.to_type))
    return Ends(Entities(view, info), tails, heads, keep=True)


def _same(one: Adjacency | None, other: Adjacency) -> None:
    assert one is not None
    for name in ("offsets", "neighbours", "edges"):
        left, right = getattr(one, name), getattr(other, name)
        assert left.dtype == right.dtype
        assert np.array_equal(left, right)
    assert np.array_equal(one.keys, other.keys)
    assert one.facts == other.facts


def _forgotten(graph: og.Graph) -> Topology:
    ends = _ends(graph, "Knows")
    for place in (Path(graph.uri) / DERIVED_DIR / "topology").rglob("*.npy"):
        place.unlink()
    assert load_lists(ends.place, "out") is None
    return build_topology(ends)


@pytest.mark.parametrize("edge", ["Knows", "Visits"])
def test_pieces_join_to_what_one_build_makes(graph: og.Graph, tmp_path: Path, edge: str) -> None:
    _forgotten(graph)
    ends = _ends(graph, edge)
    expected = build_topology(ends)
    build_spread(ends, lambda work, items: [work(item) for item in items], str(tmp_path), range_edges=9_000)
    _same(load_lists(ends.place, "out"), expected.out)
    _same(load_lists(ends.place, "in"), expected.lists("in"))


def test_tasks_find_the_key_index_of_an_earlier_version_with_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_index_store, "_WORTH_KEEPING", 10)
    monkeypatch.setattr(files, "WORTH_KEEPING", 10)
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        people = _named("p", 50)
        graph.load(pa.table({"handle": people}), type="Person", runner="inline")
        graph.load(pa.table({"from": people, "to": people.take(pa.array(np.arange(50)[::-1]))}), edge="Knows")
        key_index_store.keep_keys(_ends(graph, "Knows").tails)
        before = graph.view().entry(graph.view().catalog.nodes["Person"]).version
        graph.ensure_indices()
        assert graph.view().entry(graph.view().catalog.nodes["Person"]).version > before
        ends = _ends(graph, "Knows")
        expected = build_topology(ends)

        def made(*given: Any) -> KeyPart:
            pytest.fail("a task indexes the keys by itself")

        monkeypatch.setattr(KeyPart, "of", made)
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        build_spread(ends, lambda work, items: [work(item) for item in items], str(scratch), range_edges=20)
        _same(load_lists(ends.place, "out"), expected.out)


def test_indexing_on_spark_leaves_the_topologies_built(graph: og.Graph, spark: Any) -> None:
    expected = _forgotten(graph)
    graph.ensure_indices(runner="spark")
    _same(load_lists(_ends(graph, "Knows").place, "out"), expected.out)
    assert list((Path(graph.uri) / "__loads").glob("*")) == []


def test_a_large_load_leaves_its_topology_built(graph: og.Graph) -> None:
    _forgotten(graph)
    ends = [_named("p", PEOPLE).take(pa.array(np.arange(EDGES) % 1_000 + offset)) for offset in (10, 20)]
    graph.load(pa.table(dict(zip(("from", "to"), ends, strict=True))), edge="Knows", runner="inline")

    def build(ends: Ends) -> Topology:
        pytest.fail("the topology that the load left is not found")

    # It was made beside the indexes, for the version before theirs, whose rows are the same.
    with og.open(graph.uri, read_only=True) as reader:
        _same(topology(_ends(reader, "Knows"), build).out, build_topology(_ends(graph, "Knows")).out)


def test_tasks_map_the_lists_that_a_load_left_and_lay_what_changed_over_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        people = _named("p", PEOPLE)
        graph.load(pa.table({"handle": people}), type="Person", runner="inline")
        ends = [people.take(pa.array(np.arange(EDGES) * step % PEOPLE)) for step in (1, 7)]
        graph.load(pa.table(dict(zip(("from", "to"), ends, strict=True))), edge="Knows", runner="inline")
        graph.mutate('query more() { insert Person { handle: "unlinked" } }')

        def mapped() -> MappedLists | None:
            return mapped_lists(graph.view(), graph.view().catalog.edges["Knows"])

        left = mapped()
        assert left is not None
        assert left.place != _ends(graph, "Knows").place, "the commit of the indexes made another version"
        expected = build_topology(_ends(graph, "Knows"))
        _same(left.along(), expected.out)
        _same(left.against(), expected.lists("in"))
        graph.mutate('query more() { insert Knows { from: "p1", to: "unlinked" } }')
        graph.mutate('query less() { delete Person where handle = "p9" }')
        over = mapped()
        assert over is not None
        assert over.place == left.place
        now = build_topology(_ends(graph, "Knows"))
        for found, wanted in ((over.along(), now.out), (over.against(), now.lists("in"))):
            _tells(found, wanted)
            _tells(pickle.loads(pickle.dumps(over)).along(), now.out)
        with monkeypatch.context() as patch:
            patch.setattr(lists, "_MOST_SENT", 100)
            graph.mutate('query more() { insert Knows { from: "p2", to: "unlinked" } }')
            assert mapped() is None, "too much to send it to every task"
        access(graph).keep_lists(["edge:Knows"], None)
        again = mapped()
        assert again is not None
        _same(again.along(), build_topology(_ends(graph, "Knows")).out)


def _tells(found: Adjacency, wanted: Adjacency) -> None:
    """The same neighbours and edges, in shares, in ranges of rows and one by one."""
    taken = [found.entries(at, at + 10_000) for at in range(0, found.numbered, 10_000)]
    entries, owners = (np.concatenate(column) for column in zip(*taken, strict=True))
    triples = np.array([owners, found.neighbours_at(entries), found.edges_at(entries)])
    expected = np.array([wanted.owners, wanted.neighbours, wanted.edges])
    assert np.array_equal(triples[:, np.lexsort(triples)], expected[:, np.lexsort(expected)])
    for mine, theirs in ((found.within(5, 900), wanted.within(5, 900)), (found.linked(), wanted.linked())):
        pairs, others = np.array(mine), np.array(theirs)
        assert np.array_equal(pairs[:, np.lexsort(pairs)], others[:, np.lexsort(others)])


def test_a_reader_maps_the_lists_against_the_edges_as_well(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _forgotten(graph)
    expected = graph.query(AGAINST).rows()
    assert expected
    build_spread(_ends(graph, "Knows"), lambda work, items: [work(item) for item in items], str(tmp_path))

    def built(*given: Any, **more: Any) -> Adjacency:
        pytest.fail("lists are made that lie beside the graph")

    monkeypatch.setattr("omnigraph.engine.read.topology.topology.build", built)
    with og.open(graph.uri, read_only=True) as reader:
        assert reader.query(AGAINST).rows() == expected
        ends = _ends(reader, "Knows")
        assert len(topology(Ends(ends.edges, ends.tails, ends.heads)).lists("in")) == ends.edges.row_count
