"""Tokens shared by both languages: the same whitespace, comments, strings, names and numbers."""

from __future__ import annotations

import re
import unicodedata
from array import array
from dataclasses import dataclass
from itertools import accumulate, compress

from omnigraph.checkpoints import checkpoint
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
_PIECE = 16 << 10  # characters; a few milliseconds
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
    """All tokens; the first character that starts none becomes BAD and ends the list.

    A text is cut in pieces: a list of a million tokens is otherwise made in one call, during which no other thread of
    the process runs.
    """
    text, size = source.text, len(source.text)
    kinds: list[str] = []
    texts: list[str] = []
    # Arrays, not lists: ten million tokens of punctuation would otherwise cost half a gigabyte of int objects.
    starts, ends = array("q"), array("q")
    known, at = _Kinds(), 0
    while at < size:
        if at:
            checkpoint()
        found = _piece(text, at)
        new_kinds = list(map(known.__getitem__, found))
        edges = list(accumulate(map(len, found), initial=at))
        at = edges[-1]
        if BAD in new_kinds:
            del new_kinds[new_kinds.index(BAD) + 1 :]  # what follows is cut off below
            at = size
        kept = [kind is not _SKIPPED for kind in new_kinds]
        kinds += compress(new_kinds, kept)
        texts += compress(found, kept)
        starts.extend(compress(edges, kept))
        ends.extend(compress(edges[1:], kept))
    kinds.append(END)
    texts.append("")
    starts.append(size)
    ends.append(size)
    return Tokens(source, kinds, texts, starts, ends)


def _piece(text: str, at: int) -> list[str]:
    """The texts of the tokens from here on, to the end of a piece or of the token that goes beyond it."""
    end = at + _PIECE
    found = _TOKEN.findall(text, at, end)
    if end >= len(text):
        return found
    # What the end of the piece has cut is its last token, or the two of `1.`; or a string or a comment, which now looks
    # unclosed.
    cut = min((found.index(each) for each in ('"', "/*") if each in found), default=max(len(found) - 2, 0))
    del found[cut:]
    whole = _TOKEN.match(text, at + sum(map(len, found)))
    assert whole is not None, "any character is a token"
    found.append(whole.group())
    return found


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
