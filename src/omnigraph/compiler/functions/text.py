"""Functions of texts, character by character; a character is a Unicode code point."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any

from omnigraph.compiler.functions.model import Failure, define
from omnigraph.compiler.regex import regex_problem

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
# A repeated or padded text may not be longer than this.
LONGEST = 1_000_000
LONGEST_PATTERN = 4_096


def _lower_character(character: str) -> str:
    found = character.lower()
    return found if len(found) == 1 else found[0]


def _upper_character(character: str) -> str:
    if character == "ß":
        return "ẞ"
    for found in (character.upper(), character.title()):
        if len(found) == 1:
            return found
    return character


def lower(text: str) -> str:
    """Each character by itself, so that lengths never change."""
    return "".join(map(_lower_character, text))


def upper(text: str) -> str:
    """Each character by itself, so that lengths never change."""
    return "".join(map(_upper_character, text))


def bounds(start: int, count: int | None) -> tuple[int, int | None]:
    """The slice that `count` characters from `start` are; a start below zero counts from the end."""
    if count is None:
        return start, None
    stop = start + max(count, 0)
    return start, None if start < 0 <= stop else stop


def _substring(text: str, start: int, count: int | None = None) -> str:
    first, stop = bounds(start, count)
    return text[first:stop]


def _padded(text: str, width: int, fill: str, *, before: bool) -> str:
    if width > LONGEST:
        raise Failure(f"a text is padded to at most {LONGEST} characters")
    if len(fill) != 1:
        raise Failure("what pads a text is one character")
    return text.rjust(width, fill) if before else text.ljust(width, fill)


def _repeat(text: str, times: int) -> str:
    if max(times, 0) * len(text) > LONGEST:
        raise Failure(f"a repeated text has at most {LONGEST} characters")
    return text * max(times, 0)


def _split(text: str, separator: str) -> tuple[str, ...]:
    return tuple(text.split(separator)) if separator else tuple(text)


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """A pattern of RE2; Failure says what is wrong with it."""
    problem = regex_problem(pattern, LONGEST_PATTERN)
    if problem is not None:
        raise Failure(f"invalid regular expression: {problem}")
    import re2

    return re2.compile(pattern)


def _extract(text: str, pattern: str, group: int = 0) -> str | None:
    found = compiled(pattern).search(text)
    if not 0 <= group <= compiled(pattern).groups:
        raise Failure(f"the pattern has no group {group}")
    return None if found is None else found.group(group) or ""


def _regex_replace(text: str, pattern: str, replacement: str) -> str:
    return str(compiled(pattern).sub(replacement, text))


def _normalize(text: str, form: str = "NFC") -> str:
    return unicodedata.normalize(form, text)  # type: ignore[arg-type]


def _text(signature: str, summary: str, example: str, answer: str, compute: Any, **more: Any) -> Any:
    return define("Texts", signature, summary, example, answer, compute, **more)


TEXT = (
    _text("lower(text: String) -> String", "The text in lower case.", 'lower("ÄTNA Hut")', '"ätna hut"', lower),
    _text("upper(text: String) -> String", "The text in upper case.", 'upper("hut")', '"HUT"', upper),
    _text("trim(text: String) -> String", "Without white space at both ends.", 'trim("  a b ")', '"a b"', str.strip),
    _text(
        "trim_start(text: String) -> String", "Without leading white space.", 'trim_start("  a ")', '"a "', str.lstrip
    ),
    _text("trim_end(text: String) -> String", "Without trailing white space.", 'trim_end("  a ")', '"  a"', str.rstrip),
    _text("length(text: String) -> I64", "The number of characters.", 'length("Zürich")', "6", len),
    _text(
        "substring(text: String, start: Integer, count?: Integer) -> String",
        "`count` characters, or all, from `start`, which counts from 0, or below 0 from the end.",
        'substring("alpine hut", -3, 2)',
        '"hu"',
        _substring,
    ),
    _text(
        "left(text: String, count: Integer) -> String",
        "The first characters.",
        'left("alpine", 3)',
        '"alp"',
        lambda text, count: text[: max(count, 0)],
    ),
    _text(
        "right(text: String, count: Integer) -> String",
        "The last characters.",
        'right("alpine", 3)',
        '"ine"',
        lambda text, count: text[-count:] if count > 0 else "",
    ),
    _text(
        "replace(text: String, find: String, with: String) -> String",
        "Every occurrence of `find` replaced; an empty `find` replaces nothing.",
        'replace("a-b-c", "-", "+")',
        '"a+b+c"',
        lambda text, find, new: text.replace(find, new) if find else text,
    ),
    _text(
        "split(text: String, separator: String) -> [String]",
        "The parts between separators; an empty separator splits into characters.",
        'split("a,b,,c", ",")',
        '["a", "b", "", "c"]',
        _split,
    ),
    _text(
        "concat(text: String, …) -> String",
        "The texts one after the other.",
        'concat("a", "b", "c")',
        '"abc"',
        lambda *texts: "".join(texts),
    ),
    _text(
        "pad_left(text: String, width: Integer, fill?: String) -> String",
        "Filled up in front to at least `width` characters.",
        'pad_left("7", 3, "0")',
        '"007"',
        lambda text, width, fill=" ": _padded(text, width, fill, before=True),
        fails=True,
    ),
    _text(
        "pad_right(text: String, width: Integer, fill?: String) -> String",
        "Filled up behind to at least `width` characters.",
        'pad_right("7", 3, ".")',
        '"7.."',
        lambda text, width, fill=" ": _padded(text, width, fill, before=False),
        fails=True,
    ),
    _text(
        "repeat(text: String, times: Integer) -> String",
        "The text several times over.",
        'repeat("ab", 3)',
        '"ababab"',
        _repeat,
        fails=True,
    ),
    _text(
        "reverse(text: String) -> String",
        "The characters from last to first.",
        'reverse("abc")',
        '"cba"',
        lambda text: text[::-1],
    ),
    _text(
        "position(text: String, find: String) -> I64",
        "Where `find` begins, counted from 0; -1 where it does not occur.",
        'position("alpine", "pin")',
        "2",
        str.find,
    ),
    _text(
        "regex_extract(text: String, pattern: Pattern, group?: Group) -> String?",
        "What the first match of an RE2 pattern, or one of its groups, spells; null without a match.",
        'regex_extract("hut 42 b", "[0-9]+")',
        '"42"',
        _extract,
    ),
    _text(
        "regex_replace(text: String, pattern: Pattern, with: Replacement) -> String",
        "Every match of an RE2 pattern replaced; `\\\\1` in `with` is what the first group matched.",
        'regex_replace("a1b22", "[0-9]+", "#")',
        '"a#b#"',
        _regex_replace,
    ),
    _text(
        "normalize(text: String, form?: Word) -> String",
        "The Unicode normal form: NFC, NFD, NFKC or NFKD.",
        'normalize("ﬁn", "NFKC")',
        '"fin"',
        _normalize,
        words=FORMS,
    ),
)
