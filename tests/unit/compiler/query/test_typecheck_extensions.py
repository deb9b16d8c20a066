"""The first group of language extensions: what they mean in a plan, and that they stay typed."""

from __future__ import annotations

from functools import cache

import pytest

from omnigraph.compiler.catalog import Catalog, compile_schema
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.ir.format import format_plan
from omnigraph.testing.graphs.huts import SCHEMA


@cache
def catalog() -> Catalog:
    return compile_schema(SCHEMA)


def compiled(text: str) -> list[str]:
    return format_plan(compile_query(text, catalog()).plan).splitlines()


def condition(text: str, params: str = "") -> str:
    lines = compiled(f"query q({params}) {{ match {{ $h: Hut {text} }} return {{ $h.code }} }}")
    return lines[0].removeprefix("scan $h: Hut where ").partition(" keeping")[0]


def column(text: str) -> str:
    return compiled(f"query q() {{ match {{ $h: Hut }} return {{ {text} as c }} }}")[-1].removeprefix('columns "c": ')


def predicate(text: str, params: str = "") -> str:
    line = compiled(f"query q({params}) {{ delete Hut where {text} }}")[0]
    return line.removeprefix("delete node Hut where ").partition(" cascading")[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$h.alt is null", "$h.alt is null"),
        ("$h.vec is not null", "$h.vec is not null"),
        ("$h.alt + $h.alt is null", "($h.alt + $h.alt) is null"),
        ('$h.alt < 5 or $h.grade = "a" and $h.open = true', '($h.alt < 5 or ($h.grade = "a" and $h.open = true))'),
        ('($h.alt < 5 or $h.alt > 9) and $h.name = "x"', '($h.alt < 5 or $h.alt > 9) and $h.name = "x"'),
        ('$h.grade in ["a", "b"]', '$h.grade in ["a", "b"]'),
        ("$h.alt not in [1, -2]", "$h.alt not in [1, -2]"),
        ("$h.alt in [1, 2.5]", "$h.alt in [1, 2.5]"),
        ("$h.alt in []", "$h.alt in []"),
        ('"stove" in $h.tags', '"stove" in $h.tags'),
        ("$h.alt > -5", "$h.alt > -5"),
        ("$h.alt * 2 + 1 = 7 % 4", "(($h.alt * 2) + 1) = 3"),
        ("-$h.alt < 0", "(0 - $h.alt) < 0"),
        ("$h.alt > 7 / 2", "$h.alt > 3.5"),
        ("$h.alt = 1 / 0", "$h.alt = null"),
        ("$h.alt = -7 % 3", "$h.alt = -1"),
        ('$h.id = "h1"', '$h.id = "h1"'),
    ],
)
def test_a_condition_keeps_its_meaning(text: str, expected: str) -> None:
    assert condition(text) == expected


def test_membership_in_a_parameter() -> None:
    assert condition("$h.grade in $l", "$l: [String]") == "$h.grade in :l"


def test_an_overflow_of_constants_is_left_to_evaluation() -> None:
    assert condition("$h.alt < 9223372036854775807 + 1") == "$h.alt < (9223372036854775807 + 1)"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("$h.alt + 1", "I64?"),
        ("1 + 1", "I64"),
        ("1 / 2", "F64?"),
        ("7 % 2", "I64?"),
        ("$h.alt * 1.5", "F64?"),
        ("-$h.alt", "I64?"),
        ("$h.id", "String"),
        ("count(*)", "I64?"),
        ("count(distinct $h.grade)", "I64?"),
        ("count(distinct $h)", "I64?"),
        ("max($h.seen)", "DateTime?"),
        ("min($h.built)", "Date?"),
        ("min($h.grade)", "enum(a, b, c)?"),
        ("sum($h.alt + 1)", "F64?"),
    ],
)
def test_a_computed_column_has_its_type(text: str, kind: str) -> None:
    assert column(text) == kind


SEVERAL = (
    "node Full { code: String @key  size: I32  note: String? }\n"
    "node Sparse { code: String @key  size: I32?  note: String? }\n"
    "edge Near: Full -> Full { far: I32 }\nedge Seen: Full -> Sparse { far: I32? }"
)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("match { $x: Full|Sparse } return { $x.size as c }", "I32?"),
        ("match { $x: Sparse|Full } return { $x.size as c }", "I32?"),
        ("match { $x: Full|Sparse } return { $x.note as c }", "String?"),
        ("match { $x: Full|Sparse } return { $x.code as c }", "String"),
        ("match { $x: Full $x $e:near|seen $y } return { $e.far as c }", "I32?"),
        ("match { $x: Full $x near|seen $y } return { $y.size as c }", "I32?"),
    ],
)
def test_a_property_of_several_types_may_be_null_where_one_of_them_allows_it(body: str, kind: str) -> None:
    plan = format_plan(compile_query(f"query q() {{ {body} }}", compile_schema(SEVERAL)).plan)
    assert plan.splitlines()[-1] == f'columns "c": {kind}'


def test_distinct_keeps_the_first_of_equal_rows_in_order() -> None:
    lines = compiled("query q() { match { $h: Hut } return distinct { $h.grade } order { $h.alt } limit 2 }")
    assert lines[1:5] == ["sort $h.alt, ids of $h", 'project $h.grade as "h.grade"', "distinct", "limit 2"]


def test_limit_and_offset_take_parameters_and_reach_the_sort() -> None:
    text = "query q($n: I32, $m: U64 = 5) { match { $h: Hut } return { $h.code } limit $n offset $m }"
    lines = compiled(text)
    assert "sort ids of $h top :n+:m" in lines
    assert "limit :n offset :m" in lines


def test_offset_alone_keeps_every_later_row() -> None:
    lines = compiled("query q() { match { $h: Hut } return { $h.code } offset 3 }")
    assert "limit all offset 3" in lines
    assert not any(" top " in line for line in lines)


def test_nodes_compare_by_identity() -> None:
    lines = compiled("query q() { match { $a: Hut $b: Hut $a != $b } return { $a.code, $b.code } }")
    assert lines[:3] == ["scan $a: Hut keeping $a.code", "scan $b: Hut keeping $b.code", "filter $a != $b"]


def test_equal_nodes_join_instead_of_multiplying() -> None:
    lines = compiled("query q() { match { $a: Hut $b: Hut $a = $b } return { $a.code } }")
    assert lines[1] == "scan $b: Hut on $a = $b"


def test_an_edge_has_an_id() -> None:
    lines = compiled("query q() { match { $a: Hut $a $e:path $b } return { $e.id } }")
    assert lines[-1] == 'columns "e.id": String'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('code = "a" and (alt < 2 or built is null)', '(code = "a" and (alt < 2 or built is null))'),
        ('name starts_with "A" or name contains "b"', '(name starts_with "A" or name contains "b")'),
        ('tags contains "stove"', '"stove" in tags'),
        ('id in ["h1", "h2"]', 'id in ["h1", "h2"]'),
        ('grade not in ["a"]', 'grade not in ["a"]'),
        ("alt + 1 > 3 * 4", "(alt + 1) > (3 * 4)"),
        ("seen < now()", "seen < now()"),
    ],
)
def test_a_mutation_predicate_keeps_its_meaning(text: str, expected: str) -> None:
    assert predicate(text) == expected


def test_edge_predicates_reach_endpoints_and_id() -> None:
    lines = compiled('query q() { delete Guards where from = "w1" and to != "h1" and id != "g1" }')
    assert lines == ['delete edge Guards where (src = "w1" and dst != "h1" and id != "g1")']


def test_null_can_be_assigned_where_the_property_allows_it() -> None:
    lines = compiled('query q() { update Hut set { alt: null, tags: null, vec: null } where code = "a" }')
    assert lines[0].startswith("update node Hut {alt: null as I32?, tags: null as [String]?, vec: null as Vector(2)?}")


def test_a_default_applies_when_the_caller_is_silent() -> None:
    text = 'query q($g: enum(b, a) = "a", $n: I32? = null) { match { $h: Hut { grade: $g } } return { $h.code } }'
    query = compile_query(text, catalog())
    assert query.bind({}) == {"g": "a", "n": None}
    assert query.bind({"g": "b", "n": 3}) == {"g": "b", "n": 3}
