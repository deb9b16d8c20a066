"""Turns: a lock that is handed over in the order of asking, and that a waiter can leave."""

from __future__ import annotations

import threading
import time

from omnigraph.storage.base.gates import Gates, Turn


def waiting(turn: Turn, count: int) -> None:
    """Return when so many threads wait for the turn."""
    deadline = time.monotonic() + 20
    while len(turn._waiting) < count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_the_turn_comes_in_the_order_of_asking() -> None:
    turn, order = Turn(), list[int]()
    assert turn.acquire()

    def work(number: int) -> None:
        with turn:
            order.append(number)

    threads = []
    for number in range(8):
        threads.append(threading.Thread(target=work, args=(number,)))
        threads[-1].start()
        waiting(turn, number + 1)
    turn.release()
    for thread in threads:
        thread.join()
    assert order == list(range(8))


def test_a_newcomer_does_not_pass_those_who_wait() -> None:
    turn, order = Turn(), list[str]()
    turn.acquire()

    def wait() -> None:
        with turn:
            order.append("waited")

    thread = threading.Thread(target=wait)
    thread.start()
    waiting(turn, 1)
    turn.release()
    with turn:  # asked for after the hand-over was decided
        order.append("newcomer")
    thread.join()
    assert order == ["waited", "newcomer"]


def test_a_waiter_whose_time_is_over_leaves_the_queue() -> None:
    turn = Turn()
    turn.acquire()
    assert not turn.acquire(timeout=0.01)
    assert not turn.acquire(timeout=0)
    turn.release()
    assert turn.acquire(timeout=0)
    assert not turn._waiting


def test_a_wait_that_is_interrupted_does_not_swallow_the_turn() -> None:
    turn = Turn()
    turn.acquire()
    mine = threading.Lock()
    mine.acquire()
    turn._waiting.append(mine)
    turn.release()  # handed over to a waiter that is on its way out
    assert turn._came_after_all(mine)
    turn.release()
    assert turn.acquire(timeout=0)


def test_a_turn_that_nobody_holds_or_awaits_is_forgotten() -> None:
    gates = Gates()
    with gates.turn("transaction"):
        assert list(gates._branches) == ["transaction"]
        assert gates.turn("transaction") is gates.turn("transaction")
    assert list(gates._branches) == []
