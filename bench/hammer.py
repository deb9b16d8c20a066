"""A small HTTP load generator: connections that send prepared requests one after the other, and what came back."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

_FAILURES = 500
_CONNECT_SECONDS = 10.0


@dataclass(slots=True)
class Answers:
    """Times in milliseconds and counts by status of one run."""

    times: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def per_second(self) -> float:
        return len(self.times) / self.seconds

    @property
    def failures(self) -> int:
        """Answers of 500 and above."""
        return sum(count for status, count in self.statuses.items() if status >= _FAILURES)

    def percentile(self, percent: float) -> float:
        ordered = sorted(self.times)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else float("nan")

    def note(self) -> str:
        """Everything that the median leaves out."""
        others = {status: count for status, count in self.statuses.items() if status != 200}
        tails = f"p95 {self.percentile(95):.1f} ms, p99 {self.percentile(99):.1f} ms"
        return f"{self.per_second:.0f}/s, {tails}, {self.failures} of {len(self.times)} 5xx" + (
            f", others {others}" if others else ""
        )


def request(path: str, body: Any = None, kind: str = "application/json") -> bytes:
    """A whole request; without a body it is a GET."""
    if body is None:
        return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


def hammer(
    address: str, streams: list[list[bytes]], going_on: Callable[[], bool], *, source: str | None = None
) -> Answers:
    """One connection per stream of requests, each stream over and over, as long as it is going on.

    `source` is the address that they come from: to a server without tokens, another actor.
    """
    return asyncio.run(_hammer(address, [cycle(stream) for stream in streams], going_on, source))


def for_seconds(seconds: float) -> Callable[[], bool]:
    """Going on until some time has passed."""
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() < end


async def _hammer(
    address: str, streams: list[Iterator[bytes]], going_on: Callable[[], bool], source: str | None
) -> Answers:
    answers, started = Answers(), time.perf_counter()
    await asyncio.gather(*(_connection(address, stream, going_on, answers, source) for stream in streams))
    answers.seconds = time.perf_counter() - started
    return answers


async def _connection(
    address: str, stream: Iterator[bytes], going_on: Callable[[], bool], answers: Answers, source: str | None
) -> None:
    host, _, port = address.rpartition(":")
    where = None if source is None else (source, 0)
    opening = asyncio.open_connection(host, int(port), local_addr=where)
    reader, writer = await asyncio.wait_for(opening, _CONNECT_SECONDS)
    while going_on():
        started = time.perf_counter()
        writer.write(next(stream))
        status = await _answer(reader)
        answers.times.append((time.perf_counter() - started) * 1000)
        answers.statuses[status] += 1
    writer.close()
    await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader) -> int:
    """Read one answer to its end; its status."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    at = head.index(b"content-length:")
    await reader.readexactly(int(head[at + 15 : head.index(b"\r\n", at)]))
    return int(head[9:12])
