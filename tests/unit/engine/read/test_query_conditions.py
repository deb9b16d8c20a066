"""A truth value is a condition wherever a condition stands: a column, a parameter, a property, a call."""

from __future__ import annotations

from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.formatter import format_text
from omnigraph.compiler.source import Source
from omnigraph.errors import InputError

STAGED = "match { $h: Hut } with { $h, $h.open as o, $h.alt > 1500 as high } "
PARAMS = {"yes": True, "no": False, "many": [True]}
HEAD = "query q($yes: Bool, $no: Bool, $many: [Bool], $n: I64 = 1)"


def matched(clauses: str, stage: str = "") -> str:
    return f"{HEAD} {{ {stage}match {{ {clauses} }} return {{ $h.code }} order {{ $h.code }} }}"


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("high", "h2 h4"),
        ("o high", "h4"),
        ("high $h.alt > 1", "h2 h4"),
        ("$h.open high", "h4"),
        ("high $h path $h", "h4"),
        ("high not { $h path $h }", "h2"),
        ("high either { o } or { $h path $h }", "h4"),
        ("not high", "h1"),
        ("(high)", "h2 h4"),
        ("high (o)", "h4"),
        ("high and $yes", "h2 h4"),
        ("not { high o }", "h1 h2 h3"),
        ("coalesce(o, true) high", "h4"),
        ("high if(o, false, true)", "h2"),
        ("high case when o then true else false end", "h4"),
        ("unwind [true, false] as b  b  high", "h2 h4"),
        ("exists { $h path $x o }  high", "h4"),
    ],
)
def test_a_column_of_a_stage_stands_alone_in_a_match(huts: og.Graph, clauses: str, expected: str) -> None:
    assert_codes(huts, matched(clauses, STAGED), expected)


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("$h: Hut $yes", "h1 h2 h3 h4"),
        ("$yes $h: Hut", "h1 h2 h3 h4"),
        ("$h: Hut $no", ""),
        ("$h: Hut $yes $h.open", "h1 h4"),
        ("$h: Hut $h.open $yes", "h1 h4"),
        ("$yes $h path $h", "h4"),
        ("$yes $h $e:path $h", "h4"),
        ("$h: Hut $yes $no", ""),
        ("$h: Hut $yes not { $h path $h }", "h1 h2 h3"),
        ("$h: Hut $yes not $h.open", "h2"),
        ("$h: Hut not $no", "h1 h2 h3 h4"),
        ("$h: Hut $yes and $h.open", "h1 h4"),
        ("$h: Hut $no or $h.open", "h1 h4"),
        ("$h: Hut $yes in $many", "h1 h2 h3 h4"),
        ("$h: Hut $yes exists { $h path $h $yes }", "h4"),
        ("$h: Hut $yes either { $no } or { $h.open }", "h1 h4"),
        ("$h: Hut $h path $h along $e { $yes }", "h4"),
        ("$h: Hut $h path $h along $e { $no }", ""),
        ("$h: Hut case when $no then true else $h.open end", "h1 h4"),
        ("$h: Hut if($yes, $h.open, $no)", "h1 h4"),
    ],
)
def test_a_parameter_stands_alone_in_a_match(huts: og.Graph, clauses: str, expected: str) -> None:
    assert_codes(huts, matched(clauses), expected)


def assert_codes(huts: og.Graph, text: str, expected: str) -> None:
    codes = [row["h.code"] for row in huts.query(text, params=PARAMS).rows()]
    assert codes == expected.split()
    formatted = format_text(Source(text), "gq")
    assert format_text(Source(formatted), "gq") == formatted
    assert [row["h.code"] for row in huts.query(formatted, params=PARAMS).rows()] == codes


def test_a_truth_value_is_a_condition_of_having_case_if_not_and_aggregates(huts: og.Graph) -> None:
    def rows(body: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in huts.query(f"{HEAD} {{ {body} }}", params=PARAMS).rows()]

    assert rows("match { $h: Hut } return { $h.code, $h.open as o } having { $yes o }") == [("h1", True), ("h4", True)]
    assert rows("match { $h: Hut } return { $h.code } having { $no }") == []
    assert rows(
        "match { $h: Hut } return { count(* where $yes) as a, count(* where $h.open) as b, any($no) as c, "
        "sum($h.alt where coalesce($h.open, false)) as d }"
    ) == [(4, 2, False, 3000.0)]
    assert rows(
        f"{STAGED} return {{ $h.code, case when o then 1 when $no then 2 end as a, if(high, 1, 0) as b, not o as c, "
        "o or $no as d, count(* where high per *) as e }"
    ) == [
        ("h1", 1, 0, False, True, 2),
        ("h2", None, 1, True, False, 2),
        ("h3", None, 0, None, None, 2),
        ("h4", 1, 1, False, True, 2),
    ]


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("hihg", "there is no column called 'hihg' here"),
        ("$h.alt", "a condition is true or false, not I32?"),
        ("$n", "a condition is true or false, not I64"),
        ("$h", "unexpected '}'"),
        ("$yes path $h", "$yes is a parameter and cannot be bound as well"),
        ("where $h.open", "a filter stands directly in 'match', without 'where'"),
    ],
)
def test_what_is_not_a_condition_is_named(huts: og.Graph, clauses: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        huts.query(matched(clauses, STAGED), params=PARAMS)
    assert message in str(refused.value)
