"""Transactions leave no branches: private ones are seen by nobody, and the next writer removes those of the dead."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.errors import BadRequest, Conflict
from omnigraph.ids import now_micros
from omnigraph.storage.base.lease import Lease
from omnigraph.storage.branches import private_branches
from omnigraph.storage.lance.refs import list_refs
from omnigraph.storage.manifest.branch_refs import live_refs
from omnigraph.testing.crash.graph_child import GraphChild
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.graphs.tiny import LONG_LEASES

SCHEMA = "node Person { name: String @key  age: I64? }\nnode Pet { name: String @key }"
WIDER = "node Person { name: String @key  age: I64?  city: String? }\nnode Pet { name: String @key }"
ADD = "query q($n: String) { insert Person { name: $n } }"
# Long, so that a process that a busy machine starves is not taken for dead; a killed one is known by its pid.
SETTINGS = LONG_LEASES


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "graph", SCHEMA, settings=SETTINGS)
    made.load([{"type": "Person", "data": {"name": "ann"}}])
    return made


def died_inside(graph: og.Graph, spec: str = "transaction.pre_merge=kill") -> None:
    child = GraphChild(Path(graph.uri), SETTINGS, spec, "transaction", "dead")
    assert child.finish().exit_code == -signal.SIGKILL


def leftovers(graph: og.Graph) -> list[str]:
    """Everything in storage that belongs to a transaction."""
    store = access(graph).store
    return [
        name for name in store.objects.list_tree("") if "transaction" in name.lower() and "_transactions" not in name
    ]


def test_the_branch_of_a_running_transaction_is_not_listed(graph: og.Graph) -> None:
    with graph.transaction() as tx:
        tx.mutate(ADD, params={"n": "bob"})
        assert graph.branches.list() == ["main"]
        assert graph.get("Person", "bob") is None
        assert tx.get("Person", "bob") is not None
    assert graph.get("Person", "bob") is not None
    assert leftovers(graph) == []
    assert live_refs(access(graph).store.root) == {}
    assert violations(access(graph).store) == []


def test_a_transaction_that_raises_leaves_nothing(graph: og.Graph) -> None:
    def fail() -> None:
        with graph.transaction() as tx:
            tx.mutate(ADD, params={"n": "bob"})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert graph.get("Person", "bob") is None
    assert leftovers(graph) == []


@pytest.mark.parametrize(
    "spec",
    [
        "transaction.post_lease=kill",
        "transaction.post_fork=kill",
        "transaction.pre_merge=kill",
        "mutation.post_table_commit=kill@1",
        "transaction.pre_drop=kill",
        "transaction.mid_drop=kill",
    ],
)
def test_what_a_dead_transaction_left_goes_with_the_next_writer(graph: og.Graph, spec: str) -> None:
    died_inside(graph, spec)
    assert graph.branches.list() == ["main"]
    graph.mutate(ADD, params={"n": "next"})
    assert leftovers(graph) == []
    assert live_refs(access(graph).store.root) == {}
    assert violations(access(graph).store) == []
    assert (graph.get("Person", "dead") is not None) == (
        spec in ("transaction.pre_drop=kill", "transaction.mid_drop=kill")
    )


def test_a_dead_transaction_does_not_block_a_schema_change(graph: og.Graph) -> None:
    died_inside(graph)
    assert graph.schema.apply(WIDER).applied
    assert leftovers(graph) == []


def test_a_schema_change_and_a_running_transaction_do_not_disturb_each_other(graph: og.Graph) -> None:
    """Decision 0038: a change that is safe for branches waits for no transaction."""
    with graph.transaction() as tx:
        tx.mutate(ADD, params={"n": "bob"})
        assert og.open(graph.uri, settings=SETTINGS).schema.apply(WIDER).applied
    assert graph.get("Person", "bob") is not None
    assert not graph.schema.apply(WIDER).applied


def test_a_cleanup_beside_a_running_transaction_keeps_what_it_needs(graph: og.Graph) -> None:
    with graph.transaction() as tx:
        tx.mutate(ADD, params={"n": "bob"})
        for number in range(4):
            graph.mutate(ADD, params={"n": f"other{number}"})
        graph.cleanup(keep=1, confirm=True)
        assert tx.get("Person", "ann") is not None
        tx.mutate(ADD, params={"n": "cid"})
    assert {"ann", "bob", "cid"} <= {
        row["name"] for row in graph.query("query q() { match { $p: Person } return { $p.name as name } }").rows()
    }


def test_a_running_transaction_is_left_alone_by_other_writers(graph: og.Graph) -> None:
    with graph.transaction() as tx:
        other = GraphChild(Path(graph.uri), SETTINGS, "", "load", '{"type":"Person","data":{"name":"beside"}}')
        assert other.finish().error is None
        assert tx.get("Person", "ann") is not None
    assert graph.get("Person", "beside") is not None


def test_a_transaction_whose_lease_ran_out_is_told_so(graph: og.Graph) -> None:
    store = access(graph).store

    def sleep_through() -> None:
        with graph.transaction() as tx:
            tx.mutate(ADD, params={"n": "bob"})
            private = tx._private
            assert private is not None
            private._stop()  # as a process does that is stopped for longer than its lease
            stale = Lease("elsewhere/1/x", 0, now_micros() - 10_000_000, 600)
            name = private_branches._path(private.transaction_id)
            store.objects.write(name, private_branches._encode(private.branch, stale))
            graph.mutate(ADD, params={"n": "next"})

    with pytest.raises(Conflict, match="given up"):
        sleep_through()
    assert graph.get("Person", "bob") is None
    assert leftovers(graph) == []


def test_the_names_of_private_branches_cannot_be_used(graph: og.Graph) -> None:
    for act in (graph.branches.create, graph.branches.delete, graph.branch):
        with pytest.raises(BadRequest, match="reserved"):
            act("__transaction__01J")
    with graph.transaction() as tx, pytest.raises(BadRequest, match="transaction"):
        tx.graph.branches.create("from-inside")


def test_a_transaction_reads_as_many_refs_whatever_others_there_are(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 600 live branches a transaction costs what it costs with three: no ref of another branch is read."""
    for number in range(3):
        graph.branches.create(f"b{number}")
        graph.branch(f"b{number}").mutate(ADD, params={"n": f"on{number}"})
    listed: list[str] = []
    for place in ("omnigraph.storage.lance.refs.list_refs", "omnigraph.storage.lance.tables.list_refs"):
        monkeypatch.setattr(place, lambda trunk: listed.append(trunk.address.uri) or list_refs(trunk))
    with graph.transaction() as tx:
        tx.mutate(ADD, params={"n": "bob"})
    assert listed == []
    assert graph.get("Person", "bob") is not None
