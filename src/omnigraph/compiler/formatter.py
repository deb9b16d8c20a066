"""The formatter of `.gq` and `.pg` texts: one layout, with comments where they stood."""

from __future__ import annotations

from typing import Literal, TypeAlias

from omnigraph.compiler.decode import to_source
from omnigraph.compiler.lexer import LOWER, Tokens, tokenize
from omnigraph.compiler.query.format import format_queries
from omnigraph.compiler.query.parse import parse_queries
from omnigraph.compiler.schema.format import format_schema
from omnigraph.compiler.schema.parse import parse_schema
from omnigraph.compiler.source import Source
from omnigraph.compiler.weave import weave

Language: TypeAlias = Literal["gq", "pg"]
LANGUAGES: tuple[Language, ...] = ("gq", "pg")


def format_text(text: Source | str | bytes, language: Language | None = None) -> str:
    """The text in the one layout; a ParseError if it is not the language. Formatting twice changes nothing more.

    Without a language the first word decides: `query` begins a file of queries.

    >>> print(format_text("query all_huts( ) {match{$h:Hut} return{$h.name}} // every one"), end="")
    query all_huts() {
      match { $h: Hut }
      return { $h.name }
    } // every one
    """
    source = to_source(text, code="Q000" if language == "gq" else "S000")
    tokens = tokenize(source)
    if (language or language_of(tokens)) == "gq":
        printed = format_queries(parse_queries(source))
    else:
        printed = format_schema(parse_schema(source), as_written=True)
    return weave(tokens, printed)


def language_of(tokens: Tokens) -> Language:
    """Which of the two languages a text is written in, by its first word."""
    return "gq" if (tokens.kinds[0], tokens.texts[0]) == (LOWER, "query") else "pg"
