"""How text becomes tokens: fold accents and case, split at non-alphanumerics, drop stop-words, stem.

Chinese, Japanese and Korean are written without spaces between words, or with endings that stick to them: there every
pair of neighbouring characters is a token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.types import ENGLISH
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.search.languages import stem
from omnigraph.engine.read.search.splitting import split

STOP_WORDS = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
})  # fmt: skip
LONGEST_TOKEN = 40
_ASCII_SEPARATORS = re.compile("[^a-z0-9]+")
# Letters of their own that no normal form takes apart, and how people type them elsewhere.
_LETTERS = {
    "ß": "ss",
    "ł": "l",
    "ø": "o",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "æ": "ae",
    "œ": "oe",
    "ı": "i",
    "ħ": "h",
    "ŧ": "t",
    "ŋ": "n",
    "ĸ": "k",
    "ƒ": "f",
    "ə": "e",
    "ς": "σ",
}
_ANY_LETTER = f"[{''.join(_LETTERS)}]"
# Marks above letters go, but not those that make another kana of one.
_MARKS = r"([\x{3099}\x{309A}])|\p{Mn}"
# Hiragana, katakana, ideographs of every plane, syllables and letters of hangul.
_UNSPACED = re.compile(
    "[\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3131-\u318e\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff\U00020000-\U0003ffff]+"
)


Known: TypeAlias = dict[str, tuple[str, ...]]
"""The tokens of a word: mostly one, none of a stop-word, several of a run of unspaced characters."""


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


def analyze(text: str, language: str = ENGLISH) -> list[str]:
    """The tokens of one text, in order.

    >>> analyze("The Cafés are RESTING"), analyze("Die Häuser", "german")
    (['cafe', 'rest'], ['die', 'haus'])
    """
    if text.isascii():
        return [token for word in _ASCII_SEPARATORS.split(text.lower()) for token in word_tokens(word, language)]
    # Through the same kernels as a column: two Unicode tables would disagree about new characters.
    found = analyze_column(pa.array([text], pa.utf8()), language=language)
    return [found.words[term] for term in found.terms]


def analyze_column(texts: pa.Array | pa.ChunkedArray, known: Known | None = None, language: str = ENGLISH) -> Tokens:
    """The tokens of every text of a column; Python only sees each distinct word once.

    `known` remembers what became of a word, for those who analyse texts of one language in several pieces.
    """
    lists = split_column(texts)
    encoded = lists.flatten().dictionary_encode()
    numbers, words = _vocabulary(encoded.dictionary.to_pylist(), {} if known is None else known, language)
    counts, firsts, terms = _ragged(numbers)
    places = encoded.indices.to_numpy(zero_copy_only=False) if len(encoded) else np.empty(0, np.int64)
    ends = lists.offsets.to_numpy().astype(np.int64)
    ends -= ends[0]
    if len(terms) == len(counts) and bool((counts == 1).all()):
        return Tokens(words, terms[places], ends)  # no stop-words, none of several tokens
    lengths = counts[places]
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    # The tokens of every word in its place: its own run of `terms`, shifted to where the word's tokens begin.
    found = terms[np.repeat(firsts[places] - before[:-1], lengths) + np.arange(before[-1])]
    return Tokens(words, found, before[ends])


def split_column(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The words of every text as a list, folded; there may be empty ones among them."""
    return split(_fold_column(pc.fill_null(texts, "")))


def word_tokens(word: str, language: str = ENGLISH) -> tuple[str, ...]:
    """What a folded word yields.

    >>> word_tokens("resting"), word_tokens("the"), word_tokens("東京都"), word_tokens("第2回")
    (('rest',), (), ('東京', '京都'), ('第', '2', '回'))
    """
    if word.isascii() or _UNSPACED.search(word) is None:
        token = _token(word, language)
        return () if token is None else (token,)
    found: list[str] = []
    position = 0
    for run in _UNSPACED.finditer(word):
        found += word_tokens(word[position : run.start()], language)
        found += pairs(run.group())
        position = run.end()
    return (*found, *word_tokens(word[position:], language))


def pairs(run: str) -> list[str]:
    """Every two neighbours of a run of unspaced characters; one alone is a token."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def unspaced_runs(word: str) -> list[tuple[int, int]]:
    """Where a word is written in a script without spaces."""
    return [run.span() for run in _UNSPACED.finditer(word)]


def _fold_column(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    if pc.all(pc.string_is_ascii(texts), min_count=0).as_py():
        lowered = pc.ascii_lower(texts)
    else:
        texts = pc.replace_substring_regex(pc.utf8_normalize(texts, form="NFKD"), _MARKS, r"\1")
        # Hangul syllables are composed again: a single jamo is not a letter to search for.
        lowered = _spelt_out(pc.utf8_lower(pc.utf8_normalize(texts, form="NFC")))
    return lowered.combine_chunks() if isinstance(lowered, pa.ChunkedArray) else lowered


def _spelt_out(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if not pc.any(pc.match_substring_regex(texts, _ANY_LETTER), min_count=0).as_py():
        return texts
    for letter, spelt in _LETTERS.items():
        texts = pc.replace_substring(texts, letter, spelt)
    return texts


def _vocabulary(raw: list[str], known: Known, language: str) -> tuple[list[list[int]], tuple[str, ...]]:
    """For each distinct raw word the numbers of its tokens, and all tokens by number."""
    numbers: dict[str, int] = {}
    found = []
    for word in raw:
        tokens = known[word] if word in known else known.setdefault(word, word_tokens(word, language))
        found.append([numbers.setdefault(token, len(numbers)) for token in tokens])
    return found, tuple(numbers)


def _ragged(lists: list[list[int]]) -> tuple[Rows, Rows, npt.NDArray[np.int32]]:
    """Lists one after the other: (how long each is, where it begins, all of them)."""
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    flat = np.fromiter((number for numbers in lists for number in numbers), np.int32, int(counts.sum()))
    return counts, np.cumsum(counts) - counts, flat


def _token(word: str, language: str) -> str | None:
    if not word or len(word) > LONGEST_TOKEN or (language == ENGLISH and word in STOP_WORDS):
        return None
    return stem(word, language)
