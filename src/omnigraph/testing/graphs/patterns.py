"""Queries over the huts with patterns inside conditions, alternatives and unions, with their answers."""

from __future__ import annotations

from typing import Any


def _q(body: str) -> str:
    return f"query q() {{ {body} }}"


# Each: a query and its rows, in order.
PATTERN_CASES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "exists-in-a-filter": (
        _q("match { $h: Hut exists { $w: Warden $w guards $h $w.age > 35 } } return { $h.code }"),
        [("h1",), ("h2",)],
    ),
    "exists-among-other-conditions": (
        _q("match { $h: Hut not exists { $w guards $h } or $h.alt = 1200 } return { $h.code }"),
        [("h1",), ("h3",), ("h4",)],
    ),
    "exists-as-a-value": (
        _q("match { $h: Hut } return { $h.code, exists { $w guards $h } as watched } order { watched desc, $h.code }"),
        [("h1", True), ("h2", True), ("h3", False), ("h4", False)],
    ),
    "exists-groups": (
        _q("match { $h: Hut } return { exists { $w guards $h } as watched, count(*) as n, sum($h.alt) as s }"),
        [(False, 2, 1800.0), (True, 2, 3000.0)],
    ),
    "exists-inside-an-aggregate": (
        _q(
            "match { $h: Hut } return { count(* where exists { $h path $g $g.open }) as n, "
            "sum(if(exists { $w guards $h }, 1, 0)) as m }"
        ),
        [(3, 2.0)],
    ),
    "exists-orders": (
        _q("match { $h: Hut } return { $h.code } order { exists { $h path $h } desc, $h.code desc } limit 2"),
        [("h4",), ("h3",)],
    ),
    "exists-inside-exists": (
        _q(
            "match { $w: Warden exists { $w guards $h not exists { $h path $g $g.alt > 1500 } } } "
            "return { $w.badge } order { $w.badge }"
        ),
        [("w1",), ("w2",)],
    ),
    "exists-inside-not": (
        _q("match { $h: Hut not { $h path $g not exists { $w guards $g } } } return { $h.code }"),
        [("h3",)],
    ),
    "exists-of-what-optional-left-null": (
        _q(
            "match { $w: Warden optional { $w guards $h } exists { $h path $g } or $h is null } "
            "return { $w.badge, $h.code as h } order { $w.badge, h }"
        ),
        [("w1", "h1"), ("w1", "h2"), ("w2", "h2"), ("w3", None)],
    ),
    "exists-without-outer-variables": (
        _q("match { $h: Hut exists { $w: Warden $w.age = 30 } } return { count(*) as n }"),
        [(4,)],
    ),
    "exists-in-case": (
        _q('match { $h: Hut } return { if(exists { $h path $h }, "loop", "none") as x }'),
        [("none",), ("none",), ("none",), ("loop",)],
    ),
    "either-binds": (
        _q(
            'match { $h: Hut { code: "h1" } either { $h path $g } or { $g path $h } or { $w guards $h $w guards $g } } '
            "return { $g.code }"
        ),
        [("h1",), ("h2",), ("h3",), ("h4",)],
    ),
    "either-of-conditions": (
        _q(
            "match { $h: Hut either { $h.alt < 1500 } or { not { $h path $g } } or { $w guards $h } } "
            "return { $h.code }"
        ),
        [("h1",), ("h2",)],
    ),
    "either-begins-a-match": (
        _q(
            'match { either { $h: Hut { code: "h3" } } or { $h: Hut $h.open } $h path $g } '
            "return { $h.code as h, $g.code as g }"
        ),
        [("h3", "h1"), ("h1", "h2"), ("h1", "h4"), ("h4", "h4")],
    ),
    "either-then-further-steps": (
        _q(
            "match { $w: Warden $w guards $a either { $a path $b } or { $b path $a } $b path $c } "
            "return { $w.badge as w, $a.code as a, $b.code as b, $c.code as c } order { w, a, b, c } limit 4"
        ),
        [("w1", "h1", "h2", "h3"), ("w1", "h1", "h3", "h1"), ("w1", "h1", "h4", "h4"), ("w1", "h2", "h1", "h2")],
    ),
    "either-inside-optional": (
        _q(
            "match { $h: Hut optional { either { $w guards $h $w.age < 35 } or { $w guards $h $w.age > 35 } } } "
            "return { $h.code as h, $w.badge as w } order { h, w }"
        ),
        [("h1", "w1"), ("h2", "w1"), ("h2", "w2"), ("h3", None), ("h4", None)],
    ),
    "union": (
        _q(
            "match { $h: Hut } return { $h.name as name } union match { $w: Warden } return { $w.name as name } "
            "order { name desc } limit 3"
        ),
        [("Ilse",), ("Cleo",), ("Cabin",)],
    ),
    "union-keeps-the-first-of-equal-rows": (
        _q("match { $h: Hut } return { $h.alt as x } union match { $h: Hut } return { $h.alt as x }"),
        [(1200,), (1800,), (None,)],
    ),
    "union-all-keeps-every-row-in-the-order-of-the-parts": (
        _q(
            "match { $w: Warden } return { $w.badge as x, $w.age as n } union all "
            'match { $h: Hut { code: "h1" } } return { $h.code as x, $h.alt / 2 as n }'
        ),
        [("w1", 40.0), ("w2", 30.0), ("w3", None), ("h1", 600.0)],
    ),
    "union-of-groups": (
        _q(
            'match { $h: Hut } return { "hut" as kind, count(*) as n } union all '
            'match { $w: Warden } return { "warden" as kind, count(*) as n } union all '
            'match { $h: Hut $h $e:path $g } return { "path" as kind, count(*) as n } order { n desc }'
        ),
        [("path", 6), ("hut", 4), ("warden", 3)],
    ),
    "union-of-nodes": (
        _q(
            'match { $w: Warden { badge: "w2" } } return { $w } union match { $w: Warden $w.age < 50 } return { $w } '
            "order { w desc } offset 1"
        ),
        [({"id": "w1", "age": 40, "badge": "w1", "name": "Ilse"},)],
    ),
    "aggregates-over-a-pattern": (
        _q(
            "match { $h: Hut } return { $h.code, count(* match { $w guards $h }) as n, "
            "sum($e.minutes match { $h $e:path $g }) as m, "
            "collect($w.name match { $w guards $h } order $w.age) as names }"
        ),
        [
            ("h1", 1, 95.0, ["Ilse"]),
            ("h2", 2, 60.0, ["Bruno", "Ilse"]),
            ("h3", 0, 90.0, []),
            ("h4", 0, 10.0, []),
        ],
    ),
    "an-aggregate-over-a-pattern-filters": (
        _q("match { $h: Hut count(* match { $w guards $h }) >= 1 and $h.open } return { $h.code }"),
        [("h1",)],
    ),
    "an-aggregate-over-a-pattern-inside-one-of-rows": (
        _q(
            "match { $w: Warden } return { avg(count(* match { $w guards $h })) as a, "
            "max(count(* match { $w guards $h })) as m }"
        ),
        [(1.0, 2)],
    ),
    "an-aggregate-over-a-pattern-with-a-condition": (
        _q(
            "match { $h: Hut } return { $h.code, count(distinct $g match { $h path $g } where $g.open) as n, "
            "min($e.minutes match { $h $e:path $g } where $e.minutes > 80) as m }"
        ),
        [("h1", 1, None), ("h2", 0, None), ("h3", 1, 90), ("h4", 1, None)],
    ),
    "an-aggregate-over-a-pattern-orders": (
        _q("match { $w: Warden } return { $w.badge } order { count(* match { $w guards $h }), $w.badge }"),
        [("w3",), ("w2",), ("w1",)],
    ),
    "an-aggregate-over-a-pattern-of-nothing-outside": (
        _q("match { $w: Warden } return { $w.badge, count(* match { $x: Hut $x.open }) as n }"),
        [("w1", 2), ("w2", 2), ("w3", 2)],
    ),
    "an-aggregate-over-a-pattern-computes-with-the-row": (
        _q("match { $h: Hut } return { $h.code, sum($h.alt - $g.alt match { $h path $g }) as x }"),
        [("h1", -1200.0), ("h2", None), ("h3", None), ("h4", 0.0)],
    ),
    "an-aggregate-over-a-pattern-inside-another": (
        _q(
            "match { $h: Hut } "
            "return { $h.code, count(* match { $w guards $h count(* match { $w guards $x }) > 1 }) as n }"
        ),
        [("h1", 1), ("h2", 1), ("h3", 0), ("h4", 0)],
    ),
    "an-aggregate-over-a-pattern-after-a-stage": (
        _q(
            "match { $w guards $h } with { $w, count($h) as huts } "
            "return { $w.badge, huts, first($g.code match { $w guards $h $h path $g $g.alt > huts } ) as x }"
        ),
        [("w1", 2, "h2"), ("w2", 1, None)],
    ),
    "an-aggregate-over-a-pattern-of-what-optional-left-null": (
        _q(
            "match { $w: Warden optional { $w guards $h $h.open } } "
            "return { $w.badge, count(* match { $h path $g }) as n } order { $w.badge }"
        ),
        [("w1", 2), ("w2", 0), ("w3", 0)],
    ),
    "a-step-costs-what-a-pattern-counts": (
        _q(
            'match { $a: Hut { code: "h1" } '
            "cheapest $p: $a path $b along to $n by 1 + count(* match { $w guards $n }) } "
            "return { $b.code, $p.cost } order { $b.code }"
        ),
        [("h2", 3.0), ("h3", 4.0), ("h4", 1.0)],
    ),
    "a-step-needs-a-pattern": (
        _q(
            'match { $a: Hut { code: "h1" } $a path{1,3} $b along to $n { exists { $w guards $n } } } '
            "return { $b.code }"
        ),
        [("h2",)],
    ),
    "a-step-that-costs-null-is-not-taken": (
        _q(
            'match { $a: Hut { code: "h3" } cheapest $p: $a path $b along from $m to $n '
            "by sum($w.age match { $w guards $n not { $w guards $m } }) } return { $b.code, $p.cost } order { $b.code }"
        ),
        [("h1", 40.0), ("h2", 70.0)],
    ),
    "a-property-of-a-node-to-group-by": (
        _q(
            "match { $w guards $h } with { $w, $w.age + count($h) as x } order { count($h) desc, $w.age } "
            "return { $w.badge, x }"
        ),
        [("w1", 42), ("w2", 31)],
    ),
}
