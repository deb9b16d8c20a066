"""Which findings of checks errors name: the first in the validator's order, and each source once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from omnigraph.engine.intake.violations import Violation


def in_order(found: Iterable[Violation]) -> list[Violation]:
    """Findings of one phase by table, by id, and of an edge its source first."""
    return sorted(found, key=_order)


def _order(violation: Violation) -> tuple[str, str, str, int]:
    last = violation.property_name or ""
    if violation.code == "W013":
        last = "0" if last == "src" else "1"
    return (violation.table_key or "", violation.ids[0], last, violation.line or 0)


def about_sources(found: Iterable[Violation]) -> list[Violation]:
    """Findings as errors name them: too many edges are told once for their source, not for each row that has to go."""
    told = (replace(each, line=None) if each.code == "W014" else each for each in found)
    return list(dict.fromkeys(told))
