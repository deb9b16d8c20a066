"""What inverted lists cannot tell: whether words follow each other, and how words begin before they are stemmed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.compiler.types import ENGLISH
from omnigraph.engine.read.columns.arrays import Mask
from omnigraph.engine.read.search.analyzer import analyze, analyze_column, split_column, unspaced_runs, word_tokens


def has_phrase(texts: pa.Array, query: str, language: str) -> Mask:
    """Whether each text has the tokens of the query one after the other; stop-words in between do not count."""
    found = analyze_column(texts, language=language)
    numbers = {word: number for number, word in enumerate(found.words)}
    wanted = [numbers.get(token, -1) for token in analyze(query, language)]
    hit = np.zeros(len(texts), np.bool_)
    places = len(found.terms) - len(wanted) + 1
    if not wanted or -1 in wanted or places <= 0:
        return hit
    owner = found.texts()
    begins = owner[:places] == owner[len(wanted) - 1 :]  # a phrase does not reach from one text into the next
    for step, number in enumerate(wanted):
        begins &= found.terms[step : step + places] == number
    hit[owner[:places][begins]] = True
    return hit


def has_prefix(texts: pa.Array, query: str, language: str) -> Mask:
    """Whether each text has a word that begins like a word of the query; Python only sees each distinct word once."""
    prefixes = prefixes_of(query)
    lists = split_column(texts)
    encoded = lists.flatten().dictionary_encode()
    begins = [any(begins_like(word, each, language) for each in prefixes) for word in encoded.dictionary.to_pylist()]
    flags = np.array(begins, np.bool_)[encoded.indices.to_numpy(zero_copy_only=False)] if len(encoded) else np.zeros(0)
    ends = lists.offsets.to_numpy().astype(np.int64)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(flags, dtype=np.int64)])[ends - ends[0]]
    found: Mask = np.diff(before) > 0
    return found


def begins_like(word: str, prefix: str, language: str) -> bool:
    """Whether a word that can be found begins so; where words are not told apart by spaces, one may begin anywhere."""
    if unspaced_runs(prefix) != [(0, len(prefix))]:
        return word.startswith(prefix) and bool(word_tokens(word, language))
    return prefix in word if len(prefix) > 1 else any(token.startswith(prefix) for token in word_tokens(word, language))


def first_letters(prefix: str, language: str) -> str:
    """The letters with which a token of every such word begins: an English stem keeps the first two of its word."""
    runs = unspaced_runs(prefix)
    if not runs and language != ENGLISH:
        return ""  # in some languages words change at their beginning
    return prefix[:2] if not runs else prefix[runs[0][0] : runs[0][1]][:2]


def prefixes_of(query: str) -> list[str]:
    """The words of a query as they are typed, folded; stop-words too, because they may be the beginning of a word."""
    return [word for word in split_column(pa.array([query], pa.utf8())).flatten().to_pylist() if word]
