"""Threads of a server: calls are run, the thread that was busy last takes the next one, and ending is orderly."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import CancelledError, wait

import pytest

from omnigraph.server.threads import Threads


def _all_idle(threads: Threads, many: int) -> None:
    """Let so many threads work at once, and wait until they have nothing to do."""
    together = threading.Barrier(many)
    wait([threads.submit(together.wait) for _ in range(many)])
    while len(threads._idle) < many:
        pass


def test_results_errors_and_arguments_come_through() -> None:
    threads = Threads(2, "t")
    assert threads.submit(lambda a, *, b: a + b, 1, b=2).result(10) == 3
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 / 0).result(10)
    threads.shutdown()


def test_one_thread_does_what_one_thread_can_do() -> None:
    threads = Threads(8, "t")
    _all_idle(threads, 8)
    names = set()
    for _ in range(20):
        names.add(threads.submit(lambda: threading.current_thread().name).result(10))
        while len(threads._idle) < 8:
            pass
    assert len(names) == 1
    threads.shutdown()


def test_no_more_threads_than_allowed_and_what_waits_is_done_in_order() -> None:
    threads, gate, order = Threads(1, "t"), threading.Event(), []
    first = threads.submit(gate.wait)
    rest = [threads.submit(order.append, number) for number in range(5)]
    gate.set()
    wait([first, *rest], 10)
    assert order == list(range(5))
    assert len(threads._threads) == 1
    threads.shutdown()


def test_ending_waits_for_calls_and_cancels_those_that_wait() -> None:
    threads, gate, started = Threads(1, "t"), threading.Event(), threading.Event()

    def call() -> str:
        started.set()
        gate.wait()
        return "done"

    running, waiting = threads.submit(call), threads.submit(lambda: None)
    assert started.wait(10)
    threading.Timer(0.05, gate.set).start()
    threads.shutdown(cancel_futures=True)
    assert running.result(0) == "done"
    with pytest.raises(CancelledError):
        waiting.result(0)
    assert not any(each.is_alive() for each in threads._threads)
    with pytest.raises(RuntimeError):
        threads.submit(lambda: None)


def test_a_call_that_was_cancelled_before_its_turn_is_not_run() -> None:
    threads, gate, ran = Threads(1, "t"), threading.Event(), []
    threads.submit(gate.wait)
    waiting = threads.submit(ran.append, 1)
    assert waiting.cancel()
    gate.set()
    threads.submit(lambda: None).result(10)
    assert not ran
    threads.shutdown()


def test_an_idle_thread_keeps_nothing_of_its_last_call() -> None:
    class Large:
        pass

    threads, large = Threads(1, "t"), Large()
    kept = weakref.ref(large)
    threads.submit(id, large).result(10)
    del large
    while not threads._idle:
        pass
    gc.collect()
    assert kept() is None
    threads.shutdown()
