"""Tokens shared by both languages: the same whitespace, comments, strings, names and numbers."""

from __future__ import annotations

import re
import unicodedata
from array import array
from dataclasses import dataclass

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

# Quantifiers are possessive: an unclosed string or comment must fail in linear time, not by backtracking.
_TOKEN = re.compile(
    r"""
      (?P<skip>(?:[ \t\r\n]++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)++)
    | (?P<var>\$[a-z_][A-Za-z0-9_]*)
    | (?P<lower>[a-z_][A-Za-z0-9_]*)
    | (?P<upper>[A-Z][A-Za-z0-9_]*)
    | (?P<float>[0-9]+\.[0-9]+)
    | (?P<int>[0-9]+)
    | (?P<string>"(?:[^"\\]++|\\[\s\S])*+")
    | (?P<open>/\*)
    | (?P<punct>->|\.\.|<=|>=|!=|[{}()\[\]<>=:,.@?|*+\-/%])
    | (?P<bad>[\s\S])
    """,
    re.VERBOSE,
)
_KIND = {
    "var": VAR,
    "lower": LOWER,
    "upper": UPPER,
    "float": FLOAT,
    "int": INT,
    "string": STRING,
    "punct": PUNCT,
    "open": BAD,
    "bad": BAD,
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
    kinds: list[str] = []
    texts: list[str] = []
    # Arrays, not lists: ten million tokens of punctuation would otherwise cost half a gigabyte of int objects.
    starts = array("q")
    ends = array("q")
    for match in _TOKEN.finditer(source.text):
        group = match.lastgroup
        if group == "skip":
            continue
        assert group is not None
        kinds.append(_KIND[group])
        texts.append(match.group())
        starts.append(match.start())
        ends.append(match.end())
        if kinds[-1] == BAD:
            break
    size = len(source.text)
    kinds.append(END)
    texts.append("")
    starts.append(size)
    ends.append(size)
    return Tokens(source, kinds, texts, starts, ends)


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
