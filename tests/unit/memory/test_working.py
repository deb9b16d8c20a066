"""Memory of running queries: one amount for all, a share for each, refusals that say whether to come back."""

from __future__ import annotations

import pytest

from omnigraph.engine.read.frames.budget import Budget, Limits
from omnigraph.errors import Overloaded, ResourceLimitExceeded, TooManyRequests
from omnigraph.memory.working import Reservation, WorkingMemory, reservation, reserving

MIB = 1 << 20


def test_a_request_holds_as_much_as_the_largest_thing_it_needed() -> None:
    process = WorkingMemory(100)
    held = Reservation(process=process)
    for size in (10, 40, 20):
        held.need(size)
    assert (held.size, process.drawn) == (40, 40)
    held.keep(5)
    assert process.drawn == 5
    held.close()
    assert process.drawn == 0


def test_what_can_never_fit_is_refused_for_good_and_what_does_not_fit_now_for_now() -> None:
    process = WorkingMemory(100)
    own = WorkingMemory(60)
    first, second, other = Reservation(own, process), Reservation(own, process), Reservation(process=process)
    with pytest.raises(ResourceLimitExceeded) as caught:
        first.need(61)
    assert caught.value.details()["limit"] == 60
    first.need(50)
    with pytest.raises(TooManyRequests, match="other queries of this actor"):
        second.need(20)
    other.need(45)
    with pytest.raises(Overloaded, match="running queries hold 95 of 100 bytes"):
        second.need(10)
    assert (own.drawn, process.drawn) == (50, 95), "a refused request holds nothing"
    other.close()
    second.need(10)
    assert (own.drawn, process.drawn) == (60, 60)


def test_the_operators_of_a_query_draw_on_the_reservation_around_it() -> None:
    process = WorkingMemory(8 * MIB)
    held = Reservation(process=process)
    with reserving(held), reservation() as found:
        budget = Budget(Limits(bytes=None), reserved=found)
        budget.admit(512 * 1024)
        budget.admit(16)
        assert process.drawn == 4 * MIB
        with pytest.raises(ResourceLimitExceeded):
            budget.admit(2 * MIB)
    assert process.drawn == 4 * MIB, "it outlives the query, for its answer"
    held.close()
    assert process.drawn == 0


def test_a_query_of_its_own_gives_back_what_it_drew() -> None:
    with reservation() as found:
        found.need(3 * MIB)
        assert found.size == 3 * MIB
    assert found.size == 0
