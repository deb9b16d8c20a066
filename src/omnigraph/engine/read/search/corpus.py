"""All texts of one column, analysed: which hold a word, and their BM25 scores.

A corpus is a few segments, each with the texts in it that are still alive. Statistics count the live texts only and are
whole numbers, so how a corpus is cut into segments never shows in a score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from omnigraph.compiler.types import ENGLISH
from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.columns.rowindex import RowIndex
from omnigraph.engine.read.search.analyzer import Known, analyze, analyze_column
from omnigraph.engine.read.search.confirmed import first_letters, has_phrase, has_prefix, prefixes_of
from omnigraph.engine.read.search.relevance import Hits, Relevance, ScoredPart, Weight, WordList, rarity_of
from omnigraph.engine.read.search.segment import Counts, Segment, merge, segment
from omnigraph.memory.budget import NOTHING_KEPT, MemoryBudget
from omnigraph.memory.cache import CacheKind

WordLists: TypeAlias = tuple[WordList, ...]
"""The lists of one word, one for each part of a corpus."""
KeptWords: TypeAlias = Callable[[str, Callable[[], WordLists]], WordLists]
_NUMBERS = count()
_CONFIRMED: dict[str, Callable[[pa.Array, str, str], Mask]] = {"phrase": has_phrase, "prefix": has_prefix}


@dataclass(frozen=True, slots=True)
class Part:
    """A segment and which of its texts are alive; None: all."""

    segment: Segment
    alive: Mask | None = None

    def __len__(self) -> int:
        return len(self.segment) if self.alive is None else int(self.alive.sum())

    def tokens(self) -> int:
        """Tokens of all live texts."""
        lengths = self.segment.lengths if self.alive is None else self.segment.lengths[self.alive]
        return int(lengths.sum(dtype=np.int64))

    def postings(self, word: str) -> tuple[Counts, Counts]:
        """(live texts that hold a word, how often)."""
        number = self.segment.find(word)
        if number is None:
            return self.segment.holders[:0], self.segment.counts[:0]
        holders, counts = self.segment.postings(number)
        if self.alive is None:
            return holders, counts
        live = self.alive[holders]
        return holders[live], counts[live]

    def without(self, rows: Rows) -> Part:
        """The same part, the texts of these rows dead."""
        held = RowIndex(self.segment.rows)
        gone = rows[held.contains(rows)]
        if not len(gone):
            return self
        alive = np.ones(len(self.segment), np.bool_) if self.alive is None else self.alive.copy()
        alive[held.positions(gone)] = False
        return Part(self.segment, alive)

    def only(self, rows: RowIndex) -> Part:
        """The same part, the texts of all other rows dead."""
        stays = rows.contains(self.segment.rows)
        if self.alive is not None:
            stays &= self.alive
        return Part(self.segment, None if stays.all() else stays)


Check: TypeAlias = Callable[[], None]


def no_check() -> None:
    """Nothing limits the time."""


def _checked(words: list[str], check: Check) -> Iterator[str]:
    """The words one by one, after asking whether there is time for the next."""
    for word in words:
        check()
        yield word


class Corpus:
    """The texts of a column by row id; rows without a text are not in it."""

    def __init__(self, parts: Iterable[Part], language: str = ENGLISH) -> None:
        self.parts = tuple(parts)
        self.language = language
        self.number = next(_NUMBERS)  # tells it from a corpus of the same texts that is cut into other parts

    @property
    def nbytes(self) -> int:
        """Size of everything it refers to."""
        return sum(part.segment.nbytes + (0 if part.alive is None else part.alive.nbytes) for part in self.parts)

    @cached_property
    def count(self) -> int:
        """How many texts there are."""
        return sum(map(len, self.parts))

    @cached_property
    def mean_length(self) -> float:
        """Tokens per text."""
        return max(sum(part.tokens() for part in self.parts) / self.count, 1e-9) if self.count else 1.0

    def matching(
        self,
        query: str,
        distance: int | None = None,
        how: str = "any",
        texts: Callable[[Rows], pa.Array] | None = None,
        check: Check = no_check,
    ) -> Rows:
        """Ascending rows whose text fits the query.

        `how`: it has "any" word of it, or one within an edit `distance` of one; "all" of its words; its words in this
        order, as a "phrase"; or a word that begins like one of it ("prefix"). For the last two `texts` gives the texts
        of rows, which say what the inverted lists cannot. `check` is asked before every word whether to go on.
        """
        wanted = list(dict.fromkeys(analyze(query, self.language)))
        words = list(prefixes_of(query)) if how == "prefix" else wanted
        held = [self._holding(part, _checked(words, check), distance, how) for part in self.parts]
        found = [part.segment.rows[mask] for part, mask in zip(self.parts, held, strict=True)]
        rows = np.sort(np.concatenate(found)) if len(found) > 1 else found[0] if found else np.empty(0, np.int64)
        if not len(rows) or how not in _CONFIRMED or (how == "phrase" and len(analyze(query, self.language)) == 1):
            return rows
        assert texts is not None
        return rows[_CONFIRMED[how](texts(rows), query, self.language)]

    def bm25(self, query: str, check: Check = no_check) -> Hits:
        """The texts that share a word with the query, and their scores."""
        return self.relevance(query, check).every()

    def relevance(self, query: str, check: Check = no_check, kept: KeptWords | None = None) -> Relevance:
        """How well texts fit a query; `kept` remembers the lists of words, or makes them."""
        lists = []
        for word in _checked(list(dict.fromkeys(analyze(query, self.language))), check):
            make = partial(self._word_lists, word)
            lists.append(make() if kept is None else kept(word, make))
        rows = [part.segment.rows for part in self.parts]
        return Relevance([ScoredPart(held, [each[at] for each in lists]) for at, held in enumerate(rows)])

    def _word_lists(self, word: str) -> WordLists:
        """The list of a word in each part."""
        held = [part.postings(word) for part in self.parts]
        rarity = rarity_of(sum(len(texts) for texts, _ in held), self.count)
        return tuple(
            WordList(texts, often, Weight(rarity, part.segment.lengths, shortest, self.mean_length))
            for part, shortest, (texts, often) in zip(self.parts, self._shortest, held, strict=True)
        )

    @cached_property
    def _shortest(self) -> tuple[int, ...]:
        """For each part, the fewest tokens that a text with any has."""
        return tuple(max(int(part.segment.lengths.min()), 1) if len(part.segment) else 1 for part in self.parts)

    def replaced(self, gone: Rows | None, kept: RowIndex | None, news: Segment) -> Corpus:
        """With the texts of some rows gone, then of all rows but the kept ones, and new texts added."""
        parts: Iterable[Part] = self.parts
        if gone is not None:
            parts = [part.without(gone) for part in parts]
        if kept is not None:
            parts = [part.only(kept) for part in parts]
        return Corpus([*(part for part in parts if len(part)), *([Part(news)] if len(news) else [])], self.language)

    def folded(self, first: int) -> Corpus:
        """The parts from `first` on made one."""
        rest = self.parts[first:]
        if len(rest) <= 1 and all(part.alive is None for part in rest):
            return self
        return Corpus([*self.parts[:first], Part(merge([(part.segment, part.alive) for part in rest]))], self.language)

    def _holding(self, part: Part, words: Iterable[str], distance: int | None, how: str) -> Mask:
        """The texts of a part that may fit, which for "any" and "all" are those that do."""
        segment = part.segment
        found: Mask = np.zeros(len(segment), np.bool_)
        if how in ("all", "phrase"):
            held = np.zeros(len(segment), np.int32)
            count = 0
            for word in words:
                held[part.postings(word)[0]] += 1
                count += 1
            found |= (held == count) & (count > 0)
            return found
        if how == "prefix":
            numbers = [number for word in words for number in segment.beginning(first_letters(word, self.language))]
        elif distance is None:
            numbers = [number for word in words if (number := segment.find(word)) is not None]
        else:
            numbers = [number for word in words for number in segment.near(word, distance)]
        for number in numbers:
            found[segment.postings(number)[0]] = True
        if part.alive is not None:
            found &= part.alive
        return found


def analysed(texts: pa.Array, rows: Rows, memory: MemoryBudget = NOTHING_KEPT, language: str = ENGLISH) -> Segment:
    """The inverted lists of the texts of some ascending rows; null is not a text.

    What becomes of a word is kept in `memory`: the next texts have most of their words in common with these.
    """
    present = texts.is_valid().to_numpy(zero_copy_only=False)
    kept = memory.cache(_WORDS)
    known = kept.get(language)
    if known is None or len(known) > _MOST_WORDS:
        known = {}
    tokens = analyze_column(texts.drop_null(), known, language)
    kept.put(language, known)  # it has grown
    return segment(tokens, rows[present])


_MOST_WORDS = 1 << 18
_WORDS: CacheKind[Known] = CacheKind("words and their stems", lambda known: 200 * len(known), share=1 / 16, largest=1.0)
