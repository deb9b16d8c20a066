"""BM25: what each word of a query adds to the score of a text, the scores of all texts that match, and the best ones.

The best few are found without scoring the rest, as in MaxScore: a text can only be among them if what its word adds,
with the most that the other words can add, reaches a score that enough texts are known to have. Scores are summed in
the order of the query's words whichever way a text was found, so they are equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.pieces import sorted_distinct
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
# All texts of a word that has so few are scored at once: what the best of them have is more than any bound tells.
_START = 1 << 13


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
class Weight:
    """What makes a score of how often a text has a word.

    These are the rarity of the word, the tokens of each text of the segment, the fewest of any, and how many a text has
    on average.
    """

    rarity: float
    lengths: Counts
    shortest: int
    mean_length: float

    def scores(self, texts: Counts, often: Counts) -> Scores:
        """What the word adds to these texts, which have it so often."""
        return word_scores(self.rarity, often, self.lengths[texts], self.mean_length)


class WordList:
    """The texts of one segment that have a word, ascending, and what the word adds to the score of each.

    Most words of a query only add to texts that another one has chosen, so scores are computed for those, and for all
    texts of the word when they are asked for. Then `peaks` are the greatest scores of every 128 texts, `leaders` the
    places of the best ones, best first.
    """

    __slots__ = ("_leaders", "_often", "_peaks", "_scores", "_weight", "highest", "texts")

    def __init__(self, texts: Counts, often: Counts, weight: Weight) -> None:
        self.texts, self._often, self._weight = texts, often, weight
        self._scores: Scores | None = None
        self._peaks: Scores | None = None
        self._leaders: Rows | None = None
        # The most that the word adds to a text, or more, until all scores are known.
        most = int(often.max()) if len(often) else 0
        self.highest = _score(weight.rarity, most, weight.shortest, weight.mean_length) if most else 0.0

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def nbytes(self) -> int:
        """Size in memory once all scores are known, the texts included, which may be mapped from a file."""
        return 16 * len(self.texts) + 8 * (len(self.texts) // _BLOCK + _LEADERS)

    @property
    def is_known(self) -> bool:
        """Whether the scores of all texts are known."""
        return self._scores is not None

    @property
    def scores(self) -> Scores:
        """What the word adds to each text."""
        if self._scores is None:
            self._scores = self._weight.scores(self.texts, self._often)
            self.highest = float(self._scores.max()) if len(self._scores) else 0.0
        return self._scores

    @property
    def peaks(self) -> Scores:
        """The greatest score of every block of texts."""
        if self._peaks is None:
            known = self.scores
            self._peaks = np.maximum.reduceat(known, np.arange(0, len(known), _BLOCK)) if len(known) else known
        return self._peaks

    @property
    def leaders(self) -> Rows:
        """The places of the texts that the word adds most to."""
        if self._leaders is None:
            scores = self.scores
            if len(scores) <= _LEADERS:
                few = np.arange(len(scores))
            else:
                few = np.argpartition(scores, len(scores) - _LEADERS)[len(scores) - _LEADERS :]
            self._leaders = few[np.argsort(-scores[few], kind="stable")]
        return self._leaders

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
        if texts is self.texts:
            return self.scores
        found = np.zeros(len(texts))
        if not len(self.texts):
            return found
        place = self.texts.searchsorted(texts)
        place[place == len(self.texts)] = 0
        hit = (self.texts[place] == texts).nonzero()[0]
        place = place[hit]
        known = self._scores
        found[hit] = self._weight.scores(self.texts[place], self._often[place]) if known is None else known[place]
        return found


@dataclass(frozen=True, slots=True)
class Lead:
    """A score that enough texts have; with a word, the scores of all texts that have it."""

    least: float
    word: WordList | None = None
    totals: Scores = field(default_factory=lambda: np.empty(0))


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

    def lead(self, most: int) -> Lead:
        """A score that at least so many texts have, and what had to be scored to know."""
        words = [word for word in self.words if len(word)]
        start = min((word for word in words if len(word) >= most), key=len, default=None)
        if start is None:
            return Lead(0.0)
        if len(words) > 1 and len(start) <= _START:
            totals = self.totals(start.texts)
            return Lead(_nth(totals, most), start, totals)
        known = max(word.nth(most) for word in words)
        if len(words) == 1 or most * 2 > _LEADERS:
            return Lead(known)
        some = sorted_distinct(np.concatenate([word.texts[word.leaders[: max(2 * most, 32)]] for word in words]))
        return Lead(max(known, _nth(self.totals(some), most)))

    def reaching(self, least: float, lead: Lead) -> tuple[Rows, Scores]:
        """(texts that have at least this score, ascending; their scores)."""
        limit = least * (1 - _SLACK)
        words = [word for word in self.words if len(word)]
        chosen = _needed(words, limit)
        while unknown := [word for word in chosen if not word.is_known and word is not lead.word]:
            unknown[0].scores  # noqa: B018 - what it adds at most is known then, and may not be enough
            chosen = _needed(words, limit)
        if lead.word is not None and all(word is lead.word for word in chosen):
            return _kept(lead.word.texts, lead.totals, least)
        highest = sum(word.highest for word in words)
        found = [word.reaching(limit - (highest - word.highest)) for word in chosen]
        if len(self.words) * sum(map(len, found)) * _LOOK_UP > sum(map(len, words)):
            return _kept(*self.every(), least)
        few = np.sort(found[0]) if len(found) == 1 else sorted_distinct(np.concatenate([_NO_TEXTS, *found]))
        return _kept(few, self.totals(few), least)

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
        leads = [part.lead(max(most, 1)) for part in self.parts]
        least = max((lead.least for lead in leads), default=0.0)
        if not least:
            return self.every().best(most)
        found = zip(self.parts, leads, strict=True)
        return _joined([(part.rows, *part.reaching(least, lead)) for part, lead in found]).best(most)

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


def _score(rarity: float, often: int, length: int, mean_length: float) -> float:
    return rarity * often * (K1 + 1) / (often + K1 * (1 - B + B * length / mean_length))


def word_scores(rarity: float, often: Counts, lengths: Counts, mean_length: float) -> Scores:
    """What one word adds to the scores of the texts that hold it so often."""
    found: Scores = rarity * often * (K1 + 1) / (often + K1 * (1 - B + B * lengths / mean_length))
    return found


def _needed(words: Sequence[WordList], limit: float) -> list[WordList]:
    """The words of which every text that reaches a score has one: the others do not add as much together."""
    below, found = 0.0, []
    for word in sorted(words, key=lambda word: word.highest):
        below += word.highest
        if below >= limit:
            found.append(word)
    return found


def _kept(texts: Counts | Rows, scores: Scores, least: float) -> tuple[Rows, Scores]:
    kept = (scores >= least).nonzero()[0]
    return texts[kept].astype(np.int64), scores[kept]


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
