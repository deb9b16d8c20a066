"""Rows of a CSV file that have more or fewer columns than its header: left out while Arrow reads, to be refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

_HOPELESS = 1_000


class InvalidRow(Protocol):
    """What Arrow says about such a row."""

    expected_columns: int
    actual_columns: int
    number: int | None
    text: str


@dataclass(frozen=True, slots=True)
class RaggedRow:
    """One of them, after so many others; `text` is its line, or lines, without the last break."""

    before: int
    expected: int
    actual: int
    text: str

    @property
    def reason(self) -> str:
        """What is wrong with it."""
        return f"expected {self.expected} column{'s' * (self.expected != 1)}, got {self.actual}"

    @property
    def height(self) -> int:
        """How many lines it has."""
        return self.text.count("\n") + 1


class RaggedRows:
    """The ragged rows of a file, as far as it was read, until they are taken.

    A file that begins with a thousand of them, or has no other rows, has another delimiter rather than bad rows: then
    `hopeless` is the first. The rule for no other rows is for a `whole` file, and none is for a piece from the middle.
    """

    def __init__(self, *, whole: bool = True, begins: bool = True) -> None:
        self._whole, self._begins = whole, begins
        self._found: list[RaggedRow] = []
        self._first: RaggedRow | None = None
        self._taken = self._seen = self._header = 0
        self._stopped = False

    def restart(self, header_rows: int) -> None:
        """The file is read again from its beginning; what was taken does not come again."""
        self._found, self._seen, self._header = [], 0, header_rows

    def refuse(self, row: InvalidRow) -> Literal["skip", "error"]:
        """The handler of Arrow's reader, which counts rows while it reads in one thread."""
        assert row.number is not None
        before = row.number - self._header - 1 - self._seen
        self._seen += 1
        if self._seen > self._taken:
            found = RaggedRow(before, row.expected_columns, row.actual_columns, row.text)
            self._found.append(found)
            self._first = self._first or found
        self._stopped = self._begins and before == 0 and self._seen > _HOPELESS
        return "error" if self._stopped else "skip"

    def hopeless(self, rows: int | None = None) -> RaggedRow | None:
        """The first ragged row, if that many at the beginning, or no other `rows` of the file, were read."""
        return self._first if self._stopped or (self._whole and rows == 0) else None

    def take(self, rows: int | None = None) -> list[RaggedRow]:
        """Those that come before the last of so many other rows; without a number, all that are left."""
        found = self._found
        count = len(found) if rows is None else sum(1 for _ in found if _.before < rows)
        mine, self._found[:count] = found[:count], []
        self._taken += count
        return mine


def placed(starts: np.ndarray, line: int, rows: int, ragged: list[RaggedRow]) -> tuple[np.ndarray, np.ndarray, int]:
    """Lines that rows begin on, moved by the ragged ones between them; lines of those; and the line after all of them.

    `starts` are counted without ragged rows; `line` comes after them, and `rows` other rows before them.
    """
    heights = np.array([each.height for each in ragged], np.int64)
    at = np.array([each.before - rows for each in ragged], np.int64)
    total = np.concatenate([[0], np.cumsum(heights)])
    own = np.append(starts, line)[at] + total[:-1]
    return starts + total[np.searchsorted(at, np.arange(len(starts)), side="right")], own, line + int(total[-1])
