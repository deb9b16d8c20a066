"""Turns of reads: who goes first, who is refused, and that everything is given back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from starlette.requests import ClientDisconnect

from omnigraph.server.http.refusal import Refusal
from omnigraph.server.turns import ReadCaps, Turns


class Reads:
    """Reads that begin and end when the test says so."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.began: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}

    def start(self, actor: str, name: str, gone: asyncio.Future[None] | None = None) -> asyncio.Task[None]:
        self.ends[name] = asyncio.Event()

        async def run() -> None:
            async with self.turns.turn(actor, None, gone):
                self.began.append(name)
                await self.ends[name].wait()

        return asyncio.create_task(run())

    async def end(self, *names: str) -> None:
        for name in names:
            self.ends[name].set()
        await settle()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]


def test_a_queue_of_one_actor_does_not_delay_another() -> None:
    async def test() -> None:
        reads = Reads(Turns(2, ReadCaps(running=2)))
        tasks = [reads.start("ada", f"a{number}") for number in range(8)]
        await settle()
        tasks.append(reads.start("bob", "b"))
        await settle()
        assert reads.began == ["a0", "a1"]
        await reads.end("a0")
        assert reads.began[2] == "b", "the first thread that is free"
        assert (reads.turns.running, reads.turns.waiting) == (2, 6)
        await reads.end(*reads.ends)
        await asyncio.gather(*tasks)
        assert (reads.turns.running, reads.turns.waiting) == (0, 0)

    run(test)


def test_one_actor_never_has_all_threads_when_its_cap_is_less() -> None:
    async def test() -> None:
        reads = Reads(Turns(4, ReadCaps(running=2)))
        tasks = [reads.start("ada", f"a{number}") for number in range(4)]
        tasks.append(reads.start("bob", "b"))
        await settle()
        assert reads.began == ["a0", "a1", "b"]
        await reads.end(*reads.ends)
        await asyncio.gather(*tasks)

    run(test)


def test_of_two_that_wait_the_one_who_used_less_goes_first() -> None:
    async def test() -> None:
        now = [0.0]
        turns = Turns(1, ReadCaps(running=1), clock=lambda: now[0])
        reads = Reads(turns)
        tasks = [reads.start("ada", "long")]
        await settle()
        now[0] = 5.0
        tasks += [reads.start("ada", "a"), reads.start("bob", "b")]
        await settle()
        await reads.end("long")
        assert reads.began == ["long", "b"]
        await reads.end(*reads.ends)
        await asyncio.gather(*tasks)

    run(test)


def test_queues_are_bounded_and_a_refusal_says_when_to_come_back() -> None:
    async def test() -> None:
        now = [0.0]
        reads = Reads(Turns(1, ReadCaps(running=1, waiting=2, all_waiting=3), clock=lambda: now[0]))
        tasks = [reads.start("ada", "first")]
        await settle()
        now[0] = 80.0
        await reads.end("first")
        tasks += [reads.start("ada", name) for name in ("r", "w1", "w2")]
        await settle()
        with pytest.raises(Refusal, match="2 reads of this actor wait") as caught:
            async with reads.turns.turn("ada"):
                pass
        assert caught.value.status == 429
        assert int(caught.value.headers["Retry-After"]) == 31, "three reads of about ten seconds"
        tasks.append(reads.start("bob", "b"))
        await settle()
        with pytest.raises(Refusal, match="limit of this server") as caught:
            async with reads.turns.turn("eve"):
                pass
        assert caught.value.status == 503
        assert dict(reads.turns.refused) == {"queue of the actor": 1, "queue": 1}
        await reads.end(*reads.ends)
        await asyncio.gather(*tasks)

    run(test)


def test_waiting_ends_when_patience_does_or_when_the_client_has_gone() -> None:
    async def test() -> None:
        reads = Reads(Turns(1, ReadCaps(running=1)))
        first = reads.start("ada", "a")
        await settle()
        with pytest.raises(Refusal, match="other reads of this actor took all threads") as caught:
            async with reads.turns.turn("ada", 0.01):
                pass
        assert caught.value.status == 429
        with pytest.raises(Refusal, match="reads of other actors") as caught:
            async with reads.turns.turn("bob", 0.01):
                pass
        assert caught.value.status == 503
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        left = reads.start("bob", "b", gone)
        await settle()
        gone.set_result(None)
        with pytest.raises(ClientDisconnect):
            await left
        assert (reads.turns.running, reads.turns.waiting) == (1, 0)
        await reads.end("a")
        await first

    run(test)


def test_an_actor_gets_so_many_seconds_of_threads_in_a_minute() -> None:
    async def test() -> None:
        now = [100.0]
        turns = Turns(2, ReadCaps(seconds=10.0), clock=lambda: now[0])
        async with turns.turn("ada"):
            now[0] += 12.0
        with pytest.raises(Refusal, match=r"took 12\.0 seconds within a minute") as caught:
            async with turns.turn("ada"):
                pass
        assert (caught.value.status, caught.value.headers["Retry-After"]) == (429, "60")
        async with turns.turn("bob"):
            pass
        now[0] += 60.0
        async with turns.turn("ada"):
            pass

    run(test)


def test_a_long_read_holds_no_thread_that_a_new_one_could_have() -> None:
    async def test() -> None:
        turns = Turns(1, ReadCaps(running=2, long=1))
        async with turns.turn("ada") as long:
            turns.lengthen(long)
            async with turns.turn("bob") as other:
                assert (turns.running, turns.long) == (2, 1)
                turns.lengthen(other)  # there is one place for long reads, so this one keeps its thread
                assert (other.is_long, turns.long) == (False, 1)
        turns.lengthen(long)  # a message that came late
        assert (turns.running, turns.long) == (0, 0)

    run(test)


def test_short_reads_of_others_are_seen_until_they_end_or_take_long() -> None:
    async def test() -> None:
        turns = Turns(4, ReadCaps(running=2))
        async with turns.turn("ada") as own:
            assert not turns.others_read("ada")
            assert turns.others_read("bob")
            async with turns.turn("bob") as other:
                assert turns.others_read("ada")
                turns.lengthen(other)
                assert not turns.others_read("ada")
            turns.lengthen(own)
            assert not turns.others_read("bob")
        assert not turns.others_read("ada")
        assert turns.running == 0

    run(test)
