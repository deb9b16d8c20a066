"""Plans: golden texts of representative queries, passes one by one, and operators that refuse nonsense."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from omnigraph.compiler.catalog import Catalog, compile_schema
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir import ops, write_ops
from omnigraph.compiler.ir.estimates import NeutralEstimates
from omnigraph.compiler.ir.format import format_plan
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.lower import lower
from omnigraph.compiler.ir.optimize import PASSES, optimize
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.plan import Plan, ReadPlan, ResultColumn
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.query.typecheck import check_query
from omnigraph.compiler.source import Source
from omnigraph.compiler.types import PropType
from omnigraph.testing.graphs.huts import SCHEMA

GOLDENS = {
    "point_lookup": 'match { $h: Hut { code: "h1" } } return { $h.name, $h.alt }',
    "whole_node": "match { $h: Hut } return { $h }",
    "one_hop": 'match { $h: Hut { code: "h1" } $h path $x } return { $x.code }',
    "two_hops_distinct": 'match { $h: Hut { code: "h1" } $h path $x $x path $y } return distinct { $y.code }',
    "reach": 'match { $h: Hut { code: "h1" } $h path{1,3} $x } return { $x.code } order { $x.name }',
    "undirected": 'match { $h: Hut { code: "h1" } $h <path>{1,2} $x } return { $x.code }',
    "edge_binding": "match { $h: Hut $h $e:path $x $e.minutes > 50 } return { $e.id, $e.minutes, $x.code }",
    "edge_between_bound_ends": "match { $a: Hut $b: Hut $a.alt < $b.alt $a $e:path $b } return { $e.minutes }",
    "triangle": "match { $a: Hut $a path $b $b path $c $c path $a } return { $a.code }",
    "self_loop": "match { $a path $a } return { $a.code }",
    "backward": 'match { $h: Hut { code: "h2" } $h guards $w } return { $w.badge }',
    "never": "match { $w: Warden $w guards{2,3} $h } return { $h.code }",
    "anonymous": "match { $h: Hut $h path $_ $_ guards $h } return { $h.code }",
    "not_filter": "match { $h: Hut not { $h.alt = 1800 $h.open = true } } return { $h.code }",
    "not_pattern": "match { $h: Hut not { $w guards $h $w.age > 35 } } return { $h.code }",
    "not_nested": "match { $h: Hut not { $h path $x not { $w guards $x } } } return { $h.code }",
    "cross_product": "match { $h: Hut $w: Warden } return { $h.code, $w.badge }",
    "value_join": "match { $h: Hut $w: Warden $h.name = $w.name $w.age > 30 } return { $h.code, $w.badge }",
    "selective_start": 'match { $h: Hut $h path $x $w guards $x $w.badge = "w1" } return { $h.code }',
    "disjunction": 'match { $h: Hut $h path $x $h.alt < 5 or $x.grade in ["a", "b"] } return { $x.code }',
    "may_overflow": "match { $h: Hut $h path $x $h.alt * 5000000000 > 5 $x.alt + 1 > 3"
    " not { $w guards $x $w.age - 9223372036854775807 > 1 } } return { $h.code }",
    "may_overflow_in_having": "match { $h: Hut } return { $h.code as code, $h.alt * 5000000000 as far }"
    ' having { code != "h1"  far > 0 } order { far }',
    "constant_gate": 'match { $h: Hut $mode = "all" or $mode is null } return { $h.code }',
    "aggregate_all": "match { $h: Hut } return { count(*) as n, avg($h.alt) as m, count(distinct $h.grade) as g }",
    "aggregate_groups": "match { $w: Warden $w guards $h } return { $w, count($h) as n } order { n desc } limit 3",
    "aggregate_lists": "match { $h: Hut } return { $h.tags, count($h) as n } order { n }",
    "paging": "match { $h: Hut } return { $h.code } order { $h.alt desc, $h.name } limit $n offset 20",
    "nearest": "match { $h: Hut $h guards $w } return { $h.code, $w.name } order { nearest($h.vec, $v) } limit 5",
    "hybrid": 'match { $h: Hut } return { $h.code, rrf(nearest($h.vec, $v), bm25($h.name, "alm")) as s } order { s } limit 5',
    "search": 'match { $h: Hut search($h.name, "rest") fuzzy($h.name, "alpn", 1) } return { $h.code }',
    "optional": "match { $h: Hut optional { $w guards $h $w.age > 35 } $w is null } return { $h.code, $w.name }",
    "optional_chain": "match { $h: Hut optional { $h path $x } optional { $w guards $x } not { $x path $h } } return { $w }",
    "open_reach": 'match { $h: Hut { code: "h1" } $h path{2,} $x } return { $x.code }',
    "shortest": 'match { $h: Hut { code: "h1" } shortest $p: $h path $x $p.length > 1 } return { $x.code, $p.nodes }',
    "alternation": 'match { $h: Hut { code: "h1" } $h path|guards{1,2} $x } return { $x }',
    "union": "match { $x: Hut|Warden $x.name = $mode } return { $x.id, count(*) as n }",
    "having": "match { $h: Hut } return { $h.grade as g, count(*) as n } having { n > 1 g is not null } order { n } limit 3",
    "collect": "match { $h: Hut } return { $h.grade, collect(distinct $h.name) as names } order { $h.grade }",
    "computed_update": "update Path set { minutes: minutes + $n * 2 } where from = $mode",
    "driven_update": "match { $w: Warden { badge: $mode } $w guards $h } update $h set { alt: alt + $w.age, open: true }",
    "driven_insert": "match { $a path $_ $b: Hut { code: $mode } } insert Path { from: $a, to: $b, minutes: $a.alt }",
    "driven_delete": "match { $h: Hut not { $h path $_ } } delete $h",
    "mutation": 'insert Hut { code: $mode, name: "N", built: date("1990-01-01"), seen: now(), vec: [1, 2.5], tags: ["a"] }'
    ' insert Path { from: "h1", to: $mode, minutes: 5 } update Path set { minutes: null } where from = "h1"',
    "delete": "delete Warden where badge = $mode or age < 18 delete Path where minutes is null",
}


@cache
def catalog() -> Catalog:
    return compile_schema(SCHEMA)


def text_of(body: str) -> str:
    return f"query q($n: I64 = 10, $v: Vector(2)? = null, $mode: String? = null) {{ {body} }}"


def lowered(body: str) -> Plan:
    source = Source(text_of(body))
    return lower(check_query(parse_queries(source).queries[0], catalog(), source))


@pytest.mark.parametrize("name", GOLDENS)
def test_the_plan_is_the_golden_one(name: str, golden: Callable[[str, str], None]) -> None:
    plan = lowered(GOLDENS[name])
    shown = f"{GOLDENS[name]}\n\nlowered\n{format_plan(plan)}\n\noptimized\n{format_plan(optimize(plan))}"

    golden(f"ir/{name}.txt", shown)


@pytest.mark.parametrize("name", GOLDENS)
def test_optimising_an_optimised_plan_changes_nothing(name: str) -> None:
    once = optimize(lowered(GOLDENS[name]))

    assert format_plan(optimize(once)) == format_plan(once)


def test_each_pass_is_named_after_its_module() -> None:
    assert [run.__module__.rpartition(".")[2] for run in PASSES] == [run.__name__ for run in PASSES]


def test_known_parameters_become_constants() -> None:
    plan = lowered("match { $h: Hut $h.alt > $n + 1 } return { $h.code } limit $n")

    shown = format_plan(optimize(plan, Context(values={"n": 4})))

    assert "where $h.alt > 5" in shown
    assert "limit 4" in shown
    assert ":n" not in shown


def test_a_vector_value_becomes_a_constant_tuple() -> None:
    plan = lowered("match { $h: Hut } return { $h.code } order { nearest($h.vec, $v) } limit 1")

    assert "nearest($h.vec, [0.5, 1.0], l2)" in format_plan(optimize(plan, Context(values={"v": [0.5, 1.0]})))


class FewWardens(NeutralEstimates):
    def rows(self, type_name: str) -> float:
        return 3.0 if type_name == "Warden" else 1_000_000.0


class DensePaths(NeutralEstimates):
    def degree(self, edge: str, direction: str) -> float:
        return 1000.0 if edge == "Path" else 2.0


def test_the_start_follows_the_estimates() -> None:
    plan = lowered("match { $h: Hut $h guards $w $h path $x } return { $x.code }")

    shown = format_plan(optimize(plan, Context(FewWardens()))).splitlines()

    assert shown[:3] == [
        "scan $w: Warden",
        "expand $w out Guards $h: Hut",
        "expand $h out Path $x: Hut keeping $x.code",
    ]


def test_hops_that_multiply_less_come_first() -> None:
    plan = lowered('match { $h: Hut { code: "h1" } $h path $x $h guards $w } return { $x.code }')

    shown = format_plan(optimize(plan, Context(DensePaths()))).splitlines()

    assert shown[1].startswith("expand $h in Guards")
    assert shown[2].startswith("expand $h out Path")


def test_what_is_only_returned_is_found_out_for_the_rows_that_are_left() -> None:
    body = "match { $h: Hut $h path $x $w guards $x $w.age > 35 } return { $h.code, exists { $h path $x $x path $h } as back }"
    shown = format_plan(optimize(lowered(body))).splitlines()

    operators = [line.split()[0] for line in shown if not line.startswith(" ")]
    assert operators[:4] == ["scan", "expand", "expand", "mark"]


def test_a_condition_on_a_truth_value_is_tested_before_rows_multiply() -> None:
    body = "match { $h: Hut exists { $w guards $h $w.age > 35 } $h path $x } return { $x.code }"
    shown = format_plan(optimize(lowered(body))).splitlines()

    operators = [line.split()[0] for line in shown if not line.startswith(" ")]
    assert operators.index("filter") < operators.index("expand")


def test_a_truth_value_about_an_optional_node_waits_for_that_node() -> None:
    body = "match { $h: Hut optional { $h path $x } } return { $h.code, exists { $w guards $x } as guarded }"
    shown = format_plan(optimize(lowered(body))).splitlines()

    operators = [line.split()[0] for line in shown if not line.startswith(" ")]
    assert operators.index("left") < operators.index("mark")


def test_far_bounds_do_not_overflow_the_estimate() -> None:
    optimize(lowered("match { $h: Hut $h path{1,9223372036854775807} $x } return { $x.code }"))


HUT = ir.Property("h", "alt", PropType("I32"))
LINK = Link("Path", "a", "b", "Hut", "Hut")


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda: ir.Arithmetic("+", HUT, ir.Const("x", ir.STRING), ir.INT64), id="text-in-arithmetic"),
        pytest.param(lambda: ir.Compare("~", HUT, HUT), id="unknown-comparison"),
        pytest.param(lambda: ir.Compare("=", ir.Node("h", "Hut", ()), HUT), id="node-in-comparison"),
        pytest.param(lambda: ir.In(HUT, HUT), id="membership-in-a-scalar"),
        pytest.param(lambda: ir.TextTest("contains", HUT, HUT), id="substring-of-a-number"),
        pytest.param(lambda: ir.IsTrue(HUT), id="truth-of-a-number"),
        pytest.param(lambda: ir.TextMatch("search", HUT, HUT), id="search-in-a-number"),
        pytest.param(lambda: ir.AggregateCall("sum", None, False, ir.FLOAT64), id="sum-of-nothing"),
        pytest.param(
            lambda: ir.SameNode(ir.Node("h", "Hut", ()), ir.Node("w", "Warden", ())), id="identity-across-types"
        ),
        pytest.param(
            lambda: ir.Rrf(
                ir.Bm25("a", "name", ir.Const("x", ir.STRING)),
                ir.Bm25("b", "name", ir.Const("x", ir.STRING)),
                ir.Const(60, ir.INT64),
            ),
            id="fusion-of-two-variables",
        ),
        pytest.param(lambda: Link("Path", "a", "b", "Hut", "Hut", 2, 1), id="reversed-hops"),
        pytest.param(lambda: Link("Path", "a", "b", "Hut", "Hut", 1, 2, False, "e"), id="edge-over-hops"),
        pytest.param(lambda: Link("Guards", "a", "b", "Warden", "Hut", 1, 2), id="hops-that-cannot-chain"),
        pytest.param(lambda: Link("Guards", "a", "b", "Warden", "Hut", undirected=True), id="undirected-types"),
        pytest.param(lambda: ops.NodeScan("x", "Hut", (ir.IsNull(HUT),)), id="foreign-predicate-in-scan"),
        pytest.param(lambda: ops.Expand(LINK, "z"), id="expand-from-elsewhere"),
        pytest.param(lambda: ops.Expand(LINK, "a", (ir.IsNull(HUT),)), id="foreign-predicate-in-expand"),
        pytest.param(lambda: ops.ExpandTest(LINK, (ir.IsNull(HUT),)), id="edge-predicate-without-edge"),
        pytest.param(lambda: write_ops.DeleteEdge("Path", ir.IsNull(HUT)), id="variable-in-mutation"),
        pytest.param(lambda: ops.Aggregate((ops.Output("x", HUT),)), id="groups-without-aggregate"),
    ],
)
def test_a_meaningless_plan_cannot_be_built(build: Callable[[], object]) -> None:
    with pytest.raises(ir.IllTyped):
        build()


def test_columns_are_known_before_any_row() -> None:
    plan = compile_query(text_of("match { $h: Hut } return { $h.alt as a, $h }"), catalog()).plan
    assert isinstance(plan, ReadPlan)
    assert plan.columns == (
        ResultColumn("a", PropType("I32", nullable=True), True),
        ResultColumn("h", ir.NodeObject("Hut"), False),
    )


class Counting(NeutralEstimates):
    asked = 0

    def degree(self, edge: str, direction: str) -> float:
        self.asked += 1
        return 4.0


def test_planning_looks_at_each_hop_a_bounded_number_of_times() -> None:
    hops = 300
    chain = " ".join(f"$a{number} path $a{number + 1} $a{number}.alt < $a{number + 1}.alt" for number in range(hops))
    estimates = Counting()

    optimize(lowered(f"match {{ {chain} }} return {{ $a0.code }}"), Context(estimates))

    assert hops <= estimates.asked <= 2 * hops
