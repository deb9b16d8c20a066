"""A bulk load on a branch of a graph on S3 is merged by its files, which outlive the branch."""

from __future__ import annotations

import json
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.merge import by_files
from omnigraph.storage.protocol import table_steps
from omnigraph.testing.naive.observe import image_of

SCHEMA = "node Person { name: String @key  age: I32? }  edge Knows: Person -> Person"


def people(numbers: range, age: int) -> list[str]:
    nodes = ({"type": "Person", "data": {"name": f"p{n}", "age": age}} for n in numbers)
    edges = ({"edge": "Knows", "from": f"p{n}", "to": f"p{n}", "data": {"id": f"k{n}"}} for n in numbers)
    return [json.dumps(each) for each in (*nodes, *edges)]


def test_files_of_a_branch_outlive_it(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[int, int, int]] = []
    stage = table_steps.stage_continuation

    def noted(base: Any, change: Any) -> Any:
        taken.append((change.inserted, change.updated, change.removed))
        return stage(base, change)

    monkeypatch.setattr(by_files, "LARGE_CHANGE", 1)
    monkeypatch.setattr(table_steps, "stage_continuation", noted)
    graph = og.init(f"{place}/graph", SCHEMA)
    graph.load(people(range(20), 1), "append")
    graph.branches.create("feature")
    feature = graph.branch("feature")
    feature.load(people(range(10, 30), 2), "merge", on_error="skip")
    graph.load(people(range(5), 3), "merge")
    graph.branches.merge("feature", delete=True)
    assert sorted(taken) == [(10, 10, 0), (10, 10, 0)]
    graph.cleanup(keep=1, confirm=True)
    found = image_of(og.open(f"{place}/graph").view())
    assert {name: row["age"] for name, row in found["node:Person"].items()} == {
        f"p{n}": 3 if n < 5 else 1 if n < 10 else 2 for n in range(30)
    }
    assert len(found["edge:Knows"]) == 30
    assert graph.check().findings == ()
