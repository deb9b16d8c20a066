"""Validation cases of the write path, at the level of the validator: a change set against committed rows in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.compiler.catalog import compile_schema
from omnigraph.engine.write.change_set import TableChange
from omnigraph.engine.write.validate import find_violations, validate
from omnigraph.errors import KeyConflict, ValueViolation
from omnigraph.testing.naive.memory_rows import MemoryRows, rows_table

CATALOG = compile_schema(
    """
    node Person { name: String @key  mail: String? @unique }
    node Pet { tag: String? @unique }
    edge Knows: Person -> Person @card(0..2)
    edge Owns: Person -> Pet @card(1..)
    """
)
PEOPLE = [{"id": name, "name": name, "mail": f"{name}@x"} for name in ("Alice", "Bob", "Charlie")]
COMMITTED = {
    "node:Person": PEOPLE,
    "node:Pet": [{"id": "rex", "tag": "t1"}, {"id": "tom", "tag": "t2"}],
    "edge:Knows": [
        {"id": "k1", "src": "Alice", "dst": "Bob"},
        {"id": "k2", "src": "Alice", "dst": "Charlie"},
    ],
    "edge:Owns": [{"id": "o1", "src": "Alice", "dst": "rex"}, {"id": "o2", "src": "Bob", "dst": "tom"}],
}


def change(key: str, *batches: Sequence[Mapping[str, Any]], deleted: Sequence[str] = (), **flags: bool) -> TableChange:
    kind, _, name = key.partition(":")
    info = CATALOG.nodes[name] if kind == "node" else CATALOG.edges[name]
    return TableChange(info, tuple(rows_table(info, b) for b in batches), pa.array(deleted, pa.utf8()), **flags)


def check(**changes: TableChange) -> None:
    named = {c.info.table_key: c for c in changes.values()}
    validate(named, CATALOG, MemoryRows(CATALOG, COMMITTED))


def person(name: str, mail: str | None = None) -> dict[str, Any]:
    return {"id": name, "name": name, "mail": mail}


def edge(entity: str, src: str, dst: str) -> dict[str, Any]:
    return {"id": entity, "src": src, "dst": dst}


ACCEPTED = [
    pytest.param({"p": change("node:Person", [person("Bob"), person("Dora")])}, id="W12-merge-updates-and-inserts"),
    pytest.param(
        {"e": change("edge:Knows", [edge("n1", "Bob", "Alice")], replaced=True, distinct=True)},
        id="W14-overwritten-edges-find-committed-nodes",
    ),
    pytest.param({"p": change("node:Person", [person("Alice", "Alice@x")])}, id="W16-key-again-is-an-upsert"),
    pytest.param(
        {"p": change("node:Person", [person("Alice", "free")], [person("Dora", "Alice@x")])},
        id="W17-freed-value-may-be-used-again",
    ),
    pytest.param({"e": change("edge:Knows", [edge("k3", "Bob", "Alice")])}, id="W18-another-source-has-room"),
    pytest.param({"e": change("edge:Knows", [edge("k2", "Alice", "Alice")])}, id="W18-rewriting-an-edge-adds-none"),
    pytest.param({"p": change("node:Person", [person("Eve")], new=True)}, id="W20-node-without-edges-under-a-minimum"),
    pytest.param(
        {
            "p": change("node:Person", deleted=["Alice"]),
            "k": change("edge:Knows", deleted=["k1", "k2"]),
            "o": change("edge:Owns", deleted=["o1"]),
        },
        id="W19-a-source-deleted-with-its-edges-is-skipped",
    ),
]

REFUSED = [
    pytest.param(
        {"p": change("node:Person", [person("Zoe"), person("Bob")], new=True, distinct=True)},
        KeyConflict,
        "W015: node:Person already has this id 'Bob'",
        id="W11",
    ),
    pytest.param(
        {"p": change("node:Person", [person("Alice"), person("Bob")], replaced=True, distinct=True)},
        ValueViolation,
        "dst 'Charlie' not found in Person",
        id="W13",
    ),
    pytest.param(
        {"e": change("edge:Knows", [edge("n1", "Nobody", "Alice")], replaced=True, distinct=True)},
        ValueViolation,
        "src 'Nobody' not found in Person",
        id="W14",
    ),
    pytest.param(
        {"p": change("node:Pet", [{"id": "new", "tag": "t1"}])},
        ValueViolation,
        "@unique violation on Pet.tag: value 't1' held by 'rex' and 'new'",
        id="W15",
    ),
    pytest.param(
        {"p": change("node:Person", [person("Dora", "Bob@x")], new=True)},
        ValueViolation,
        "@unique violation on Person.mail: value 'Bob@x' held by 'Bob' and 'Dora'",
        id="W15-append",
    ),
    pytest.param(
        {"e": change("edge:Knows", [edge("k3", "Alice", "Alice")])},
        ValueViolation,
        "@card violation on edge Knows: source 'Alice' has 3 edges (max 2)",
        id="W18",
    ),
    pytest.param(
        {"e": change("edge:Owns", deleted=["o1"])},
        ValueViolation,
        "@card violation on edge Owns: source 'Alice' has 0 edges (min 1)",
        id="W19",
    ),
    pytest.param(
        {"e": change("edge:Owns", [edge("o1", "Bob", "rex")])},
        ValueViolation,
        "@card violation on edge Owns: source 'Alice' has 0 edges (min 1)",
        id="W21",
    ),
]


@pytest.mark.parametrize("changes", ACCEPTED)
def test_a_change_set_within_the_constraints_is_accepted(changes: dict[str, TableChange]) -> None:
    check(**changes)


@pytest.mark.parametrize(("changes", "kind", "text"), REFUSED)
def test_a_change_set_that_breaks_a_constraint_is_refused(
    changes: dict[str, TableChange], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind) as refused:
        check(**changes)
    assert text in str(refused.value)


def test_phases_report_in_order_and_a_merge_sees_them_all() -> None:
    changes = {
        "node:Person": change("node:Person", [person("Zed", "Bob@x"), person("Yan", "Alice@x")]),
        "edge:Knows": change("edge:Knows", [edge("k9", "Alice", "Nobody")]),
    }
    found = find_violations(changes, CATALOG, MemoryRows(CATALOG, COMMITTED))
    assert [(v.code, v.ids[0]) for v in found] == [("W012", "Yan"), ("W012", "Zed"), ("W013", "k9"), ("W014", "Alice")]
    assert [v.table_key for v in found] == ["node:Person", "node:Person", "edge:Knows", "edge:Knows"]


def test_a_surviving_edge_blocks_the_deletion_of_its_node() -> None:
    with pytest.raises(ValueViolation, match="edge Knows 'k1': dst 'Bob' not found in Person") as refused:
        check(p=change("node:Person", deleted=["Bob"]), o=change("edge:Owns", deleted=["o2"]))
    assert refused.value.code == "W013"
