"""Decisions of the language that show at compile time, by their number."""

from __future__ import annotations

from functools import cache

import pytest

from omnigraph.compiler.catalog import Catalog, compile_schema
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.ir.format import format_plan
from omnigraph.testing.graphs.huts import SCHEMA


@cache
def catalog() -> Catalog:
    return compile_schema(SCHEMA + "edge GuardsHut: Warden -> Hut")


def plan(match: str, returned: str = "$h.code", trailing: str = "", params: str = "") -> list[str]:
    text = f"query q({params}) {{ match {{ {match} }} return {{ {returned} }} {trailing} }}"
    return format_plan(compile_query(text, catalog()).plan).splitlines()


def code(match: str, returned: str = "$h.code", trailing: str = "", params: str = "") -> str:
    with pytest.raises(CompileError) as caught:
        plan(match, returned, trailing, params)
    return caught.value.code


def columns(returned: str, match: str = "$h: Hut", params: str = "") -> str:
    return plan(match, returned, params=params)[-1].removeprefix("columns ")


def test_D2_empty_braces_are_a_binding() -> None:
    assert plan("$h: Hut { }") == plan("$h: Hut")


def test_D3_a_repeated_query_name_is_refused_but_leaves_the_others_alone() -> None:
    one = "query a() { match { $h: Hut } return { $h.code } }"
    other = one.replace("query a", "query b")
    with pytest.raises(CompileError) as caught:
        compile_query(f"{one}\n{other}\n{one}", catalog(), "a")

    assert (caught.value.code, caught.value.line) == ("T31", 3)
    assert compile_query(f"{one}\n{other}\n{one}", catalog(), "b").name == "b"


def test_D5_now_works_in_reads() -> None:
    assert plan("$h: Hut { seen: now() }")[0] == "scan $h: Hut where $h.seen = now() keeping $h.code"


def test_D6_a_not_block_sees_what_its_later_siblings_bind() -> None:
    early = plan("not { $w guards $h } $h: Hut $w: Warden")
    assert early == plan("$h: Hut $w: Warden not { $w guards $h }")
    assert "  test $w out Guards $h" in early


def test_D6_a_nested_block_comes_after_the_siblings_around_it() -> None:
    lines = plan("$h: Hut not { not { $x guards $h } $h path $y $x: Warden }")
    assert "  anti-join on $h, $x" in lines


def test_D7_a_second_binding_adds_its_conditions() -> None:
    first = plan('$h: Hut { alt: 1 } $h: Hut { name: "a" }')[0]
    assert first == 'scan $h: Hut where $h.alt = 1 and $h.name = "a" keeping $h.code'


def test_D7_inside_a_block_a_second_binding_is_a_condition_on_the_outer_variable() -> None:
    assert plan("$h: Hut not { $h: Hut { alt: 1 } }")[0] == "scan $h: Hut where not ($h.alt = 1) keeping $h.code"


def test_D8_a_binding_cannot_carry_the_name_of_a_parameter() -> None:
    assert code("$h: Hut", params="$h: String") == "T33"


def test_D9_inline_conditions_that_could_not_work_are_errors() -> None:
    assert code("$h: Hut { vec: $v }", params="$v: Vector(2)") == "T7"
    assert code("$x: Hut $h: Hut { name: $x }") == "T14"


def test_D10_a_traversal_needs_no_anchor() -> None:
    assert plan("$h path $x")[:2] == ["scan $h: Hut keeping $h.code", "expand $h out Path $x: Hut"]


def test_D10_an_unanchored_loop_scans_its_type() -> None:
    assert plan("$h path $h")[:2] == ["scan $h: Hut keeping $h.code", "test $h out Path $h"]


def test_D11_direction_is_inferred_inside_a_not_block() -> None:
    assert plan("$h: Hut not { $h guards $w }")[2] == "  expand $h in Guards $w: Warden"


@pytest.mark.parametrize("written", ["guardsHut", "guardshut", "guardsHUT"])
def test_edge_names_ignore_case(written: str) -> None:
    assert "expand $h in GuardsHut $w: Warden" in plan(f"$h: Hut $h {written} $w")


def test_D13_a_text_predicate_inside_a_not_block_is_a_condition_per_row() -> None:
    assert plan('$h: Hut not { search($h.name, "a") }')[0].startswith('scan $h: Hut where not (search($h.name, "a"))')


def test_D14_a_node_is_an_object_without_its_blobs() -> None:
    assert columns("$h") == '"h": object Hut'
    kept = plan("$h: Hut", "$h")[0].partition("keeping ")[2].split(", ")
    assert kept == [
        f"$h.{name}" for name in ["alt", "built", "code", "grade", "id", "name", "open", "seen", "tags", "vec"]
    ]


def test_D15_an_aggregate_is_named_after_its_function() -> None:
    assert columns("$h.code, count($h), sum($h.alt)") == '"h.code": String, "count": I64?, "sum": F64?'


def test_column_names_without_an_alias() -> None:
    named = columns('$h.code, $h, $p, 1, now(), search($h.name, "a"), $h.alt + 1', params="$p: [I32]?")
    assert named == (
        '"h.code": String, "h": object Hut, "p": [I32]?, "literal": I64, "now": DateTime, "search": Bool, "expr": I64?'
    )


def test_D16_scores_and_text_predicates_can_be_returned() -> None:
    assert columns('bm25($h.name, "a"), nearest($h.vec, [1, 2]) as d') == '"bm25": F64, "d": F64'


def test_D17_a_name_re_emits_an_earlier_column() -> None:
    assert 'project $h.code as "c", $h.code as "again"' in plan("$h: Hut", "$h.code as c, c as again")


def test_D20_group_keys_order_with_and_without_an_alias() -> None:
    assert 'sort column "h.name"' in plan("$h: Hut", "$h.name, count($h) as n", "order { $h.name }")
    assert 'sort column "x"' in plan("$h: Hut", "$h.name as x, count($h) as n", "order { $h.name }")
    assert 'sort column "x" desc' in plan("$h: Hut", "$h.name as x, count($h) as n", "order { x desc }")


def test_D21_groups_tie_break_on_the_remaining_keys_in_return_order() -> None:
    lines = plan("$h: Hut", "$h.name, $h.alt, $h.code, count($h) as n", "order { n, $h.alt desc }")
    assert 'sort column "n", column "h.alt" desc, column "h.name", column "h.code"' in lines


def test_D22_without_order_rows_and_groups_come_in_tie_break_order() -> None:
    assert "sort ids of $a, $e, $h" in plan("$h: Hut $h $e:path $a")
    # Groups come in the order of their keys (decision 0053).
    assert plan("$h: Hut", "$h.name, count($h) as n")[1:3] == [
        'aggregate $h.name as "h.name", count($h) as "n"',
        'sort column "h.name"',
    ]


def test_hidden_variables_take_no_part_in_the_order() -> None:
    assert "sort ids of $h" in plan("$h: Hut $h path $_ $_ guards $h")


def test_D23_plain_keys_after_a_rank_break_its_ties() -> None:
    lines = plan("$h: Hut $h path $a", trailing='order { bm25($h.name, "a") asc, $a.alt desc }')
    assert "sort score desc, $a.alt desc, ids of $h, $a" in lines


def test_a_ranked_entity_keeps_its_rows_together() -> None:
    assert "sort score desc, ids of $h, $a" in plan("$h: Hut $h path $a", trailing='order { bm25($h.name, "a") }')


def test_a_rank_can_be_named_and_is_computed_once() -> None:
    lines = plan("$h: Hut", "$h.code, nearest($h.vec, [0, 1]) as d", "order { d } limit 3")
    assert "rank nearest($h.vec, [0, 1], l2) top 3" in lines
    assert 'project $h.code as "h.code", score as "d"' in lines


def test_a_ranked_query_with_groups_lists_the_best_group_first() -> None:
    lines = plan("$h: Hut $w guards $h", "$h.name, count($w) as n", 'order { bm25($h.name, "a") } limit 3')
    assert lines[-5:-1] == [
        'rank bm25($h.name, "a")',
        "sort score desc, ids of $h, $w",
        'aggregate $h.name as "h.name", count($w) as "n"',
        "limit 3",
    ]


def test_D24_text_predicates_work_on_variables_of_traversals_and_conjoin() -> None:
    lines = plan('$h: Hut $h path $x search($x.name, "a") search($x.name, "b")')
    assert any('search($x.name, "a") and search($x.name, "b")' in line for line in lines)


def test_D27_the_declared_metric_is_used() -> None:
    schema = compile_schema('node A { v: Vector(2) @metric("cosine") }')
    text = "query q() { match { $a: A } return { $a.v } order { nearest($a.v, [0, 1]) } limit 1 }"
    assert "rank nearest($a.v, [0, 1], cosine) top 1" in format_plan(compile_query(text, schema).plan)


def test_D29_both_arms_rank_one_variable() -> None:
    assert code("$h: Hut $x: Hut", trailing='order { rrf(bm25($h.name, "a"), bm25($x.name, "a")) } limit 1') == "T21"


def test_D30_a_distance_in_a_filter_is_refused_and_a_relevance_is_a_value() -> None:
    assert code("$h: Hut nearest($h.vec, [1, 2]) > 0.5") == "T27"
    # Decision 0046.
    assert any("bm25($h.name" in line for line in plan('$h: Hut bm25($h.name, "a") > 0.5'))


def test_hops_between_different_types_are_clamped() -> None:
    assert "expand $h in Guards $w: Warden" in plan("$w: Warden $w guards{1,9} $h")
    assert plan("$w: Warden $w guards{2,9} $h")[0] == "filter false"


def test_an_anonymous_edge_binding_binds_nothing() -> None:
    assert plan("$h: Hut $h $_:path{1,2} $x") == plan("$h: Hut $h path{1,2} $x")


def test_two_not_blocks_may_reuse_a_name_for_different_types() -> None:
    lines = plan("$h: Hut not { $x guards $h $x.age = $h.alt } not { $h path $x $x.alt = $h.alt }")
    assert "  expand $h in Guards $x: Warden keeping $x.age" in lines
    assert "  expand $h out Path $x: Hut keeping $x.alt" in lines


def test_an_embedded_vector_may_be_left_out_when_its_source_is_given() -> None:
    schema = compile_schema('node A { body: String  v: Vector(2) @embed(body, model="m-1") }')
    compile_query('query q() { insert A { body: "x" } }', schema)
    with pytest.raises(CompileError, match="T12"):
        compile_query("query q() { insert A { v: [1, 2] } }", schema)


def test_an_embedded_query_carries_the_recorded_model() -> None:
    schema = compile_schema('node A { body: String  v: Vector(2) @embed(body, model="m-1") }')
    text = 'query q() { match { $a: A } return { $a.body } order { nearest($a.v, "words") } limit 1 }'
    rank = compile_query(text, schema).plan.result[0]
    assert (rank.call.model, rank.call.embeds) == ("m-1", True)


def test_a_node_type_hides_an_edge_type_of_the_same_name() -> None:
    schema = compile_schema("node Hut { a: I32? } edge Hut: Hut -> Hut { b: I32? }")
    text = "query q() { update Hut set { a: 1 } where a = 2 }"
    assert format_plan(compile_query(text, schema).plan).startswith("update node Hut")


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        pytest.param("match { $h: Hutt } return { $h.code }", "'Hut'", id="node-type"),
        pytest.param("match { $h: Hut { nam: 1 } } return { $h.code }", "'name'", id="matched-property"),
        pytest.param("match { $h: Hut } return { $h.nam }", "'name'", id="property"),
        pytest.param("match { $h: Hut $h pat $x } return { $h.code }", "'path'", id="edge"),
        pytest.param("match { $h: Hut } return { $h.code as total } order { totl }", "'total'", id="alias"),
        pytest.param("match { $h: Hut { code: $cod } } return { $h.code }", "'code'", id="parameter"),
        pytest.param("match { $hut: Hut $hutt.alt > 1 } return { $hut.code }", "'hut'", id="variable"),
        pytest.param("insert Hutt { code: $code }", "'Hut'", id="target-type"),
        pytest.param("delete Path where minuts = 1", "'minutes'", id="target-property"),
    ],
)
def test_a_misspelled_name_gets_a_suggestion(text: str, suggestion: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_query(f"query q($code: String) {{ {text} }}", catalog())

    assert caught.value.diagnostic.help == f"did you mean {suggestion}?"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        pytest.param("match { $w: Warden $w climbs{0,0} $h } return { $w.name }", "T4", id="edge-before-bounds"),
        pytest.param("match { $w: Warden $w path{2,1} $h } return { $w.name }", "T15", id="bounds-before-types"),
        pytest.param("match { $w: Warden $w $w:path $h } return { $w.name }", "T23", id="binding-before-types"),
        pytest.param("insert Lake { x: 1 x: 2 }", "T13", id="insert-duplicates-before-type"),
        pytest.param("insert Hut { hight: 1 }", "T11", id="insert-assignments-before-required"),
        pytest.param("update Lake set { x: 1 x: 2 } where y = 1", "T10", id="update-type-before-duplicates"),
        pytest.param("update Hut set { hight: 1 hight: 2 } where y = 1", "T13", id="update-duplicates-before-values"),
        pytest.param("update Hut set { hight: 1 } where y = 1", "T11", id="update-values-before-predicate"),
        pytest.param("match { $h: Lake } return { $x } order { zz }", "T1", id="match-before-return"),
        pytest.param("match { $h: Hut } return { $x } order { zz }", "T30", id="return-before-order"),
    ],
)
def test_the_first_error_wins(text: str, first: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_query(f"query q() {{ {text} }}", catalog())

    assert caught.value.code == first


def test_a_block_that_only_binds_an_outer_variable_again_drops_every_row() -> None:
    assert plan("$h: Hut not { $h: Hut }")[0] == "filter false"
