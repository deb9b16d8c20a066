"""The calls with a grammar of their own: searches, ranks, snippets and constants of time, as they are documented.

They have no kernel: plans have operators and leaves for them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpecialCall:
    """One of them. `example` is about the hut `$h` of the tests, whose name is Alm; ranks of vectors have none."""

    name: str
    signature: str
    summary: str
    example: str = ""
    answer: str = ""


_ALL = (
    SpecialCall(
        "search",
        "search(text: String, words: String) -> Bool",
        "At least one of the words occurs, in any of its forms.",
        'search("Resting places", "rested moon")',
        "true",
    ),
    SpecialCall(
        "search_all",
        "search_all(text: String, words: String) -> Bool",
        "All of the words occur, in any order.",
        'search_all("A lake, quick as a stone", "stones lake")',
        "true",
    ),
    SpecialCall(
        "search_phrase",
        "search_phrase(text: String, words: String) -> Bool",
        "The words occur one after the other; stop-words do not count.",
        'search_phrase("the stone hut above", "hut stone")',
        "false",
    ),
    SpecialCall(
        "search_prefix",
        "search_prefix(text: String, words: String) -> Bool",
        "A word of the text begins like one of the words, as it is typed.",
        'search_prefix("Resting places", "restin")',
        "true",
    ),
    SpecialCall(
        "fuzzy",
        "fuzzy(text: String, words: String, edits?: Integer) -> Bool",
        "A word occurs with at most so many letters typed differently, 2 unless given.",
        'fuzzy("stone hut", "stoen", 2)',
        "true",
    ),
    SpecialCall(
        "match_text",
        "match_text(text: String, words: String) -> Bool",
        "The same as `search`, under its older name.",
        'match_text("stone hut", "stones")',
        "true",
    ),
    SpecialCall(
        "snippet",
        "snippet(text: String, words: String, count?: Integer) -> String?",
        "The first part of the text, of at most `count` words (30 unless given), that has most of the words; each "
        "stands between two stars, and `…` where text was left out.",
        'snippet("a long way to the huts", "hut", 3)',
        '"…to the **huts**"',
    ),
    SpecialCall(
        "bm25",
        "bm25(property, words: String) -> F64",
        "How well the words fit the text of a property within its column; 0 where none occurs. It orders by relevance "
        "and is a value in conditions and arithmetic.",
        'bm25($h.name, "alm") > 0',
        "true",
    ),
    SpecialCall(
        "nearest",
        "nearest(property, query: Vector or String, partitions?: Integer) -> F64?",
        "The distance to a vector, or to a text that is embedded first. Orders the closest first. `partitions` is how "
        "many parts of a large vector index are searched, as many as its vectors need unless given.",
    ),
    SpecialCall(
        "rrf",
        "rrf(ranking, ranking, k?: Integer) -> F64",
        "Two rankings, each a `nearest` or a `bm25`, joined by reciprocal ranks.",
    ),
    SpecialCall(
        "now", "now() -> DateTime", "The moment the query began.", 'now() > datetime("2020-01-01T00:00:00Z")', "true"
    ),
    SpecialCall(
        "date",
        "date(text) -> Date",
        "A day; of anything but a text in quotes, the day of a moment.",
        'date("2026-08-15")',
        '"2026-08-15"',
    ),
    SpecialCall(
        "datetime",
        "datetime(text) -> DateTime",
        "An instant; of anything but a text in quotes, what `to_datetime` gives.",
        'datetime("2026-08-15T14:30:00Z")',
        '"2026-08-15T14:30:00.000Z"',
    ),
    SpecialCall(
        "duration",
        "duration(text)",
        "A span of time in ISO 8601, to add to a moment.",
        'date("2026-08-15") + duration("P1M")',
        '"2026-09-15"',
    ),
)
SPECIAL: dict[str, SpecialCall] = {call.name: call for call in _ALL}
