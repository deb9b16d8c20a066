"""What a plan does and what it cost: one line per operator with the rows expected, then rows, bytes and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import ceil
from typing import Any, TypeAlias

from omnigraph.compiler.ir.format import format_operator
from omnigraph.compiler.ir.ops import MatchOp, ResultOp, Union, pipelines
from omnigraph.compiler.ir.plan import ReadPlan, Stage
from omnigraph.display import Displayed, DisplayedText, counted
from omnigraph.engine.read.frames.expected import Expected

Operator: TypeAlias = MatchOp | ResultOp | Stage
NestedOperator: TypeAlias = tuple[int, Operator]  # how deep it is inside others, and the operator

# An operator inside `not` runs many times; its first runs are enough.
_MOST_NOTES = 8
_MOST_EXPECTED = 1e15


@dataclass
class Step:
    """One operator as it ran; an operator inside `not` may run once per piece and adds up."""

    op: Operator
    depth: int
    rows: int = 0
    bytes: int = 0
    seconds: float = 0.0
    runs: int = 0
    notes: list[str] = field(default_factory=list)


class Profile(Displayed):
    """Rows, bytes read and time per operator of one execution; what an operator runs inside counts for it too."""

    def __init__(self) -> None:
        self.bytes_read: Callable[[], int] = _nothing
        self.steps: list[Step] = []
        self._open: list[Step] = []
        self._known: dict[int, Step] = {}

    def __repr__(self) -> str:
        return f"<Profile: {counted(len(self.steps), 'step')}>"

    def note(self, text: str) -> None:
        """Say how the operator that runs now does its work, for example which search path it took."""
        if self._open and text not in self._open[-1].notes and len(self._open[-1].notes) < _MOST_NOTES:
            self._open[-1].notes.append(text)

    def close(self) -> None:
        """Let go of what was read; the result keeps the profile."""
        self.bytes_read = _nothing

    def measure(self, op: Operator) -> _Measured:
        """Time one operator; the caller sets `rows` on what it gets."""
        step = self._known.get(id(op))
        if step is None:
            step = self._known[id(op)] = Step(op, len(self._open))
            self.steps.append(step)
        return _Measured(self, self._open, step)


class KnownProfile(Profile):
    """The profile of a read that took no operators one by one: how many rows each stands for, and the time of all."""

    def __init__(self, ops: tuple[NestedOperator, ...], counts: tuple[int, ...], answered: int, seconds: float) -> None:
        self._ops, self._counts, self._answered, self._seconds = ops, counts, answered, seconds

    @property
    def steps(self) -> list[Step]:  # type: ignore[override]
        """Each operator up to the first that found nothing, and what shaped the answer; the time is at the last one.

        Made when it is looked at, which few results are.
        """
        found = [*zip(self._ops, self._counts, strict=False)]
        end = next((at for at, ((depth, _), count) in enumerate(found) if not count and not depth), len(found)) + 1
        found = [*found[:end], *((op, self._answered) for op in self._ops[len(self._counts) :])]
        made = [Step(op, depth, count, runs=1) for (depth, op), count in found]
        made[-1].seconds = self._seconds
        made[-1].notes.append("answered from memory in one go")
        return made


def _nothing() -> int:
    return 0


class _Measured:
    """One run of an operator."""

    __slots__ = ("_already", "_begin", "_open", "_profile", "_step")

    def __init__(self, profile: Profile, running: list[Step], step: Step) -> None:
        self._profile, self._open, self._step = profile, running, step

    def __enter__(self) -> Step:
        self._open.append(self._step)
        self._already = self._profile.bytes_read()
        self._begin = time.perf_counter()
        return self._step

    def __exit__(self, *raised: object) -> None:
        step = self._step
        step.seconds += time.perf_counter() - self._begin
        step.bytes += self._profile.bytes_read() - self._already
        step.runs += 1
        self._open.pop()


@dataclass(frozen=True, slots=True, repr=False)
class TableReads(Displayed):
    """What one execution read from one table."""

    table: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(DisplayedText):
    """A plan, and after execution what each operator did."""

    plan: ReadPlan
    profile: Profile | None = None
    reads: tuple[TableReads, ...] = ()
    expected: Expected = field(default_factory=dict)
    search: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{'  ' * depth}{format_operator(op)}{self._promise(op)}" for depth, op in nested_operators(self.plan)]
        lines += self.search
        if self.profile is not None:
            lines = [self._measured(step) for step in self.profile.steps]
            lines += [
                f"read {read.table}: {counted(read.rows, 'row')}, {counted(read.bytes, 'byte')}" for read in self.reads
            ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The same as data."""
        plan: list[dict[str, Any]]
        if self.profile is None:
            plan = [
                {"depth": depth, "operator": format_operator(op), **self._estimate(op)}
                for depth, op in nested_operators(self.plan)
            ]
        else:
            plan = [
                {
                    "depth": step.depth,
                    "operator": format_operator(step.op),
                    **self._estimate(step.op),
                    "rows": step.rows,
                    "bytes": step.bytes,
                    "ms": round(step.seconds * 1000, 3),
                    **({"notes": list(step.notes)} if step.notes else {}),
                }
                for step in self.profile.steps
            ]
        return {
            "operators": plan,
            "reads": [{"table": read.table, "rows": read.rows, "bytes": read.bytes} for read in self.reads],
            **({"search": list(self.search)} if self.search else {}),
        }

    def _measured(self, step: Step) -> str:
        rows = counted(step.rows, "row") + (f" of ~{expected}" if (expected := self._rows(step.op)) is not None else "")
        cost = "; ".join([f"{rows}, {counted(step.bytes, 'byte')}, {step.seconds * 1000:.2f} ms", *step.notes])
        return f"{'  ' * step.depth}{format_operator(step.op)}  [{cost}]"

    def _promise(self, op: Operator) -> str:
        expected = self._rows(op)
        return "" if expected is None else f"  [~{counted(expected, 'row')}]"

    def _estimate(self, op: Operator) -> dict[str, int]:
        expected = self._rows(op)
        return {} if expected is None else {"expected_rows": expected}

    def _rows(self, op: Operator) -> int | None:
        expected = self.expected.get(id(op))
        return None if expected is None else ceil(min(expected, _MOST_EXPECTED))


def nested_operators(plan: ReadPlan) -> Iterator[NestedOperator]:
    """The operators of a plan in the order they are shown in."""
    yield from _read(plan, 0)


def _read(plan: ReadPlan, depth: int) -> Iterator[tuple[int, Operator]]:
    if plan.source is not None:
        yield from _read(plan.source.plan, depth)
        yield depth, plan.source
    yield from _pipeline(plan.match, depth)
    for op in plan.result:
        yield depth, op
        if isinstance(op, Union):
            for part in plan.parts:
                yield from _read(part, depth + 1)


def _pipeline(ops: tuple[MatchOp, ...], depth: int) -> Iterator[tuple[int, MatchOp]]:
    for op in ops:
        yield depth, op
        for inner in pipelines(op):
            yield from _pipeline(inner, depth + 1)
