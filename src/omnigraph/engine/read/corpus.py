"""All texts of one column, analysed: which text holds which word how often, and BM25 scores from that."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.adjacency import Mask, Rows
from omnigraph.engine.read.analyzer import Tokens, analyze, analyze_column
from omnigraph.engine.read.cache import ByteCache
from omnigraph.engine.read.entities import Entities
from omnigraph.engine.read.levenshtein import within
from omnigraph.engine.read.rowindex import RowIndex

Scores = npt.NDArray[np.float64]
K1 = 1.2
B = 0.75
_CORPUS_CACHE_BYTES = 512 << 20


class Corpus:
    """Analysed texts in a fixed order; a text is known by its position."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.count = len(tokens.offsets) - 1

    @property
    def nbytes(self) -> int:
        # Postings are derived later and cost about as much as the tokens, twice.
        return int(self.tokens.terms.nbytes * 5 + self.tokens.offsets.nbytes + sum(map(len, self.tokens.words)))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.tokens.words)}

    @cached_property
    def _postings(self) -> tuple[Rows, Rows, Rows]:
        """(offset per word, text of each entry, how often the word stands there)."""
        width = max(self.count, 1)
        keys, counts = np.unique(self.tokens.terms.astype(np.int64) * width + self.tokens.texts(), return_counts=True)
        words, texts = np.divmod(keys, width)
        offsets = np.searchsorted(words, np.arange(len(self.tokens.words) + 1))
        return offsets, texts, counts

    def having(self, words: Iterable[int]) -> Mask:
        """Which texts hold at least one of these words."""
        offsets, texts, _ = self._postings
        found = np.zeros(self.count, np.bool_)
        for word in words:
            found[texts[offsets[word] : offsets[word + 1]]] = True
        return found

    def matches(self, query: str, distance: int | None = None) -> Mask:
        """Which texts share a word with the query, or have one within an edit distance of one of its words."""
        wanted = dict.fromkeys(analyze(query))
        if distance is None:
            return self.having(self.numbers[word] for word in wanted if word in self.numbers)
        near = np.zeros(len(self.tokens.words), np.bool_)
        for word in wanted:
            near |= within(word, self.tokens.words, distance)
        return self.having(int(word) for word in np.flatnonzero(near))

    def bm25(self, query: str) -> Scores:
        """The score of each text; NaN where it shares no word with the query."""
        offsets, texts, counts = self._postings
        lengths = self.tokens.lengths()
        mean = max(float(lengths.mean()), 1e-9) if self.count else 1.0
        scores = np.zeros(self.count)
        for word in dict.fromkeys(analyze(query)):
            number = self.numbers.get(word)
            if number is None:
                continue
            holders = texts[offsets[number] : offsets[number + 1]]
            often = counts[offsets[number] : offsets[number + 1]]
            rarity = np.log1p((self.count - len(holders) + 0.5) / (len(holders) + 0.5))
            scores[holders] += rarity * often * (K1 + 1) / (often + K1 * (1 - B + B * lengths[holders] / mean))
        scores[~(scores > 0)] = np.nan
        return scores


class IndexedCorpus:
    """The texts of a whole column, found by row id; rows without a text are not in it."""

    def __init__(self, index: RowIndex, corpus: Corpus) -> None:
        self.index = index
        self.corpus = corpus

    @property
    def nbytes(self) -> int:
        return self.corpus.nbytes + self.index.rows.nbytes

    def mask(self, found: Mask, rows: Rows) -> Mask:
        """A flag per text as a flag per row."""
        known = self.index.contains(rows)
        result = np.zeros(len(rows), np.bool_)
        result[known] = found[self.index.positions(rows[known])]
        return result

    def scores(self, scores: Scores, rows: Rows) -> Scores:
        """A score per text as a score per row."""
        known = self.index.contains(rows)
        result = np.full(len(rows), np.nan)
        result[known] = scores[self.index.positions(rows[known])]
        return result


CORPORA: ByteCache[IndexedCorpus] = ByteCache(_CORPUS_CACHE_BYTES, lambda corpus: corpus.nbytes)


def corpus_of(entities: Entities, name: str) -> IndexedCorpus:
    """The analysed column, built once per table version."""

    def build() -> IndexedCorpus:
        held = entities.whole(name)
        valid = held.values.is_valid().to_numpy(zero_copy_only=False)
        return IndexedCorpus(RowIndex(held.index.rows[valid]), Corpus(analyze_column(held.values.drop_null())))

    return CORPORA.get_or_build((entities.version_key, name), build)


def cached_corpus(entities: Entities, name: str) -> IndexedCorpus | None:
    """The analysed column if this process has it."""
    return CORPORA.get((entities.version_key, name))
