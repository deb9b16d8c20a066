"""Lexers for Pygments, which finds them by the entry points of the package: `gq` and `pg`."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from omnigraph.compiler.assist import words as vocabulary

_COMMON = [
    (r"[ \t\r\n]+", Whitespace),
    (r"//[^\n]*", Comment.Single),
    (r"/\*[\s\S]*?\*/", Comment.Multiline),
    (r'"', String, "string"),
    (r"\$[a-z_][A-Za-z0-9_]*", Name.Variable),
    (r"(@)([ \t\r\n]*)([a-z_][A-Za-z0-9_]*)", bygroups(Name.Decorator, Whitespace, Name.Decorator)),
    (r"[0-9]+\.[0-9]+", Number.Float),
    (r"[0-9]+", Number.Integer),
    (r"(\.)([a-z_][A-Za-z0-9_]*)", bygroups(Punctuation, Name.Attribute)),
    (r"([a-z_][A-Za-z0-9_]*)([ \t]*)(:)", bygroups(Name.Attribute, Whitespace, Punctuation)),
    (words(vocabulary.TYPES, suffix=r"\b"), Keyword.Type),
    (words(vocabulary.TYPE_KEYWORDS, suffix=r"\b(?=\s*\()"), Keyword.Type),
    (r"[A-Z][A-Za-z0-9_]*", Name.Class),
]
_REST = [
    (r"->|\.\.|<=|>=|!=|[<>=|*+\-/%?]", Operator),
    (r"[{}()\[\]:,.@]", Punctuation),
]
_STRING = [(r'[^"\\]+', String), (r"\\.", String.Escape), (r'"', String, "#pop")]


class QueryLexer(RegexLexer):  # type: ignore[misc]
    """Queries (`.gq`)."""

    name = "OmniGraph query"
    aliases: ClassVar[list[str]] = ["gq", "omnigraph-query"]
    filenames: ClassVar[list[str]] = ["*.gq"]
    url = "https://pypi.org/project/omnigraph/"
    version_added = ""
    tokens: ClassVar = {
        "root": [
            *_COMMON,
            (words(vocabulary.CALLS, suffix=r"\b(?=\s*\()"), Name.Function),
            (words(vocabulary.CONSTANTS, suffix=r"\b"), Keyword.Constant),
            (words(vocabulary.QUERY_OPERATORS, suffix=r"\b"), Operator.Word),
            (words(vocabulary.QUERY_KEYWORDS, suffix=r"\b"), Keyword),
            (r"[a-z_][A-Za-z0-9_]*", Name),
            *_REST,
        ],
        "string": _STRING,
    }


class SchemaLexer(RegexLexer):  # type: ignore[misc]
    """Schemas (`.pg`)."""

    name = "OmniGraph schema"
    aliases: ClassVar[list[str]] = ["pg", "omnigraph-schema"]
    filenames: ClassVar[list[str]] = ["*.pg"]
    url = "https://pypi.org/project/omnigraph/"
    version_added = ""
    tokens: ClassVar = {
        "root": [
            *_COMMON,
            (words(vocabulary.SCHEMA_CONSTANTS, suffix=r"\b"), Keyword.Constant),
            (words(vocabulary.SCHEMA_KEYWORDS, suffix=r"\b"), Keyword.Declaration),
            (r"[a-z_][A-Za-z0-9_]*", Name),
            *_REST,
        ],
        "string": _STRING,
    }
