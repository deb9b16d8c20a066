"""How far long work is: a bar on stderr for a person at a terminal, or events for a program that asked for them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output

_WIDTH = 24
_REDRAW_SECONDS = 0.1


@contextmanager
def progress(call: Call, label: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """Draw a bar that moves by what the caller reports; scripts and logs see nothing of it."""
    if not wanted(call) or not total:
        yield lambda amount: None
        return
    bar = _meter(call, label, total, unit)
    try:
        yield bar.advance
    finally:
        bar.erase()


@contextmanager
def stages(call: Call) -> Iterator[Callable[[Any], None] | None]:
    """For work that reports stages itself: takes events with `stage`, `done` and `total`, and draws the current one."""
    if not wanted(call):
        yield None
        return
    current: list[_Bar | _Events] = []

    def report(event: Any) -> None:
        if not current or current[0].label != event.stage:
            current[:] = [_meter(call, event.stage, max(event.total, 1), "tasks")]
        current[0].advance(event.done - current[0].done)

    try:
        yield report
    finally:
        if current:
            current[0].erase()


@contextmanager
def counting(call: Call, label: str, unit: str) -> Iterator[Callable[[int, int], None] | None]:
    """For work that says how much of it is done, and of how much."""
    if not wanted(call):
        yield None
        return
    current: list[_Bar | _Events] = []

    def report(done: int, total: int) -> None:
        if not current:
            current.append(_meter(call, label, total, unit))
        current[0].advance(done - current[0].done)

    try:
        yield report
    finally:
        if current:
            current[0].erase()


class CountedLines:
    """A file to write to that reports the lines that went through it."""

    def __init__(self, file: BinaryIO, advance: Callable[[int], None]) -> None:
        self._file, self._advance = file, advance

    def write(self, data: bytes) -> int:
        self._advance(data.count(b"\n"))
        return self._file.write(data)


def wanted(call: Call) -> bool:
    """Whether somebody watches."""
    form = call.text("--progress")
    if form in ("json", "off"):
        return form == "json"
    return sys.stderr.isatty() and not call.json and not call.given("--quiet")


def _meter(call: Call, label: str, total: int, unit: str) -> _Bar | _Events:
    return (_Events if call.text("--progress") == "json" else _Bar)(label, total, unit)


class _Events:
    """One line of JSON after another, ten a second at most; the last one says that all is done."""

    def __init__(self, label: str, total: int, unit: str) -> None:
        self.label, self.total, self.unit = label, total, unit
        self.done = 0
        self._drawn_at = 0.0

    def advance(self, amount: int) -> None:
        self.done += amount
        now = time.monotonic()
        if now - self._drawn_at >= _REDRAW_SECONDS or self.done >= self.total:
            self._drawn_at = now
            event = {"progress": self.label, "done": self.done, "total": self.total, "unit": self.unit}
            output.note(output.compact(event))

    def erase(self) -> None:
        """Nothing: what was told stays told."""


class _Bar:
    """One line that is drawn again and again, and gone at the end."""

    def __init__(self, label: str, total: int, unit: str) -> None:
        self.label, self.total, self.unit = label, total, unit
        self.done = 0
        self._started = time.monotonic()
        self._drawn = 0.0

    def advance(self, amount: int) -> None:
        self.done += amount
        now = time.monotonic()
        if now - self._drawn >= _REDRAW_SECONDS or self.done >= self.total:
            self._drawn = now
            sys.stderr.write(f"\r\x1b[K{self._text(now)}")
            sys.stderr.flush()

    def erase(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    def _text(self, now: float) -> str:
        filled = min(_WIDTH, _WIDTH * self.done // self.total)
        spent = now - self._started
        left = f", {spent * (self.total - self.done) / self.done:.0f} s left" if self.done else ""
        bar = "━" * filled + "─" * (_WIDTH - filled)
        return f"{self.label} {bar} {self.done:,}/{self.total:,} {self.unit}{left}"
