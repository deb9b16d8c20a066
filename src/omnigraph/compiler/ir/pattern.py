"""A match as an unordered pattern: variables, links, conditions and negations, and how to put it back into order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from omnigraph.compiler.ir.expr import Condition
from omnigraph.compiler.ir.ops import AntiJoin, Expand, ExpandTest, Filter, Link, MatchOp, NodeScan, ReadPlan
from omnigraph.compiler.ir.walk import variables


@dataclass
class Pattern:
    """What a pipeline of match operators means, apart from their order; `bound` comes from outside."""

    bound: frozenset[str]
    nodes: dict[str, str] = field(default_factory=dict)  # variable → node type, in order of introduction
    links: list[Link] = field(default_factory=list)
    scans: list[str] = field(default_factory=list)  # variables that a NodeScan introduced
    predicates: dict[str, list[Condition]] = field(default_factory=dict)  # by the one variable they read
    filters: list[Condition] = field(default_factory=list)
    negations: list[AntiJoin] = field(default_factory=list)

    def of(self, var: str | None) -> tuple[Condition, ...]:
        """The conditions on one variable alone."""
        return tuple(self.predicates.get(var, ())) if var is not None else ()


# Picks among candidates, given what is in the frame; candidates are never empty.
PickStart = Callable[[Pattern, list[str], frozenset[str]], str]
PickLink = Callable[[Pattern, list[Link], frozenset[str]], Link]


def decompose(ops: tuple[MatchOp, ...], bound: frozenset[str]) -> Pattern:
    """The pattern of a pipeline."""
    pattern = Pattern(bound)
    for op in ops:
        match op:
            case NodeScan(var, type_name, predicates, joins):
                pattern.nodes[var] = type_name
                pattern.scans.append(var)
                pattern.predicates.setdefault(var, []).extend(predicates)
                pattern.filters.extend(joins)
            case Expand(link, _, predicates, edge_predicates):
                pattern.nodes[op.target] = op.target_type
                pattern.links.append(link)
                pattern.predicates.setdefault(op.target, []).extend(predicates)
                _add_edge_predicates(pattern, link, edge_predicates)
            case ExpandTest(link, edge_predicates):
                pattern.links.append(link)
                _add_edge_predicates(pattern, link, edge_predicates)
            case Filter(condition):
                pattern.filters.append(condition)
            case AntiJoin():
                pattern.negations.append(op)
    return pattern


def compose(pattern: Pattern, pick_start: PickStart, pick_link: PickLink) -> tuple[MatchOp, ...]:
    """A pipeline of the pattern: tests as soon as they can run, then the picked hop, or a scan where none is left."""
    ops: list[MatchOp] = []
    frame = set(pattern.bound)
    rest = _Rest(list(pattern.links), list(pattern.filters), list(pattern.negations))
    while True:
        _settle(pattern, frame, rest, ops)
        reachable = [link for link in rest.links if link.tail in frame or link.head in frame]
        unbound = [var for var in pattern.nodes if var not in frame]
        if reachable:
            link = pick_link(pattern, reachable, frozenset(frame))
            rest.links.remove(link)
            source = link.tail if link.tail in frame else link.head
            ops.append(Expand(link, source, pattern.of(link.other(source)), pattern.of(link.edge_var)))
            frame |= {link.tail, link.head} | ({link.edge_var} if link.edge_var is not None else set())
        elif unbound:
            var = pick_start(pattern, unbound, frozenset(frame))
            ops.append(NodeScan(var, pattern.nodes[var], pattern.of(var)))
            frame.add(var)
        else:
            return tuple(ops)


def map_match(plan: ReadPlan, change: Callable[[tuple[MatchOp, ...], frozenset[str]], tuple[MatchOp, ...]]) -> ReadPlan:
    """The plan with every pipeline of match operators changed, those of negations before the ones around them."""

    def inside_out(ops: tuple[MatchOp, ...], bound: frozenset[str]) -> tuple[MatchOp, ...]:
        return change(tuple(negation(op) if isinstance(op, AntiJoin) else op for op in ops), bound)

    def negation(block: AntiJoin) -> AntiJoin:
        return AntiJoin(inside_out(block.ops, frozenset(block.outer)), block.outer)

    return replace(plan, match=inside_out(plan.match, frozenset()))


@dataclass(slots=True)
class _Rest:
    """What composing has not emitted yet."""

    links: list[Link]
    filters: list[Condition]
    negations: list[AntiJoin]


def _settle(pattern: Pattern, frame: set[str], rest: _Rest, ops: list[MatchOp]) -> None:
    """Emit everything that only drops rows and whose variables are all there; edge bindings, which multiply, last."""
    _settle_filters(frame, rest, ops)
    closed = [link for link in rest.links if link.tail in frame and link.head in frame]
    for link in sorted(closed, key=lambda link: link.edge_var is not None):
        rest.links.remove(link)
        ops.append(ExpandTest(link, pattern.of(link.edge_var)))
        if link.edge_var is not None:
            frame.add(link.edge_var)
    if closed:
        _settle_filters(frame, rest, ops)
    for block in [block for block in rest.negations if frame.issuperset(block.outer)]:
        rest.negations.remove(block)
        ops.append(block)


def _settle_filters(frame: set[str], rest: _Rest, ops: list[MatchOp]) -> None:
    for condition in [condition for condition in rest.filters if variables(condition) <= frame]:
        rest.filters.remove(condition)
        ops.append(Filter(condition))


def _add_edge_predicates(pattern: Pattern, link: Link, conditions: tuple[Condition, ...]) -> None:
    if link.edge_var is not None:
        pattern.predicates.setdefault(link.edge_var, []).extend(conditions)
