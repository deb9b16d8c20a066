"""Columns that a view does not have, because they are newer than its tables or masked, are null to every operator."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, DrawFn

import omnigraph as og
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.source import Source
from omnigraph.compiler.temporal import DateTime
from omnigraph.engine.read.query import ReadCall, run_query
from omnigraph.engine.views.restrict import restricted
from omnigraph.engine.views.view import View
from omnigraph.policy.visibility import Visibility
from omnigraph.testing.naive.evaluator import evaluate
from omnigraph.testing.naive.evaluator_values import close
from tests.thoroughness import examples

# The schema in steps: what each one declares, by type and by the identity of the property.
STEPS = (
    {"P": {"a": "a: I32?", "s": "s: String?", "t": "t: [String]?"}, "E": {"w": "w: I32?"}},
    {"P": {"b": "b: I64?"}, "E": {"z": "z: String?"}},
    {"P": {"a": 'height: I32? @rename_from("a")', "x": "x: String?"}},
    {"P": {"d": "d: [String]?"}, "E": {"y": "y: F64?"}},
)


def declarations(steps: int, kind: str) -> dict[str, str]:
    """Identity → declaration after so many steps."""
    found: dict[str, str] = {}
    for step in STEPS[:steps]:
        found |= step.get(kind, {})
    return found


def schema(steps: int) -> str:
    nodes, edges = (" ".join(declarations(steps, kind).values()) for kind in ("P", "E"))
    return f"""
interface Named {{ s: String? }}
node P implements Named {{ k: String @key {nodes} }}
node Q implements Named {{ k: String @key s: String? }}
edge E: P -> P {{ {edges} }}
edge F: P -> Q
"""


def names(steps: int, kind: str) -> dict[str, str]:
    """Identity → name after so many steps."""
    return {one: text.partition(":")[0] for one, text in declarations(steps, kind).items()}


FAMILY = {"a": "number", "b": "number", "w": "number", "y": "number", "s": "text", "x": "text", "z": "text", "t": "list", "d": "list"}  # fmt: skip
VALUES = {"number": [None, -1, 0, 1, 2], "text": [None, "", "a", "stone hut"], "list": [None, [], ["a"], ["a", "b"]]}
LITERALS = {"number": ["0", "1.5"], "text": ['"a"', '"stone hut"'], "list": ['"a"']}

# One entry for each thing a query can do with a property `{p}`; `{q}` is the same property of another variable.
FORMS: dict[str, dict[str, str]] = {
    "any": {
        "return": "return {{ {p} as c, $k }}",
        "is null": "{p} is null | return {{ $k }}",
        "is not null": "{p} is not null | return {{ $k }}",
        "not": "not {{ {p} is null }} | return {{ $k }}",
        "distinct": "return distinct {{ {p} as c }}",
        "count": "return {{ count({p}) as n, count(distinct {p}) as m, count(*) as r }}",
        "group": "return {{ {p} as c, count(*) as n }}",
        "group and order": "return {{ {p} as c, count(*) as n }} order {{ n desc }} limit 2",
    },
    "scalar": {
        "filter": "{p} >= {l} | return {{ $k }}",
        "filter, unequal": "{p} != {l} | return {{ $k }}",
        "or": "{p} = {l} or {p} is null | return {{ $k }}",
        "in": "{p} in [{l}] | return {{ $k }}",
        "not in": "{p} not in [{l}] | return {{ $k }}",
        "not a filter": "not {{ {p} = {l} }} | return {{ $k }}",
        "not with a step": "not {{ $p e $o {p} = $o.{n} }} | return {{ $k }}",
        "optional": "optional {{ $p e $o $o.{n} >= {l} }} | return {{ $k, $o.{n} as c }}",
        "optional, absent inside": "optional {{ $p e $o }} $o.{n} is null | return {{ $k, count($o) as n }}",
        "order": "return {{ $k }} order {{ {p} }}",
        "order, last first": "return {{ $k, {p} as c }} order {{ {p} desc }} limit 3",
        "extremes": "return {{ min({p}) as low, max({p}) as high }}",
        "extremes of groups": "return {{ $p.s as g, min({p}) as low, collect({p}) as c }}",
        "join": "$o: P $o.{n} = {p} | return {{ $k, $o.k as other }}",
        "having": "return {{ $k, max({p}) as c }} having {{ c is null }}",
    },
    "number": {
        "sum": "return {{ sum({p}) as s, avg({p}) as m }}",
        "arithmetic": "{p} + 1 > 0 | return {{ $k, {p} * 2 as c }}",
    },
    "text": {
        "contains": '{p} contains "a" | return {{ $k }}',
        "search": 'search({p}, "stone") | return {{ $k }}',
        "search, negated": 'not {{ search({p}, "stone") }} | return {{ $k }}',
        "rank": 'return {{ $k }} order {{ bm25({p}, "stone") }}',
    },
    "list": {"member": '{p} contains "a" | return {{ $k }}', "no member": 'not {{ "a" in {p} }} | return {{ $k }}'},
}  # fmt: skip
WHOLE = {
    "whole node": "match { $p: P } return { $p }",
    "whole node, grouped": "match { $p: P optional { $p e $o } } return { $p as node, count($o) as n }",
    "union": "match { $x: Named } return { $x, $x.s as c } order { $x.s desc }",
    "union, grouped": "match { $x: Named } return { $x.s as c, count(*) as n } order { n }",
    "union, filtered": 'match { $x: Named $x.s = "a" } return { $x.id }',
    "union, negated": 'match { $x: Named not { $x.s = "a" } } return { $x.id }',
}


@dataclass
class Point:
    """A state of the graph: its view, and the rows that the model has, by identity."""

    view: View
    rows: dict[str, dict[str, dict[str, Any]]]


@dataclass
class History:
    """A graph and what the model says about it, in step."""

    graph: og.Graph
    steps: int = 1
    rows: dict[str, dict[str, dict[str, Any]]] = field(default_factory=lambda: {"P": {}, "Q": {}, "E": {}, "F": {}})
    points: list[Point] = field(default_factory=list)

    def remember(self) -> None:
        self.points.append(Point(self.graph.view(), deepcopy(self.rows)))

    def do(self, draw: DrawFn, action: str) -> None:
        getattr(self, f"do_{action}")(draw)
        self.remember()

    def do_insert(self, draw: DrawFn) -> None:
        first = len(self.rows["P"]) + len(self.rows["E"])
        new = [f"p{(first + number) * 7 % 10}{first + number}" for number in range(draw(st.integers(1, 5)))]
        lines: list[Any] = [self._node(draw, key) for key in new]
        keys = sorted(self.rows["P"])
        lines += [self._edge(draw, f"e{first}-{number}", keys) for number in range(draw(st.integers(0, 4)))]
        self.graph.load(lines, mode="merge")

    def do_update(self, draw: DrawFn) -> None:
        keys = draw(st.lists(st.sampled_from(sorted(self.rows["P"])), min_size=1, max_size=3, unique=True))
        one, value = self._value(draw, "P")
        listed = ", ".join(f'"{key}"' for key in keys)
        name = names(self.steps, "P")[one]
        self.graph.mutate(f"query q() {{ update P set {{ {name}: {literal(value)} }} where k in [{listed}] }}")
        for key in keys:
            self.rows["P"][key][one] = value

    def do_update_edges(self, draw: DrawFn) -> None:
        source = draw(st.sampled_from(sorted(self.rows["P"])))
        one, value = self._value(draw, "E")
        name = names(self.steps, "E")[one]
        self.graph.mutate(f'query q() {{ update E set {{ {name}: {literal(value)} }} where from = "{source}" }}')
        for row in self.rows["E"].values():
            if row["src"] == source:
                row[one] = value

    def do_delete(self, draw: DrawFn) -> None:
        key = draw(st.sampled_from(sorted(self.rows["P"])))
        self.graph.mutate(f'query q() {{ delete P where k = "{key}" }}')
        if len(self.rows["P"]) > 1:
            del self.rows["P"][key]
        else:
            self.rows["P"].clear()
        for kind in ("E", "F"):
            gone = [name for name, row in self.rows[kind].items() if key in (row["src"], row["dst"])]
            for name in gone:
                del self.rows[kind][name]
        if not self.rows["P"]:
            self.do_insert(draw)

    def do_compact(self, draw: DrawFn) -> None:
        self.graph.optimize()

    def do_schema(self, draw: DrawFn) -> None:
        if self.steps < len(STEPS) - 1:
            self.steps += 1
            self.graph.schema.apply(schema(self.steps))

    def _node(self, draw: DrawFn, key: str) -> dict[str, Any]:
        row = {one: draw(st.sampled_from(VALUES[FAMILY[one]])) for one in names(self.steps, "P")}
        self.rows["P"][key] = row
        return {"type": "P", "data": {"k": key, **self._named("P", row)}}

    def _edge(self, draw: DrawFn, name: str, keys: list[str]) -> dict[str, Any]:
        row = {one: draw(st.sampled_from(VALUES[FAMILY[one]])) for one in names(self.steps, "E")}
        source, target = draw(st.sampled_from(keys)), draw(st.sampled_from(keys))
        self.rows["E"][name] = {"src": source, "dst": target, **row}
        return {"edge": "E", "from": source, "to": target, "data": {"id": name, **self._named("E", row)}}

    def _named(self, kind: str, row: dict[str, Any]) -> dict[str, Any]:
        called = names(self.steps, kind)
        return {called[one]: value for one, value in row.items() if value is not None}

    def _value(self, draw: DrawFn, kind: str) -> tuple[str, Any]:
        one = draw(st.sampled_from(sorted(names(self.steps, kind))))
        return one, draw(st.sampled_from(VALUES[FAMILY[one]]))


def literal(value: Any) -> str:
    return "null" if value is None else str(value).replace("'", '"') if not isinstance(value, str) else f'"{value}"'


@st.composite
def histories(draw: DrawFn, place: Path) -> History:
    """A graph after some commits on main, and then some on a branch."""
    found = History(og.init(place / "graph.omni", schema=schema(1)))
    found.graph.load([{"type": "Q", "data": {"k": "q0", "s": "a"}}, {"type": "Q", "data": {"k": "p00"}}])
    found.rows["Q"] = {"q0": {"s": "a"}, "p00": {"s": None}}
    found.do(draw, "insert")
    actions = ["insert", "update", "update", "update_edges", "delete", "compact", "schema", "schema"]
    for action in draw(st.lists(st.sampled_from(actions), min_size=1, max_size=5)):
        note(action)
        found.do(draw, action)
    found.graph.branches.create("side")
    found.graph = found.graph.branch("side")
    for action in draw(st.lists(st.sampled_from(actions[:5]), max_size=3)):
        note(f"on side: {action}")
        found.do(draw, action)
    return found


def texts(steps: int) -> Iterator[str]:
    """Every form for every property of the schema after so many steps."""
    for kind, key, first in (("P", "$p.k", "$p: P"), ("E", "$e.id", "$p $e:e $h")):
        for one, name in names(steps, kind).items():
            family = FAMILY[one]
            groups = ["any", family, *(["scalar"] if family != "list" else [])]
            for form in (form for group in groups for form in FORMS[group].values()):
                if kind == "E" and ("$o" in form or "search(" in form or "bm25(" in form):
                    continue
                match, _, returned = form.rpartition(" | ")
                text = f"match {{{{ {first} {match} }}}} {returned}".replace("$k", key)
                for literal in LITERALS[family]:
                    yield text.format(p=f"{key[:2]}.{name}", n=name, l=literal)
    yield from WHOLE.values()


def expected(catalog: Catalog, steps: int, point: Point, masked: dict[str, frozenset[str]], text: str) -> Any:
    image: dict[str, Any] = {}
    for kind, rows in point.rows.items():
        called = names(steps, kind)
        table = image[f"{'node' if kind in 'PQ' else 'edge'}:{kind}"] = {}
        for key, row in rows.items():
            hidden = masked.get(kind, ())
            values = {name: None if name in hidden else row.get(one) for one, name in called.items()}
            if kind == "Q":
                values = {"s": None if "s" in hidden else row["s"]}
            ends = {"k": key} if kind in "PQ" else {"src": row["src"], "dst": row["dst"]}
            table[key] = {"id": key, **ends, **values}
    return evaluate(compile_query(text, catalog).checked, catalog, image, {}, DateTime(0))


def read(view: View, text: str) -> Any:
    return run_query(view, ReadCall(Source(text))).rows()


@pytest.fixture
def updated(tmp_path: Path) -> og.Graph:
    """Ten rows; the update put one of them at the end of its table, with the row id that it had."""
    graph = og.init(tmp_path / "graph.omni", schema="node P { k: String @key  a: I32? }")
    graph.load([{"type": "P", "data": {"k": f"k{number}", "a": number}} for number in range(10)])
    graph.mutate('query q() { update P set { a: 5 } where k = "k0" }')
    return graph


def test_a_property_that_came_after_an_update_is_null_in_every_row(updated: og.Graph) -> None:
    before = updated.view()
    updated.schema.apply("node P { k: String @key  a: I32?  b: I64? }")
    view = replace(before, catalog=updated.view().catalog)
    assert read(view, "query q() { match { $p: P } return { $p.b } }") == [{"p.b": None}] * 10
    assert read(view, "query q() { match { $p: P $p.b > 0 } return { $p.k } }") == []
    assert read(view, "query q() { match { $p: P $p.b is null } return { count(*) as n } }") == [{"n": 10}]
    ordered = read(view, "query q() { match { $p: P } return { $p.k } order { $p.b desc } limit 2 }")
    assert ordered == [{"p.k": "k0"}, {"p.k": "k1"}]


def test_a_masked_property_is_null_in_every_row_after_an_update(updated: og.Graph) -> None:
    view = restricted(updated.view(), Visibility(None, frozenset({("P", frozenset({"a"}))})))
    assert read(view, "query q() { match { $p: P } return { $p.a } }") == [{"p.a": None}] * 10
    assert read(view, "query q() { match { $p: P $p.a > 0 } return { $p.k } }") == []
    assert read(view, "query q() { match { $p: P } return { sum($p.a) as s, count($p.a) as n } }") == [
        {"s": None, "n": 0}
    ]


def test_functions_of_a_masked_property_reveal_nothing(updated: og.Graph) -> None:
    view = restricted(updated.view(), Visibility(None, frozenset({("P", frozenset({"a"}))})))
    shown = "abs($p.a) as x, coalesce($p.a, -1) as y, if($p.a > 3, 1, 0) as z, to_string($p.a) as t, $p.a is null as n"
    nothing = {"x": None, "y": -1, "z": 0, "t": None, "n": True}
    assert read(view, f"query q() {{ match {{ $p: P }} return {{ {shown} }} }}") == [nothing] * 10
    for condition in ("abs($p.a) >= 0", "not ($p.a > 3)", "0 <= $p.a < 99", 'to_string($p.a) matches "."'):
        assert read(view, f"query q() {{ match {{ $p: P {condition} }} return {{ $p.k }} }}") == []
    folded = "median($p.a) as m, first($p.k order $p.a desc) as f, any($p.a > 3) as y, count(* where $p.a > 3) as n"
    found = read(view, f"query q() {{ match {{ $p: P }} return {{ {folded} }} }}")
    assert found == [{"m": None, "f": "k0", "y": None, "n": 0}]  # in the order of rows, not of what is hidden


def test_one_name_for_two_properties_is_searched_in_the_right_texts(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph.omni", schema="node P { k: String @key  a: String?  b: String? }")
    graph.load([{"type": "P", "data": {"k": "p", "a": "stone", "b": "wood"}}])
    text = 'query q() { match { $p: P search($p.x, "stone") } return { $p.x } }'
    for old, found in (("a", [{"p.x": "stone"}]), ("b", [])):
        other = "b" if old == "a" else "a"
        renamed = f'node P {{ k: String @key  x: String? @rename_from("{old}")  {other}: String? }}'
        assert read(replace(graph.view(), catalog=graph.schema.plan(renamed).target.catalog), text) == found


# What can have happened to a table times what a query can do with a column of it.
@pytest.mark.parametrize("small", [4_096, 0])
@settings(
    max_examples=examples(5),
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(st.data())
def test_an_absent_column_is_null_to_every_operator(small: int, data: DataObject) -> None:
    with tempfile.TemporaryDirectory() as place, patch("omnigraph.engine.read.columns.entities.SMALL_TABLE", small):
        history = data.draw(histories(Path(place)))
        # A schema of the future too: planned, not applied, as a branch from before the change sees it.
        steps = len(STEPS)
        catalog = history.graph.schema.plan(schema(steps)).target.catalog
        for point in history.points:
            masks = {
                kind: frozenset(data.draw(st.sets(st.sampled_from(sorted(names(steps, kind).values())), max_size=2)))
                for kind in ("P", "E")
            }
            masked = {kind: hidden for kind, hidden in masks.items() if hidden}
            view = replace(point.view, catalog=catalog)
            if masked:
                view = restricted(view, Visibility(None, frozenset(masked.items())))
            every = list(texts(steps))
            for text in data.draw(st.permutations(every))[:40]:
                text = f"query q() {{ {text} }}"
                answer = expected(view.catalog, steps, point, masked, text)
                found = read(view, text)
                assert close(found, answer), f"{text}\nmasked {masked}\n{found}\n{answer}"
