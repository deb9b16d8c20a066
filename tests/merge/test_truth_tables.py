"""Ancestor, left, right, expected: every table is merged in both directions through the whole engine."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

import omnigraph as og
from omnigraph.testing.naive.merge import merge_images
from omnigraph.testing.naive.observe import image_of

Rows = dict[str, dict[str, Any] | None]  # name → properties, or None for no such person


@dataclass(frozen=True)
class Table:
    name: str
    left: Rows
    right: Rows
    expected: Rows | None = None
    conflict: tuple[str, str] | None = None  # kind, id
    ancestor: Rows = field(default_factory=lambda: {"Alice": {"age": 30}, "Bob": {"age": 30}})


TABLES = [
    Table("insert on one side", {"Eve": {"age": 1}}, {}, {"Eve": {"age": 1}}),
    Table("different inserts", {"Eve": {"age": 1}}, {"Fay": {"age": 2}}, {"Eve": {"age": 1}, "Fay": {"age": 2}}),
    Table("equal inserts", {"Eve": {"age": 1}}, {"Eve": {"age": 1}}, {"Eve": {"age": 1}}),
    Table("unequal inserts", {"Eve": {"age": 1}}, {"Eve": {"age": 2}}, conflict=("DivergentInsert", "Eve")),
    Table("update on one side", {"Alice": {"age": 31}}, {}, {"Alice": {"age": 31}}),
    Table("updates of two rows", {"Alice": {"age": 1}}, {"Bob": {"age": 2}}, {"Alice": {"age": 1}, "Bob": {"age": 2}}),
    Table("equal updates", {"Alice": {"age": 1}}, {"Alice": {"age": 1}}, {"Alice": {"age": 1}}),
    Table("unequal updates", {"Alice": {"age": 1}}, {"Alice": {"age": 2}}, conflict=("DivergentUpdate", "Alice")),
    Table(
        "updates of two properties of one row",
        {"Alice": {"age": 1}},
        {"Alice": {"age": 30, "nick": "Al"}},
        conflict=("DivergentUpdate", "Alice"),
    ),
    Table("delete on one side", {"Alice": None}, {}, {"Alice": None}),
    Table("delete on both sides", {"Alice": None}, {"Alice": None}, {"Alice": None}),
    Table("delete and update", {"Alice": None}, {"Alice": {"age": 1}}, conflict=("DeleteVsUpdate", "Alice")),
    Table("delete and update of another", {"Alice": None}, {"Bob": {"age": 1}}, {"Alice": None, "Bob": {"age": 1}}),
    Table("empty text is not null", {"Alice": {"age": 30, "nick": ""}}, {}, {"Alice": {"age": 30, "nick": ""}}),
    Table(
        "empty text against a name",
        {"Alice": {"age": 30, "nick": ""}},
        {"Alice": {"age": 30, "nick": "Al"}},
        conflict=("DivergentUpdate", "Alice"),
    ),
    Table("an empty list is not null", {"Alice": {"age": 30, "tags": []}}, {}, {"Alice": {"age": 30, "tags": []}}),
    Table(
        "the order of a list counts",
        {"Alice": {"age": 30, "tags": ["a", "b"]}},
        {"Alice": {"age": 30, "tags": ["b", "a"]}},
        conflict=("DivergentUpdate", "Alice"),
    ),
    Table(
        "the sign of zero counts",
        {"Alice": {"age": 30, "score": 0.0}},
        {"Alice": {"age": 30, "score": -0.0}},
        conflict=("DivergentUpdate", "Alice"),
    ),
    Table(
        "equal blobs are equal",
        {"Alice": {"age": 30, "photo": "base64:AAEC"}},
        {"Alice": {"age": 30, "photo": "base64:AAEC"}},
        {"Alice": {"age": 30, "photo": "base64:AAEC"}},
    ),
    Table(
        "unequal blobs of one length",
        {"Alice": {"age": 30, "photo": "base64:AAEC"}},
        {"Alice": {"age": 30, "photo": "base64:AAED"}},
        conflict=("DivergentUpdate", "Alice"),
    ),
    Table(
        "null against a blob",
        {"Alice": {"age": 1}},
        {"Bob": {"age": 30, "photo": "base64:AA=="}},
        {"Alice": {"age": 1}, "Bob": {"age": 30, "photo": "base64:AA=="}},
    ),
    Table(
        "one unique value under two ids",
        {"Eve": {"mail": "x"}},
        {"Fay": {"mail": "x"}},
        conflict=("UniqueViolation", ""),
    ),
]


def write(graph: og.Graph, rows: Rows) -> None:
    lines = [
        {"type": "Person", "data": {"name": name, **values}} for name, values in rows.items() if values is not None
    ]
    if lines:
        graph.load([json.dumps(line) for line in lines], "merge")
    for name, values in rows.items():
        if values is None:
            graph.mutate("query d($n: String) { delete Person where name = $n }", params={"n": name})


@pytest.mark.parametrize("swapped", [False, True], ids=["left into right", "right into left"])
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_table_merges_as_expected(people: og.Graph, table: Table, swapped: bool) -> None:
    graph = people
    names = ("right", "left") if swapped else ("left", "right")
    write(graph, table.ancestor)
    base = image_of(graph.view())
    for name, rows in (("left", table.left), ("right", table.right)):
        graph.branches.create(name)
        write(graph.branch(name), rows)
    source, target = names
    theirs, ours = (image_of(graph.branch(name).view()) for name in names)
    naive = merge_images(graph.schema.catalog, base, ours, theirs)
    if table.conflict is not None:
        with pytest.raises(og.errors.MergeConflicts) as caught:
            graph.branches.merge(source, into=target)
        [conflict] = caught.value.conflicts
        kind, entity = table.conflict
        assert (conflict.kind, conflict.entity_id) == (kind, entity or conflict.entity_id)
        assert image_of(graph.branch(target).view()) == ours
        assert naive.conflicts
        return
    graph.branches.merge(source, into=target)
    merged = image_of(graph.branch(target).view())
    assert merged == naive.image
    for name, values in (table.expected or {}).items():
        row = merged["node:Person"].get(name)
        assert row is None if values is None else {key: row[key] for key in values} == values
    assert image_of(graph.branch(source).view()) == theirs
    assert graph.branches.merge(source, into=target).outcome == "already_up_to_date"
