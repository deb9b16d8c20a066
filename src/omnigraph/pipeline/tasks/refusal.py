"""What a load refuses: counts by code, samples with file and physical line, and the one error that is raised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from omnigraph.engine.intake.violations import Violation
from omnigraph.pipeline.tasks.checks import Found, Phase
from omnigraph.pipeline.tasks.splits import Split
from omnigraph.pipeline.tasks.stage import Staged, value_order

# The validator's phases; a later one is not looked at while an earlier one has findings.
_RANK: Mapping[Phase, int] = {"ids": 0, "unique": 0, "endpoints": 1, "dangling": 1, "cardinality": 2}


def first_lines(splits: Sequence[Split], staged: Mapping[int, Staged]) -> dict[int, int]:
    """The number of the first line of every split, from how many lines the splits before it had."""
    found: dict[int, int] = {}
    for _, mine in groupby(splits, key=lambda split: split.source):
        line = 1
        for split in mine:
            found[split.index] = split.first if split.first is not None else line
            line += staged[split.index].lines if split.index in staged else 0
    return found


def row_refusals(splits: Sequence[Split], staged: Mapping[int, Staged]) -> list[Violation]:
    """Samples of what rows got wrong by themselves, with physical lines: unreadable rows first, then by id."""
    firsts = first_lines(splits, staged)
    misread: list[Violation] = []
    misvalued: list[Violation] = []
    for split in splits:
        shift = firsts[split.index] - staged[split.index].counted_from
        misread += [moved(violation, shift) for violation in staged[split.index].misread]
        misvalued += [moved(violation, shift) for violation in staged[split.index].misvalued]
    return [*misread, *sorted(misvalued, key=value_order)]


def moved(violation: Violation, shift: int) -> Violation:
    """The same finding some lines further down; a message that names its line itself is told again."""
    if not shift or violation.line is None:
        return violation
    line, message = violation.line + shift, violation.message
    for head in ("line {}: invalid strict JSON at line {}: ", "line {}: "):
        old = head.replace("{}", str(violation.line))
        if message.startswith(old):
            message = head.replace("{}", str(line)) + message[len(old) :]
            break
    return replace(violation, line=line, message=message)


@dataclass(frozen=True, slots=True)
class SetRefusals:
    """What the first phase with findings refuses: findings in the validator's order, and rows by table.

    A row counts once, under the first code that it was found with; a finding about no row counts by itself.
    """

    violations: list[Violation]
    rows: dict[str, np.ndarray]
    counts: Counter[str]
    rank: int  # of the phase that found them

    @classmethod
    def of(cls, found: Iterable[Found]) -> SetRefusals | None:
        """None when nothing was found."""
        bad = [result for result in found if result.violations]
        if not bad:
            return None
        rank = min(_RANK[result.check.phase] for result in bad)
        mine = [result for result in bad if _RANK[result.check.phase] == rank]
        violations = sorted((each for result in mine for each in result.violations), key=lambda v: _set_order(rank, v))
        counts = Counter(each.code for each in violations if each.line is None)
        rows: dict[str, np.ndarray] = {}
        for result in mine:
            for code, codes in result.refused:
                before = rows.get(result.check.table_key, np.zeros(0, np.int64))
                counts[code] += len(np.setdiff1d(codes, before))
                rows[result.check.table_key] = np.union1d(before, codes)
        return cls(violations, {key: codes for key, codes in rows.items() if len(codes)}, counts, rank)


def _set_order(rank: int, violation: Violation) -> tuple[str, str, object, int]:
    last: object = violation.property_name != "src" if rank == 1 else violation.property_name or ""
    return (violation.table_key or "", violation.ids[0], last, violation.line or 0)


def about_sources(found: Iterable[Violation]) -> list[Violation]:
    """Findings as errors name them: too many edges are told once for their source, not for each row that has to go."""
    told = (replace(each, line=None) if each.code == "W014" else each for each in found)
    return list(dict.fromkeys(told))


def raise_refusals(samples: Sequence[Violation], counts: Counter[str]) -> None:
    """Raise the first finding as the error it is anywhere else, with the rest as notes."""
    error = samples[0].error()
    if counts.total() > 1:
        told = ", ".join(f"{count} x {code}" for code, count in sorted(counts.items()))
        error.add_note(f"refused: {told}")
        for other in samples[1:]:
            error.add_note(f"  {other.code}: {other.text()}")
    raise error
