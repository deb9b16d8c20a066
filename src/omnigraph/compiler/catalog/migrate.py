"""The plan that turns an accepted schema into a desired one: which steps, in which order, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from omnigraph.compiler.catalog.accepted import Accepted, accepted_from, draft_of
from omnigraph.compiler.catalog.compare import Comparison
from omnigraph.compiler.catalog.identity import Sibling, match
from omnigraph.compiler.catalog.shape import KINDS, Constraint, Key, Kind, SchemaShape
from omnigraph.compiler.catalog.steps import (
    AddProperty,
    AddType,
    DropType,
    Mode,
    Step,
    UnsupportedChange,
    step_json,
    step_text,
)
from omnigraph.compiler.diagnostics import Diagnostic
from omnigraph.compiler.source import Source
from omnigraph.display import DisplayedText


@dataclass(frozen=True, slots=True, repr=False)
class Plan(DisplayedText):
    """An ordered list of steps and the schema that stands at its end."""

    steps: tuple[Step, ...]
    target: Accepted
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def supported(self) -> bool:
        """Whether every step can be performed."""
        return not self.unsupported

    @property
    def unsupported(self) -> tuple[UnsupportedChange, ...]:
        """The steps that refuse the plan."""
        return tuple(step for step in self.steps if isinstance(step, UnsupportedChange))

    def to_json(self) -> dict[str, Any]:
        """`{supported, steps}`."""
        return {"supported": self.supported, "steps": [step_json(step) for step in self.steps]}

    def __str__(self) -> str:
        """One line per step, for people."""
        lines = [f"- {step_text(step)}" for step in self.steps] or ["no schema changes"]
        return "\n".join([f"supported: {'yes' if self.supported else 'no'}", *lines])


def plan_migration(
    accepted: Accepted,
    desired: Source | str | bytes,
    *,
    allow_data_loss: bool = False,
    next_id: int = 0,
    siblings: Sequence[Sibling] = (),
) -> Plan:
    """Compare a desired schema text with the accepted schema; SchemaError when its rename hints do not resolve.

    `next_id` is the first identity that no branch of the graph has given away, `siblings` are their schemas.
    """
    draft = draft_of(desired)
    resolved = match(draft, accepted.shape, max(accepted.next_id, next_id), siblings)
    target = accepted_from(draft, resolved, accepted.domain)
    mode: Mode = "hard" if allow_data_loss else "soft"
    steps = tuple(_steps(accepted, target, mode))
    return Plan(steps or unexplained(accepted.shape, target.shape), target, resolved.notices)


def schema_changes(before: Accepted, after: Accepted) -> tuple[Step, ...]:
    """What is different in one accepted schema compared with another one of the same graph, by identity.

    The steps of a plan, but told as facts: nothing is refused, and a property that comes is simply added.
    """
    return tuple(_as_fact(step, after) for step in _steps(before, after, "soft"))


def _as_fact(step: Step, after: Accepted) -> Step:
    if not isinstance(step, UnsupportedChange) or step.code != "OG-MF-103":
        return step
    kind, _, place = step.entity.partition(":")
    owner, _, name = place.partition(".")
    declared = (shape for found, shape in after.shape.types() if (found, shape.name) == (kind, owner))
    added = next(each for shape in declared for each in shape.properties if each.name == name)
    return AddProperty(cast("Kind", kind), owner, name, added.type)


def _steps(accepted: Accepted, target: Accepted, mode: Mode) -> Iterator[Step]:
    comparison = Comparison(accepted, target, mode)
    for kind in KINDS:
        old = {each.type_id: each for each in accepted.shape.of_kind(kind)}
        for each in target.shape.of_kind(kind):
            before = old.pop(each.type_id, None)
            if before is None:
                yield AddType(kind, each.name)
            else:
                yield from comparison.compare(kind, before, each)
        for gone in old.values():
            if kind == "interface":
                reason = f"interface '{gone.name}' cannot be removed"
                yield UnsupportedChange(f"interface:{gone.name}", reason, "OG-BC-101")
            else:
                yield DropType(kind, gone.name, mode)


def unexplained(old: SchemaShape, new: SchemaShape) -> tuple[Step, ...]:
    """A refusal when two schemas differ although no step says how: better than to lose the difference."""
    if _order_free(old) == _order_free(new):
        return ()
    return (UnsupportedChange("schema", "the schema changes in a way that no migration step describes", "OG-BC-199"),)


def _order_free(shape: SchemaShape) -> SchemaShape:
    # Stored ids follow property ids, so the written order of key columns means nothing.
    def ordered(each: Constraint) -> Constraint:
        return Key(tuple(sorted(each.columns))) if isinstance(each, Key) else each

    return replace(
        shape,
        nodes=tuple(replace(node, constraints=tuple(map(ordered, node.constraints))) for node in shape.nodes),
    )
