"""Matching of the naive evaluator: every assignment is tried, and kept if it satisfies all clauses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from omnigraph.compiler.functions import Failure
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.query.checked import (
    Bind,
    CheckedClause,
    EitherMatch,
    ExistsMatch,
    NotMatch,
    OptionalMatch,
    Step,
    UnwindMatch,
    Where,
)
from omnigraph.compiler.types import union_members
from omnigraph.testing.naive.evaluator_paths import Steps, hops_between, paths_between, who
from omnigraph.testing.naive.evaluator_truth import all_true
from omnigraph.testing.naive.evaluator_values import Assignment, Entity, Values


class Matching:
    """The assignments that satisfy clauses, over entities of typed tables."""

    def __init__(self, tables: Mapping[str, list[Entity]], values: Values) -> None:
        self.tables = tables
        self.values = values
        self.graph = Steps(tables, values)

    def solutions(self, clauses: tuple[CheckedClause, ...], outer: Assignment) -> list[Assignment]:
        """Every extension of `outer` by the clauses' own variables that satisfies all of them."""
        # Optional blocks, and what may speak about their variables, stand behind everything else.
        cut = next((at for at, clause in enumerate(clauses) if isinstance(clause, OptionalMatch)), len(clauses))
        plain, rest = clauses[:cut], [clause for clause in clauses[cut:] if not isinstance(clause, OptionalMatch)]
        if cut == len(clauses):
            return self.plain_solutions(plain, outer)
        found = self.plain_solutions(plain, outer, undecided=True)
        for block in (clause for clause in clauses[cut:] if isinstance(clause, OptionalMatch)):
            found = [extended for row in found for extended in self.optional(block, row)]
        for clause in rest:
            if isinstance(clause, UnwindMatch):
                found = [extended for row in found for extended in self.unwound(clause, row)]
        # Asked again together with the rest: a row that overflows counts only if nothing excludes it.
        return [row for row in found if self.satisfies_all((*plain, *rest), row)]

    def plain_solutions(
        self, clauses: tuple[CheckedClause, ...], outer: Assignment, *, undecided: bool = False
    ) -> list[Assignment]:
        """The same for clauses without optional blocks; with `undecided`, rows that overflow are among them."""
        domains = {
            var: [entity for key in keys for entity in self.tables[key]]
            for var, keys in _variables(clauses).items()
            if var not in outer
            and not any(var in clause.binds for clause in clauses if isinstance(clause, EitherMatch))
        }
        blocks = [clause for clause in clauses if isinstance(clause, EitherMatch | UnwindMatch)]
        paths = [clause for clause in clauses if isinstance(clause, Step) and clause.path_var is not None]
        found = []
        chosen = ({**outer, **dict(zip(domains, choice, strict=True))} for choice in product(*domains.values()))
        for plain in (extended for each in chosen for extended in self.alternatives(blocks, each)):
            for assignment in self.with_paths(paths, plain):
                try:
                    kept = self.satisfies_all(clauses, assignment)
                except Failure:
                    if not undecided:
                        raise
                    kept = True
                if kept:
                    found.append(assignment)
        return found

    def unwound(self, clause: UnwindMatch, row: Assignment) -> list[Assignment]:
        """The row with each item of a list."""
        items = self.values.value(clause.expr, row, [])
        return [{**row, clause.var: {"item": item, "_place": place}} for place, item in enumerate(items or ())]

    def with_paths(self, steps: list[Step], row: Assignment) -> list[Assignment]:
        """The row with every combination of the paths that its steps bind."""
        rows = [row] if all(self.satisfies(step, row) for step in steps) else []
        for step in steps:
            assert step.path is not None
            rows = [
                {**each, step.path.var: path} for each in rows for path in paths_between(self.graph, step.path, each)
            ]
        return rows

    def alternatives(self, blocks: list[EitherMatch | UnwindMatch], row: Assignment) -> list[Assignment]:
        """The row with every combination of what the blocks find, each once."""
        rows = [row]
        for block in blocks:
            if isinstance(block, UnwindMatch):
                rows = [extended for one in rows for extended in self.unwound(block, one)]
                continue
            wider: list[Assignment] = []
            for one in rows:
                found = [
                    {**one, **{var: solution[var] for var in block.binds}}
                    for each in block.alternatives
                    for solution in self.solutions(each.clauses, one)
                ]
                wider += [each for place, each in enumerate(found) if each not in found[:place]]
            rows = wider
        return rows

    def satisfies_all(self, clauses: Iterable[CheckedClause], assignment: Assignment) -> bool:
        return all_true(lambda clause=clause: self.satisfies(clause, assignment) for clause in clauses) is True  # type: ignore[misc]

    def optional(self, block: OptionalMatch, row: Assignment) -> list[Assignment]:
        """The row with each solution of the block, or once with null for everything that the block binds."""
        nothing: Assignment = dict.fromkeys(block.binds)
        return self.solutions(block.clauses, row) or [{**row, **nothing}]

    def satisfies(self, clause: CheckedClause, assignment: Assignment) -> bool:
        match clause:
            case Bind(_, _, conditions):
                return self.values.truth(ir.And(conditions), assignment) is True
            case Step(link, never):
                return not never and self.linked(link, assignment)
            case Where(condition):
                return self.values.truth(condition, assignment) is True
            case NotMatch(clauses):
                return not self.solutions(clauses, assignment)
            case OptionalMatch() | ExistsMatch() | EitherMatch() | UnwindMatch():
                return True

    def linked(self, link: Link, assignment: Assignment) -> bool:
        tail, head = assignment[link.tail], assignment[link.head]
        if tail is None or head is None:
            return False
        if link.edge_var is not None:
            edge = assignment[link.edge_var]
            assert edge is not None
            return (who(tail), who(head)) in self.graph.pairs(link, [edge])
        pairs = self.graph.pairs(link)
        return hops_between(link, pairs, who(tail), who(head)) is not None


def _variables(clauses: tuple[CheckedClause, ...]) -> dict[str, list[str]]:
    """The variables a clause list binds itself, with the tables each ranges over."""
    found: dict[str, list[str]] = {}
    for clause in clauses:
        match clause:
            case Bind(var, type_name, _, kind):
                found[var] = _tables(kind, type_name)
            case Step(link):
                found[link.tail] = _tables("node", link.tail_type)
                found[link.head] = _tables("node", link.head_type)
                if link.edge_var is not None:
                    found[link.edge_var] = _tables("edge", link.edge)
            case _:
                pass
    return found


def _tables(kind: str, union: str) -> list[str]:
    return [f"{kind}:{name}" for name in union_members(union)]
