"""What a load refuses: counts by code, samples with file and physical line, and the one error that is raised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from omnigraph.engine.intake.violations import Violation
from omnigraph.pipeline.tasks.answers import Answer, Phase
from omnigraph.pipeline.tasks.left_out import Findings
from omnigraph.pipeline.tasks.samples import in_order
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
    """What the first phase with findings refuses: some findings in the validator's order, and where all rows are."""

    violations: list[Violation]
    files: list[Findings]
    drops: bool  # whether there is a row that could go
    rank: int  # of the phase that found them

    @classmethod
    def of(cls, answers: Iterable[Answer]) -> SetRefusals | None:
        """None when nothing was found."""
        bad = [answer for answer in answers if answer.refused is not None]
        if not bad:
            return None
        rank = min(_RANK[answer.check.phase] for answer in bad)
        mine = [answer for answer in bad if _RANK[answer.check.phase] == rank]
        violations = in_order(violation for answer in mine for violation in answer.violations)
        files = [answer.refused for answer in mine if answer.refused is not None]
        return cls(violations, files, any(answer.drops for answer in mine), rank)


def raise_refusals(samples: Sequence[Violation], counts: Counter[str], limit: int | None = None) -> None:
    """Raise the first finding as the error it is anywhere else, with the counts of all and further ones in words."""
    error = samples[0].error()
    error.among(counts, [f"{other.code}: {other.text()}" for other in samples[1:]], limit)
    raise error
