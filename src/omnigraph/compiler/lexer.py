"""Tokens shared by both languages: the same whitespace, comments, strings, names and numbers."""

from __future__ import annotations

import re
import unicodedata
from array import array
from dataclasses import dataclass
from itertools import accumulate, compress

from omnigraph.compiler.source import Source, Span

# Kinds are small strings compared by identity-fast equality; END closes every token list.
LOWER = "name"
UPPER = "TypeName"
VAR = "$variable"
INT = "integer"
FLOAT = "float"
STRING = "string"
PUNCT = "punctuation"
BAD = "bad"
_NAME_HELP = "a name consists of ASCII letters, digits and '_'"
END = "end of input"

# Quantifiers are possessive: an unclosed string or comment must fail in linear time, not by backtracking. There are
# no groups, which makes the list of texts three times as fast; the kind of a token follows from how it begins.
_TOKEN = re.compile(
    r"""
      (?:[ \t\r\n]++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)++
    | \$[a-z_][A-Za-z0-9_]*
    | [A-Za-z_][A-Za-z0-9_]*
    | [0-9]+(?:\.[0-9]+)?
    | "(?:[^"\\]++|\\[\s\S])*+"
    | /\*
    | ->|\.\.|<=|>=|!=|[{}()\[\]<>=:,.@?|*+\-/%]
    | [\s\S]
    """,
    re.VERBOSE,
)
_SKIPPED = "skipped"
_BY_FIRST = {
    **dict.fromkeys(" \t\r\n", _SKIPPED),
    **dict.fromkeys("abcdefghijklmnopqrstuvwxyz_", LOWER),
    **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", UPPER),
    **dict.fromkeys("0123456789", INT),
    **dict.fromkeys("{}()[]<>=:,.@?|*+-%", PUNCT),
}


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one source as parallel lists, closed by END."""

    source: Source
    kinds: list[str]
    texts: list[str]
    starts: array[int]
    ends: array[int]

    def span(self, index: int) -> Span:
        """Where a token stands."""
        return Span(self.starts[index], self.ends[index])


def tokenize(source: Source) -> Tokens:
    """All tokens; the first character that starts none becomes BAD and ends the list."""
    texts = _TOKEN.findall(source.text)
    kinds = list(map(_Kinds().__getitem__, texts))
    # Arrays, not lists: ten million tokens of punctuation would otherwise cost half a gigabyte of int objects.
    ends = array("q", accumulate(map(len, texts)))
    starts = array("q", (0,))
    starts.extend(ends[:-1])
    if BAD in kinds:
        del kinds[kinds.index(BAD) + 1 :]  # what follows is cut off below
    kept = [kind is not _SKIPPED for kind in kinds]
    size = len(source.text)
    return Tokens(
        source,
        [*compress(kinds, kept), END],
        [*compress(texts, kept), ""],
        array("q", (*compress(starts, kept), size)),
        array("q", (*compress(ends, kept), size)),
    )


class _Kinds(dict[str, str]):
    """The kinds of the tokens of one text, each worked out once."""

    def __missing__(self, text: str) -> str:
        kind = self[text] = _kind(text)
        return kind


def _kind(text: str) -> str:
    match text[0]:
        case "$":
            return VAR if len(text) > 1 else BAD
        case '"':
            return STRING if len(text) > 1 else BAD
        case "!":
            return PUNCT if len(text) > 1 else BAD
        case "/":
            return PUNCT if text == "/" else BAD if text == "/*" else _SKIPPED
        case first:
            kind = _BY_FIRST.get(first, BAD)
            return FLOAT if kind == INT and "." in text else kind


def describe_bad(tokens: Tokens, index: int) -> tuple[str, str | None]:
    """A sentence, and help, for a character that starts no token."""
    text = tokens.source.text
    start = tokens.starts[index]
    character = text[start]
    if character == '"':
        return "this string is never closed", 'close it with "'
    if character == "'":
        return "a string is not written in single quotes", 'write it in double quotes: "…"'
    if text.startswith("/*", start):
        return "this comment is never closed", "close it with */"
    if character == "#":
        return "'#' does not start a comment", "comments are // to the end of the line, or /* … */"
    if character == "$":
        return "a variable is '$' directly followed by a lower-case name", None
    if character == ";":
        return "unexpected character ';'", "nothing but whitespace stands between clauses, properties and declarations"
    if character == "&":
        return "unexpected character '&'", "write 'and'"
    if character == "!":
        return "unexpected character '!'", "inequality is '!='; a negation is not { … }"
    if character == "\ufeff":
        return "the text starts with a byte order mark", "save the file as UTF-8 without a byte order mark"
    if character == "`":
        return "a name is not quoted", _NAME_HELP
    if not character.isascii() and (character.isalnum() or unicodedata.combining(character)):
        return f"unexpected character '{character}'", _NAME_HELP
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    return f"unexpected character '{shown}'", None


class BadEscape(ValueError):
    """A string holds an escape that does not exist; `offset` counts from the opening quote."""

    def __init__(self, offset: int, text: str) -> None:
        super().__init__(text)
        self.offset = offset


_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\([\s\S])")


def unquote(literal: str) -> str:
    """The value of a string token; BadEscape for anything but the five escapes."""
    body = literal[1:-1]
    if "\\" not in body:
        return body

    def replace(match: re.Match[str]) -> str:
        value = _ESCAPES.get(match.group(1))
        if value is None:
            raise BadEscape(match.start() + 1, match.group())
        return value

    return _ESCAPE.sub(replace, body)


_QUOTED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quote(value: str) -> str:
    """The string token that unquotes to value."""
    return '"' + "".join(_QUOTED.get(character, character) for character in value) + '"'
