"""Queries over the huts that go on from their own results, take lists apart and limit per group, with their answers."""

from __future__ import annotations

from typing import Any


def _q(body: str) -> str:
    return f"query q() {{ {body} }}"


# Each: a query and its rows, in order.
STAGE_CASES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "group-filter-and-match-again": (
        _q(
            "match { $w: Warden $w guards $h } with { $w, count($h) as n } having { n > 1 } "
            "match { $w guards $x } return { $w.name, n, $x.code }"
        ),
        [("Ilse", 2, "h1"), ("Ilse", 2, "h2")],
    ),
    "an-end-of-an-edge-goes-on": (
        _q(
            "match { $h $e:path $g $e.minutes > 50 } with distinct { $h } match { $h path $x } "
            "return { $h.code as h, $x.code as x }"
        ),
        [("h2", "h3"), ("h3", "h1"), ("h1", "h2"), ("h1", "h4")],
    ),
    "limit-and-match-again": (
        _q(
            "match { $h: Hut } with { $h } order { $h.alt desc } limit 2 "
            "match { $h path $g } return { $h.code as h, $g.code as g }"
        ),
        [("h2", "h3"), ("h4", "h4")],
    ),
    "join-with-a-column": (
        _q(
            "match { $h: Hut } with { $h.alt as a, count(*) as n } match { $g: Hut $g.alt = a } "
            "return { a, n, $g.code }"
        ),
        [(1200, 1, "h1"), (1800, 2, "h2"), (1800, 2, "h4")],
    ),
    "aggregate-of-aggregates": (
        _q("match { $h: Hut } with { $h.alt as a, count(*) as n } return { max(n) as m, sum(a) as s }"),
        [(2, 3000.0)],
    ),
    "the-highest": (
        _q("match { $h: Hut } with { max($h.alt) as top } match { $h: Hut $h.alt = top } return { $h.code, top }"),
        [("h2", 1800), ("h4", 1800)],
    ),
    "spreads-of-nodes": (
        _q(
            "match { $h: Hut $h path $g } "
            "with { $h, stddev($g.alt) as s, variance($g.alt * 0.1) as v, avg($g.alt) as a } "
            "return { $h.code, s, v, a }"
        ),
        [("h1", 0.0, 0.0, 1800.0), ("h2", None, None, None), ("h3", None, None, 1200.0), ("h4", None, None, 1800.0)],
    ),
    "share-of-the-whole": (
        _q(
            "match { $h: Hut } with { sum($h.alt) as whole } match { $h: Hut $h.alt is not null } "
            "return { $h.code, round($h.alt / whole, 3) as share }"
        ),
        [("h1", 0.25), ("h2", 0.375), ("h4", 0.375)],
    ),
    "a-stage-from-an-offset-on": (
        _q(
            "match { $h: Hut } with { $h } order { $h.code } limit 2 offset 1 "
            "return { count(*) as n, min($h.code) as c }"
        ),
        [(2, "h2")],
    ),
    "a-column-alone-is-a-condition": (
        _q("match { $h: Hut } with { $h, $h.open as o, $h.alt > 1500 as high } match { high o } return { $h.code }"),
        [("h4",)],
    ),
    "a-column-alone-beside-other-clauses": (
        _q(
            "match { $h: Hut } with { $h, $h.open as o, $h.alt > 1500 as high } "
            "match { $h.alt is not null  o or high  not { o $h path $g  $g.open }  either { o } or { high } } "
            "return { $h.code, if(o, 1, 0) as n, case when high then 1 end as m }"
        ),
        [("h2", 0, 1)],
    ),
    "three-stages": (
        _q(
            "match { $h: Hut } with { $h.code as c, $h.alt as a } with { c, a * 2 as b } having { b > 3000 } "
            "return { c, b } order { c desc }"
        ),
        [("h4", 3600), ("h2", 3600)],
    ),
    "rows-keep-the-order-of-their-stage": (
        _q(
            "match { $h: Hut } with { $h } order { $h desc } match { $h path $g } return { $h.code as h, $g.code as g }"
        ),
        [("h4", "h4"), ("h3", "h1"), ("h2", "h3"), ("h1", "h2"), ("h1", "h4")],
    ),
    "equal-rows-stay-rows": (
        _q("match { $h: Hut } with { $h.alt as a } return { count(*) as n, count(distinct a) as k }"),
        [(4, 2)],
    ),
    "distinct-rows-of-a-stage": (
        _q("match { $h: Hut } with distinct { $h.alt as a } return { a }"),
        [(1200,), (1800,), (None,)],
    ),
    "distinct-nodes-of-a-stage": (
        _q(
            "match { $w: Warden $w guards $h } with distinct { $h } match { $h path $g } with { $g, count(*) as n } "
            "return { $g.code, n } order { $g desc }"
        ),
        [("h4", 1), ("h3", 1), ("h2", 1)],
    ),
    "a-stage-inside-blocks": (
        _q(
            "match { $h: Hut } with { $h.code as c } "
            "match { $h: Hut not { $h.code = c } exists { $h path $g $g.code = c } } return { c, $h.code }"
        ),
        [("h1", "h3"), ("h2", "h1"), ("h3", "h2"), ("h4", "h1")],
    ),
    "what-optional-left-null-goes-on": (
        _q(
            "match { $w: Warden optional { $w guards $h } } with { $w, $h, count(*) as n } "
            "match { $w.age is null or $h is not null } return { $w.badge as w, $h.code as h, n } order { w, h }"
        ),
        [("w1", "h1", 1), ("w1", "h2", 1), ("w2", "h2", 1), ("w3", None, 1)],
    ),
    "no-rows-left": (
        _q("match { $h: Hut $h.alt > 9000 } with { $h, $h.alt as a } match { $h path $g } return { $g.code, a }"),
        [],
    ),
    "a-ranked-stage": (
        _q(
            "match { $h: Hut } with { $h, nearest($h.vec, [0.0, 0.0]) as d } "
            "order { nearest($h.vec, [0.0, 0.0]) } limit 2 "
            "match { $h path $g } return { $h.code as h, $g.code as g, d }"
        ),
        [("h1", "h2", 0.0), ("h1", "h4", 0.0), ("h2", "h3", 1.0)],
    ),
    "stages-in-a-union": (
        _q(
            "match { $h: Hut } with { $h.code as c } order { c desc } limit 2 return { c as x } "
            "union all match { $w: Warden } return { $w.badge as x }"
        ),
        [("h4",), ("h3",), ("w1",), ("w2",), ("w3",)],
    ),
    "unwind-a-property": (
        _q("match { $h: Hut unwind $h.tags as t } return { $h.code, t }"),
        [("h1", "wood"), ("h1", "stove"), ("h2", "stove")],
    ),
    "unwind-a-literal": (_q("match { unwind [3, 1, 2, 1] as x x > 1 } return { x, x * 2 as y }"), [(3, 6), (2, 4)]),
    "unwind-groups": (
        _q("match { $h: Hut unwind $h.tags as t } return { t, count(*) as n } order { n desc }"),
        [("stove", 2), ("wood", 1)],
    ),
    "unwind-inside-optional": (
        _q("match { $h: Hut optional { unwind $h.tags as t } } return { $h.code, t } order { $h.code desc, t }"),
        [("h4", None), ("h3", None), ("h2", "stove"), ("h1", "stove"), ("h1", "wood")],
    ),
    "unwind-inside-exists": (
        _q('match { $h: Hut exists { unwind $h.tags as t t starts_with "w" } } return { $h.code }'),
        [("h1",)],
    ),
    "collect-then-unwind": (
        _q(
            "match { $h: Hut unwind $h.tags as t } with { t, collect($h.code) as codes } order { t } "
            "match { unwind codes as code $g: Hut $g.code = code $g.open } return { t, code, $g.name }"
        ),
        [("stove", "h1", "Alm"), ("wood", "h1", "Alm")],
    ),
    "limit-per-node": (
        _q("match { $w guards $h } return { $w.badge as w, $h.code as h } order { $h.alt desc } limit 1 per $w"),
        [("w1", "h2"), ("w2", "h2")],
    ),
    "limit-per-column-with-offset": (
        _q(
            "match { $h $e:path $g } return { $h.code as h, $g.code as g, $e.minutes as m } "
            "order { m desc } limit 1 per h offset 1"
        ),
        [("h1", "h2", 40)],
    ),
    "limit-per-two-values": (
        _q(
            "match { $h $e:path $g } return { $h.code as h, $g.code as g, $e.minutes as m } "
            "order { m } limit 1 per $h, $g"
        ),
        [("h1", "h4", None), ("h4", "h4", 10), ("h1", "h2", 40), ("h2", "h3", 60), ("h3", "h1", 90)],
    ),
    "limit-per-of-groups": (
        _q("match { $h: Hut } return { $h.alt as a, count(*) as n } order { n, a desc } limit 1 per n"),
        [(1200, 1), (1800, 2)],
    ),
    "limit-per-in-a-stage": (
        _q(
            "match { $h path $g } with { $h, $g } order { $g.code desc } limit 1 per $h "
            "return { $h.code as h, $g.code as g } order { h }"
        ),
        [("h1", "h4"), ("h2", "h3"), ("h3", "h1"), ("h4", "h4")],
    ),
    "places-of-rows": (
        _q(
            "match { $h: Hut } return { $h.code, row_number(order $h.alt desc) as a, rank(order $h.alt desc) as b, "
            "dense_rank(order $h.alt desc) as c }"
        ),
        [("h1", 3, 3, 2), ("h2", 1, 1, 1), ("h3", 4, 4, 3), ("h4", 2, 1, 1)],
    ),
    "rows-before-and-after": (
        _q(
            "match { $h: Hut } return { $h.code, lag($h.alt order $h.code) as before, "
            "lead($h.code, 2 order $h.code) as later, $h.alt - lag($h.alt order $h.code) as climb }"
        ),
        [("h1", None, "h3", None), ("h2", 1200, "h4", 600), ("h3", 1800, None, None), ("h4", None, None, None)],
    ),
    "running-values": (
        _q(
            "match { $h: Hut } return { $h.code, sum($h.alt per * order $h.code) as s, "
            "avg($h.alt per $h.open order $h.code) as a, min($h.alt per *) as low, "
            "max($h.alt per * order $h.code) as high, count(* per $h.open) as n }"
        ),
        [
            ("h1", 1200.0, 1200.0, 1200, 1200, 2),
            ("h2", 3000.0, 1800.0, 1200, 1800, 1),
            ("h3", 3000.0, None, 1200, 1800, 1),
            ("h4", 4800.0, 1500.0, 1200, 1800, 2),
        ],
    ),
    "running-values-of-some-rows": (
        _q(
            "match { $h: Hut } return { $h.code, sum($h.alt where $h.open per * order $h.code) as s, "
            "count($h.alt per * order $h.code desc) as n }"
        ),
        [("h1", 1200.0, 3), ("h2", 1200.0, 2), ("h3", 1200.0, 1), ("h4", 3000.0, 1)],
    ),
    "the-first-of-each-group-by-its-place": (
        _q(
            "match { $h $e:path $g } return { $h.code as h, $e.minutes as m, "
            "row_number(per $h order $e.minutes desc) as n } having { n = 1 } order { h }"
        ),
        [("h1", 55, 1), ("h2", 60, 1), ("h3", 90, 1), ("h4", 10, 1)],
    ),
    "windows-over-groups": (
        _q(
            "match { $w: Warden optional { $w guards $h } } with { $w, count($h) as n } "
            "return { $w.badge as w, n, rank(order n desc) as r, sum(n per * order n desc, $w) as s } order { r, w }"
        ),
        [("w1", 2, 1, 2.0), ("w2", 1, 2, 3.0), ("w3", 0, 3, 3.0)],
    ),
    "windows-in-a-stage-and-a-match-after-it": (
        _q(
            "match { $h: Hut $h.alt is not null } with { $h, rank(order $h.alt desc) as r } having { r = 1 } "
            "match { $h path $g } return { $h.code as h, r, $g.code as g }"
        ),
        [("h2", 1, "h3"), ("h4", 1, "h4")],
    ),
    "order-by-a-window": (
        _q("match { $h: Hut } return { $h.code } order { row_number(order $h.alt desc) desc } limit 2"),
        [("h3",), ("h1",)],
    ),
    "windows-of-nothing": (
        _q('match { $h: Hut { code: "zz" } } return { $h.code, lag($h.alt order $h.code) as x, rank(order $h) as r }'),
        [],
    ),
    "order-by-nodes": (
        _q("match { $h path $g } return { $h.code as h, $g.code as g } order { $g desc, $h }"),
        [("h1", "h4"), ("h4", "h4"), ("h2", "h3"), ("h1", "h2"), ("h3", "h1")],
    ),
    "a-window-does-not-depend-on-the-rank-of-the-result": (
        _q(
            "match { $a path $b } return { $a.code as a, $b.code as b, row_number(per *) as n } "
            'order { bm25($b.name, "Cabin Alm") } limit 3'
        ),
        [("h3", "h1", 2), ("h1", "h4", 1), ("h4", "h4", 3)],
    ),
}
