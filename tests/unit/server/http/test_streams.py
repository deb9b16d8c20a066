"""Streamed responses: order, failure, readers that leave at any moment, and that everything is given back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from omnigraph.server.http.streams import CHUNK, Produced, ReaderGone, Sink, Streamed
from omnigraph.server.work import Pools

_Produce = Callable[[Sink], object]


class Exchange:
    """One response through ASGI; the client reads `wanted` pieces and then leaves, or stays to the end."""

    def __init__(self, produce: _Produce, wanted: int | None) -> None:
        self.produce = produce
        self.wanted = wanted
        self.body: list[bytes] = []
        self.ended = False
        self.released = 0

    async def run(self, pools: Pools) -> None:
        left = asyncio.Event()

        async def receive() -> dict[str, object]:
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, object]) -> None:
            body = message.get("body")
            if isinstance(body, bytes) and body:
                self.body.append(body)
            self.ended = message.get("more_body") is False
            if self.wanted is not None and len(self.body) >= self.wanted:
                left.set()
                await asyncio.sleep(0)

        def release() -> None:
            self.released += 1

        produced = Produced(pools, self.produce, release)
        await produced.begun()
        await Streamed(produced, "text/plain")({}, receive, send)  # type: ignore[arg-type]


@pytest.fixture
def pools() -> Iterator[Pools]:
    found = Pools(reads=1, writes=1)
    yield found
    found.close()


def run(pools: Pools, produce: _Produce, wanted: int | None = None) -> Exchange:
    exchange = Exchange(produce, wanted)
    asyncio.run(asyncio.wait_for(exchange.run(pools), 30))
    return exchange


def test_long_writes_are_cut_and_nothing_is_lost(pools: Pools) -> None:
    data = bytes(range(256)) * 1024
    done = run(pools, lambda sink: [sink.write(data), sink.write(b"end")])
    assert b"".join(done.body) == data + b"end"
    assert max(map(len, done.body)) <= CHUNK
    assert (done.ended, done.released) == (True, 1)


def test_an_empty_stream_ends_cleanly(pools: Pools) -> None:
    done = run(pools, lambda _: None)
    assert (done.body, done.ended, done.released) == ([], True, 1)


def test_a_failure_before_the_first_byte_is_an_ordinary_error(pools: Pools) -> None:
    def fail(_: Sink) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run(pools, fail)


def test_a_failure_later_breaks_the_body(pools: Pools) -> None:
    exchange = Exchange(lambda sink: [sink.write(b"x"), 1 // 0], None)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(asyncio.wait_for(exchange.run(pools), 30))
    assert (exchange.body, exchange.ended, exchange.released) == ([b"x"], False, 1)


@pytest.mark.parametrize("wanted", range(1, 8))
def test_a_reader_may_leave_at_any_moment(pools: Pools, wanted: int) -> None:
    seen: list[type[BaseException]] = []

    def produce(sink: Sink) -> None:
        try:
            for number in range(6):
                sink.write(b"%d" % number)
        except ReaderGone:
            seen.append(ReaderGone)
            raise

    done = run(pools, produce, wanted)
    assert done.released == 1
    assert len(seen) <= 1
