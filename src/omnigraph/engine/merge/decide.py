"""The merge table: what becomes of one entity, given its row at the base, on our side and on theirs.

Ours is the target of the merge, theirs the source. The table is written once, for one entity; the same answers for
many entities at once are looked up by a number made of six yes-or-no facts.
"""

from __future__ import annotations

from enum import IntEnum
from itertools import product
from typing import Any

import numpy as np


class Decision(IntEnum):
    """The row to keep or the way in which the two sides contradict each other."""

    KEEP = 0
    TAKE = 1
    DELETE = 2
    DIVERGENT_INSERT = 3
    DIVERGENT_UPDATE = 4
    DELETE_VS_UPDATE = 5

    @property
    def is_conflict(self) -> bool:
        return self >= Decision.DIVERGENT_INSERT


def decide(base: Any, ours: Any, theirs: Any) -> Decision:
    """The decision for one entity; None means that the side has no such row.

    >>> decide("B", "B", "X").name, decide("B", "X", "Y").name, decide("B", None, "X").name
    ('TAKE', 'DIVERGENT_UPDATE', 'DELETE_VS_UPDATE')
    """
    if theirs in (ours, base):
        return Decision.KEEP
    if ours == base:
        return Decision.DELETE if theirs is None else Decision.TAKE
    if base is None:
        return Decision.DIVERGENT_INSERT
    if ours is None or theirs is None:
        return Decision.DELETE_VS_UPDATE
    return Decision.DIVERGENT_UPDATE


def decide_all(
    *,
    base: np.ndarray,
    ours: np.ndarray,
    theirs: np.ndarray,
    ours_is_base: np.ndarray,
    theirs_is_base: np.ndarray,
    ours_is_theirs: np.ndarray,
) -> np.ndarray:
    """One decision per entity from six columns of facts: who has a row, and which rows are equal (both present)."""
    facts = (base, ours, theirs, ours_is_base, theirs_is_base, ours_is_theirs)
    code = np.zeros(len(base), np.int64)
    for fact in facts:
        code = code * 2 + fact
    decisions: np.ndarray = _DECISIONS[code]
    return decisions


def _decision_for(facts: tuple[bool, ...]) -> Decision:
    """Rows are played by letters: equal letters where the facts say that two present rows are equal."""
    has_base, has_ours, has_theirs, ours_is_base, theirs_is_base, ours_is_theirs = facts
    base = "b" if has_base else None
    ours = None if not has_ours else "b" if ours_is_base else "x"
    theirs = None if not has_theirs else "b" if theirs_is_base else "x" if ours_is_theirs else "y"
    return decide(base, ours, theirs)


_DECISIONS = np.array([_decision_for(facts) for facts in product((False, True), repeat=6)], np.int8)
