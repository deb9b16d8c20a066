"""Passes change how rows are found, never which: a naive reading of both plans gives the same assignments."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from omnigraph.compiler.catalog import Catalog, compile_schema
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir import ops
from omnigraph.compiler.ir.estimates import NeutralEstimates
from omnigraph.compiler.ir.link import Link, Way
from omnigraph.compiler.ir.lower import lower
from omnigraph.compiler.ir.optimize import optimize
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.query.typecheck import check_query
from omnigraph.compiler.source import Source
from omnigraph.compiler.types import union_members
from tests.thoroughness import examples

SCHEMA = """
node Hut { alt: I32?  rank: I64? }
node Warden { age: I32? }
edge Path: Hut -> Hut { minutes: I32? }
edge Guards: Warden -> Hut
"""
# Patterns bind, tests and negations drop rows; a list draws from each, so that every pass has something to do.
PATTERNS = [
    "$b: Hut",
    "$w: Warden",
    "$a path $b",
    "$b path{1,3} $c",
    "$a <path>{2,2} $c",
    "$a $e:path $b $e.minutes > 0",
    "$b: Hut $a.alt = $b.rank",
    "$b: Hut $a = $b",
    "$a path $a",
    "$a path{1,} $a",
    "$b path{2,3} $b",
    "$a <path>{2,2} $a",
    "shortest $p: $a path $a",
    "$w guards $a",
    "$b guards $v",
    "$w guards{2,3} $b",
    "$a path $_",
    "$b path{2,} $c",
    "$a path|guards $m",
    "$w guards|path{1,2} $m",
    "$m: Hut|Warden",
    "$m path $c",
    "shortest $p: $a path{1,3} $b",
    "optional { $o guards $a }",
    "optional { $a path $o $o.alt > 0 }",
    "optional { $a path $o optional { $v guards $o } }",
    "optional { shortest $p: $a path $o $p.length > 1 }",
]
TESTS = [
    "$a: Hut { alt: 1 }",
    "$a.alt = 1 and $a.rank = 1",
    "$a.alt < 2 or $a.rank is null",
    "$a.alt = $b.rank",
    "$a.alt + $b.alt > 2 * 1",
    "$a.rank + 1 > 1",
    "$a.rank * 2 > $b.rank - 1 or $b.alt = 1",
    "$w.age = $a.alt",
    "$a != $b",
    "2 > 1",
    "$o is null",
    "$o.alt = $a.alt",
    "$p.length > 1",
    "$v is not null",
]
NEGATIONS = [
    "not { $a.alt = 1 $a.rank = 1 }",
    "not { $a.rank - 1 = 1 }",
    "not { $x guards $a $x.age + $a.rank > 1 $a.rank * 2 > 1 }",
    "not { $x guards $a }",
    "not { $x guards $a $x.age > $a.alt }",
    "not { $a.alt = 1 $a path $y }",
    "not { $a path $y not { $y path $a } }",
    "not { $a: Hut { alt: 2 } $a path $_ }",
    "not { $b path{1,2} $a }",
    "not { not { $a path $y } }",
    "not { not { $a.alt = 1 } }",
    "not { $y: Hut not { $a path $y } }",
    "not { $x guards $a not { not { $x guards $b $a path $b } } }",
    "not { optional { $a path $y } $y is null }",
    "not { $a path{1,} $a }",
    "not { $a: Hut { alt: 2 } }",
    "not { $o path $a }",
    "not { $x guards $a optional { $a path $y } $y is null }",
]
Row = dict[str, tuple[str, int] | None]
COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COMPUTE = {"+": operator.add, "-": operator.sub, "*": operator.mul}


class World:
    """A handful of nodes and edges, and what every operator means on them, one row at a time."""

    def __init__(self, nodes: dict[str, list[dict[str, Any]]], edges: dict[str, list[tuple[int, int, dict[str, Any]]]]):
        self.nodes = nodes
        self.edges = edges

    def rows(self, pipeline: tuple[ops.MatchOp, ...], row: Row) -> list[Row]:
        found = [row]
        for op in pipeline:
            found = [extended for before in found for extended in self.step(op, before)]
        return found

    def step(self, op: ops.MatchOp, row: Row) -> Iterator[Row]:
        match op:
            case ops.NodeScan(var, type_name):
                yield from (
                    new for new in self.bound(var, type_name, row) if self.all((*op.predicates, *op.joins), new)
                )
            case ops.Expand(link):
                for new in self.bound(op.target, op.target_type, row):
                    for linked in self.linked(link, new):
                        if self.all((*op.predicates, *op.edge_predicates), linked):
                            yield linked
            case ops.ExpandTest(link, edge_predicates):
                yield from (linked for linked in self.linked(link, row) if self.all(edge_predicates, linked))
            case ops.Filter(condition):
                if self.truth(condition, row):
                    yield row
            case ops.AntiJoin(inner):
                if not self.rows(inner, row):
                    yield row
            case ops.LeftJoin(inner, _, binds):
                yield from self.rows(inner, row) or [{**row, **dict.fromkeys(binds)}]
            case ops.ShortestPath(link, var):
                hops = self.hops(link, row[link.tail], row[link.head])
                assert hops is not None, "a path is asked for before its link is known to hold"
                yield {**row, var: ("path", hops)}

    def bound(self, var: str, type_name: str, row: Row) -> Iterator[Row]:
        for name in union_members(type_name):
            for at in range(len(self.nodes[name])):
                yield {**row, var: (name, at)}

    def linked(self, link: Link, row: Row) -> Iterator[Row]:
        ends = row[link.tail], row[link.head]
        if link.edge_var is not None:
            for way in self.ways(link):
                for at in range(len(self.edges[way.edge])):
                    if ends in self.pairs(way, [at], undirected=link.undirected):
                        yield {**row, link.edge_var: (way.edge, at)}
        elif None not in ends and self.hops(link, *ends) is not None:
            yield row

    def ways(self, link: Link) -> tuple[Way, ...]:
        return link.ways or (Way(link.edge, link.tail_type, link.head_type),)

    def pairs(self, way: Way, edges: Iterable[int], *, undirected: bool) -> set[tuple[Any, Any]]:
        found = set()
        for source, target, _ in (self.edges[way.edge][at] for at in edges):
            ends = (target, source) if way.against else (source, target)
            pair = (way.from_type, ends[0]), (way.to_type, ends[1])
            found |= {pair, pair[::-1]} if undirected else {pair}
        return found

    def hops(self, link: Link, tail: Any, head: Any) -> int | None:
        pairs: set[tuple[Any, Any]] = set()
        for way in self.ways(link):
            pairs |= self.pairs(way, range(len(self.edges[way.edge])), undirected=link.undirected)
        if link.is_cycle:
            return self.way_back(link, pairs, tail)
        distance, seen, frontier = 0, {tail}, {tail}
        while head not in seen and frontier:
            frontier = {target for source, target in pairs if source in frontier} - seen
            seen |= frontier
            distance += 1
        if head not in seen:
            return None
        if head != tail and link.min_hops <= distance <= link.max_hops:
            return distance
        looped = (head, head) in pairs and link.min_hops <= distance + 1 <= link.max_hops
        return distance + 1 if looped else None

    def way_back(self, link: Link, pairs: set[tuple[Any, Any]], start: Any) -> int | None:
        hops, seen, frontier = 0, set[Any](), {start}
        while start not in seen and frontier:
            frontier = {target for source, target in pairs if source in frontier} - seen
            seen |= frontier
            hops += 1
        return hops if start in seen and link.min_hops <= hops <= link.max_hops else None

    def all(self, conditions: tuple[ir.Condition, ...], row: Row) -> bool:
        return all(self.truth(condition, row) for condition in conditions)

    def truth(self, condition: ir.Condition, row: Row) -> bool:
        match condition:
            case ir.Compare(op, left, right):
                sides = self.value(left, row), self.value(right, row)
                return None not in sides and bool(COMPARE[op](*sides))
            case ir.SameNode(left, right, negated):
                sides = row[left.var], row[right.var]
                return None not in sides and (sides[0] == sides[1]) != negated
            case ir.IsNull(operand, negated):
                return (self.value(operand, row) is None) != negated
            case ir.IsTrue(operand):
                return self.value(operand, row) is True
            case ir.And(parts):
                return all(self.truth(part, row) for part in parts)
            case ir.Or(parts):
                return any(self.truth(part, row) for part in parts)
            case ir.NotTrue(part):
                return not self.truth(part, row)
            case ir.Possibly(part):
                return self.truth(part, row)  # nothing overflows here
            case _:
                raise AssertionError(f"the generator does not draw {condition}")

    def value(self, expr: ir.Expr, row: Row) -> Any:
        match expr:
            case ir.Const(value):
                return value
            case ir.Property(var, name):
                entity = row[var]
                if entity is None:
                    return None
                kind, at = entity
                if kind == "path":
                    return at
                return self.nodes[kind][at].get(name) if kind in self.nodes else self.edges[kind][at][2].get(name)
            case ir.Node(var):
                return row[var]
            case ir.Arithmetic(op, left, right):
                sides = self.value(left, row), self.value(right, row)
                return None if None in sides else COMPUTE[op](*sides)
            case _:
                raise AssertionError(f"the generator does not draw {expr}")


@st.composite
def worlds(draw: st.DrawFn) -> World:
    # Small numbers and several of everything: most conditions then hold for some rows and fail for others.
    number = st.sampled_from([0, 1, 1, 2, None])
    huts = draw(st.lists(st.fixed_dictionaries({"alt": number, "rank": number}), min_size=2, max_size=4))
    wardens = draw(st.lists(st.fixed_dictionaries({"age": number}), min_size=1, max_size=2))
    hut, warden = st.integers(0, len(huts) - 1), st.integers(0, len(wardens) - 1)
    minutes = st.fixed_dictionaries({"minutes": number})
    paths = draw(st.lists(st.tuples(hut, hut, minutes), min_size=2, max_size=7))
    guards = draw(st.lists(st.tuples(warden, hut, st.just({})), min_size=1, max_size=3))
    return World({"Hut": huts, "Warden": wardens}, {"Path": paths, "Guards": guards})


def clause_lists() -> st.SearchStrategy[list[str]]:
    def some(pool: list[str], most: int) -> st.SearchStrategy[list[str]]:
        return st.lists(st.sampled_from(pool), max_size=most, unique=True)

    drawn = st.tuples(some(PATTERNS, 3), some(TESTS, 2), some(NEGATIONS, 2))
    return drawn.map(lambda lists: ["$a: Hut", *(clause for part in lists for clause in part)])


class Skewed(NeutralEstimates):
    """Estimates that turn every default preference around."""

    def rows(self, type_name: str) -> float:
        return 1.0 if type_name == "Warden" else 50.0

    def degree(self, edge: str, direction: str) -> float:
        return {"out": 9.0, "in": 1.0, "both": 3.0}[direction]

    def selectivity(self, type_name: str, condition: ir.Condition) -> float:
        return 2.0


@cache
def catalog() -> Catalog:
    return compile_schema(SCHEMA)


@settings(max_examples=examples(250), deadline=None)
@given(worlds(), clause_lists())
def test_the_optimised_plan_finds_the_same_assignments(world: World, clauses: list[str]) -> None:
    source = Source(f"query q() {{ match {{ {' '.join(clauses)} }} return {{ $a.alt }} }}")
    try:
        plan = lower(check_query(parse_queries(source).queries[0], catalog(), source))
    except CompileError:
        assume(False)
        return
    expected = canonical(world.rows(plan.match, {}))

    assert len(set(expected)) == len(expected), "an assignment was found twice"
    for context in (Context(), Context(Skewed())):
        assert canonical(world.rows(optimize(plan, context).match, {})) == expected


def canonical(rows: list[Row]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)
