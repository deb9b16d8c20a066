"""Queries over the huts that make lists of values, nodes and records, with their answers."""

from __future__ import annotations

from typing import Any


def _q(body: str) -> str:
    return f"query q() {{ {body} }}"


def _warden(badge: str, name: str, age: int | None) -> dict[str, Any]:
    return {"id": badge, "age": age, "badge": badge, "name": name}


_ILSE, _BRUNO, _CLEO = _warden("w1", "Ilse", 40), _warden("w2", "Bruno", 30), _warden("w3", "Cleo", None)

# Each: a query and its rows, in order.
OBJECT_CASES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "list-of-expressions": (
        _q(
            'match { $h: Hut } return { [$h.alt, 2, $h.alt - 1] as a, [upper($h.name), "x"] as b, '
            '[1, length("ab") / 4] as c }'
        ),
        [
            ([1200, 2, 1199], ["ALM", "x"], [1.0, 0.5]),
            ([1800, 2, 1799], ["ALPIN REST", "x"], [1.0, 0.5]),
            (None, ["BERGHEIM", "x"], [1.0, 0.5]),
            ([1800, 2, 1799], ["CABIN", "x"], [1.0, 0.5]),
        ],
    ),
    "list-of-expressions-in-conditions": (
        _q(
            'match { $h: Hut $h.name in [concat("Al", "m"), "Cabin"] unwind [$h.alt, $h.alt + 0.5] as x } '
            "return { $h.code, x } order { x desc }"
        ),
        [("h4", 1800.5), ("h4", 1800.0), ("h1", 1200.5), ("h1", 1200.0)],
    ),
    "list-with-a-pattern": (
        _q(
            "match { $h: Hut [count(* match { $w guards $h }), 1] contains 2 } "
            "return { $h.code, [exists { $h path $h }] as x }"
        ),
        [("h2", [False])],
    ),
    "list-of-aggregates": (
        _q("match { $h: Hut } return { [min($h.alt), max($h.alt)] as x, list_sum([count(*), 1]) as n }"),
        [([1200, 1800], 5)],
    ),
    "collect-nodes": (
        _q("match { $w guards $h } return { $h.code, collect($w) as w } order { $h.code desc }"),
        [("h2", [_ILSE, _BRUNO]), ("h1", [_ILSE])],
    ),
    "collect-nodes-in-order": (
        _q("match { $w: Warden } return { collect($w order $w.age desc) as w, collect($w where $w.age > 30) as old }"),
        [([_ILSE, _BRUNO, _CLEO], [_ILSE])],
    ),
    "collect-distinct-nodes": (_q("match { $w guards $h } return { collect(distinct $w) as w }"), [([_ILSE, _BRUNO],)]),
    "collect-nodes-that-may-be-missing": (
        _q("match { $h: Hut optional { $w guards $h } } return { $h.code, collect($w) as w }"),
        [("h1", [_ILSE]), ("h2", [_ILSE, _BRUNO]), ("h3", []), ("h4", [])],
    ),
    "collect-nodes-of-several-types": (
        _q('match { $x: Hut|Warden $x.name in ["Alm", "Cleo"] } return { collect($x) as x }'),
        [
            (
                [
                    {"id": "h1", "@type": "Hut", "name": "Alm"},
                    {"id": "w3", "@type": "Warden", "name": "Cleo"},
                ],
            )
        ],
    ),
    "collect-edges": (
        _q("match { $e: Guards } return { collect($e order $e.since) as e }"),
        [
            (
                [
                    {"id": "g2", "from": "w1", "to": "h2", "since": None},
                    {"id": "g1", "from": "w1", "to": "h1", "since": "2020-01-01"},
                    {"id": "g3", "from": "w2", "to": "h2", "since": "2023-06-01"},
                ],
            )
        ],
    ),
    "collect-records": (
        _q(
            "match { $w $e:guards $h } return { $w.name, "
            "collect({ hut: $h.name, higher: $h.alt + 1, tags: $h.tags, since: $e.since } order $h.alt desc) as x }"
        ),
        [
            ("Bruno", [{"hut": "Alpin Rest", "higher": 1801, "tags": ["stove"], "since": "2023-06-01"}]),
            (
                "Ilse",
                [
                    {"hut": "Alpin Rest", "higher": 1801, "tags": ["stove"], "since": None},
                    {"hut": "Alm", "higher": 1201, "tags": ["wood", "stove"], "since": "2020-01-01"},
                ],
            ),
        ],
    ),
    "collect-distinct-records": (
        _q("match { $h: Hut } return { collect(distinct { alt: $h.alt, known: $h.alt is not null }) as x }"),
        [([{"alt": 1200, "known": True}, {"alt": 1800, "known": True}, {"alt": None, "known": False}],)],
    ),
    "a-record-with-a-node": (
        _q('match { $w guards $h } return { collect({ warden: $w, hut: $h.code } where $h.code = "h2") as x }'),
        [([{"warden": _ILSE, "hut": "h2"}, {"warden": _BRUNO, "hut": "h2"}],)],
    ),
    "first-node": (
        _q(
            "match { $w guards $h } return { $h.code, first($w order $w.age) as youngest, "
            "last({ name: $w.name } order $w.age) as oldest }"
        ),
        [("h1", _ILSE, {"name": "Ilse"}), ("h2", _BRUNO, {"name": "Ilse"})],
    ),
    "parts-of-a-list-of-nodes": (
        _q(
            "match { $w: Warden } return { size(collect($w)) as n, element(collect($w), -1) as x, "
            "slice(collect({ a: $w.age }), 1) as y }"
        ),
        [(3, _CLEO, [{"a": 30}, {"a": None}])],
    ),
    "collect-nodes-of-a-pattern": (
        _q("match { $h: Hut } return { $h.code, collect($w match { $w guards $h } order $w.name) as w }"),
        [("h1", [_ILSE]), ("h2", [_BRUNO, _ILSE]), ("h3", []), ("h4", [])],
    ),
    "lists-of-nodes-are-handed-on": (
        _q(
            "match { $w guards $h } with { $h, collect($w) as w, first({ n: $w.name }) as f } match { $h path $g } "
            "return { $h.code, w, size(w) as n, f, $g.code as g } order { $h.code, g }"
        ),
        [
            ("h1", [_ILSE], 1, {"n": "Ilse"}, "h2"),
            ("h1", [_ILSE], 1, {"n": "Ilse"}, "h4"),
            ("h2", [_ILSE, _BRUNO], 2, {"n": "Ilse"}, "h3"),
        ],
    ),
    "lists-of-nodes-in-a-union": (
        _q(
            "match { $w guards $h } return { collect(distinct $w) as w } union "
            "match { $w: Warden $w.age > 0 } return { collect($w) as w }"
        ),
        [([_ILSE, _BRUNO],)],
    ),
}
