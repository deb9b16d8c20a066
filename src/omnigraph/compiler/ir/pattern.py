"""A match as an unordered pattern: variables, links, conditions and negations, taken from a pipeline of operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from omnigraph.compiler.ir.expr import Condition
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import (
    AntiJoin,
    Branch,
    Either,
    Expand,
    ExpandTest,
    Filter,
    LeftJoin,
    Mark,
    MatchOp,
    NodeScan,
    ShortestPath,
    Unwind,
)
from omnigraph.compiler.ir.plan import ReadPlan


@dataclass
class Pattern:
    """What a pipeline of match operators means, apart from their order; `bound` comes from outside."""

    bound: frozenset[str]
    nodes: dict[str, str] = field(default_factory=dict)  # variable → node type, in order of introduction
    edges: set[str] = field(default_factory=set)  # those of them that range over edges
    links: list[Link] = field(default_factory=list)
    predicates: dict[str, list[Condition]] = field(default_factory=dict)  # by the one variable they read
    filters: list[Condition] = field(default_factory=list)
    late: list[Condition] = field(default_factory=list)
    paths: list[ShortestPath] = field(default_factory=list)
    optionals: list[LeftJoin] = field(default_factory=list)
    negations: list[AntiJoin] = field(default_factory=list)
    unwinds: list[Unwind] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    alternatives: list[Either] = field(default_factory=list)

    def of(self, var: str | None) -> tuple[Condition, ...]:
        """The conditions on one variable alone."""
        return tuple(self.predicates.get(var, ())) if var is not None else ()


def decompose(ops: tuple[MatchOp, ...], bound: frozenset[str]) -> Pattern:
    """The pattern of a pipeline."""
    pattern = Pattern(bound)
    for op in ops:
        match op:
            case NodeScan(var, type_name, predicates, joins):
                pattern.nodes[var] = type_name
                if op.kind == "edge":
                    pattern.edges.add(var)
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
            case Filter(condition, late):
                (pattern.late if late else pattern.filters).append(condition)
            case ShortestPath():
                pattern.paths.append(op)
            case LeftJoin():
                pattern.optionals.append(op)
            case AntiJoin():
                pattern.negations.append(op)
            case Mark():
                pattern.marks.append(op)
            case Unwind():
                pattern.unwinds.append(op)
            case Either():
                pattern.alternatives.append(op)
    return pattern


def map_match(plan: ReadPlan, change: Callable[[tuple[MatchOp, ...], frozenset[str]], tuple[MatchOp, ...]]) -> ReadPlan:
    """The plan with every pipeline of match operators changed, those of blocks before the ones around them."""

    def inside_out(ops: tuple[MatchOp, ...], bound: frozenset[str]) -> tuple[MatchOp, ...]:
        return change(tuple(map(block, ops)), bound)

    def block(op: MatchOp) -> MatchOp:
        if isinstance(op, AntiJoin | LeftJoin | Mark):
            return replace(op, ops=inside_out(op.ops, frozenset(op.outer)))
        if isinstance(op, Either):
            outer = frozenset(op.outer)
            return replace(op, branches=tuple(Branch(inside_out(each.ops, outer)) for each in op.branches))
        if isinstance(op, Expand | ExpandTest | ShortestPath) and op.link.along is not None and op.link.along.marks:
            inner = ((mark, inside_out(mark.ops, frozenset(mark.outer))) for mark in op.link.along.marks)
            along = replace(op.link.along, marks=tuple(replace(mark, ops=ops) for mark, ops in inner))
            return replace(op, link=replace(op.link, along=along))
        return op

    return replace(plan, match=inside_out(plan.match, plan.bound))


def _add_edge_predicates(pattern: Pattern, link: Link, conditions: tuple[Condition, ...]) -> None:
    if link.edge_var is not None:
        pattern.predicates.setdefault(link.edge_var, []).extend(conditions)
