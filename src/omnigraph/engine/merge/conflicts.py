"""Contradictions as data: rows on which two sides disagree, and constraints that the merged result would break."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.engine.intake.violations import Violation
from omnigraph.engine.merge.decide import Decision
from omnigraph.errors import ConflictKind, MergeConflict

_ROW_KINDS: dict[Decision, tuple[ConflictKind, str]] = {
    Decision.DIVERGENT_INSERT: ("DivergentInsert", "divergent insert"),
    Decision.DIVERGENT_UPDATE: ("DivergentUpdate", "divergent update"),
    Decision.DELETE_VS_UPDATE: ("DeleteVsUpdate", "delete/update conflict"),
}
_CONSTRAINT_KINDS: dict[str, ConflictKind] = {
    "W012": "UniqueViolation",
    "W013": "OrphanEdge",
    "W014": "CardinalityViolation",
}


@dataclass(frozen=True, slots=True)
class Clash:
    """What two sides, and the base, say about one entity where the sides disagree; None is one that has no such row."""

    ours: Mapping[str, Any] | None
    theirs: Mapping[str, Any] | None
    base: Mapping[str, Any] | None

    @property
    def properties(self) -> tuple[str, ...]:
        """The properties in which two rows differ."""
        return () if self.ours is None or self.theirs is None else tuple(self.ours)


def row_conflict(table_key: str, entity_id: str, decision: Decision, clash: Clash) -> MergeConflict:
    """Two rows, or a row and its absence, that exclude each other."""
    kind, words = _ROW_KINDS[decision]
    message = f"{words} for id '{entity_id}'"
    return MergeConflict(table_key, entity_id, kind, message, clash.properties, clash.ours, clash.theirs, clash.base)


def constraint_conflicts(violations: Iterable[Violation]) -> list[MergeConflict]:
    """Broken constraints of the merged result, each entity once per kind."""
    found: dict[tuple[object, ...], MergeConflict] = {}
    for violation in violations:
        kind = _CONSTRAINT_KINDS.get(violation.code, "ValueConstraintViolation")
        entity = None if kind == "CardinalityViolation" else violation.entity_id
        conflict = MergeConflict(violation.table_key or "", entity, kind, violation.message)
        # An edge that misses both of its ends, or a row that breaks two rules, needs one decision.
        identity = (conflict.table_key, kind, entity if entity is not None else violation.message)
        found.setdefault(identity, conflict)
    return in_order(found.values())


def in_order(conflicts: Iterable[MergeConflict]) -> list[MergeConflict]:
    """Conflicts by table key, then id."""
    return sorted(conflicts, key=lambda item: (item.table_key, (item.entity_id or "").encode(), item.kind))
