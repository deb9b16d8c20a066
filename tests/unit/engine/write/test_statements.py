"""Guards that hold even for plans no query text can produce, and reads through the pending image."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.plan import MutationPlan
from omnigraph.compiler.ir.write_ops import DeleteNode, InsertEdge, InsertNode, UpdateNode, Value
from omnigraph.compiler.types import PropType
from omnigraph.engine.write.statements import Request, execute
from omnigraph.errors import ValueViolation

STRING, I64 = PropType("String"), PropType("I64")
ANYTHING = ir.IsNull(ir.Property(ir.TARGET, "name", STRING), negated=True)


def text(value: str | None) -> ir.Const:
    return ir.Const(value, STRING)


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "g.omni", "node Person { name: String @key  age: I32 }\nedge Knows: Person -> Person")
    graph.load([{"type": "Person", "data": {"name": "a", "age": 1}}])
    return graph


def refused(graph: og.Graph, *ops: InsertNode | InsertEdge | UpdateNode | DeleteNode) -> ValueViolation:
    with pytest.raises(ValueViolation) as refusal:
        execute(MutationPlan(ops), graph.view(), Request({}))
    return refusal.value


def test_a_plan_that_changes_a_key_is_refused(graph: og.Graph) -> None:
    error = refused(graph, UpdateNode("Person", (Value("name", STRING, text("b")),), ANYTHING))
    assert (error.code, error.property_name) == ("W021", "name")


def test_a_plan_that_writes_and_deletes_is_refused(graph: og.Graph) -> None:
    insert = InsertNode("Person", (Value("name", STRING, text("b")), Value("age", PropType("I32"), ir.Const(1, I64))))
    assert refused(graph, insert, DeleteNode("Person", ANYTHING, ())).code == "W022"


def test_a_null_is_refused_where_a_value_is_required(graph: og.Graph) -> None:
    nothing = Value("age", PropType("I32"), ir.Const(None, ir.NULL))
    assert refused(graph, UpdateNode("Person", (nothing,), ANYTHING)).code == "W001"
    assert refused(graph, InsertNode("Person", (Value("name", STRING, text("b")), nothing))).code == "W001"
    assert refused(graph, InsertNode("Person", (Value("name", STRING, text(None)), nothing))).code == "W001"
    edge = InsertEdge("Knows", "Person", "Person", text(None), text("a"), ())
    error = refused(graph, edge)
    assert (error.code, error.property_name) == ("W001", "from")


def test_a_wrong_value_is_refused_even_when_no_row_matches(graph: og.Graph) -> None:
    nobody = ir.Compare("=", ir.Property(ir.TARGET, "name", STRING), text("nobody"))
    too_big = Value("age", PropType("I32"), ir.Const(2**40, I64))
    assert refused(graph, UpdateNode("Person", (too_big,), nobody)).code == "W003"


def test_an_update_may_compute_from_the_old_row(graph: og.Graph) -> None:
    older = ir.Arithmetic("+", ir.Property(ir.TARGET, "age", PropType("I32")), ir.Const(41, I64), I64)
    plan = MutationPlan((UpdateNode("Person", (Value("age", PropType("I32"), older),), ANYTHING),) * 2)
    effects = execute(plan, graph.view(), Request({}))
    assert effects.nodes == 2
    assert effects.tables[0].rows.to_pylist() == [{"id": "a", "age": 83, "name": "a"}]
