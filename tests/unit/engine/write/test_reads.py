"""Footprints: what preparing a mutation looks at, by rows where the answer depends on nothing else."""

from __future__ import annotations

from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.ir.plan import MutationPlan
from omnigraph.compiler.source import Source
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.engine.write.reads import Reads
from omnigraph.engine.write.statements import Request, execute
from omnigraph.engine.write.validate import validate

SCHEMA = """
node Person { name: String @key  age: I64?  mail: String? @unique }
node Badge { number: I64 @key  text: String? }
node Note { text: String? }
edge Knows: Person -> Person
edge Wears: Person -> Badge @card(0..2)
"""
PERSON, BADGE, NOTE, KNOWS, WEARS = "node:Person", "node:Badge", "node:Note", "edge:Knows", "edge:Wears"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    made = og.init(tmp_path_factory.mktemp("reads") / "graph", SCHEMA)
    made.load([{"type": "Person", "data": {"name": name}} for name in ("ann", "bob")])
    made.load([{"type": "Badge", "data": {"number": 7}}])
    made.load([{"edge": "Knows", "from": "ann", "to": "bob"}])
    return made


def footprint(graph: og.Graph, text: str, **params: Any) -> dict[str, frozenset[str] | None]:
    view, reads = graph.view(), Reads()
    compiled = compile_query(Source(text), view.catalog, None, mutation=True)
    assert isinstance(compiled.plan, MutationPlan)
    effects = execute(compiled.plan, view, Request(compiled.bind(params)), reads=reads)
    validate(effects.changes, view.catalog, PinnedRows(view, reads))
    return dict(reads.footprint())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('query q() { update Badge set { text: "x" } where number = 7 }', {BADGE: frozenset({"7"})}),
        ('query q() { update Badge set { text: "x" } where number in [7, 8] }', {BADGE: frozenset({"7", "8"})}),
        ('query q() { update Badge set { text: "x" } where text = "y" }', {BADGE: None}),
        ('query q() { update Badge set { text: "x" } where number = 7 or text = "y" }', {BADGE: None}),
        ('query q() { update Badge set { text: "x" } where number > 7 }', {BADGE: None}),
        ('query q() { update Person set { age: 1 } where name = "ann" and age = 3 }', {PERSON: frozenset({"ann"})}),
        ('query q() { update Person set { mail: "m" } where name = "ann" }', {PERSON: None}),  # others' mails count
        ('query q() { insert Person { name: "cid" } }', {}),
        ('query q() { insert Person { name: "cid", mail: "m" } }', {PERSON: None}),
        ('query q() { insert Note { text: "x" } }', {}),
        ('query q() { insert Knows { from: "ann", to: "bob" } }', {PERSON: frozenset({"ann", "bob"})}),
        ("query q() { delete Badge where number = 7 }", {BADGE: frozenset({"7"}), WEARS: None}),
    ],
)
def test_what_a_mutation_reads(graph: og.Graph, text: str, expected: dict[str, frozenset[str] | None]) -> None:
    found = footprint(graph, text)
    assert {key: ids for key, ids in found.items() if ids is None or ids} == expected


def test_a_bounded_number_of_edges_is_counted_among_all(graph: og.Graph) -> None:
    found = footprint(graph, 'query q() { insert Wears { from: "ann", to: "7" } }')
    assert found[WEARS] is None
    assert (found[PERSON], found[BADGE]) == (frozenset({"ann"}), frozenset({"7"}))


def test_a_match_reads_the_tables_of_all_types_that_it_names(graph: og.Graph) -> None:
    text = "query q() { match { $a: Person  $a knows $b } update $b set { age: 1 } }"
    found = footprint(graph, text)
    assert found[PERSON] is None
    assert found[KNOWS] is None
    assert NOTE not in found


def test_a_parameter_names_a_row_as_a_constant_does(graph: og.Graph) -> None:
    text = "query q($n: String) { update Person set { age: 1 } where name = $n }"
    assert footprint(graph, text, n="it's")[PERSON] == frozenset({"it's"})


def test_so_many_rows_are_the_whole_table() -> None:
    reads = Reads()
    reads.rows(PERSON, [str(number) for number in range(20_000)])
    reads.rows(PERSON, ["more"])
    assert reads.footprint() == {PERSON: None}
