"""Threads with quick reads go one after the other, and none of them waits for ever."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.source import Source
from omnigraph.engine.read import one_by_one
from omnigraph.engine.read.one_by_one import OneByOne
from omnigraph.engine.read.plan.plans import planned

LONG = 60.0


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as found:
        yield found


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.001)


def enter(turns: OneByOne) -> int:
    with turns:
        return threading.get_ident()


def test_a_thread_alone_never_waits() -> None:
    turns = OneByOne(LONG)
    assert {enter(turns) for _ in range(50)} == {threading.get_ident()}
    assert not turns._queue


def test_one_that_comes_later_waits_until_the_other_is_out(pool: ThreadPoolExecutor) -> None:
    turns = OneByOne(LONG)
    with turns:
        others = [pool.submit(enter, turns) for _ in range(3)]
        until(lambda: len(turns._queue) == 3)
        assert not any(other.done() for other in others)
    assert all(other.result(30) for other in others)  # each hands over to the next
    assert not turns._queue


def test_one_that_is_held_up_is_not_waited_for(pool: ThreadPoolExecutor) -> None:
    turns, release, inside = OneByOne(0.01), threading.Event(), threading.Event()

    def held_up() -> None:
        with turns:
            inside.set()
            assert release.wait(30)

    stuck: Future[None] = pool.submit(held_up)
    assert inside.wait(30)
    assert enter(turns) == threading.get_ident()
    assert not stuck.done()
    assert not turns._queue
    release.set()
    stuck.result(30)
    assert enter(turns) == threading.get_ident()


def goes_on(turns: OneByOne, seconds: float) -> None:
    """The thread has asked for one read after the other for so long."""
    turns._asker.left = time.perf_counter()
    turns._asker.began = turns._asker.left - seconds


def test_one_that_stops_after_a_few_reads_is_not_waited_for(pool: ThreadPoolExecutor) -> None:
    turns = OneByOne(LONG)
    for _ in range(20):
        enter(turns)
    with turns:
        others = [pool.submit(enter, turns) for _ in range(3)]
        until(lambda: len(turns._queue) == 3)
    assert all(other.result(30) for other in others)
    assert not turns._queue


def test_one_that_has_gone_on_keeps_its_turn_for_no_longer_than_that(pool: ThreadPoolExecutor) -> None:
    turns = OneByOne(0.05)

    def other() -> int:
        goes_on(turns, 9 * turns._turn)
        return enter(turns)

    goes_on(turns, 2 * turns._turn)
    with turns:
        assert turns._until - turns._since == pytest.approx(2 * turns._turn, rel=0.5)
        late = pool.submit(other)
        until(lambda: turns._queue)
    assert turns._owner == threading.get_ident()  # and it does not come back
    assert late.result(30) == turns._owner
    assert turns._until - turns._since == pytest.approx(one_by_one._LONG * turns._turn)


def test_threads_that_go_on_get_their_share(pool: ThreadPoolExecutor) -> None:
    turns, stop = OneByOne(0.002), threading.Event()
    counts = [0] * 4

    def work(place: int) -> None:
        while not stop.is_set():
            with turns:
                counts[place] += 1

    workers = [pool.submit(work, place) for place in range(4)]
    until(lambda: min(counts) > 100)
    stop.set()
    for worker in workers:
        worker.result(30)


def test_threads_may_stop_waiting_while_others_begin_to() -> None:
    turns, threads, interval = OneByOne(0.000_02), 16, sys.getswitchinterval()

    def work() -> int:
        for _ in range(2_000):
            with turns:
                pass
        return 1

    sys.setswitchinterval(0.000_001)  # so that threads change places between any two steps
    try:
        with ThreadPoolExecutor(threads) as many:
            assert sum(each.result(60) for each in [many.submit(work) for _ in range(threads)]) == threads
    finally:
        sys.setswitchinterval(interval)


def test_a_turn_that_another_thread_is_about_to_begin_is_waited_for() -> None:
    turns = OneByOne(LONG)
    turns._since, turns._until = 20.0, 10.0  # it has set the first of the two
    assert turns._limit(30.0, inf) == 0.0


def test_an_error_inside_leaves_the_turn_free(pool: ThreadPoolExecutor) -> None:
    turns = OneByOne(LONG)
    with pytest.raises(ValueError, match="inside"), turns:
        raise ValueError("inside")
    assert pool.submit(enter, turns).result(30)


def test_only_reads_that_were_quick_take_turns(pool: ThreadPoolExecutor) -> None:
    turns = OneByOne(LONG)
    with turns:
        for seconds in (LONG, inf):  # long, or not known
            with turns.if_quick(seconds):
                assert not turns._queue
        with turns.if_quick(0.001):
            assert turns._inside
            other = pool.submit(enter, turns)
            until(lambda: turns._queue)
    assert other.result(30)


def test_a_read_is_quick_once_it_was_and_had_nothing_to_read(tmp_path: Path) -> None:
    with og.init(tmp_path / "g.omni", "node Person { name: String @key }") as graph:
        graph.load([{"type": "Person", "data": {"name": f"p{number}"}} for number in range(9)])
        text = "query q() { match { $p: Person $q: Person $p.name < $q.name } return { count(*) as n } }"
        paces = []
        for _ in range(3):
            view = graph.view()
            compiled = compile_query(Source(text), view.catalog, None, mutation=False, memory=view.tables.memory)
            paces.append(planned(view, compiled, {}).pace.seconds)
            assert graph.query(text).tuples() == [(36,)]
        assert paces[:2] == [inf, inf]  # the first run reads the names
        assert 0 < paces[2] < inf


def test_a_turn_is_longer_while_only_threads_wait_that_go_on() -> None:
    turns = OneByOne(1.0)
    turns._since, turns._until = 0.0, 4.0
    turns._queue.append(one_by_one._Waiting(1, 0.3, threading.Lock()))
    assert [turns._is_over(seconds) for seconds in (1.5, 3.9, 4.1)] == [False, False, True]
    turns._queue.append(one_by_one._Waiting(2, 0.1, threading.Lock()))  # it asks for single reads
    assert [turns._is_over(seconds) for seconds in (0.9, 1.5)] == [False, True]


def test_a_thread_that_was_held_up_once_still_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    turns, now = OneByOne(1.0), [100.0]
    monkeypatch.setattr(one_by_one, "_clock", lambda: now[0])
    monkeypatch.setattr(one_by_one, "_NEXT", 0.3)
    gone = []
    for passed in (*[0.25] * 40, 0.5, 0.25, 0.5, 0.5, 1.5, 0.5):
        now[0] += passed
        enter(turns)
        gone.append(round(now[0] - turns._asker.began, 3))
    assert gone[38:] == pytest.approx([9.5, 9.75, 1.0, 1.25, 0.312, 0.078, 0.02, 0.005], abs=0.001)


def test_waiting_does_not_count_as_going_on(monkeypatch: pytest.MonkeyPatch) -> None:
    turns, now = OneByOne(1.0), [100.0]
    monkeypatch.setattr(one_by_one, "_clock", lambda: now[0])
    turns._owner, turns._inside = -1, True
    monkeypatch.setattr(turns, "_limit", lambda begin, gone: now.__setitem__(0, now[0] + 7.0) or 0.0)
    with turns:
        assert now[0] - turns._asker.began == 0.0
        assert turns._owner == threading.get_ident()
