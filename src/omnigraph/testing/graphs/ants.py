"""Queries over ants and bees, one for every way that something is lowered; every engine runs all of them."""

from __future__ import annotations

from typing import Any

ANTS: list[Any] = [
    {"type": "Ant", "data": {"k": "a0", "n": 1, "f": 0.5, "s": "a", "b": True, "d": "2020-02-29", "tags": ["a", "b"],
                             "v": [0, 0], "at": "2020-02-29T00:00:00Z", "x": "stone hut"}},
    {"type": "Ant", "data": {"k": "a1", "n": 2, "f": -1.5, "s": "ab", "b": False, "v": [3, 4],
                             "x": "old huts, old stone"}},
    {"type": "Ant", "data": {"k": "a2", "n": 2, "s": "ä", "tags": [], "v": [1, 0], "x": "Hütte am Stein"}},
    {"type": "Ant", "data": {"k": "a3", "s": "a"}},
    {"type": "Bee", "data": {"k": "b0", "n": 2, "s": "a", "g": 2.0}},
    {"type": "Bee", "data": {"k": "b1", "n": 9007199254740993, "s": "zz"}},
    *({"edge": "Walks", "from": a, "to": b, "data": {"id": f"w{w}", "w": w}}
      for a, b, w in [("a0", "a1", 1), ("a0", "a1", 2), ("a1", "a2", 3), ("a2", "a0", 4), ("a3", "a3", 5),
                      ("a0", "a3", 6)]),
    {"edge": "Meets", "from": "a0", "to": "b0", "data": {"id": "m1", "w": 0.5}},
    {"edge": "Meets", "from": "a1", "to": "b1", "data": {"id": "m2"}},
    # One id in two types.
    {"type": "Bee", "data": {"k": "a1", "s": "a"}},
    {"edge": "Meets", "from": "a2", "to": "a1", "data": {"id": "m3"}},
    {"edge": "Feeds", "from": "a1", "to": "a3", "data": {"id": "f1", "s": "x"}},
    {"edge": "Feeds", "from": "b0", "to": "a2", "data": {"id": "f2"}},
]  # fmt: skip


def _q(match: str, returned: str, tail: str = "") -> str:
    return f"query q() {{ match {{ {match} }} return {{ {returned} }} {tail} }}"


LOWERINGS = {
    "a join on values": _q("$a: Ant $b: Bee $a.s = $b.s", "$a.k, $b.k as bee"),
    "a join of two widths, and a product": _q("$a: Ant $b: Bee $a.n <= $b.n", "$a.k, $b.k as bee"),
    "the same node by two names": _q("$a: Ant $c: Ant $a walks $c $a = $c", "$a.k"),
    "reach against the edge": _q('$a: Ant { k: "a2" } $b walks{1,3} $a', "$b.k"),
    "reach regardless of direction": _q('$a: Ant { k: "a0" } $a <walks>{2,3} $b', "$b.k"),
    "reach between two bound ends": _q("$a: Ant $b: Ant $a walks{2,3} $b", "$a.k, $b.k as other"),
    "an edge between two bound ends": _q("$a: Ant $b: Ant $a $e:walks $b $e.w > 1", "$a.k, $e.w"),
    "the start among what it reaches": _q('$a: Ant { k: "a1" } $a walks{0,2} $b', "$b.k"),
    "there and back between two types": _q("$a: Ant $a <meets|feeds>{2} $x", "$a.k, $x.id, type($x) as t"),
    "one hop regardless of direction between two types": _q("$x $e:<meets> $y", "$x.id, $y.id as other, $e.w"),
    "conditions along a traversal": _q(
        "$a: Ant $a walks{1,3} $b along $e to $n { $e.w > 1 $n.n is not null }", "$a.k, $b.k as b"
    ),
    "one hop along conditions": _q("$a: Ant $a meets $b along $e { $e.w > 0.0 }", "$a.k, $b.k as b"),
    "the cheapest path": _q(
        "$a: Ant cheapest $p: $a walks $b along $e by $e.w", "$a.k, $b.k as b, $p.cost, $p.edges.w as ws"
    ),
    "the first paths by cost": _q(
        "$a: Ant cheapest 2 $p: $a <walks|meets> $b along to $n by length($n.k)", "$a.k, $p.cost, $p.nodes"
    ),
    "all shortest paths": _q("$a: Ant $b: Ant all shortest $p: $a <walks> $b", "$p.nodes, $p.edges.w as ws"),
    "simple paths": _q("$a: Ant simple $p: $a walks{0,3} $b", "$p.nodes, $p.nodes.n as ns, $p.length"),
    "edges by themselves": _q("$e: Walks $e.w >= 2 $a: Ant $a.id = $e.to", "$e, $e.from, $a.k"),
    "edges of several types": _q("$e: Walks|Meets", "$e, type($e) as t"),
    "edges that are the same": _q("$a $e:walks $b $f: Walks $e = $f", "$e.w, $f.from, count($f) as n"),
    "texts of edges": _q('$e: Feeds search($e.s, "x")', "$e.id", 'order { bm25($e.s, "x") } limit 3').replace(
        "$e.id", "$e.to"
    ),
    "a narrowed variable": _q("$x: Named $x: Bee", "$x.k, $x.g"),
    "a type asked for in a block": _q("$x: Ant|Bee not { $x: Ant }", "$x.k"),
    "not inside not": _q("$a: Ant not { $a walks $b not { $b meets $_ } }", "$a.k"),
    "conditions over several variables": _q("$a walks $b $a.n + 1 >= $b.n or $a.s = $b.s", "$a.k, $b.k as other"),
    "lists, nulls, calendars": _q('$a: Ant "a" in $a.tags $a.d < date("2021-01-01") $a.at is not null', "$a"),
    "grouped by a whole node": _q("$a walks $b", "$b as node, count($a) as n, sum($a.n) as s", "order { n desc }"),
    "every aggregate": _q(
        "$a: Ant",
        "$a.s, count(*) as c, count(distinct $a.n) as cd, sum($a.f) as sf, avg($a.n) as av, min($a.d) as lo, "
        "max($a.at) as hi",
    ),
    "groups in the order of a ranking": _q(
        "$a: Ant", "$a.s, count(*) as c, min($a.n) as low", "order { nearest($a.v, [0.0, 0.0]) } limit 2"
    ),
    "distinct rows in order": _q("$a walks $b", "$b.s, $b.n", "order { $b.n desc }").replace(
        "return", "return distinct"
    ),
    "offset and limit": _q("$a: Ant", "$a.k", "order { $a.f desc } limit 2 offset 1"),
    "scores as values": _q(
        "$a: Ant", '$a.k, nearest($a.v, [0.0, 0.0]) as d, bm25($a.x, "stone") as r', "order { $a.k }"
    ),
    "relevance": _q("$a: Ant", "$a.k", 'order { bm25($a.x, "old stone huts") }'),
    "a fusion": _q("$a: Ant", "$a.k", 'order { rrf(nearest($a.v, [0.0, 0.0]), bm25($a.x, "stone"), 10) } limit 3'),
    "text functions": _q('$a: Ant fuzzy($a.x, "stoen", 2) or search($a.x, "huetten")', "$a.k"),
    "phrases, prefixes and all words": _q(
        '$a: Ant search_phrase($a.x, "old stone") or search_prefix($a.x, "hu") or search_all($a.x, "stone huts")',
        "$a.k",
    ),
    "a score as a threshold": _q('$a: Ant bm25($a.x, "stone") > 0.1', '$a.k, 2 * bm25($a.x, "stone") as r'),
    "snippets": _q("$a: Ant", '$a.k, snippet($a.x, "stone huts", 2) as s, snippet($a.x, $a.s) as t', "order { $a.k }"),
    "optional, with and without a match": _q(
        "$a: Ant optional { $a meets $b $b.n > 1 }", "$a.k, $b, $b.n", "order { $a.k }"
    ),
    "optional in a row, counted and negated": _q(
        "$a: Ant optional { $a walks $c } optional { $c meets $b } not { $b is null $a.n = 2 }",
        "$a.k, count($b) as n, count($c) as m",
    ),
    "having and collect": _q(
        "$a walks $b",
        "$a.k, collect($b.k) as seen, collect(distinct $b.n) as ns",
        "having { ns is not null } order { $a.k }",
    ),
    "reach without an upper bound": _q("$a: Ant $a walks{2,} $b", "$a.k, $b.k as other"),
    "constants": _q("$a: Ant", '$a.k, 1.5 as number, "t" as text'),
    "several edge types": _q("$a: Ant $a walks|meets $b", "$a.k, $b, $b.s"),
    "several edge types, with the edge": _q("$a: Ant $a $e:walks|meets $b", "$a.k, $b.id as other, $e.id"),
    "several edge types against their direction": _q('$b: Ant { k: "a1" } $a walks|feeds $b', "$a"),
    "reach over several edge types": _q("$a: Ant $a walks|meets|feeds{1,3} $b", "$a.k, $b.s, $b.id as other"),
    "reach over several edge types, between bound ends": _q(
        "$a: Named $b: Named $a walks|meets{2,} $b", "$a.id, $b.id as other"
    ),
    "an interface": _q("$x: Named", "$x, $x.s"),
    "an interface, filtered, counted and grouped": _q(
        '$x: Named $x.s = "a" optional { $y walks|meets $x }', "$x as who, count($y) as n, count(distinct $y) as d"
    ),
    "the same node of a union and of a type": _q("$x: Named $a: Ant $x = $a", "$x.s, $a.k"),
    "the same node of two unions": _q("$x: Named $y: Named $x = $y", "$x.id"),
    "two nodes of one id are two": _q("$x: Named $y: Named $x != $y $x.id = $y.id", "$x as who, $y.s", "order { who }"),
    "groups of a union, tied": _q("$x: Named", "$x as who, $x.s as s, count(*) as n", "order { n desc } limit 5"),
    "nodes of a union, last first": _q("$x: Named", "$x as who, $x.s as s", "order { who desc, $x.s }"),
    "groups of a union, last first": _q("$x: Named", "$x as who, $x.s as s, count(*) as n", "order { who desc, s }"),
    "an overflow that something else excludes": _q(
        '$b: Bee optional { $a meets $b } $b.n * 4611686018427387904 > 0 or $b.n = 2 $b.s != "zz"', "$b.k, $b.n"
    ),
    "an overflow that having excludes": _q(
        "$b: Bee", "$b.k as k, $b as bee, $b.n * 3000000000000 as far", 'having { k != "b1"  far > 0 } order { far }'
    ),
    "large numbers beside fractions": _q(
        "$b: Bee $b.n / 2 > 0.5", "$b.k, $b.n * 1.0 as near, 18446744073709551615 as top"
    ),
    "not of not": _q("$a: Ant not { not { $a meets $b } }", "$a.k"),
    "for all": _q("$a: Ant not { $x: Ant { n: 2 } not { $a walks{1,} $x } }", "$a.k"),
    "a cycle": _q("$a: Ant $a walks{1,} $a", "$a.k"),
    "a cycle of some length, over several edge types": _q("$x: Named $x walks|meets|feeds{2,4} $x", "$x.id"),
    "the shortest cycle": _q("$a: Ant shortest $p: $a walks{2,} $a", "$a.k, $p.length, $p.nodes"),
    "a union in not": _q("$x: Named not { $x walks|feeds $y }", "$x.id"),
    "distinct nodes of a union": _q("$a walks|meets $x", "$x").replace("return", "return distinct"),
    "optional before anything is matched": _q('optional { $a: Ant { k: "zz" } } $b: Bee', "$a.k, $b.k as bee"),
    "a shortest path": _q("$a: Ant shortest $p: $a walks{1,3} $b", "$a.k, $b.k as other, $p.length"),
    "the edges of a path": _q("$a: Ant simple $p: $a walks{1,2} $b", "$a.k, $p.edges, $p.edges.w as ws"),
    "the nodes of a shortest path": _q(
        "$a: Ant shortest $p: $a walks{1,} $b", "$a.k, $b.k as other, $p.length, $p.nodes"
    ),
    "a shortest path over several edge types": _q(
        '$a: Ant { k: "a0" } shortest $p: $a walks|meets|feeds{1,4} $b', "$b.id, $p.length, $p.nodes"
    ),
    "a shortest path of at least two hops": _q(
        "$a: Ant shortest $p: $a walks{2,3} $b", "$a.k, $b.k as other, $p.nodes"
    ),
    "a shortest path, perhaps": _q(
        "$a: Ant optional { shortest $p: $a walks{1,2} $b $b.n = 2 } not { $p.length = 1 $a.b = true }",
        "$a.k, $b.k as other, $p.length",
    ),
}
