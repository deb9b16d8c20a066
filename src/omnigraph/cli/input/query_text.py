"""Query text that the user gave: where it comes from, and what its query declares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.cli.call import Call
from omnigraph.cli.input.files import read_stdin, read_text, source_file
from omnigraph.cli.input.params import Texts
from omnigraph.errors import BadRequest, OmnigraphError

_TEXTS = frozenset({"String", "Blob", "Date", "DateTime"})

if TYPE_CHECKING:
    from omnigraph.compiler.query.ast import Query


@contextmanager
def source_of(call: Call) -> Iterator[str | Path | None]:
    """Query text or the path of a query file; None asks for a stored query.

    A body alone is text as well.
    """
    given = _given(call)
    if isinstance(given, str) and "{" not in given:
        _refuse_text(given)
    # A text that names no file, whatever it looks like.
    yield given


def _given(call: Call) -> str | Path | None:
    path, text = call.text("--query"), call.text("--query-string")
    if path == "-":
        text = read_stdin().decode("utf-8", "surrogateescape")
    elif path is not None:
        return source_file(path)
    if text is not None and not text.strip():
        raise BadRequest("the query text must not be empty")
    return text


def declared_query(source: str | Path, name: str | None) -> Query | None:
    """The query that will run, as it is written; None when that is unclear, which is explained when it runs."""
    from omnigraph.compiler.query.parse import parse_runnable

    try:
        queries = parse_runnable(source if isinstance(source, str) else read_text(str(source))).queries
    except OmnigraphError:
        return None
    named = [query for query in queries if name in (None, query.name)]
    return named[0] if len(named) == 1 else None


def text_params(query: Query | None) -> Texts:
    """The parameters that take text, so that a bare 7 or true given for one can only be meant as text."""
    declared = () if query is None else query.params
    return {each.name: each.type.nullable for each in declared if not each.type.list and each.type.scalar in _TEXTS}


def require_kind(query: Query | None, *, mutation: bool) -> None:
    """Refuse a write given to `query` and a read given to `mutate` before anything else is said about them."""
    if query is None or query.is_mutation == mutation:
        return
    kind, command = ("mutation", "mutate") if query.is_mutation else ("read", "query")
    hint = f"= help: run it with `omnigraph {command}`, which takes the same source and parameters"
    raise BadRequest(f"R002: query '{query.name}' is a {kind}\n{hint}", code="R002")


def _refuse_text(text: str) -> None:
    """No query lacks a brace, and the SDK would take such a text for a path: let the parser say what is missing."""
    from omnigraph.compiler.query.parse import parse_runnable

    if not parse_runnable(text).queries:
        raise BadRequest("the query text contains no query")
