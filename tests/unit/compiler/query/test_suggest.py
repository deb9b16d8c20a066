"""What a misspelt name is answered with comes from what could stand at its place."""

from __future__ import annotations

import pytest

from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.query.typecheck import check_query
from omnigraph.compiler.source import Source

CATALOG = compile_schema(
    """
    node Hut { name: String @key altitude: I32 }
    node Lake { name: String @key depth: I32 }
    node Guard { name: String @key }
    edge Path: Hut -> Hut
    edge Beside: Hut -> Lake
    edge Guards: Guard -> Hut
    edge Pathos: Guard -> Guard
    edge Drains: Lake -> Lake
    """
)


def help_for(body: str) -> str:
    source = Source(f"query q($name: String) {{ {body} }}")
    with pytest.raises(CompileError) as caught:
        check_query(parse_queries(source).queries[0], CATALOG, source)
    return caught.value.diagnostic.help or ""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # A type after `:`, never an edge or a variable.
        ("match { $h: Hot } return { $h }", "did you mean 'Hut'?"),
        # An edge of the type that is bound: Pathos is nearer to `pathso`, but does not touch a lake.
        ("match { $l: Lake $l pathso $x } return { $x }", "the edges of Lake are beside, drains"),
        ("match { $l: Lake $l drans $x } return { $x }", "did you mean 'drains'?"),
        ("match { $a pathso $b } return { $a }", "did you mean 'pathos'?"),
        # A property of the variable's type.
        ("match { $h: Hut } return { $h.depht }", "the properties are altitude, name, id"),
        ("match { $l: Lake } return { $l.depht }", "did you mean 'depth'?"),
        ("match { $h: Hut { nmae: 1 } } return { $h }", "did you mean 'name'?"),
        # A function where an expression stands; `month` is not taken for `count`, nor `cont` in a pattern, where no aggregate can be.
        ("match { $h: Hut } return { $h.name as n } order { month }", "for the function write month(…)"),
        ("match { $h: Hut cont($h.name) > 1 } return { $h }", "did you mean 'concat'?"),
        ("match { $h: Hut } return { cont($h.name) as n }", "did you mean 'count'?"),
        ("match { $h: Hut } return { monht($h.name) as n }", "did you mean 'month'?"),
        ("update Hut set { altitude: 1 } where serach(name) = 1", "docs/reference/query.md lists the functions"),
        # What another language calls it, misspelt.
        ("match { $h: Hut } return { averge($h.altitude) as n }", "'average' is called avg here"),
        ("match { $h: Hut } return { mean($h.altitude) as n }", "it is called avg here"),
        # What to do where something cannot stand.
        (
            "match { $h: Hut count($h) > 1 } return { $h }",
            "group in 'with' and use 'having', or count a pattern: count(… match { … })",
        ),
        (
            "match { $h: Hut } return { sum(count($h)) as n }",
            "put the inner one into 'with', under a name, and use that",
        ),
        (
            "match { $h: Hut } return { $h.name + 1 as n }",
            "'+' joins two texts; make one of the other side with to_string(…)",
        ),
        ("match { $h: Hut shortest $p: $h path $x } return { $p.cost }", "only a 'cheapest' path has a cost"),
        # A keyword where one fits.
        ("match { $h: Hut } retrun { $h }", "did you mean 'return'?"),
        ("match { $h: Hut } return { $h } oder { $h.name }", "did you mean 'order'?"),
        # A variable or a parameter.
        ("match { $hut: Hut { name: $nmae } } return { $hut }", "did you mean 'name'?"),
        ("match { $hut: Hut } return { $hutt.name }", "did you mean 'hut'?"),
    ],
)
def test_a_suggestion_could_stand_there(body: str, expected: str) -> None:
    assert help_for(body) == expected
