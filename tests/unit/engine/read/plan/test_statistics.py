"""Statistics of tables: kept beside the graph, brought up to date from what changed, and what plans make of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.maintenance import topology_builds
from omnigraph.engine.read.plan import statistics as statistics_module
from omnigraph.engine.read.plan.statistics import column_statistics, edge_skew, keep_statistics
from omnigraph.engine.read.topology import files as files_module
from omnigraph.engine.read.topology import store
from omnigraph.storage.lance.handle import TableHandle

SCHEMA = """
node Person { handle: String @key  age: I32?  city: String }
edge Knows: Person -> Person { since: I64 }
"""


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[og.Graph]:
    for module in (statistics_module, files_module, topology_builds, store):
        monkeypatch.setattr(module, "WORTH_KEEPING", 100)
    graph = og.init(tmp_path / "graph.omni", SCHEMA)
    people = [
        {"type": "Person", "data": {"handle": f"p{n}", "age": n % 50 if n % 4 else None, "city": f"c{n % 7}"}}
        for n in range(400)
    ]
    # One person knows everybody, the others one each.
    edges = [{"edge": "Knows", "from": "p0", "to": f"p{n}", "data": {"since": n}} for n in range(1, 400)]
    edges += [{"edge": "Knows", "from": f"p{n}", "to": "p0", "data": {"since": 5}} for n in range(1, 20)]
    graph.load([*people, *edges])
    yield graph
    graph.close()


def statistics(graph: og.Graph, name: str) -> Any:
    view = graph._core.view(None)
    return column_statistics(view, view.catalog.nodes["Person"], name)


def expected(graph: og.Graph, text: str) -> list[tuple[str, int]]:
    return [(each["operator"], each["expected_rows"]) for each in graph.explain(text).to_dict()["operators"]]


def test_what_was_kept_is_found_by_another_process(graph: og.Graph) -> None:
    graph.ensure_indices()
    graph._core.store.memory.clear()
    assert statistics(graph, "city").distinct == 7.0
    assert statistics(graph, "age").null_share == 0.25
    assert statistics(graph, "age").below(25) == pytest.approx(0.375, abs=0.03)
    view = graph._core.view(None)
    skew = edge_skew(view, view.catalog.edges["Knows"])
    assert skew is not None
    assert skew.out == pytest.approx((399**2 + 19) / 418)
    assert skew.into == pytest.approx((19**2 + 399) / 418)
    assert skew.through == pytest.approx((399 * 19 + 19) / 418)


def test_a_later_version_reads_the_rows_that_changed_only(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.ensure_indices()
    graph.load([{"type": "Person", "data": {"handle": f"q{n}", "age": 90, "city": "new"}} for n in range(20)])
    graph._core.store.memory.clear()
    filters: list[Any] = []
    batches = TableHandle.batches

    def watched(self: TableHandle, columns: Any, filter: Any = None, **options: Any) -> Any:
        filters.append(filter)
        return batches(self, columns, filter, **options)

    monkeypatch.setattr(TableHandle, "batches", watched)
    keep_statistics(graph._core.view(None), ["node:Person"])
    assert len(filters) == 1
    assert "_row_last_updated_at_version >" in filters[0]
    graph._core.store.memory.clear()
    assert statistics(graph, "city").distinct == 8.0
    assert statistics(graph, "age").rows == 420
    assert statistics(graph, "age").below(80) == pytest.approx(300 / 420, abs=0.03)


@pytest.mark.parametrize("damage", ["cut", "noise", "missing"])
def test_damaged_statistics_are_as_good_as_none(graph: og.Graph, damage: str) -> None:
    graph.ensure_indices()
    graph._core.store.memory.clear()
    for victim in (Path(graph.uri) / "__derived" / "statistics").rglob("facts.npy"):
        content = {"cut": victim.read_bytes()[:-8], "noise": b"noise"}.get(damage)
        victim.unlink()
        if content is not None:
            victim.write_bytes(content)
    assert statistics(graph, "city") is None
    assert graph.query('query q() { match { $p: Person { city: "c1" } } return { count(*) as n } }').rows() == [
        {"n": 57}
    ]


def test_a_plan_starts_from_the_end_that_statistics_call_the_cheaper_one(graph: og.Graph) -> None:
    graph.ensure_indices()
    text = "query q() {{ match {{ $p: Person {{ {0} }} $p knows $f $f.{1} }} return {{ count(*) as n }} }}"
    few_tails = expected(graph, text.format('city: "c1"', "age >= 0"))
    few_heads = expected(graph, text.format("age: 3", 'city = "c1"'))
    assert few_tails[0][0].startswith("scan $p")
    assert few_tails[0][1] == pytest.approx(57, abs=2)
    assert few_heads[0][0].startswith("scan $p")
    assert expected(graph, text.format('city: "c1"', "age < 1"))[0][0].startswith("scan $f")


def test_estimates_of_filters_groups_and_joins_follow_the_values(graph: og.Graph) -> None:
    graph.ensure_indices()
    groups = expected(graph, "query q() { match { $p: Person } return { $p.city as c, count(*) as n } }")
    assert next(rows for operator, rows in groups if operator.startswith("aggregate")) == 7
    joined = expected(graph, "query q() { match { $a: Person $b: Person $a.city = $b.city } return { count(*) as n } }")
    assert joined[1][1] == pytest.approx(400 * 400 / 7, rel=0.02)
    nulls = expected(graph, "query q() { match { $p: Person $p.age is null } return { count(*) as n } }")
    assert nulls[0][1] == 100


def test_a_reader_who_may_not_see_a_column_learns_nothing_of_it(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.ensure_indices()
    view = graph._core.view(None)
    monkeypatch.setattr(type(view), "masks", lambda self, info: frozenset({"age"}))
    assert column_statistics(view, view.catalog.nodes["Person"], "age") is None
