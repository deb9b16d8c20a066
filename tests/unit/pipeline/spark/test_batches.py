"""Batches of a stream without Spark: columns that do not fit, what is removed, and one commit that counts once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.engine.api.transaction import Transaction
from omnigraph.engine.merge.outcome import MergeOptions
from omnigraph.engine.values.arrow import table_types
from omnigraph.errors import BadRequest
from omnigraph.pipeline.spark.batches import Fields, Operations
from omnigraph.storage.manifest.epochs import EpochSeen
from omnigraph.storage.manifest.note import Epoch

SCHEMA = """
node Person { name: String @key  age: I64?  town: String @default("Lund") }
node Slot { tenant: String  number: I32  @key(tenant, number) }
node Note { text: String }
edge Knows: Person -> Person
"""


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "graph", SCHEMA)
    made.load([{"type": "Person", "data": {"name": name}} for name in "abc"])
    made.load([{"edge": "Knows", "from": "a", "to": "b"}, {"edge": "Knows", "from": "b", "to": "c"}])
    return made


def fields(graph: og.Graph, key: str, **columns: str) -> Fields:
    return Fields(table_types(graph.view().catalog)[key], columns)


@pytest.mark.parametrize(
    ("names", "columns", "told"),
    [
        (["name", "age"], {}, None),
        (["id", "name", "town", "age"], {}, None),
        (["login", "shoe"], {"name": "login"}, None),
        (["age", "shoe"], {}, "column 'shoe' is not a property; required property 'name' has no column"),
        (["name"], {"age": "years"}, "there is no column 'years' for 'age'"),
    ],
)
def test_everything_that_does_not_fit_is_told(
    graph: og.Graph, names: list[str], columns: dict[str, str], told: str | None
) -> None:
    person, epoch = fields(graph, "node:Person", **columns), Epoch("s", "c", 3)
    if told is None:
        person.require_fit(names, epoch, used=(), partial=False)
        return
    with pytest.raises(BadRequest) as caught:
        person.require_fit(names, epoch, used=(), partial=False)
    assert f"batch 3 of stream 's' does not fit 'Person': {told}." in str(caught.value)


def test_rows_are_removed_by_id_by_key_or_by_the_ends_of_an_edge(graph: og.Graph) -> None:
    assert Operations(fields(graph, "node:Note")).removals(pa.table({"id": ["n1"]}))[0][1] == {"id": "n1"}
    slots = fields(graph, "node:Slot", number="place")
    assert sorted(slots.identity(["place", "tenant", "op"])) == ["place", "tenant"]
    graph.load([{"type": "Slot", "data": {"tenant": "x", "number": 7}}])
    found = Operations(slots).removals(pa.table({"tenant": ["x"], "place": pa.array([7], pa.int64())}))
    assert graph.mutate_many(found).affected_nodes == 1
    knows = fields(graph, "edge:Knows")
    assert knows.identity(["op", "src", "dst"]) == ["src", "dst"]
    assert Operations(knows).removals(pa.table({"src": ["a"], "dst": ["b"]}))[0][1] == {"a": "a", "b": "b"}
    with pytest.raises(BadRequest, match="can only be removed by id, and the stream has the columns text"):
        fields(graph, "node:Note").identity(["text"])


def test_a_transaction_that_is_a_batch_is_one_commit_and_counts_once(graph: og.Graph) -> None:
    before = len(graph.commits.list())

    def apply(number: int, gone: str) -> None:
        with Transaction(graph, MergeOptions("theirs"), epoch=Epoch("s", "c", number)) as batch:
            person = fields(graph, "node:Person")
            batch.mutate_many(Operations(person).removals(pa.table({"name": [gone]})))

    apply(0, "a")
    assert (graph.get("Person", "a"), graph.get("Person", "b") is not None) == (None, True)
    with pytest.raises(EpochSeen):
        apply(0, "b")
    apply(1, "nowhere")  # changes nothing, and is on record all the same
    with pytest.raises(EpochSeen):
        apply(1, "b")
    found = graph.commits.list()
    assert [commit.epoch for commit in found[:2]] == [Epoch("s", "c", 1), Epoch("s", "c", 0)]
    assert (len(found), graph.get("Person", "b") is not None) == (before + 2, True)
