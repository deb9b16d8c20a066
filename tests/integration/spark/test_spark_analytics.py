"""The algorithms on Spark give the answers of the ones in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnigraph as og
from omnigraph.engine.maintenance import topology_builds
from omnigraph.engine.read.topology import advance, files, store
from omnigraph.errors import BadRequest, NotFound
from omnigraph.pipeline.analytics import api, spark_vectors
from omnigraph.pipeline.analytics.network import Selection
from omnigraph.pipeline.analytics.spark_lists import Positions
from omnigraph.pipeline.analytics.spark_network import SparkNetwork
from tests.integration.spark.listed import keep_lists

SCHEMA = """
node Person { name: String @key  rank: F64? }
node Team { title: String @key }
edge Knows: Person -> Person { weight: F64? }
edge In: Person -> Team
"""


@contextmanager
def _made(place: Path) -> Iterator[og.Graph]:
    draw = np.random.default_rng(11)
    with og.init(place, SCHEMA) as opened:
        people = [{"type": "Person", "data": {"name": f"p{at}"}} for at in range(40)]
        teams = [{"type": "Team", "data": {"title": f"t{at}"}} for at in range(4)]
        ends = draw.integers(0, 34, (70, 2)).tolist()
        knows = [
            {"edge": "Knows", "from": f"p{one}", "to": f"p{two}", "data": {"weight": 0.5 + at % 3}}
            for at, (one, two) in enumerate(ends)
        ]
        members = [{"edge": "In", "from": f"p{one}", "to": f"t{one % 3}"} for one in range(25, 40)]
        opened.load([*people, *teams, *knows, *members])
        # Deleted nodes leave gaps between row ids.
        opened.mutate('query d() { delete Person where name = "p3" }')
        yield opened


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    with _made(tmp_path_factory.mktemp("analytics") / "g.omni") as opened:
        yield opened


ROUNDS = [
    ("pagerank", (["Knows", "In"],), {"iterations": 3}),
    ("pagerank", ("Knows",), {"iterations": 2, "weight": "weight", "direction": "both"}),
    ("components", (["Knows", "In"],), {}),
    ("label_propagation", ("Knows",), {"iterations": 3}),
    ("distances", ("p1", "Knows"), {"depth": 3}),
]
ONCE = [("triangles", ("Knows",), {}), ("degree", ("Knows",), {"direction": "in"})]
MANY = [(*each, 0) for each in ROUNDS]


@pytest.mark.parametrize(
    ("name", "arguments", "options", "most"),
    [(*each, spark_vectors.MOST_NODES) for each in (*ROUNDS, *ONCE)] + MANY,
)
def test_both_runners_agree(
    graph: og.Graph,
    spark: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    arguments: Any,
    options: Any,
    most: int,
) -> None:
    """Few nodes are sent as arrays to tasks that keep their edges; of many, values are frames."""
    monkeypatch.setattr(spark_vectors, "MOST_NODES", most)
    run = getattr(graph.analytics, name)
    here = run(*arguments, **options, runner="inline")
    there = run(*arguments, **options, runner="spark", spark=spark)
    assert (there.runner, there.iterations) == ("spark", here.iterations)
    assert there.table.schema == here.table.schema
    assert there.table.drop_columns([here.column]) == here.table.drop_columns([here.column])
    mine, theirs = (found.table[here.column].to_pylist() for found in (here, there))
    assert theirs == pytest.approx(mine, abs=1e-12) if name == "pagerank" else theirs == mine


@pytest.fixture(scope="module")
def listed(graph: og.Graph) -> og.Graph:
    """A branch whose neighbour lists are kept beside the graph, as those of large tables are."""
    graph.branches.create("listed")
    branch = graph.branch("listed")
    keep_lists(branch)
    return branch


LISTED = [each for each in (*ROUNDS, *ONCE) if "weight" not in each[2]]
LISTED += [("pagerank", (["In", "Knows"],), {"iterations": 2, "direction": direction}) for direction in ("in", "both")]
LISTED += [("triangles", (["Knows", "In"],), {})]


@pytest.mark.parametrize(("name", "arguments", "options"), LISTED)
def test_tasks_take_edges_from_the_lists_beside_the_graph(
    listed: og.Graph, spark: Any, monkeypatch: pytest.MonkeyPatch, name: str, arguments: Any, options: Any
) -> None:
    monkeypatch.setattr(SparkNetwork, "_check_weights", _refused)
    monkeypatch.setattr(SparkNetwork, "_joined_edges", _refused)
    run = getattr(listed.analytics, name)
    here = run(*arguments, **options, runner="inline")
    there = run(*arguments, **options, runner="spark", spark=spark)
    mine, theirs = (found.table[here.column].to_pylist() for found in (here, there))
    assert theirs == pytest.approx(mine, abs=1e-12) if name == "pagerank" else theirs == mine


@pytest.fixture(scope="module")
def read_after_writes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[og.Graph]:
    """A handle that may not keep lists, on a graph that has other edges since its lists were kept."""
    with _made(tmp_path_factory.mktemp("written") / "g.omni") as opened:
        keep_lists(opened)
        opened.mutate('query m() { insert Person { name: "new" } insert Knows { from: "p1", to: "new", weight: 1.0 } }')
        opened.mutate('query m() { delete Knows where from = "p5" }')
        opened.mutate('query m() { delete Person where name = "p39" }')
        with og.open(opened.uri, read_only=True) as reader:
            yield reader


@pytest.mark.parametrize(("name", "arguments", "options"), LISTED)
def test_a_reader_takes_the_edges_that_are_the_same_from_the_lists_of_before(
    read_after_writes: og.Graph, spark: Any, monkeypatch: pytest.MonkeyPatch, name: str, arguments: Any, options: Any
) -> None:
    monkeypatch.setattr(advance, "_FOLD_AT", 1.0)
    monkeypatch.setattr(SparkNetwork, "_joined_edges", _refused)
    run = getattr(read_after_writes.analytics, name)
    here = run(*arguments, **options, runner="inline")
    there = run(*arguments, **options, runner="spark", spark=spark)
    mine, theirs = (found.table[here.column].to_pylist() for found in (here, there))
    assert theirs == pytest.approx(mine, abs=1e-12) if name == "pagerank" else theirs == mine


def test_weights_are_joined_with_lists_by_row_ids(
    listed: og.Graph, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkNetwork, "_joined_edges", _refused)
    options: Any = {"iterations": 3, "weight": "weight", "direction": "both"}
    here = listed.analytics.pagerank("Knows", **options, runner="inline")
    there = listed.analytics.pagerank("Knows", **options, runner="spark", spark=spark)
    assert there.table["rank"].to_pylist() == pytest.approx(here.table["rank"].to_pylist(), abs=1e-12)


def test_the_session_of_the_caller_keeps_its_settings_while_an_algorithm_runs(
    graph: og.Graph, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled", "spark.sql.autoBroadcastJoinThreshold")
    before, seen = [spark.conf.get(name) for name in names], []
    degrees = spark_vectors.degrees

    def watched(*given: Any) -> Any:
        seen.append([spark.conf.get(name) for name in names])
        return degrees(*given)

    monkeypatch.setattr(spark_vectors, "degrees", watched)
    found = graph.analytics.degree("Knows", runner="spark", spark=spark)
    assert seen == [before]
    mine = spark.createDataFrame([("p1",)], "id string")
    assert found.to_spark().join(mine, "id").count() == 1, "the frame is one of the caller's session"
    assert [spark.conf.get(name) for name in names] == before


def test_what_memory_does_not_hold_goes_to_spark_and_the_result_says_so(
    graph: og.Graph, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = graph.analytics.degree("Knows")
    assert here.runner == "inline"
    monkeypatch.setattr(Selection, "memory", 1 << 50)
    there = graph.analytics.degree("Knows")
    assert there.runner == "spark"
    assert there.table == here.table
    monkeypatch.setattr(api, "find_spec", lambda _: None)
    with pytest.raises(BadRequest, match=r"needs about 1048576 GiB of memory; install omnigraph\[spark\]"):
        graph.analytics.degree("Knows")


def test_lists_are_kept_before_the_tasks_start(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for a version whose lists this process has only as an older one's with a few changes laid over them."""
    for module in (files, store, topology_builds):
        monkeypatch.setattr(module, "WORTH_KEEPING", 2)
    with og.init(tmp_path / "g.omni", SCHEMA) as opened:
        people = [{"type": "Person", "data": {"name": f"p{at}"}} for at in range(40)]
        opened.load([*people, *({"edge": "Knows", "from": f"p{at}", "to": f"p{at * 7 % 40}"} for at in range(40))])

        def checked() -> None:
            here = opened.analytics.pagerank("Knows", iterations=2, runner="inline")
            there = opened.analytics.pagerank("Knows", iterations=2, runner="spark", spark=spark)
            assert there.table["rank"].to_pylist() == pytest.approx(here.table["rank"].to_pylist(), abs=1e-12)

        monkeypatch.setattr(SparkNetwork, "_joined_edges", _refused)
        first = opened.analytics.components("Knows", runner="spark", spark=spark)
        assert first.table == opened.analytics.components("Knows", runner="inline").table
        checked()
        opened.mutate('query more() { insert Knows { from: "p1", to: "p30" } }')
        checked()


def _refused(*_: Any) -> None:
    raise AssertionError("edges were looked up by the text of their ends")


def test_numbers_with_gaps_are_found_by_search() -> None:
    for numbers in (np.arange(50) + 7, np.sort(np.random.default_rng(3).choice(10_000, 500, replace=False))):
        found = Positions.of(numbers)
        np.testing.assert_array_equal(found.at(numbers[::-1]), np.arange(len(numbers))[::-1])
    two_types = np.concatenate([np.arange(30), np.arange(20) + (1 << 48)])
    assert Positions.of(two_types).numbers is None
    np.testing.assert_array_equal(Positions.of(two_types).at(two_types), np.arange(50))


def test_values_from_spark_are_written_back(graph: og.Graph, spark: Any) -> None:
    graph.branches.create("ranked")
    ranks = graph.analytics.pagerank(
        "Knows", iterations=1, runner="spark", spark=spark, write_to="Person.rank", branch="ranked"
    )
    assert ranks.commit is not None
    assert ranks.to_spark().count() == len(ranks) == 39
    stored = graph.branch("ranked").get("Person", "p5")
    assert stored is not None
    assert stored["rank"] == next(row["rank"] for row in ranks if row["id"] == "p5")


def test_what_is_wrong_is_told_as_in_memory(graph: og.Graph, spark: Any) -> None:
    with pytest.raises(NotFound, match="no Person 'p3'"):
        graph.analytics.distances("p3", "Knows", runner="spark", spark=spark)
    graph.branches.create("light")
    light = graph.branch("light")
    light.load([{"edge": "Knows", "from": "p1", "to": "p2"}])
    with pytest.raises(BadRequest, match="1 edge of 'Knows' without 'weight'"):
        light.analytics.pagerank("Knows", weight="weight", runner="spark", spark=spark)
