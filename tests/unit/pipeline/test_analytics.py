"""Algorithms over the whole graph, in memory: against plain versions of themselves, and written back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.errors import BadRequest, NotFound
from omnigraph.pipeline.analytics import kernels
from omnigraph.pipeline.analytics.kernels import Pairs, Teleport
from omnigraph.testing.naive import analytics as naive
from tests.thoroughness import examples

SCHEMA = """
node Person { name: String @key  rank: F64?  group: I64?  hops: U32?  note: String? }
node Team { title: String @key }
edge Knows: Person -> Person { weight: F64? }
edge In: Person -> Team
edge Same: Person -> Person
edge Reaches: Person -> Person { hops: I64 }
"""
KNOWS = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "f"), ("g", "g")]
PEOPLE = "abcdefgh"


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[og.Graph]:
    with og.init(tmp_path / "g.omni", SCHEMA) as opened:
        people = [{"type": "Person", "data": {"name": name, "note": name}} for name in PEOPLE]
        knows = [{"edge": "Knows", "from": one, "to": two, "data": {"weight": 1.0}} for one, two in KNOWS]
        teams = [{"type": "Team", "data": {"title": "t"}}, {"edge": "In", "from": "h", "to": "t"}]
        opened.load([*people, *knows, *teams])
        yield opened


def by_id(values: object) -> dict[str, object]:
    return {row["id"]: row[values.column] for row in values}  # type: ignore[attr-defined]


@st.composite
def networks(draw: st.DrawFn) -> tuple[int, naive.Edges]:
    count = draw(st.integers(1, 9))
    node = st.integers(0, count - 1)
    return count, draw(st.lists(st.tuples(node, node), max_size=24))


def pairs(count: int, edges: naive.Edges) -> Pairs:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    return Pairs(count, ends[:, 0].copy(), ends[:, 1].copy())


@given(networks())
@settings(max_examples=examples(150))
def test_every_kernel_agrees_with_its_plain_version(network: tuple[int, naive.Edges]) -> None:
    count, edges = network
    arrays = pairs(count, edges)
    ranks, _ = kernels.pagerank(arrays, Teleport(tolerance=1e-12, iterations=300))
    assert np.allclose(ranks, naive.naive_pagerank(count, edges), atol=1e-9)
    assert naive.numbered(kernels.components(arrays).tolist()) == naive.naive_components(count, edges)
    assert naive.numbered(kernels.label_propagation(arrays, 4)[0].tolist()) == naive.naive_labels(count, edges, 4)
    assert kernels.triangles(arrays).tolist() == naive.naive_triangles(count, edges)
    hops = [None if hop < 0 else hop for hop in kernels.distances(arrays, np.array([0]), None).tolist()]
    assert hops == naive.naive_distances(count, edges, [0])


def test_components_take_few_rounds_on_a_long_path() -> None:
    order = np.random.default_rng(3).permutation(20_000)
    path = Pairs(20_000, order[:-1], order[1:])
    assert not kernels.components(path).any()


def test_triangles_are_counted_in_pieces_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = np.random.default_rng(5).integers(0, 40, (2, 400))
    network = Pairs(40, ends[0], ends[1])
    whole = kernels.triangles(network)
    monkeypatch.setattr(kernels, "_WEDGES", 7)
    assert kernels.triangles(network).tolist() == whole.tolist()


def test_hand_computed_values(graph: og.Graph) -> None:
    found = graph.analytics
    components = found.components("Knows")
    assert components.runner == "inline"
    assert by_id(components) == {"a": 0, "b": 0, "c": 0, "d": 0, "e": 1, "f": 1, "g": 2, "h": 3}
    assert by_id(found.triangles("Knows")) == dict.fromkeys("abc", 1) | dict.fromkeys("defgh", 0)
    assert by_id(found.degree("Knows")) == {"a": 2, "b": 2, "c": 3, "d": 1, "e": 1, "f": 1, "g": 2, "h": 0}
    assert by_id(found.degree("Knows", direction="in"))["c"] == 1
    reached = {"a": 0, "b": 1, "c": 2, "d": 3} | dict.fromkeys("efgh")
    assert by_id(found.distances("a", "Knows")) == reached
    assert by_id(found.distances("a", "Knows", depth=1))["c"] is None
    assert by_id(found.distances(["d", "f"], "Knows", direction="in"))["e"] == 1
    assert [row["id"] for row in found.degree("Knows").top(2)] == ["c", "a"]


def test_several_edge_types_link_several_node_types(graph: og.Graph) -> None:
    found = graph.analytics.components(["Knows", "In"]).to_arrow()
    assert found.column_names == ["type", "id", "component"]
    assert found.num_rows == len(PEOPLE) + 1
    team = found.filter(pa.compute.equal(found["type"], "Team")).to_pylist()
    assert team == [{"type": "Team", "id": "t", "component": 3}]
    hops = graph.analytics.distances("h", ["Knows", "In"], source_type="Person")
    assert hops.to_arrow().filter(pa.compute.equal(found["type"], "Team"))["distance"].to_pylist() == [1]


def test_weights_make_some_edges_likelier(graph: og.Graph) -> None:
    even = by_id(graph.analytics.pagerank("Knows", weight="weight"))
    assert even == pytest.approx(by_id(graph.analytics.pagerank("Knows")))
    graph.mutate('query w() { update Knows set { weight: 9.0 } where to = "d" }')
    skewed = by_id(graph.analytics.pagerank("Knows", weight="weight"))
    assert skewed["d"] > even["d"]  # type: ignore[operator]
    assert sum(skewed.values()) == pytest.approx(1)  # type: ignore[call-overload]


def test_values_are_written_to_a_property_in_one_commit_and_nothing_else_changes(graph: og.Graph) -> None:
    before = len(graph.commits.list())
    ranks = graph.analytics.pagerank("Knows", write_to="Person.rank", message="who matters")
    assert ranks.commit is not None
    assert (ranks.commit.kind, ranks.commit.message) == ("load", "who matters")
    assert ranks.commit.counts["Person"].updated == len(ranks)
    assert len(graph.commits.list()) == before + 1
    person = graph.get("Person", "c")
    assert person is not None
    assert (person["rank"], person["note"]) == (by_id(ranks)["c"], "c")
    again = graph.analytics.pagerank("Knows", write_to="Person.rank")
    assert again.commit is None, "values that are there already are not written again"


def test_values_go_to_the_branch_that_is_named(graph: og.Graph) -> None:
    graph.branches.create("scores")
    done = graph.analytics.degree("Knows", write_to="Person.group", branch="scores")
    assert done.commit is not None
    assert graph.branch("scores").get("Person", "c")["group"] == 3  # type: ignore[index]
    assert graph.get("Person", "c")["group"] is None  # type: ignore[index]


def test_a_distance_that_is_gone_becomes_null(graph: og.Graph) -> None:
    graph.analytics.distances("a", "Knows", write_to="Person.hops")
    graph.mutate('query d() { delete Knows where to = "d" }')
    graph.analytics.distances("a", "Knows", write_to="Person.hops")
    assert [graph.get("Person", name)["hops"] for name in "abcd"] == [0, 1, 2, None]  # type: ignore[index]


def test_groups_and_distances_can_become_edges(graph: og.Graph) -> None:
    for _ in range(2):
        assert graph.analytics.components("Knows", write_to="edge:Same").commit is not None
    rows = graph.query("query q() { match { $a: Person $a same $b } return { $a.name as a, $b.name as b } }").rows()
    assert {(row["a"], row["b"]) for row in rows} == {("b", "a"), ("c", "a"), ("d", "a"), ("f", "e")}
    graph.analytics.distances("a", "Knows", write_to="edge:Reaches.hops")
    reached = graph.view()
    assert reached.entry(reached.catalog.edges["Reaches"]).row_count == 3
    graph.analytics.distances("h", "Knows", write_to="edge:Reaches.hops")
    reached = graph.view()
    assert reached.entry(reached.catalog.edges["Reaches"]).row_count == 0


def test_the_past_can_be_analysed_but_not_written(graph: og.Graph) -> None:
    head = graph.commits.list()[0]
    graph.mutate('query d() { delete Person where name = "c" }')
    then = graph.at(head).analytics
    assert by_id(then.triangles("Knows"))["a"] == 1
    assert by_id(graph.analytics.triangles("Knows")) == dict.fromkeys("abdefgh", 0)
    with pytest.raises(BadRequest, match="past"):
        then.degree("Knows", write_to="Person.group")


def test_a_type_without_edges_or_nodes_has_plain_answers(tmp_path: Path) -> None:
    with og.init(tmp_path / "e.omni", SCHEMA) as graph:
        assert graph.analytics.pagerank("Knows").rows() == []
        assert graph.analytics.label_propagation("Knows").rows() == []
        graph.load([{"type": "Person", "data": {"name": "a"}}])
        assert graph.analytics.pagerank("Knows").rows() == [{"type": "Person", "id": "a", "rank": 1.0}]
        assert by_id(graph.analytics.triangles("Knows")) == {"a": 0}


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda a: a.pagerank("Likes"), NotFound, "no edge type 'Likes' \\(it has In, Knows"),
        (lambda a: a.pagerank([]), BadRequest, "at least one edge type"),
        (lambda a: a.pagerank("Knows", damping=1.5), BadRequest, "between 0 and 1"),
        (lambda a: a.pagerank("Knows", iterations=0), BadRequest, "at least 1"),
        (lambda a: a.pagerank("Knows", direction="up"), BadRequest, "unknown direction 'up'"),
        (lambda a: a.pagerank("Knows", runner="magic"), BadRequest, "unknown runner 'magic'"),
        (lambda a: a.pagerank("In", weight="weight"), BadRequest, "not a numeric property of edge type 'In'"),
        (lambda a: a.pagerank("Knows", write_to="Person"), BadRequest, "use Type.property"),
        (lambda a: a.pagerank("Knows", write_to="Nobody.rank"), NotFound, "no node type 'Nobody'"),
        (lambda a: a.pagerank("Knows", write_to="Person.score"), NotFound, "add `score: F64\\?` to the schema"),
        (lambda a: a.pagerank("Knows", write_to="Person.group"), BadRequest, "these values need one of F32, F64"),
        (lambda a: a.degree("Knows", write_to="Person.name"), BadRequest, "is String"),
        (lambda a: a.pagerank("Knows", write_to="edge:Same"), BadRequest, "write it to a property"),
        (lambda a: a.distances("zed", "Knows"), NotFound, "no Person 'zed'"),
        (lambda a: a.distances([], "Knows"), BadRequest, "at least one source"),
        (lambda a: a.distances("a", ["Knows", "In"]), BadRequest, "say source_type"),
    ],
)
def test_what_cannot_be_done_is_told(graph: og.Graph, call: object, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        call(graph.analytics)  # type: ignore[operator]


def test_a_missing_or_negative_weight_is_told(graph: og.Graph) -> None:
    graph.load([{"edge": "Knows", "from": "h", "to": "a"}])
    with pytest.raises(BadRequest, match="1 edge of 'Knows' without 'weight'"):
        graph.analytics.pagerank("Knows", weight="weight")
    graph.mutate('query w() { update Knows set { weight: -1.0 } where from = "h" }')
    with pytest.raises(BadRequest, match="negative or infinite"):
        graph.analytics.pagerank("Knows", weight="weight")
