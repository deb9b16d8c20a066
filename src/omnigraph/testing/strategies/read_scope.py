"""What a random query may speak about: the variables in scope, their scalar properties, and values to compare with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

# Scalar properties by type of owner and kind of value; numbers of every width compare with each other.
SCALARS = {
    "Ant": {
        "number": ["n", "f"],
        "large": ["m"],
        "text": ["s", "k", "id", "x"],
        "bool": ["b"],
        "date": ["d"],
        "instant": ["at"],
    },
    "Bee": {"number": ["n", "g"], "text": ["s", "k", "id"]},
    "Walks": {"number": ["w"], "text": ["s", "from", "to", "id"]},
    "Meets": {"number": ["w"], "text": ["id", "to"]},
    "Feeds": {"text": ["s", "from"]},
    "Named": {"text": ["s", "id"]},
    "Ant|Bee": {"text": ["k", "s", "id"]},
    "Mixed": {"text": ["id", "from"]},
    "path": {"number": ["length"]},
    "cheapest": {"number": ["length", "cost"]},
}
LITERALS: dict[str, list[str]] = {
    "number": ["-1", "0", "1", "2", "2.0", "0.5", "1.5", "99999999999"],
    "large": ["0", "-1", "9007199254740993", "9007199254740993.0", "9223372036854775807", "18446744073709551615"],
    "text": ['""', '"a"', '"ab"', '"a1"', '"ä"', '"zz"'],
    "bool": ["true", "false"],
    "date": ['date("2020-02-29")', 'date("2021-01-01")'],
    "instant": ['datetime("2020-02-29T00:00:00Z")', "now()"],
}
QUERIES = ["stone", "huts", "old rest", "the", "", "ston"]


@dataclass
class Scope:
    """Variables bound so far, by name; `cost` counts what the naive evaluator must multiply.

    `names` is shared with `not` blocks: a name bound later in the outer list would mean that variable there.
    """

    nodes: dict[str, str] = field(default_factory=dict)
    edges: dict[str, str] = field(default_factory=dict)  # and paths: what has properties but no identity
    cost: int = 0
    names: Iterator[int] = field(default_factory=count)
    maybe: dict[str, str] = field(default_factory=dict)  # bound in optional blocks
    columns: dict[str, str] = field(default_factory=dict)  # values with a name, by family

    def all(self) -> dict[str, str]:
        return {**self.nodes, **self.edges, **self.maybe}

    def whole(self) -> dict[str, str]:
        """What can stand for a node as a whole."""
        return {var: kind for var, kind in {**self.nodes, **self.maybe}.items() if var.startswith("p")}

    def things(self) -> dict[str, str]:
        """What can be returned, counted and compared as a whole: nodes and edges."""
        edges = {var: kind for var, kind in self.all().items() if var.startswith("e")}
        return {**self.whole(), **edges}

    def block(self) -> Scope:
        """Inside a block everything bound so far, be it null, is as good as anything else."""
        nodes = {**self.nodes, **self.whole()}
        edges = {var: kind for var, kind in self.all().items() if var not in nodes}
        return Scope(nodes, edges, max(self.cost, 2), self.names, columns=dict(self.columns))


def fresh(scope: Scope, prefix: str = "p") -> str:
    """A name that no other variable has."""
    # Names whose order differs from the order of binding.
    return f"{prefix}{(next(scope.names) * 7) % 10}_{next(scope.names)}"


def text_test(draw: DrawFn, scope: Scope) -> str:
    """A text predicate on some node."""
    name = draw(st.sampled_from(["search", "match_text", "fuzzy", "search_all", "search_phrase", "search_prefix"]))
    var, kind = draw(st.sampled_from(sorted(scope.whole().items())))
    query = draw(st.sampled_from([*QUERIES, "ab"]))
    return f'{name}(${var}.{"x" if kind == "Ant" else "s"}, "{query}")'


def ants_in(scope: Scope) -> list[str]:
    """Variables over ants, the one type with vectors."""
    return sorted(var for var, kind in scope.whole().items() if kind == "Ant")


def operand(draw: DrawFn, scope: Scope) -> tuple[str, str]:
    """A property, or a computation with it, and the family of its values."""
    if scope.columns and draw(st.integers(0, 2)) == 0:
        name, family = draw(st.sampled_from(sorted(scope.columns.items())))
        return computed(draw, name, family) if draw(st.integers(0, 3)) == 0 else (f"({name})", family)
    var, kind = draw(st.sampled_from(sorted(scope.all().items())))
    family = draw(st.sampled_from(sorted(SCALARS[kind])))
    operand = f"${var}.{draw(st.sampled_from(SCALARS[kind][family]))}"
    if family == "number" and draw(st.integers(0, 4)) == 0:
        operand = f"{operand} {draw(st.sampled_from('+-*/%'))} {draw(st.sampled_from(['1', '2', '0.5', '0']))}"
    if family == "large" and draw(st.integers(0, 2)) == 0:
        other = draw(st.sampled_from(["1", "-1", "2.5", "0", "4611686018427387904", "9223372036854775807"]))
        operand = f"{operand} {draw(st.sampled_from('+-*/%'))} {other}"
    return computed(draw, operand, family) if draw(st.integers(0, 3)) == 0 else (operand, family)


# Functions of a value (`{}`), by the family of the value, and the family of the result.
_FUNCTIONS: dict[str, list[tuple[str, str]]] = {
    "number": [
        ("abs({})", "number"),
        ("round({}, 1)", "number"),
        ("floor({} / 2)", "number"),
        ("coalesce({}, 7)", "number"),
        ("nullif({}, 2)", "number"),
        ("greatest({}, 1, 0.5)", "number"),
        ("sqrt({})", "number"),
        ("sign({})", "number"),
        ("case when {0} > 1 then {0} when {0} is null then -1 else 0.5 end", "number"),
        ("to_string({})", "text"),
        ("to_int({})", "number"),
        ("{} > 1", "bool"),
        ("list_sum([1, 2]) + size([1]) * {}", "number"),
    ],
    "large": [
        ("abs({})", "large"),
        ("coalesce({}, 0)", "large"),
        ("round({}, -3)", "large"),
        ("to_float({})", "number"),
    ],
    "text": [
        ("lower({})", "text"),
        ("upper({})", "text"),
        ("reverse({})", "text"),
        ("trim({})", "text"),
        ('({} + "b")', "text"),
        ("left({}, 1)", "text"),
        ("substring({}, -1)", "text"),
        ('replace({}, "a", "b")', "text"),
        ('coalesce({}, "a")', "text"),
        ('regex_replace({}, "[ab]+", "-")', "text"),
        ('regex_extract({}, "b.?")', "text"),
        ('if({0} contains "a", {0}, "none")', "text"),
        ("length({})", "number"),
        ('position({}, "b")', "number"),
        ('size(split({}, "a"))', "number"),
        ("try_to_int({})", "number"),
        ("to_int({})", "number"),
        ('{} matches "^a"', "bool"),
        ('{} icontains "B"', "bool"),
        ('{} ends_with "b"', "bool"),
    ],
    "bool": [("(not {})", "bool"), ("coalesce({}, false)", "bool"), ('if({}, "a", "b")', "text")],
    "date": [
        ('date_trunc({}, "quarter")', "date"),
        ('({} + duration("P1M"))', "date"),
        ('date_add({}, -3, "day")', "date"),
        ("year({})", "number"),
        ("weekday({})", "number"),
        ("datetime({})", "instant"),
        ('format_date({}, "%m/%Y")', "text"),
    ],
    "instant": [
        ('date_trunc({}, "hour")', "instant"),
        ("hour({})", "number"),
        ("week({})", "number"),
        ("date({})", "date"),
        ('date_diff({}, datetime("2024-03-01T00:00:00Z"), "day")', "number"),
    ],
}


def computed(draw: DrawFn, operand: str, family: str) -> tuple[str, str]:
    """A function of a value, and the family of the result."""
    form, result = draw(st.sampled_from(_FUNCTIONS[family]))
    found = form.format(f"({operand})")
    return (f"({found})" if " " in found else found), result


def other_operand(draw: DrawFn, scope: Scope, family: str) -> str:
    """Something to compare with: another property, or a literal."""
    columns = [f"${var}.{name}" for var, kind in sorted(scope.all().items()) for name in SCALARS[kind].get(family, ())]
    if columns and draw(st.integers(0, 2)) == 0:
        return draw(st.sampled_from(columns))
    return draw(st.sampled_from(LITERALS[family]))
