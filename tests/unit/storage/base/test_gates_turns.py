"""Turns: a lock that is handed over in the order of asking, and that a waiter can leave."""

from __future__ import annotations

import threading
import time

from omnigraph.storage.base.gates import Gates
from omnigraph.storage.base.turns import Turn


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
    turn: Turn[str] = Turn()
    turn.acquire()
    waiter = turn.join()
    turn.release()  # handed over to a waiter that is on its way out
    turn._leave(waiter)
    assert turn.acquire(timeout=0)


def test_the_holder_takes_offered_work_from_the_front_of_the_queue_only() -> None:
    turn: Turn[str] = Turn()
    turn.acquire()
    first, second, alone, behind = turn.join("a"), turn.join("b"), turn.join(), turn.join("c")
    assert turn.take(8) == [first, second]  # nobody passes the one that wants the turn for itself
    assert turn.take(8) == []
    turn.serve(first)
    turn.give_back([first, second])
    assert (first.state, second.state) == ("served", "waiting")
    turn.release()
    assert turn.wait(second) == "turn"
    turn.release()
    assert turn.wait(alone) == "turn"
    assert [waiter.work for waiter in turn.take(1)] == ["c"]
    assert behind.state == "taken"


def test_taken_work_is_waited_for_beyond_the_time_of_its_owner() -> None:
    turn: Turn[str] = Turn()
    turn.acquire()
    waiter = turn.join("work")
    ended: list[str] = []
    thread = threading.Thread(target=lambda: ended.append(turn.wait(waiter, 0.05)))
    assert turn.take(1) == [waiter]
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
    turn.serve(waiter)
    thread.join(20)
    assert ended == ["served"]


def test_work_of_an_owner_that_was_interrupted_has_nobody_to_look_at_it() -> None:
    turn: Turn[str] = Turn()
    turn.acquire()
    waiter = turn.join("work")
    turn.take(1)
    turn._leave(waiter)
    assert not turn.serve(waiter)
    turn.give_back([waiter])
    assert not turn._waiting


def test_a_turn_that_nobody_holds_or_awaits_is_forgotten() -> None:
    gates = Gates()
    with gates.turn("transaction"):
        assert list(gates._branches) == ["transaction"]
        assert gates.turn("transaction") is gates.turn("transaction")
    assert list(gates._branches) == []
