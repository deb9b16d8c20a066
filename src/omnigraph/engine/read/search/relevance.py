"""BM25: what each word of a query adds to the score of a text, the scores of all texts that match, and the best ones.

The best few are found without scoring the rest, as in MaxScore: a text can only be among them if what its word adds,
with the most that the other words can add, reaches a score that enough texts are known to have. Scores are summed in
the order of the query's words whichever way a text was found, so they are equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.rowindex import RowIndex
from omnigraph.engine.read.search.segment import Counts

Scores = npt.NDArray[np.float64]
K1 = 1.2
B = 0.75
# The greatest score of every so many texts of a word is known, and the best so many texts of it.
_BLOCK = 128
_LEADERS = 256
# Bounds are sums in another order than scores, so they may be off by a few roundings.
_SLACK = 1e-9
# From this share of all texts on, a slot per text is faster than sorting those that were found.
_DENSE = 4
# Looking a text up in the list of a word takes about as long as going through so many entries of it.
_LOOK_UP = 8


@dataclass(frozen=True, slots=True)
class Hits:
    """Ascending row ids of texts that match, with their scores."""

    rows: Rows
    scores: Scores

    def at(self, rows: Rows) -> Scores:
        """The score of each row; NaN where its text does not match."""
        index = RowIndex(self.rows)
        known = index.contains(rows)
        result = np.full(len(rows), np.nan)
        result[known] = self.scores[index.positions(rows[known])]
        return result

    def among(self, rows: Rows) -> Hits:
        """Those of some ascending rows."""
        inside = RowIndex(rows).contains(self.rows)
        return Hits(self.rows[inside], self.scores[inside])

    def best(self, most: int) -> Hits:
        """Those with the greatest scores, and all that tie with the last of them."""
        if most >= len(self.rows):
            return self
        kept = self.scores >= _nth(self.scores, max(most, 1))
        return Hits(self.rows[kept], self.scores[kept])


@dataclass(frozen=True, slots=True)
class WordList:
    """The texts of one segment that have a word, ascending, and what the word adds to the score of each.

    `peaks` are the greatest scores of every 128 texts, `leaders` the places of the best ones, best first.
    """

    texts: Counts
    scores: Scores
    peaks: Scores
    leaders: Rows

    @classmethod
    def of(cls, texts: Counts, scores: Scores) -> WordList:
        """A list of these texts and scores."""
        if len(texts) <= _LEADERS:
            few = np.arange(len(texts))
        else:
            few = np.argpartition(scores, len(scores) - _LEADERS)[len(scores) - _LEADERS :]
        leaders = few[np.argsort(-scores[few], kind="stable")]
        peaks = np.maximum.reduceat(scores, np.arange(0, len(scores), _BLOCK)) if len(scores) else scores
        return cls(texts, scores, peaks, leaders)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def nbytes(self) -> int:
        """Size in memory, the texts included, which may be mapped from a file."""
        return self.texts.nbytes + self.scores.nbytes + self.peaks.nbytes + self.leaders.nbytes

    @property
    def highest(self) -> float:
        """The most that the word adds to a text."""
        return float(self.scores[self.leaders[0]]) if len(self.leaders) else 0.0

    def nth(self, most: int) -> float:
        """What the word adds to the text that it adds so manieth most to; 0 when there are fewer."""
        if most > len(self.texts):
            return 0.0
        return float(self.scores[self.leaders[most - 1]]) if most <= len(self.leaders) else _nth(self.scores, most)

    def reaching(self, least: float) -> Counts:
        """The texts to which the word adds at least so much, in any order."""
        best = self.scores[self.leaders]
        if len(best) == len(self.texts) or (len(best) and best[-1] < least):
            return self.texts[self.leaders[: int(np.searchsorted(-best, -least, side="right"))]]
        blocks = np.flatnonzero(self.peaks >= least)
        if len(blocks) * 2 > len(self.peaks):
            return self.texts[self.scores >= least]
        places = (blocks[:, None] * _BLOCK + np.arange(_BLOCK)).reshape(-1)
        if len(places) and places[-1] >= len(self.texts):
            places = places[: np.searchsorted(places, len(self.texts))]
        found: Counts = self.texts[places[self.scores[places] >= least]]
        return found

    def at(self, texts: Counts) -> Scores:
        """What the word adds to each text; 0 where it does not occur."""
        if not len(self.texts):
            return np.zeros(len(texts))
        place = self.texts.searchsorted(texts)
        place[place == len(self.texts)] = 0
        found: Scores = np.where(self.texts[place] == texts, self.scores[place], 0.0)
        return found


@dataclass(frozen=True, slots=True)
class ScoredPart:
    """The row ids of the texts of one segment, and for each word of a query its list there."""

    rows: Rows
    words: Sequence[WordList]

    def every(self) -> tuple[Rows, Scores]:
        """(texts that have a word, ascending; their scores)."""
        words = [word for word in self.words if len(word)]
        if len(words) == 1:
            return words[0].texts.astype(np.int64), words[0].scores
        if not words:
            return np.empty(0, np.int64), np.empty(0)
        texts = np.concatenate([word.texts for word in words])
        scores = np.concatenate([word.scores for word in words])
        if len(texts) * _DENSE > len(self.rows):
            total: Scores = np.bincount(texts, weights=scores).astype(np.float64, copy=False)
            found = np.flatnonzero(total)  # every word that occurs adds something
            return found, total[found]
        # Lists are in order, and a stable sort merges them; equal texts stay in the order of the words.
        order = np.argsort(texts, kind="stable")
        texts = texts[order]
        first = np.append(True, texts[1:] != texts[:-1])
        total = np.bincount(np.cumsum(first) - 1, weights=scores[order]).astype(np.float64, copy=False)
        return texts[first].astype(np.int64), total

    def sure(self, most: int) -> float:
        """A score that at least so many texts have; 0 when none is known."""
        words = [word for word in self.words if len(word)]
        if len(words) == 1:
            return words[0].nth(most)
        known = max((word.nth(most) for word in words), default=0.0)
        if not known or most * 2 > _LEADERS:
            return known
        some = np.unique(np.concatenate([word.texts[word.leaders[: max(2 * most, 32)]] for word in words]))
        return max(known, _nth(self.totals(some), most))

    def reaching(self, least: float) -> tuple[Rows, Scores]:
        """(texts that have at least this score, ascending; their scores)."""
        limit = least * (1 - _SLACK)
        words = sorted((word for word in self.words if len(word)), key=lambda word: word.highest)
        highest = sum(word.highest for word in words)
        below, chosen = 0.0, []
        for word in words:
            below += word.highest
            if below >= limit:  # texts with none but the words before this one cannot reach it
                chosen.append(word.reaching(limit - (highest - word.highest)))
        if len(self.words) * sum(map(len, chosen)) * _LOOK_UP > sum(map(len, words)):
            texts, scores = self.every()
        else:
            few = np.sort(chosen[0]) if len(chosen) == 1 else np.unique(np.concatenate(chosen)) if chosen else _NO_TEXTS
            texts, scores = few.astype(np.int64), self.totals(few)
        kept = scores >= least
        return texts[kept], scores[kept]

    def totals(self, texts: Counts) -> Scores:
        """The score of each text, 0 where it has none of the words."""
        total = np.zeros(len(texts))
        for word in self.words:
            total += word.at(texts)
        return total

    def at(self, rows: Rows) -> Scores:
        """The score of each row, 0 where it has none of the words or is not here."""
        index = RowIndex(self.rows)
        total, known = np.zeros(len(rows)), index.contains(rows)
        total[known] = self.totals(index.positions(rows[known]).astype(np.int32))
        return total


@dataclass(frozen=True, slots=True)
class Relevance:
    """How well the texts of a column fit a query."""

    parts: Sequence[ScoredPart]

    @property
    def entries(self) -> int:
        """How many texts have each word, summed over the words; at least as many as match."""
        return sum(len(word) for part in self.parts for word in part.words)

    def every(self) -> Hits:
        """All texts that match."""
        return _joined([(part.rows, *part.every()) for part in self.parts])

    def best(self, most: int) -> Hits:
        """The best so many of all texts, and those that tie with the last of them."""
        least = max((part.sure(max(most, 1)) for part in self.parts), default=0.0)
        if not least:
            return self.every().best(most)
        return _joined([(part.rows, *part.reaching(least)) for part in self.parts]).best(most)

    def best_of(self, rows: Rows, most: int, texts: int) -> Hits:
        """The same of some ascending rows, where there are so many texts altogether."""
        if self._are_few(rows):
            return self.of(rows).best(most)
        asked = int((most + _MORE) * max(texts / max(len(rows), 1), 1.0) * 1.25)
        while asked * _LOOK_UP <= self.entries:
            hits = self.best(asked).among(rows)
            if len(hits.rows) >= most:
                return hits.best(most)
            asked *= _WIDEN
        return self.every().among(rows).best(most)

    def every_of(self, rows: Rows) -> Hits:
        """All of some ascending rows that match."""
        return self.of(rows) if self._are_few(rows) else self.every().among(rows)

    def _are_few(self, rows: Rows) -> bool:
        return len(rows) * _LOOK_UP <= self.entries

    def of(self, rows: Rows) -> Hits:
        """The same, each row looked up by itself."""
        total = np.zeros(len(rows))
        for part in self.parts:
            total += part.at(rows)  # a row is alive in one part only
        kept = np.flatnonzero(total)
        return Hits(rows[kept], total[kept])


# More than the wanted texts are asked for, because those that match are not spread evenly; then so many times as many.
_MORE, _WIDEN = 6, 4
_NO_TEXTS: Counts = np.empty(0, np.int32)


def rarity_of(holders: int, texts: int) -> float:
    """How much a word says that so many of all texts hold."""
    return float(np.log1p((texts - holders + 0.5) / (holders + 0.5)))


def word_scores(rarity: float, often: Counts, lengths: Counts, mean_length: float) -> Scores:
    """What one word adds to the scores of the texts that hold it so often."""
    found: Scores = rarity * often * (K1 + 1) / (often + K1 * (1 - B + B * lengths / mean_length))
    return found


def _nth(scores: Scores, most: int) -> float:
    """The so manieth greatest score; 0 when there are fewer."""
    return float(np.partition(scores, len(scores) - most)[len(scores) - most]) if most <= len(scores) else 0.0


def _joined(parts: list[tuple[Rows, Rows, Scores]]) -> Hits:
    """The hits of parts given as (row ids, texts, scores)."""
    if len(parts) == 1:
        ((rows, texts, scores),) = parts
        return Hits(rows[texts], scores)
    if not parts:
        return Hits(np.empty(0, np.int64), np.empty(0))
    row = np.concatenate([rows[texts] for rows, texts, _ in parts])
    score = np.concatenate([scores for _, _, scores in parts])
    order = np.argsort(row, kind="stable")
    return Hits(row[order], score[order])
