"""Quick reads on the event loop: by turns of actors, a few at a time, and everything given back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from omnigraph.server.http.refusal import Refusal
from omnigraph.server.pace import Processors
from omnigraph.server.quick import QuickReads
from omnigraph.server.turns import ReadCaps, Turns


class Lane:
    """Quick reads that note the order in which they ran."""

    def __init__(self, caps: ReadCaps | None = None) -> None:
        self.turns = Turns(2, ReadCaps() if caps is None else caps)
        self.quick = QuickReads(self.turns, Processors(2))
        self.ran: list[str] = []

    def ask(self, actor: str, name: str) -> asyncio.Task[str]:
        def call() -> str:
            self.ran.append(name)
            return name

        return asyncio.create_task(self.quick.run(call, actor))


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]


def test_the_many_quick_reads_of_one_actor_do_not_delay_another() -> None:
    async def test() -> None:
        lane = Lane()
        tasks = [lane.ask("ada", f"a{number}") for number in range(12)]
        tasks.append(lane.ask("bob", "b"))
        assert await asyncio.gather(*tasks) == [f"a{number}" for number in range(12)] + ["b"]
        assert lane.ran.index("b") == 4, "after those of ada that go in one turn when ada is alone"
        assert [name for name in lane.ran if name != "b"] == [f"a{number}" for number in range(12)]

    run(test)


def test_beside_others_an_actor_has_one_in_a_turn_of_the_event_loop() -> None:
    async def test() -> None:
        lane = Lane()
        await lane.ask("bob", "b")  # bob has read lately
        tasks = [lane.ask("ada", f"a{number}") for number in range(6)]
        turns = 0
        while not tasks[-1].done():
            before = len(lane.ran)
            await asyncio.sleep(0)
            assert len(lane.ran) - before <= 1
            turns += 1
        assert turns >= 6

    run(test)


def test_a_failure_is_that_of_its_request_and_the_others_go_on() -> None:
    async def test() -> None:
        lane = Lane()

        def fail() -> str:
            raise ValueError("this one")

        failing = [asyncio.create_task(lane.quick.run(fail, "ada")) for _ in range(6)]
        other = lane.ask("ada", "a")
        for task in failing:
            with pytest.raises(ValueError, match="this one"):
                await task
        assert await other == "a"
        assert lane.turns.actors <= 1

    run(test)


def test_a_request_that_has_ended_is_not_answered() -> None:
    async def test() -> None:
        lane = Lane()
        tasks = [lane.ask("ada", f"a{number}") for number in range(7)]
        await asyncio.sleep(0)
        tasks[5].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert lane.ran == ["a0", "a1", "a2", "a3", "a4", "a6"]
        assert not lane.turns.others_read("bob")

    run(test)


def test_an_actor_that_has_used_its_time_is_refused() -> None:
    async def test() -> None:
        lane = Lane(ReadCaps(seconds=0.0))
        await lane.ask("ada", "first")
        with pytest.raises(Refusal) as refused:
            await lane.ask("ada", "second")
        assert refused.value.status == 429
        assert lane.ran == ["first"]

    run(test)


def test_a_quick_read_under_way_is_a_read_of_others_and_not_of_its_own_actor() -> None:
    turns = Turns(2, ReadCaps())
    with turns.quick("ada"):
        assert (turns.others_read("bob"), turns.others_read("ada")) == (True, False)
        assert turns.running == 0, "it takes no thread"
    assert not turns.others_read("bob")
