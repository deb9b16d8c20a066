"""The bytes of an NDJSON input as physical lines: where they start, which are blank, what is outside strings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.errors import ResourceLimitExceeded

# What one text of Arrow holds: whatever a write accepts can be exported and loaded again.
LINE_BYTES = (1 << 31) - 1
# Objects and lists inside a record; commas do not count, because a list or a vector may have any number of items.
STRUCTURAL_SLOTS = 131_072
_STRUCTURAL = np.frombuffer(b"{}[]:", np.uint8)
_BLANK = b" \t\r\n\x0c"


@dataclass(frozen=True, slots=True)
class Lines:
    """The non-blank lines of a piece of input; line i is `data[starts[i]:ends[i]]` and has number `numbers[i]`.

    `physical` is how many lines there are, blank ones included.
    """

    data: bytes
    starts: np.ndarray
    ends: np.ndarray
    numbers: np.ndarray
    physical: int

    def __len__(self) -> int:
        return len(self.starts)

    def text(self, index: int) -> bytes:
        """One line without its delimiter."""
        return self.data[self.starts[index] : self.ends[index]]

    def array(self) -> pa.LargeStringArray:
        """The lines as strings without a copy; each carries the delimiter and blank lines that follow it."""
        offsets = np.append(self.starts, len(self.data)).astype(np.int64)
        return pa.LargeStringArray.from_buffers(len(self), pa.py_buffer(offsets), pa.py_buffer(self.data))


def blocks(data: bytes, size: int) -> Iterator[bytes]:
    """The input in pieces of about `size` bytes cut at line ends."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + size) + 1 or len(data)
        yield data if start == 0 and end == len(data) else data[start:end]
        start = end


def split_lines(data: bytes, first: int) -> Lines:
    """Find the non-blank lines; a line that is too long, or holds too much structure, is a resource limit."""
    buffer = np.frombuffer(data, np.uint8)
    breaks = np.flatnonzero(buffer == 10)
    starts = np.concatenate(([0], breaks + 1)).astype(np.int64)
    ends = np.append(breaks, len(data)).astype(np.int64)
    if len(starts) and starts[-1] == len(data):
        starts, ends = starts[:-1], ends[:-1]
    trailing = (ends > starts) & (buffer[np.maximum(ends - 1, 0)] == 13) if len(data) else np.zeros(0, bool)
    ends = ends - trailing
    numbers = np.arange(first, first + len(starts), dtype=np.int64)
    keep = _not_blank(data, buffer, starts, ends)
    found = Lines(data, starts[keep], ends[keep], numbers[keep], len(starts))
    _check_sizes(found)
    return found


def look_whole(lines: Lines) -> bool:
    """Whether each line begins with a brace and ends with one.

    When a strict reader takes as many objects from such lines as there are lines, each has exactly one: a line that
    begins inside an object would have to begin with a comma or a closing sign, or follow a line that ends otherwise.
    """
    buffer = np.frombuffer(lines.data, np.uint8)
    return bool((buffer[lines.starts] == 0x7B).all() and (buffer[lines.ends - 1] == 0x7D).all())


def one_object_each(lines: Lines) -> np.ndarray:
    """Which lines have balanced braces outside strings; none when some line ends inside a string."""
    buffer = np.frombuffer(lines.data, np.uint8)
    inside = _inside_strings(buffer)
    if inside[lines.ends - 1].any():
        return np.zeros(len(lines), bool)
    depth = (buffer == 0x7B).view(np.int8) - (buffer == 0x7D).view(np.int8)
    depth[inside.view(bool)] = 0
    balanced: np.ndarray = np.add.reduceat(depth, lines.starts, dtype=np.int64) == 0
    return balanced


def _not_blank(data: bytes, buffer: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    keep = np.ones(len(starts), bool)
    if not len(data):
        return keep
    suspects = np.flatnonzero(buffer[np.minimum(starts, len(data) - 1)] != 0x7B)
    for index in suspects.tolist():
        keep[index] = bool(data[starts[index] : ends[index]].strip(_BLANK))
    return keep


def _check_sizes(lines: Lines) -> None:
    lengths = lines.ends - lines.starts
    for index in np.flatnonzero(lengths >= STRUCTURAL_SLOTS).tolist():
        if lengths[index] > LINE_BYTES:
            raise ResourceLimitExceeded("graph_batch_line_bytes", limit=LINE_BYTES, actual=int(lengths[index]))
        slots = _slots(lines.text(index))
        if slots > STRUCTURAL_SLOTS:
            raise ResourceLimitExceeded("graph_batch_json_structural_slots", limit=STRUCTURAL_SLOTS, actual=slots)


def _slots(line: bytes) -> int:
    buffer = np.frombuffer(line, np.uint8)
    return 1 + int(np.count_nonzero(np.isin(buffer, _STRUCTURAL) & ~_inside_strings(buffer).view(bool)))


def _inside_strings(buffer: np.ndarray) -> np.ndarray:
    """1 for every byte inside a string literal (its opening quote included), 0 elsewhere."""
    quotes = (buffer == 0x22).view(np.uint8)
    escaped = _escaped_positions(buffer)
    if len(escaped):
        quotes = quotes.copy()
        quotes[escaped] = 0
    return np.bitwise_xor.accumulate(quotes)


def _escaped_positions(buffer: np.ndarray) -> np.ndarray:
    """Positions that follow an odd run of backslashes."""
    slashes = np.flatnonzero(buffer == 0x5C)
    if not len(slashes):
        return slashes
    begins = np.flatnonzero(np.diff(slashes, prepend=-2) != 1)
    lengths = np.diff(np.append(begins, len(slashes)))
    after: np.ndarray = (slashes[begins] + lengths)[lengths % 2 == 1]
    inside: np.ndarray = after[after < len(buffer)]
    return inside
