"""Log lines: together for one turn of the event loop, at once everywhere else."""

from __future__ import annotations

import asyncio
import io
import json
import logging

import pytest

from omnigraph.server.logs import JsonLines, LineBatches


class Stream(io.StringIO):
    """Counts how often it was written to."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)

    @property
    def messages(self) -> list[str]:
        return [json.loads(line)["message"] for line in self.getvalue().splitlines()]


@pytest.fixture
def stream() -> Stream:
    return Stream()


@pytest.fixture
def log(stream: Stream) -> logging.Logger:
    handler = LineBatches(stream)
    handler.setFormatter(JsonLines())
    found = logging.Logger("test")
    found.addHandler(handler)
    return found


def test_lines_of_one_turn_of_the_event_loop_are_one_write(log: logging.Logger, stream: Stream) -> None:
    async def request() -> None:
        for number in range(5):
            log.info("line %d", number)
        assert stream.writes == 0
        await asyncio.sleep(0)
        assert (stream.writes, stream.messages) == (1, [f"line {number}" for number in range(5)])
        log.info("the next turn")
        await asyncio.sleep(0)
        assert stream.writes == 2

    asyncio.run(request())


def test_lines_outside_of_an_event_loop_and_warnings_are_written_at_once(log: logging.Logger, stream: Stream) -> None:
    log.info("first")
    assert stream.messages == ["first"]

    async def request() -> None:
        log.info("second")
        log.warning("third")
        assert stream.messages == ["first", "second", "third"]

    asyncio.run(request())


def test_a_refusal_is_written_before_its_answer(log: logging.Logger, stream: Stream) -> None:
    async def request() -> None:
        log.info("begun")
        log.info("read", extra={"allowed": True})
        assert stream.writes == 0
        log.info("export", extra={"allowed": False})
        assert stream.messages == ["begun", "read", "export"]

    asyncio.run(request())


def test_a_write_stays_short_enough_for_a_pipe_of_several_workers(log: logging.Logger, stream: Stream) -> None:
    async def request() -> None:
        for _ in range(30):
            log.info("x" * 1_000)
        assert stream.writes == 9, "three lines fit into 4,096 characters"
        await asyncio.sleep(0)
        assert len(stream.messages) == 30

    asyncio.run(request())


def test_lines_of_an_event_loop_that_has_ended_are_not_lost(log: logging.Logger, stream: Stream) -> None:
    async def last_words() -> None:
        log.info("last")

    async def other() -> None:
        log.info("of another loop")
        await asyncio.sleep(0)

    asyncio.run(last_words())
    asyncio.run(other())
    assert stream.messages == ["last", "of another loop"]


def test_a_stream_that_is_gone_fails_no_request(log: logging.Logger, stream: Stream) -> None:
    stream.close()
    log.info("nowhere to go")
