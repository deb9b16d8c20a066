"""Gates: threads of one process take turns per branch and table, and share the schema gate."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout

import pytest

from omnigraph.storage.base.gates import Gates, gates_for


def test_one_registry_per_root() -> None:
    assert gates_for("/a") is gates_for("/a")
    assert gates_for("/a") is not gates_for("/b")


def test_the_same_branch_is_held_by_one_thread_at_a_time() -> None:
    gates, inside, most = Gates(), [0], [0]

    def work(_: int) -> None:
        with gates.hold([None], [("node:A", None)]):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            inside[0] -= 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(200)))
    assert most == [1]


def test_different_branches_do_not_wait_for_each_other() -> None:
    gates = Gates()
    with gates.hold(["a"], [("node:A", "a")]), ThreadPoolExecutor(1) as pool:

        def other() -> str:
            with gates.hold(["b"], [("node:A", "b")]):
                return "in"

        assert pool.submit(other).result(timeout=120) == "in"


def test_an_exclusive_schema_gate_keeps_readers_out_until_released() -> None:
    gates, entered = Gates(), threading.Event()

    def read() -> None:
        with gates.schema.shared():
            entered.set()

    with ThreadPoolExecutor(1) as pool:
        with gates.hold([None], exclusive_schema=True):
            waiting = pool.submit(read)
            with pytest.raises(FutureTimeout):
                waiting.result(timeout=0.05)
            assert not entered.is_set()
        waiting.result(timeout=120)
    assert entered.is_set()


def test_shared_readers_nest_while_a_writer_waits() -> None:
    gates = Gates()
    with ThreadPoolExecutor(1) as pool:

        def write() -> None:
            with gates.schema.exclusive():
                pass

        with gates.schema.shared():
            writer = pool.submit(write)
            with gates.schema.shared():
                pass
        writer.result(timeout=120)


def test_opposite_orders_cannot_deadlock() -> None:
    gates = Gates()

    def work(turn: int) -> int:
        names: list[str | None] = [None, "a", "b"] if turn % 2 else ["b", "a", None]
        with gates.hold(names, [("node:B", name) for name in names]):
            return turn

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(200), timeout=240)) == sum(range(200))
