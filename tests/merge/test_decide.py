"""The merge table row by row, and the same table for many entities at once."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from omnigraph.engine.merge.decide import Decision, decide, decide_all

TABLE = [
    # base, ours, theirs → decision
    (None, None, "X", Decision.TAKE),
    (None, "X", None, Decision.KEEP),
    (None, "X", "X", Decision.KEEP),
    (None, "X", "Y", Decision.DIVERGENT_INSERT),
    ("B", "B", "B", Decision.KEEP),
    ("B", "B", "X", Decision.TAKE),
    ("B", "B", None, Decision.DELETE),
    ("B", "X", "B", Decision.KEEP),
    ("B", None, "B", Decision.KEEP),
    ("B", "X", "X", Decision.KEEP),
    ("B", "X", "Y", Decision.DIVERGENT_UPDATE),
    ("B", None, "X", Decision.DELETE_VS_UPDATE),
    ("B", "X", None, Decision.DELETE_VS_UPDATE),
    ("B", None, None, Decision.KEEP),
]


@pytest.mark.parametrize(("base", "ours", "theirs", "expected"), TABLE)
def test_one_entity_is_decided_as_tabulated(
    base: str | None, ours: str | None, theirs: str | None, expected: Decision
) -> None:
    assert decide(base, ours, theirs) is expected


@pytest.mark.parametrize(("base", "ours", "theirs", "expected"), TABLE)
def test_exchanging_the_sides_keeps_what_is_a_conflict(
    base: str | None, ours: str | None, theirs: str | None, expected: Decision
) -> None:
    swapped = decide(base, theirs, ours)
    assert swapped.is_conflict == expected.is_conflict
    assert not expected.is_conflict or swapped is expected


def test_many_entities_are_decided_like_each_of_them() -> None:
    rows = list(product([None, "B", "X", "Y"], repeat=3))

    def column(test) -> np.ndarray:  # type: ignore[no-untyped-def]
        return np.array([test(*row) for row in rows])

    decisions = decide_all(
        base=column(lambda b, o, t: b is not None),
        ours=column(lambda b, o, t: o is not None),
        theirs=column(lambda b, o, t: t is not None),
        ours_is_base=column(lambda b, o, t: o is not None and o == b),
        theirs_is_base=column(lambda b, o, t: t is not None and t == b),
        ours_is_theirs=column(lambda b, o, t: o is not None and o == t),
    )
    assert decisions.tolist() == [int(decide(*row)) for row in rows]
