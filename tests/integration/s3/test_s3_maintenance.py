"""Schema changes and maintenance of a graph on S3."""

from __future__ import annotations

import pytest

import omnigraph as og
from omnigraph.errors import HistoricalVersionReclaimed
from omnigraph.testing.crash.invariants import violations

SCHEMA = "node Person { name: String @key  age: I32?  photo: Blob? }  edge Knows: Person -> Person"
RENAMED = """
node Human @rename_from("Person") { name: String @key  age: I32? @index  photo: Blob?  rank: I32 @default(1) }
edge Knows: Human -> Human
"""


def test_a_graph_on_s3_changes_its_schema_and_is_maintained(place: str) -> None:
    graph = og.init(place, SCHEMA)
    first = graph.load([{"type": "Person", "data": {"name": "Alice", "photo": "base64:SGVsbG8="}}]).commit_id
    for number in range(3):
        graph.load([{"type": "Person", "data": {"name": f"p{number}", "age": number}}])
    graph.schema.apply(RENAMED)
    assert graph.get("Human", "Alice") == {
        "id": "Alice",
        "age": None,
        "name": "Alice",
        "photo": "base64:SGVsbG8=",
        "rank": 1,
    }
    graph.schema.apply(RENAMED + "\nnode Person { name: String @key }")  # a new dataset above the old name's versions
    graph.load([{"type": "Person", "data": {"name": "Newcomer"}}, {"type": "Human", "data": {"name": "Zoe"}}])
    assert {each.type_key for each in graph.optimize() if each.committed} >= {"node:Human", "node:Person"}
    assert all(each.coverage == 1 for each in graph.indexes() if each.rows)
    assert not any(each.committed for each in graph.optimize())
    assert first is not None
    assert graph.get("Person", "Alice", at=first) is not None
    report = graph.cleanup(keep=1, confirm=True)
    assert sum(each.old_versions_removed for each in report.datasets) > 0
    assert [each.error for each in report.datasets] == [None] * 3
    reopened = og.open(place)
    assert [reopened.get("Person", "Newcomer"), reopened.get("Human", "p1")] == [
        {"id": "Newcomer", "name": "Newcomer"},
        {"id": "p1", "age": 1, "name": "p1", "photo": None, "rank": 1},
    ]
    with pytest.raises(HistoricalVersionReclaimed):
        reopened.get("Person", "Alice", at=first)
    reopened.load([{"type": "Human", "data": {"name": "later"}}])
    assert violations(reopened._core.store) == []
