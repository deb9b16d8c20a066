"""Long array work in pieces gives what one call gives, and can be stopped between two pieces."""

from __future__ import annotations

import numpy as np
import pytest

from omnigraph.checkpoints import checking
from omnigraph.engine.read.columns import pieces
from omnigraph.engine.read.columns.rowindex import distinct, distinct_rows
from omnigraph.engine.read.frames.frame import Bound, Frame, first_places


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a hundred rows; the default of `pieces` was bound when it was defined."""
    monkeypatch.setattr(pieces, "PIECE", 100)
    monkeypatch.setattr(pieces.pieces, "__defaults__", (100,))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("length", [1, 99, 100, 101, 1_234])
@pytest.mark.parametrize("width", [3, 500, 1 << 50])
def test_numbers_and_distinct_values_are_those_of_numpy(length: int, width: int) -> None:
    rows = np.random.default_rng(length).integers(-5, width, length)
    expected, inverse = np.unique(rows, return_inverse=True)
    for found, place in (pieces.numbered(rows), distinct(rows)):
        assert found.tolist() == expected.tolist()
        assert place.tolist() == inverse.tolist()
    assert pieces.sorted_distinct(rows).tolist() == distinct_rows(rows).tolist() == expected.tolist()


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint64])
def test_distinct_values_keep_their_type_and_none_have_none(kind: type[np.integer]) -> None:
    found = pieces.sorted_distinct(np.array([7, 3, 7], kind))
    assert (found.tolist(), found.dtype) == ([3, 7], kind)
    assert pieces.sorted_distinct(np.empty(0, kind)).tolist() == []


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("codes", [7, 1 << 40, 1 << 61])
def test_positions_in_order_are_stable(codes: int) -> None:
    code = np.random.default_rng(codes).integers(-3, codes, 1_050) // 2 * 2
    assert pieces.in_order(code).tolist() == np.argsort(code, kind="stable").tolist()


@pytest.mark.usefixtures("small")
def test_frames_are_cut_and_gathered_alike() -> None:
    rows, places = np.arange(1_000) * 3, np.random.default_rng(1).integers(0, 1_000, 777)
    frame = Frame(1_000, {"p": Bound("node:P", rows)}, times=rows + 1)
    assert frame.take(places).rows("p").tolist() == rows[places].tolist()
    part = frame.between(10, 250)
    assert part.length == 240
    assert part.rows("p").tolist() == rows[10:250].tolist()
    assert part.times is not None
    assert part.times.tolist() == (rows + 1)[10:250].tolist()
    code = places % 50
    first = [int(np.flatnonzero(code == each)[0]) for each in range(50)]
    assert first_places(code, 50).tolist() == first


@pytest.mark.usefixtures("small")
def test_a_check_that_raises_stops_the_work_after_a_piece() -> None:
    looked = []

    def check() -> None:
        looked.append(1)
        if len(looked) == 3:
            raise TimeoutError

    with checking(check), pytest.raises(TimeoutError):
        pieces.taken(np.arange(10_000), np.arange(10_000))
    assert len(looked) == 3
    pieces.checkpoint()
    assert len(looked) == 3


@pytest.mark.parametrize("few", [0, 1 << 10])
@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64])
@pytest.mark.parametrize("low", [-100, 0, 100])
def test_positions_are_those_of_a_stable_sort(
    few: int, kind: type[np.integer], low: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "_FEW_SORTED", few)
    random = np.random.default_rng(2)
    for length in (0, 1, 2, 3_000):
        code = (random.integers(0, 20, length) + low).astype(kind)
        assert pieces.in_order(code).tolist() == np.argsort(code, kind="stable").tolist()
    far = np.array([np.iinfo(np.int64).max, 0, np.iinfo(np.int64).min, 0, 1 << 60] * 300)
    assert pieces.in_order(far).tolist() == np.argsort(far, kind="stable").tolist()
