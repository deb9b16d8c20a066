"""`snippet`: the part of a text that has most of what was looked for, with it marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import repeat

import pyarrow as pa

from omnigraph.compiler.types import ENGLISH
from omnigraph.engine.read.search.analyzer import analyze, unspaced_runs
from omnigraph.engine.values.fixed import Fixed

MARK = "**"
_CUT = "…"
_WORD = re.compile(r"[^\W_]+")


def snippets_of(
    texts: pa.Array,
    queries: pa.Array | Fixed,
    most: int | None,
    check: Callable[[], None] | None = None,
    language: str = ENGLISH,
) -> pa.Array:
    """The snippet of every text; null where there is no text, no query or no number of words.

    `check` is asked before every text whether to go on.
    """
    tokens = cache(partial(_tokens, language=language))
    found: list[str | None] = []
    asked: tuple[str, frozenset[str]] | None = None  # a long query is the same in every row: hashed once, not each time
    for text, query in zip(texts.to_pylist(), _each(queries, len(texts)), strict=True):
        if check is not None:
            check()
        if text is None or query is None or most is None or most < 0:
            found.append(None)
            continue
        if asked is None or (asked[0] is not query and asked[0] != query):
            asked = query, _tokens(query, language)
        found.append(snippet(text, asked[1], max(most, 1), tokens))
    return pa.array(found, pa.utf8())


def _each(queries: pa.Array | Fixed, count: int) -> Iterable[str | None]:
    """The query of every row; one that is the same everywhere is not copied."""
    if isinstance(queries, Fixed):
        return repeat(None if queries.value is None else str(queries.value), count)
    found: list[str | None] = queries.to_pylist()
    return found


def _tokens(text: str, language: str) -> frozenset[str]:
    return frozenset(analyze(text, language))


def snippet(text: str, wanted: frozenset[str], most: int, tokens: Callable[[str], frozenset[str]]) -> str:
    """At most so many words with the most of those that are wanted, each of which stands between two stars.

    >>> snippet("a long way to the huts", frozenset({"hut"}), 3, lambda word: frozenset(analyze(word)))
    '…to the **huts**'
    """
    units = list(_units(text, wanted, tokens))
    if not units:
        return text.strip()
    first = _best([hit for _, _, hit in units], most)
    part = units[first : first + most]
    before = _CUT if first > 0 else ""
    after = _CUT if first + most < len(units) else ""
    start = part[0][0] if before else 0
    end = part[-1][1] if after else len(text)
    return before + _marked(text, start, end, part).strip() + after


def _units(
    text: str, wanted: frozenset[str], tokens: Callable[[str], frozenset[str]]
) -> Iterator[tuple[int, int, bool]]:
    """(start, end, whether it is wanted) of every word, and of every character where words are not separated."""
    for match in _WORD.finditer(text):
        word, position = match.group(), match.start()
        done = 0
        for start, end in unspaced_runs(word):
            if start > done:
                yield position + done, position + start, not wanted.isdisjoint(tokens(word[done:start]))
            hits = [not wanted.isdisjoint(tokens(word[at : at + 2])) for at in range(start, max(end - 1, start + 1))]
            for at in range(start, end):
                pair = at - start
                yield position + at, position + at + 1, any(hits[max(pair - 1, 0) : pair + 1])
            done = end
        if done < len(word):
            yield position + done, match.end(), not wanted.isdisjoint(tokens(word[done:]))


def _best(hits: list[bool], most: int) -> int:
    """Where the first stretch of so many words with the most hits begins; a hit at its end has words before it."""
    last = max(len(hits) - most, 0)
    inside = sum(hits[:most])
    best, first = inside, 0
    for start in range(1, last + 1):
        inside += hits[start + most - 1] - hits[start - 1]
        if inside > best:
            best, first = inside, start
    return first


def _marked(text: str, start: int, end: int, part: list[tuple[int, int, bool]]) -> str:
    pieces: list[str] = []
    position = start
    open_until: int | None = None  # where the marked stretch ends; the next character may continue it
    for begin, stop, hit in part:
        if not hit:
            continue
        if open_until == begin:
            pieces.append(text[begin:stop])
        else:
            pieces += [MARK] if open_until is not None else []
            pieces += [text[position:begin], MARK, text[begin:stop]]
        position = open_until = stop
    return "".join([*pieces, MARK if open_until is not None else "", text[position:end]])
