"""Queries over the huts that use the whole expression language, with their answers; every engine runs all of them."""

from __future__ import annotations

import json
from typing import Any

from omnigraph.compiler.functions import AGGREGATES, FUNCTIONS
from omnigraph.compiler.functions.search import SPECIAL
from omnigraph.compiler.functions.windows import WINDOWS
from omnigraph.testing.graphs.objects import OBJECT_CASES
from omnigraph.testing.graphs.patterns import PATTERN_CASES
from omnigraph.testing.graphs.stages import STAGE_CASES

_H1 = '$h: Hut { code: "h1" }'


def _read(match: str, returns: str, tail: str = "") -> str:
    return f"query q() {{ match {{ {match} }} return {{ {returns} }} {tail} }}"


def examples() -> tuple[str, dict[str, Any]]:
    """One query that returns the documented example of every function, and what it must return."""
    known = {name: json.loads(function.answer) for name, function in FUNCTIONS.items()}
    columns = ", ".join(f"{function.example} as of_{name}" for name, function in FUNCTIONS.items())
    return _read(_H1, columns), {f"of_{name}": answer for name, answer in known.items()}


def special_examples() -> tuple[str, dict[str, Any]]:
    """The same for searches, snippets and the like; ranks of vectors have none, because huts have none."""
    shown = {name: call for name, call in SPECIAL.items() if call.example}
    columns = ", ".join(f"{call.example} as of_{name}" for name, call in shown.items())
    return _read(_H1, columns), {f"of_{name}": json.loads(call.answer) for name, call in shown.items()}


def aggregate_examples() -> tuple[str, dict[str, Any]]:
    """The same for every aggregate, over all huts."""
    columns = ", ".join(f"{info.example} as of_{name}" for name, info in AGGREGATES.items())
    return _read("$h: Hut", columns), {f"of_{name}": json.loads(info.answer) for name, info in AGGREGATES.items()}


def window_examples() -> dict[str, tuple[str, list[tuple[Any, ...]]]]:
    """A query for the documented example of each window, and its rows."""
    return {
        f"documented-{name}": (_read("$h: Hut", f"{info.example} as x"), [(each,) for each in json.loads(info.answer)])
        for name, info in WINDOWS.items()
    }


# Each: a query and its rows, in order.
CASES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "not-is-three-valued": (_read("$h: Hut not ($h.alt > 1500)", "$h.code"), [("h1",)]),
    "a-truth-value-alone": (_read("$h: Hut $h.open", "$h.code"), [("h1",), ("h4",)]),
    "not-a-truth-value": (_read("$h: Hut not $h.open", "$h.code"), [("h2",)]),
    "range": (_read("$h: Hut 1200 <= $h.alt < 1800", "$h.code"), [("h1",)]),
    "ranges": (
        _read("$h: Hut", "1200 < $h.alt <= 1800 as a, 1800 > $h.alt >= 1200 as b, 1800 >= $h.alt > 1200 as c"),
        [(False, True, False), (True, False, True), (None, None, None), (True, False, True)],
    ),
    "remainders-and-negatives": (
        _read("$h: Hut", "-$h.alt % 7 as x, -($h.alt - 1500) * 0.5 as y, list($h.code, $h.name) as z"),
        [
            (-3, 150.0, ["h1", "Alm"]),
            (-1, -150.0, ["h2", "Alpin Rest"]),
            (None, None, ["h3", "Bergheim"]),
            (-1, -150.0, ["h4", "Cabin"]),
        ],
    ),
    "a-long-list": (_read(f"$h: Hut $h.alt in [{', '.join(map(str, range(1100, 1300)))}]", "$h.code"), [("h1",)]),
    "or-of-not": (_read("$h: Hut ($h.open or not $h.alt < 1800)", "$h.code"), [("h1",), ("h2",), ("h4",)]),
    "ends-with": (_read('$h: Hut $h.name ends_with "st"', "$h.code"), [("h2",)]),
    "icontains": (_read('$h: Hut $h.name icontains "ALP"', "$h.code"), [("h2",)]),
    "istarts-with": (_read('$h: Hut $h.name istarts_with "al"', "$h.code"), [("h1",), ("h2",)]),
    "iends-with": (_read('$h: Hut $h.name iends_with "HEIM"', "$h.code"), [("h3",)]),
    "matches": (_read('$h: Hut $h.name matches "^A.*m$"', "$h.code"), [("h1",)]),
    "a-condition-is-a-value": (
        _read("$h: Hut", '$h.code, $h.alt > 1500 as high, $h.open is null as unknown, $h.grade in ["a"] as top'),
        [
            ("h1", False, False, True),
            ("h2", True, False, False),
            ("h3", None, True, None),
            ("h4", True, False, False),
        ],
    ),
    "case": (
        _read("$h: Hut", 'case when $h.alt > 1500 then "high" when $h.alt > 0 then "low" else "?" end as x'),
        [("low",), ("high",), ("?",), ("high",)],
    ),
    "relevance-in-functions": (
        _read(
            '$h: Hut round(bm25($h.name, "alm rest"), 3) > 0.001',
            '$h.code, if(bm25($h.name, "rest") > 0, "r", "a") as x, greatest(bm25($h.name, "moon"), 0.5) as y',
        ),
        [("h1", "a", 0.5), ("h2", "r", 0.5)],
    ),
    "case-without-else": (_read("$h: Hut", "case when $h.open then 1 end as x"), [(1,), (None,), (None,), (1,)]),
    "numbers-meet": (_read(_H1, "if($h.open, $h.alt, 0.5) as x, coalesce($h.alt, 1.5) as y"), [(1200.0, 1200.0)]),
    "coalesce-and-nullif": (
        _read("$h: Hut", "coalesce($h.alt, -1) as x, nullif($h.alt, 1800) as y"),
        [(1200, 1200), (1800, None), (-1, None), (1800, None)],
    ),
    "what-is-not-chosen-may-fail": (
        _read(_H1, 'if($h.code = "h1", to_int("7"), to_int($h.name)) as x'),
        [(7,)],
    ),
    "a-row-that-is-excluded-may-fail": (
        _read('$h: Hut to_int(replace($h.code, "h", "")) >= 2 $h.name != "Cabin"', "$h.code"),
        [("h2",), ("h3",)],
    ),
    "order-by-an-expression": (
        _read("$h: Hut", "$h.code", "order { length($h.name) desc, lower($h.name) asc }"),
        [("h2",), ("h3",), ("h4",), ("h1",)],
    ),
    "order-by-a-condition": (
        _read("$h: Hut", "$h.code", "order { $h.alt is null desc, $h.code desc }"),
        [("h3",), ("h4",), ("h2",), ("h1",)],
    ),
    "functions-in-a-filter": (_read("$h: Hut length(upper($h.name)) > 5 ", "$h.code"), [("h2",), ("h3",)]),
    "having-a-truth-value": (
        _read("$h: Hut", "$h.code, $h.alt > 1500 as high", "having { high }"),
        [("h2", True), ("h4", True)],
    ),
    "dates": (
        _read(
            "$w: Warden $w $g:guards $h",
            '$w.badge, year($g.since) as y, $g.since + duration("P1M") as later',
            "order { y, $h.code }",
        ),
        [("w1", None, None), ("w1", 2020, "2020-02-01"), ("w2", 2023, "2023-07-01")],
    ),
    "a-date-against-an-instant": (_read("$w: Warden $w $g:guards $h $g.since < now()", "$g.id"), [("g1",), ("g3",)]),
    "text-plus-text": (_read(_H1, '$h.code + "-" + $h.name as x'), [("h1-Alm",)]),
    "id-and-type": (
        _read('$x: Hut|Warden type($x) = "Warden"', "id($x) as i, type($x) as t", "order { i }"),
        [("w1", "Warden"), ("w2", "Warden"), ("w3", "Warden")],
    ),
    "type-of-an-optional": (
        _read("$w: Warden optional { $w guards $h }", "$w.badge, type($h) as t, id($h) as i", "order { $w.badge, i }"),
        [("w1", "Hut", "h1"), ("w1", "Hut", "h2"), ("w2", "Hut", "h2"), ("w3", None, None)],
    ),
    "lists": (
        _read("$h: Hut", 'size($h.tags) as n, element($h.tags, 0) as first, join(list_sort($h.tags), "+") as all'),
        [(2, "wood", "stove+wood"), (1, "stove", "stove"), (None, None, None), (0, None, "")],
    ),
    "vectors": (
        _read("$h: Hut", "l2($h.vec, [0.0, 1.0]) as d, dot($h.vec, [2.0, 0.0]) as p", "order { $h.code } limit 2"),
        [(1.0, 0.0), (1.4142135623730951, 2.0)],
    ),
    "arithmetic-on-aggregates": (
        _read("$h: Hut", 'sum($h.alt) / count(*) as x, round(avg($h.alt) / 1000, 1) as y, "m" as unit'),
        [(1200.0, 1.6, "m")],
    ),
    "a-literal-beside-no-rows": (_read('$h: Hut { code: "zz" }', 'count(*) as n, "x" as y'), [(0, "x")]),
    "the-type-of-nothing-makes-no-group": (
        _read('$h: Hut { code: "zz" }', "type($h) as t, count(*) as n"),
        [],
    ),
    "groups-of-an-expression": (
        _read(
            "$h: Hut",
            "$h.alt is null as unknown, count(*) as n, max($h.alt) - min($h.alt) as spread",
            "order { n desc }",
        ),
        [(False, 3, 600), (True, 1, None)],
    ),
    "a-key-inside-an-aggregate-column": (
        _read("$h: Hut", "$h.alt as a, $h.alt * count(*) as x", "order { a }"),
        [(None, None), (1200, 1200), (1800, 3600)],
    ),
    "count-with-a-condition": (
        _read(
            "$h: Hut",
            "count(* where $h.open) as open, count($h where $h.alt > 1500) as high, sum($h.alt where $h.open) as s",
        ),
        [(2, 2, 3000.0)],
    ),
    "distinct-on-each": (
        _read(
            "$h: Hut",
            "sum(distinct $h.alt) as s, avg(distinct $h.alt) as a, count(distinct $h.alt) as n, "
            "variance(distinct $h.alt) as v, stddev(distinct $h.alt) as d",
        ),
        [(3000.0, 1500.0, 2, 180000.0, 424.26406871192853)],
    ),
    "first-and-last": (
        _read(
            "$h: Hut",
            "$h.open, first($h.code order $h.alt desc) as top, last($h.name) as last_one, "
            "collect($h.code order $h.name desc) as all",
            "order { top }",
        ),
        [(False, "h2", "Alpin Rest", ["h2"]), (None, "h3", "Bergheim", ["h3"]), (True, "h4", "Cabin", ["h4", "h1"])],
    ),
    "first-of-descending-keys-keeps-rows": (
        _read("$h: Hut", "collect($h.code order $h.alt desc) as x"),
        [(["h2", "h4", "h1", "h3"],)],
    ),
    "any-all-mode-median": (
        _read(
            "$h: Hut",
            "any($h.open) as a, all($h.open) as b, mode($h.alt) as m, median($h.alt) as d, "
            "percentile($h.alt, 0.1) as p",
        ),
        [(True, False, 1800, 1800.0, 1320.0)],
    ),
    "aggregates-of-nothing": (
        _read(
            '$h: Hut { code: "zz" }',
            "stddev($h.alt) as s, median($h.alt) as m, first($h.code) as f, any($h.open) as a, mode($h.alt) as o",
        ),
        [(None, None, None, None, None)],
    ),
    "having-and-order-by-aggregates": (
        _read("$w: Warden $w guards $h", "$w.badge as w", "having { true }"),
        [("w1",), ("w1",), ("w2",)],
    ),
    "having-an-aggregate": (
        _read(
            "$w: Warden $w guards $h",
            "$w.badge as w, count(*) as n",
            "having { max($h.alt) > 1500 } order { sum($h.alt) }",
        ),
        [("w2", 1), ("w1", 2)],
    ),
    "a-group-that-having-drops-may-fail": (
        _read("$h: Hut", "$h.code as c, to_int(first($h.code)) as x", 'having { c = "zz" }'),
        [],
    ),
    **OBJECT_CASES,
    **PATTERN_CASES,
    **STAGE_CASES,
    **window_examples(),
}
