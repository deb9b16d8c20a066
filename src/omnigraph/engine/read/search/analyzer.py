"""How text becomes tokens: fold accents, lower-case, split at non-alphanumerics, drop stop-words, stem."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.search.stemmer import stem

STOP_WORDS = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
})  # fmt: skip
LONGEST_TOKEN = 40
_SEPARATORS = r"[^\p{L}\p{N}]+"
_ASCII_SEPARATORS = re.compile("[^a-z0-9]+")


Known: TypeAlias = dict[str, str | None]
"""The token of a word, None when it yields none."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The analysed texts of one column: `words[terms[offsets[i]:offsets[i + 1]]]` are the tokens of text i."""

    words: tuple[str, ...]
    terms: npt.NDArray[np.int32]
    offsets: Rows

    def lengths(self) -> Rows:
        """Tokens per text."""
        return np.diff(self.offsets)

    def texts(self) -> Rows:
        """The text that each token belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths())


def analyze(text: str) -> list[str]:
    """The tokens of one text, in order.

    >>> analyze("The Cafés are RESTING")
    ['cafe', 'rest']
    """
    if text.isascii():
        return [token for word in _ASCII_SEPARATORS.split(text.lower()) if (token := _token(word)) is not None]
    # Through the same kernels as a column: two Unicode tables would disagree about new characters.
    found = analyze_column(pa.array([text], pa.utf8()))
    return [found.words[term] for term in found.terms]


def analyze_column(texts: pa.Array | pa.ChunkedArray, known: Known | None = None) -> Tokens:
    """The tokens of every text of a column; Python only sees each distinct word once.

    `known` remembers what became of a word, for those who analyse one column in several pieces.
    """
    lists = _split(_fold_column(pc.fill_null(texts, "")))
    encoded = lists.flatten().dictionary_encode()
    mapping, words = _vocabulary(encoded.dictionary.to_pylist(), {} if known is None else known)
    terms = mapping[encoded.indices.to_numpy(zero_copy_only=False)] if len(encoded) else np.empty(0, np.int32)
    kept = terms >= 0
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)])
    ends = lists.offsets.to_numpy().astype(np.int64)
    return Tokens(words, terms[kept], before[ends - ends[0]])


def _fold_column(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not pc.all(pc.string_is_ascii(texts), min_count=0).as_py():
        texts = pc.replace_substring_regex(pc.utf8_normalize(texts, form="NFKD"), r"\p{Mn}+", "")
    lowered = pc.utf8_lower(texts)
    return lowered.combine_chunks() if isinstance(lowered, pa.ChunkedArray) else lowered


def _split(texts: pa.Array) -> pa.Array:
    return pc.split_pattern_regex(texts, _SEPARATORS)


def _vocabulary(raw: list[str], known: Known) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """For each distinct raw word the number of its token, or -1 when it yields none."""
    numbers: dict[str, int] = {}
    mapping = np.full(len(raw), -1, np.int32)
    for place, word in enumerate(raw):
        token = known[word] if word in known else known.setdefault(word, _token(word))
        if token is not None:
            mapping[place] = numbers.setdefault(token, len(numbers))
    return mapping, tuple(numbers)


def _token(word: str) -> str | None:
    if not word or len(word) > LONGEST_TOKEN or word in STOP_WORDS:
        return None
    return stem(word)
