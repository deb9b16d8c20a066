"""Long reads share the processors: who computes, who waits, and that every place is given back."""

from __future__ import annotations

import threading
import time

import pytest

from omnigraph.engine.read.frames.budget import Budget, Limits, paced
from omnigraph.errors import QueryCancelled, ResourceLimitExceeded
from omnigraph.server.pace import SHORT_SECONDS, Pace, Processors, pace


def busy(seconds: float) -> None:
    """Compute for so long, by the clock of the processor."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def nothing() -> None:
    """A check that finds nothing wrong."""


def test_a_short_read_never_waits() -> None:
    processors = Processors(1)
    processors.join("heavy")
    processors.enter("heavy", nothing)
    with pace(processors, "light", nothing) as own:
        own(nothing)
    assert (processors.computing, processors.waiting) == (1, 0)


def test_a_read_becomes_long_and_gives_its_place_back() -> None:
    processors, became = Processors(2), []
    with pace(processors, "ada", lambda: became.append(1)) as own:
        own(nothing)
        assert processors.computing == 0
        busy(SHORT_SECONDS)
        own(nothing)
        own(nothing)
        assert (processors.computing, became) == (1, [1])
    assert processors.computing == 0


def test_one_processor_is_left_while_short_reads_come_in() -> None:
    now = [100.0]
    processors = Processors(4, clock=lambda: now[0])
    assert processors.places == 4
    processors.note_short()
    assert processors.places == 3
    now[0] += 2
    assert processors.places == 4
    alone = Processors(1, clock=lambda: now[0])
    alone.note_short()
    assert alone.places == 1


def test_a_place_goes_to_the_actor_who_has_computed_least() -> None:
    processors, order = Processors(1), []
    for actor in ("ada", "bob"):
        processors.join(actor)
    processors.enter("ada", nothing)
    processors.leave("ada", 5.0)
    processors.enter("bob", nothing)

    def wait(actor: str) -> None:
        processors.enter(actor, nothing)
        order.append(actor)
        processors.leave(actor, 0.1)

    threads = []
    for actor in ("ada", "ada", "bob"):
        threads.append(threading.Thread(target=wait, args=(actor,)))
        threads[-1].start()
        while processors.waiting < len(threads):
            time.sleep(0.001)
    processors.leave("bob", 1.0)
    for thread in threads:
        thread.join()
    assert order == ["bob", "ada", "ada"]
    assert (processors.computing, processors.waiting) == (0, 0)


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_read_that_waits_still_ends_in_time(cancelled: bool) -> None:
    processors, cancel = Processors(1), threading.Event()
    processors.join("other")
    processors.enter("other", nothing)
    if cancelled:
        threading.Timer(0.1, cancel.set).start()
    with pace(processors, "ada", nothing) as own, paced(own):
        budget = Budget(Limits(seconds=None if cancelled else SHORT_SECONDS + 0.1), cancel=cancel)
        busy(SHORT_SECONDS)
        with pytest.raises(QueryCancelled if cancelled else ResourceLimitExceeded):
            budget.check()
    assert (processors.computing, processors.waiting) == (1, 0)


def test_a_long_read_lets_others_go_on() -> None:
    """Two reads of two actors on one processor: neither waits for the end of the other."""
    processors, seen = Processors(1), []

    def read(actor: str) -> None:
        with pace(processors, actor, nothing) as own:
            for _ in range(4):
                busy(0.12)
                own(nothing)
                seen.append(actor)

    threads = [threading.Thread(target=read, args=(actor,)) for actor in ("ada", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen[:4]) == {"ada", "bob"}
    assert processors.computing == 0


def test_the_pace_of_a_read_that_failed_is_over() -> None:
    processors = Processors(1)
    own = Pace(processors, "ada", nothing)
    busy(SHORT_SECONDS)
    own(nothing)
    own.end()
    assert (processors.computing, processors.waiting) == (0, 0)


def test_the_read_after_a_long_one_of_the_same_actor_waits_from_its_first_checkpoint() -> None:
    processors = Processors(2)
    with pace(processors, "ada", nothing):
        busy(SHORT_SECONDS)
    with pace(processors, "bob", nothing) as light, pace(processors, "ada", nothing) as heavy:
        light(nothing)
        assert processors.computing == 0
        heavy(nothing)
        assert processors.computing == 1
    assert not processors.is_heavy("ada"), "that one was short"
    assert processors.computing == 0


def test_the_reads_of_an_actor_that_floods_take_turns_while_others_read() -> None:
    now = [100.0]
    processors = Processors(2, clock=lambda: now[0])
    for _ in range(20):  # each of them is short
        processors.begin("flood")
        processors.note_length("flood", SHORT_SECONDS / 2)
    with pace(processors, "flood", nothing), pace(processors, "flood", nothing):
        assert not processors.is_heavy("flood"), "no other actor reads"
        with pace(processors, "light", nothing):
            pass
        assert processors.is_heavy("flood")
        assert not processors.is_heavy("light")
        with pace(processors, "flood", nothing) as own:
            own(nothing)
            assert processors.computing == 1
        now[0] += 2
        assert not processors.is_heavy("flood"), "the others have gone"
    with pace(processors, "light", nothing), pace(processors, "flood", nothing):
        assert not processors.is_heavy("flood"), "one read at a time is not a flood"
    assert (processors.computing, processors.waiting) == (0, 0)


def test_actors_that_have_not_read_for_long_are_forgotten() -> None:
    now = [100.0]
    processors = Processors(2, clock=lambda: now[0])
    for number in range(5_000):
        now[0] += 0.1
        processors.begin(f"actor {number}")
        processors.note_length(f"actor {number}", 0.001)
    assert processors.remembered <= 1_024 + 1


def test_a_long_read_pauses_while_others_read_and_for_no_longer_than_it_has_computed() -> None:
    looked: list[str] = []

    def others(actor: str) -> bool:
        looked.append(actor)
        return len(looked) <= 3

    processors = Processors(2, others_read=others)
    with pace(processors, "ada", nothing) as own:
        busy(SHORT_SECONDS)
        own(nothing)  # it gets its place
        assert not looked
        own(nothing)
        assert looked == ["ada"] * 4, "three pauses, and then none read"
    endless = Processors(2, others_read=lambda _: True)
    checks: list[int] = []
    with pace(endless, "ada", nothing) as own:
        busy(SHORT_SECONDS)
        own(nothing)
        for _ in range(3):
            own(lambda: checks.append(1))
    assert 0 < len(checks) < 1_000, "it goes on although others never stop reading"


def test_a_read_that_pauses_can_be_stopped() -> None:
    processors = Processors(2, others_read=lambda _: True)

    def stop() -> None:
        raise QueryCancelled()

    with pace(processors, "ada", nothing) as own:
        busy(SHORT_SECONDS)
        own(nothing)
        with pytest.raises(QueryCancelled):
            own(stop)
    assert processors.computing == 0
