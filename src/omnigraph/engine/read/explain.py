"""What a plan does and what it cost: one line per operator, with rows and time once it has run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from omnigraph.compiler.ir.format import format_operator
from omnigraph.compiler.ir.ops import AntiJoin, LeftJoin, MatchOp, ReadPlan, ResultOp

# An operator inside `not` runs many times; what it did the first times tells enough.
_MOST_NOTES = 8


@dataclass
class Step:
    """One operator as it ran; an operator inside `not` may run once per piece and adds up."""

    op: MatchOp | ResultOp
    depth: int
    rows: int = 0
    seconds: float = 0.0
    runs: int = 0
    notes: list[str] = field(default_factory=list)


class Profile:
    """Rows and time per operator of one execution."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._open: list[Step] = []
        self._known: dict[int, Step] = {}

    def note(self, text: str) -> None:
        """Say how the operator that runs now does its work, for example which search path it took."""
        if self._open and text not in self._open[-1].notes and len(self._open[-1].notes) < _MOST_NOTES:
            self._open[-1].notes.append(text)

    @contextmanager
    def measure(self, op: MatchOp | ResultOp) -> Iterator[Step]:
        """Time one operator; the caller sets `rows` on what it gets."""
        step = self._known.get(id(op))
        if step is None:
            step = self._known[id(op)] = Step(op, len(self._open))
            self.steps.append(step)
        self._open.append(step)
        begin = time.perf_counter()
        try:
            yield step
        finally:
            step.seconds += time.perf_counter() - begin
            step.runs += 1
            self._open.pop()


@dataclass(frozen=True, slots=True)
class TableReads:
    """What one execution read from one table."""

    table: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan, and after execution what each operator did."""

    plan: ReadPlan
    profile: Profile | None = None
    reads: tuple[TableReads, ...] = ()

    def __str__(self) -> str:
        lines = [f"{'  ' * depth}{label}" for depth, label in _labels(self.plan)]
        if self.profile is not None:
            lines = [self._measured(step) for step in self.profile.steps]
            lines += [f"read {read.table}: {read.rows} rows, {read.bytes} bytes" for read in self.reads]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The same as data."""
        plan: list[dict[str, Any]]
        if self.profile is None:
            plan = [{"depth": depth, "operator": label} for depth, label in _labels(self.plan)]
        else:
            plan = [
                {
                    "depth": step.depth,
                    "operator": format_operator(step.op),
                    "rows": step.rows,
                    "ms": round(step.seconds * 1000, 3),
                    **({"notes": list(step.notes)} if step.notes else {}),
                }
                for step in self.profile.steps
            ]
        return {
            "operators": plan,
            "reads": [{"table": read.table, "rows": read.rows, "bytes": read.bytes} for read in self.reads],
        }

    def _measured(self, step: Step) -> str:
        cost = "; ".join([f"{step.rows} rows, {step.seconds * 1000:.2f} ms", *step.notes])
        return f"{'  ' * step.depth}{format_operator(step.op)}  [{cost}]"


def _labels(plan: ReadPlan) -> Iterator[tuple[int, str]]:
    yield from _pipeline(plan.match, 0)
    for op in plan.result:
        yield 0, format_operator(op)


def _pipeline(ops: tuple[MatchOp, ...], depth: int) -> Iterator[tuple[int, str]]:
    for op in ops:
        yield depth, format_operator(op)
        if isinstance(op, AntiJoin | LeftJoin):
            yield from _pipeline(op.ops, depth + 1)
