"""The inverted lists of some texts: for each word the texts that hold it and how often; immutable and mappable."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.search.analyzer import Tokens
from omnigraph.engine.read.search.edit_distance import within

Counts = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Segment:
    """Texts in ascending order of row id, known by their position; words in ascending order of their bytes.

    `holders[offsets[w]:offsets[w + 1]]` are the texts that hold word w, ascending, `counts` how often each does, and
    `letters[ends[w]:ends[w + 1]]` its UTF-8 bytes.
    """

    rows: Rows
    lengths: Counts
    letters: npt.NDArray[np.uint8]
    ends: Rows
    offsets: Rows
    holders: Counts
    counts: Counts

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """Size in memory, or of the mapped files."""
        return sum(int(getattr(self, part.name).nbytes) for part in fields(self))

    @property
    def word_count(self) -> int:
        """How many distinct words there are."""
        return len(self.ends) - 1

    def words(self) -> pa.LargeStringArray:
        """Every word, without copying."""
        buffers = [None, pa.py_buffer(self.ends), pa.py_buffer(self.letters)]
        return pa.Array.from_buffers(pa.large_utf8(), self.word_count, buffers)

    def find(self, word: str) -> int | None:
        """The number of a word."""
        sought = word.encode()
        place = bisect_left(range(self.word_count), sought, key=self._spelling)
        return place if place < self.word_count and self._spelling(place) == sought else None

    def near(self, word: str, distance: int) -> list[int]:
        """The numbers of the words within an edit distance."""
        words = self.words()
        lengths = pc.utf8_length(words).to_numpy(zero_copy_only=False)
        close = np.flatnonzero(np.abs(lengths - len(word)) <= distance)
        found = within(word, words.take(pa.array(close)).to_pylist(), distance)
        return [int(number) for number in close[found]]

    def beginning(self, letters: str) -> range:
        """The numbers of the words that begin with some letters."""
        first = letters.encode()
        # No UTF-8 text has this byte, so every word that begins so comes before it.
        start, stop = (bisect_left(range(self.word_count), end, key=self._spelling) for end in (first, first + b"\xff"))
        return range(start, stop)

    def postings(self, word: int) -> tuple[Counts, Counts]:
        """(texts that hold a word, how often)."""
        part = slice(int(self.offsets[word]), int(self.offsets[word + 1]))
        return self.holders[part], self.counts[part]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The parts by name, as they are kept on disk."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Segment | None:
        """What `arrays` gave; None when parts are missing or do not fit together."""
        names = [part.name for part in fields(cls)]
        if not set(names) <= set(arrays):
            return None
        # Mapped files as plain arrays: slicing them is several times faster.
        made = cls(*(arrays[name].view(np.ndarray) for name in names))
        whole = len(made.ends) and len(made.ends) == len(made.offsets) and len(made.rows) == len(made.lengths)
        whole = whole and int(made.ends[-1]) == len(made.letters)
        return made if whole and int(made.offsets[-1]) == len(made.holders) == len(made.counts) else None

    def _spelling(self, word: int) -> bytes:
        return self.letters[int(self.ends[word]) : int(self.ends[word + 1])].tobytes()


def segment(tokens: Tokens, rows: Rows) -> Segment:
    """The inverted lists of analysed texts, one per row; the rows are ascending."""
    words = pa.array(tokens.words, pa.large_utf8())
    number = np.empty(len(words), np.int64)
    order = pc.array_sort_indices(words)
    number[order.to_numpy()] = np.arange(len(words))
    width = max(len(rows), 1)
    keys, counts = np.unique(number[tokens.terms] * width + tokens.texts(), return_counts=True)
    word, text = np.divmod(keys, width)
    often = np.bincount(word, minlength=len(words))
    return assembled(rows, tokens.lengths(), words.take(order), (often, text, counts))


def merge(parts: Sequence[tuple[Segment, Mask | None]]) -> Segment:
    """One segment with the texts of several that are still alive (None: all are); nothing is analysed again."""
    words = all_words([part for part, _ in parts])
    ends = [(int(part.rows[0]), int(part.rows[-1])) for part, _ in parts if len(part)]
    if all(alive is None for _, alive in parts) and all(last < first for (_, last), (first, _) in pairwise(ends)):
        return _appended([part for part, _ in parts], words)
    kept = [np.ones(len(part), np.bool_) if alive is None else alive for part, alive in parts]
    rows = np.concatenate([part.rows[alive] for (part, _), alive in zip(parts, kept, strict=True)])
    lengths = np.concatenate([part.lengths[alive] for (part, _), alive in zip(parts, kept, strict=True)])
    order = np.argsort(rows, kind="stable")
    place = np.empty(len(rows), np.int64)
    place[order] = np.arange(len(rows))
    numbers, texts, counts, before = [], [], [], 0
    for (part, _), alive in zip(parts, kept, strict=True):
        held = alive[part.holders]
        known = numbers_among(part, words)
        numbers.append(np.repeat(known, np.diff(part.offsets))[held])
        texts.append(place[(before + np.cumsum(alive) - 1)[part.holders[held]]])
        counts.append(part.counts[held])
        before += int(alive.sum())
    number, text = np.concatenate(numbers), np.concatenate(texts)
    # Parts that follow each other have their entries in order already, word by word; a stable sort merges such runs.
    follows = bool((np.diff(rows) > 0).all())
    entries = np.argsort(number, kind="stable") if follows else np.lexsort((text, number))
    often = np.bincount(number, minlength=len(words))
    used = np.flatnonzero(often)
    return assembled(
        rows[order],
        lengths[order],
        words.take(pa.array(used)),
        (often[used], text[entries], np.concatenate(counts)[entries]),
    )


def all_words(parts: Iterable[Segment]) -> pa.LargeStringArray:
    """The distinct words of several segments, ascending."""
    words = pc.unique(pa.chunked_array([part.words() for part in parts], pa.large_utf8()))
    return words.take(pc.array_sort_indices(words))


def _appended(parts: Sequence[Segment], words: pa.LargeStringArray) -> Segment:
    """One segment of parts whose rows follow each other: the entries of each word are put one after the other."""
    known = [numbers_among(part, words) for part in parts]
    often = np.zeros(len(words), np.int64)
    for part, numbers in zip(parts, known, strict=True):
        often[numbers] += np.diff(part.offsets)
    texts, counts = np.empty(int(often.sum()), np.int32), np.empty(int(often.sum()), np.int32)
    begin = np.cumsum(often) - often
    before = 0
    for part, numbers in zip(parts, known, strict=True):
        each = np.diff(part.offsets)
        place = np.repeat(begin[numbers] - part.offsets[:-1], each)
        place += np.arange(len(place))
        texts[place] = part.holders + np.int32(before)
        counts[place] = part.counts
        begin[numbers] += each
        before += len(part)
    rows, lengths = (np.concatenate(each) for each in zip(*((part.rows, part.lengths) for part in parts), strict=True))
    return assembled(rows, lengths, words, (often, texts, counts))


def numbers_among(part: Segment, words: pa.LargeStringArray) -> Rows:
    """The number of each word of a part among other words."""
    found: Rows = pc.index_in(part.words(), value_set=words).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def assembled(rows: Rows, lengths: Any, words: pa.LargeStringArray, entries: tuple[Rows, Any, Any]) -> Segment:
    """A segment from (how many entries each word has, their texts, how often it occurs in each), words ascending."""
    often, text, counts = entries
    # A sorted copy starts at offset zero, so its buffers hold these words only.
    _, ends, letters = pa.concat_arrays([words]).buffers() if len(words) else (None, None, None)
    count = len(words)
    return Segment(
        rows=rows,
        lengths=np.asarray(lengths).astype(np.int32),
        letters=np.frombuffer(letters, np.uint8)[: _last(ends, count)] if letters else np.empty(0, np.uint8),
        ends=np.frombuffer(ends, np.int64)[: count + 1] if ends else np.zeros(1, np.int64),
        offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(often, dtype=np.int64)]),
        holders=np.asarray(text).astype(np.int32, copy=False),
        counts=np.asarray(counts).astype(np.int32, copy=False),
    )


def _last(ends: pa.Buffer, count: int) -> int:
    return int(np.frombuffer(ends, np.int64)[count])
