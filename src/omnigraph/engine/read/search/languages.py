"""Stems of words by language: English by our own stemmer, others by those of Snowball."""

from __future__ import annotations

import threading
from typing import Protocol

from omnigraph.compiler.types import ENGLISH
from omnigraph.engine.read.search import stemmer


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


_OWN = threading.local()  # a stemmer keeps its word while it works, so threads do not share one


def stem(word: str, language: str) -> str:
    """What the forms of a folded word have in common.

    >>> stem("resting", "english"), stem("hauser", "german"), stem("resting", "none")
    ('rest', 'haus', 'resting')
    """
    if language == ENGLISH:
        return stemmer.stem(word)
    # A stem that is nothing would find every other such word.
    return word if language == "none" else _stemmer(language).stemWord(word) or word


def _stemmer(language: str) -> _Stemmer:
    known: dict[str, _Stemmer] = _OWN.__dict__
    if language not in known:
        import snowballstemmer  # only graphs with other languages need it

        known[language] = snowballstemmer.stemmer(language)
    return known[language]
