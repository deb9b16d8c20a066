"""Printing a query tree and parsing it again gives the same tree, in one stable layout."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from omnigraph.compiler.query import ast
from omnigraph.compiler.query.format import format_queries
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.testing.strategies.queries import query_files
from tests.thoroughness import examples


@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(query_files())
def test_a_printed_tree_parses_back_to_itself(file: ast.QueryFile) -> None:
    text = format_queries(file)
    assert parse_queries(text) == file
    assert format_queries(parse_queries(text)) == text


def clause(text: str) -> str:
    """How one clause prints inside `match`."""
    printed = format_queries(parse_queries(f"query q() {{ match {{ $h: Hut {text} }} return {{ $h }} }}"))
    return printed.partition("    $h: Hut\n    ")[2].partition("\n  }\n")[0]


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("$h.a=1", "$h.a = 1"),
        ("((($h.a = 1)))", "$h.a = 1"),
        ("($h.a = 1 and $h.b = 1) or $h.c = 1", "$h.a = 1 and $h.b = 1 or $h.c = 1"),
        ("($h.a = 1 or $h.b = 1) and $h.c = 1", "($h.a = 1 or $h.b = 1) and $h.c = 1"),
        ("($h.a + 1) * 2 = (3)", "($h.a + 1) * 2 = 3"),
        ("$h.a - (1 - 2) = (1 * 2) + 3", "$h.a - (1 - 2) = 1 * 2 + 3"),
        ("$h.a = -(5)", "$h.a = -(5)"),
        ("$h.a = -(-5)", "$h.a = -(-5)"),
        ("$h.a = 1.50", "$h.a = 1.5"),
        ("$h.a = 10000000000000000000000.0", "$h.a = 10000000000000000000000.0"),
        ("$h.a = 0.00000000001", "$h.a = 0.00000000001"),
        ('$h.a = "a\nb"', '$h.a = "a\\nb"'),
        ("(-5 < $h.a)", "(-5 < $h.a)"),
        ("($a in $b)", "($a in $b)"),
        ("($a in $b.tags)", "$a in $b.tags"),
        ("($a not in $b)", "$a not in $b"),
        ("($a contains $b or $h.a = 1)", "($a contains $b or $h.a = 1)"),
        ("$a $e :< path > { 1 , 2 } $b", "$a $e:<path>{1,2} $b"),
        ("$a path{1,} $b", "$a path{1,} $b"),
        ("$x: T { }", "$x: T"),
        ("not { $h path $_ }", "not { $h path $_ }"),
        ("not { $h path $x $x path $h }", "not {\n      $h path $x\n      $x path $h\n    }"),
    ],
)
def test_a_clause_prints_with_the_fewest_parentheses(written: str, printed: str) -> None:
    assert clause(written) == printed


def test_long_lines_break() -> None:
    names = [f"a_rather_long_property_name_{at}" for at in range(4)]
    text = (
        f"query q({', '.join(f'${name}: String' for name in names)}) {{ match {{ $h: Hut {{ "
        f"{', '.join(f'{name}: ${name}' for name in names)} }} {' or '.join(f'$h.{name} = 1' for name in names)} }} "
        f"return {{ {', '.join(f'$h.{name}' for name in names)} }} order {{ {', '.join(names)} }} limit 1 }}"
    )
    printed = format_queries(parse_queries(text))
    assert max(map(len, printed.splitlines())) <= 100
    assert parse_queries(printed) == parse_queries(text)


def test_no_queries_print_as_nothing() -> None:
    assert format_queries(ast.QueryFile(())) == ""
