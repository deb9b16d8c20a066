"""What a check is about, what it finds inside its task, and what of that it answers: a few findings, and files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from omnigraph.engine.intake.violations import Violation
from omnigraph.ids import new_ulid
from omnigraph.pipeline.tasks.key_rows import CheckJob
from omnigraph.pipeline.tasks.left_out import NOWHERE, Findings, write_codes, write_violations
from omnigraph.pipeline.tasks.samples import about_sources, in_order

Phase: TypeAlias = Literal["ids", "unique", "endpoints", "dangling", "cardinality"]


@dataclass(frozen=True, slots=True)
class Check:
    """One task: a phase on one table, for the partitions from `low` to before `high`."""

    phase: Phase
    table_key: str
    group: tuple[str, ...] = ()
    low: int = 0
    high: int = 1


@dataclass(frozen=True, slots=True)
class Found:
    """What a check found so far, in its task; lines of violations are row codes until `place_of_code` undoes them.

    `violations` are as many as the job wants in words, `refused` the codes of all rows that have to go, by what is
    wrong with them (`NOWHERE` for a finding about no row); `superseded` are codes of rows that a later row of the same
    id replaces, `matched` the numbers of the parts with existing ids, `moved` where the existing edges are listed that
    get another source.
    """

    violations: tuple[Violation, ...] = ()
    refused: tuple[tuple[str, np.ndarray], ...] = ()
    superseded: tuple[np.ndarray, ...] = ()
    matched: frozenset[int] = frozenset()
    moved: tuple[str, ...] = ()

    def __add__(self, other: Found) -> Found:
        return Found(
            self.violations + other.violations,
            self.refused + other.refused,
            self.superseded + other.superseded,
            self.matched | other.matched,
            self.moved + other.moved,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a check tells the driver: some findings in words, and files with the rows that have to go.

    `drops` says whether there is any such row in `refused`; findings may be about none.
    """

    check: Check
    violations: tuple[Violation, ...] = ()
    refused: Findings | None = None
    drops: bool = False
    superseded: Findings | None = None
    matched: frozenset[int] = frozenset()
    moved: tuple[str, ...] = ()


def found_in(job: CheckJob, violations: Sequence[Violation]) -> Found:
    """All findings of a check: some in words, all by row, in the order in which codes appear."""
    rows: dict[str, dict[int, None]] = {}
    nowhere: Counter[str] = Counter()
    for violation in violations:
        if violation.line is not None:
            rows.setdefault(violation.code, {})[violation.line] = None
        else:
            nowhere[violation.code] += 1
    refused = [(code, np.array(list(found), np.int64)) for code, found in rows.items()]
    refused += [(code, np.full(count, NOWHERE, np.int64)) for code, count in nowhere.items()]
    return Found(tuple(violations[: job.limit]), tuple(refused))


def answer(job: CheckJob, check: Check, found: Found) -> Answer:
    """Leave what was found in files, and tell where."""
    named = tuple(about_sources(in_order(found.violations))[: job.samples])
    refused = superseded = None
    if found.violations:
        refused = Findings(check.table_key, f"{job.root.child(job.scratch)}/found-{new_ulid()}")
        if job.in_words:
            write_violations(refused.path, found.violations, job.splits)
        else:
            write_codes(refused.path, found.refused, job.splits)
    if any(map(len, found.superseded)):
        superseded = Findings(check.table_key, f"{job.root.child(job.scratch)}/found-{new_ulid()}")
        write_codes(superseded.path, [("", codes) for codes in found.superseded], job.splits)
    drops = any(bool((codes != NOWHERE).any()) for _, codes in found.refused)
    return Answer(check, named, refused, drops, superseded, found.matched, found.moved)
