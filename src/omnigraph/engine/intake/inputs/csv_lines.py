"""Line numbers of a CSV file as an editor shows them: Arrow skips blank lines, so they are noted while it reads."""

from __future__ import annotations

import numpy as np

_NEWLINE, _RETURN, _QUOTE = b'\n\r"'


class BlankLines:
    """Where a file has blank lines, as far as it was read."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """The file is read again from its beginning."""
        self._before: list[int] = []  # for each blank line, how many other lines come before it
        self._count = 0
        self._in_quotes = False
        self._rest = b""

    def shifted(self, lines: np.ndarray) -> np.ndarray:
        """Lines counted without the blank ones, with them."""
        return lines + np.searchsorted(self._before, lines) if self._before else lines

    def feed(self, data: bytes) -> None:
        """The next bytes of the file."""
        text = self._rest + data
        end = text.rfind(b"\n") + 1
        self._rest = text[end:]
        if _may_have_blank_lines(text, end):
            self._note(np.frombuffer(text, np.uint8, end))
        else:
            self._count += text.count(b"\n", 0, end)
            self._in_quotes ^= bool(text.count(b'"', 0, end) & 1)

    def _note(self, whole: np.ndarray) -> None:
        """Whole lines, some of which may be blank; within quotes an empty line is a part of its cell."""
        ends = np.flatnonzero(whole == _NEWLINE)
        starts = np.concatenate([[0], ends[:-1] + 1])
        empty = (starts == ends) | ((starts + 1 == ends) & (whole[starts] == _RETURN))
        quotes = np.cumsum(whole == _QUOTE)
        blank = empty & ((quotes[ends] + self._in_quotes) % 2 == 0)
        others = self._count + np.cumsum(~blank)
        self._before += others[blank].tolist()
        self._count = int(others[-1])
        self._in_quotes ^= bool(quotes[-1] & 1)


def _may_have_blank_lines(text: bytes, end: int) -> bool:
    """Searches without copying: together with the counting, 26 ms for 16 MB."""
    if text.startswith((b"\n", b"\r")) or text.find(b"\n\n", 0, end) >= 0:
        return end > 0
    return text.find(b"\r", 0, end) >= 0 and text.find(b"\n\r\n", 0, end) >= 0
