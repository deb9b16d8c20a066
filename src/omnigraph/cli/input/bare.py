"""A query body without a head: given one to be run, and complained about in the places where it was typed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from omnigraph.compiler.diagnostics import CompileError, Diagnostic
from omnigraph.compiler.query.parse import parse_body
from omnigraph.compiler.source import Source, Span
from omnigraph.errors import BadRequest

NAME = "unnamed"

_HEAD = f"query {NAME}() {{\n"  # a line of its own: columns stay, lines move by one
_TAIL = "\n}"
_BODY = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*+(?:match|insert|update|delete)\b", re.DOTALL)
_UNDECLARED = re.compile(r"\$(\w+) is (?:not a parameter of this query|neither bound here nor a parameter)")
_PLACE = re.compile(r"^( *--> <string>:)(\d+)(?=:)|^(\d+)(?= \| )", re.MULTILINE)


def is_bare(text: str) -> bool:
    """Whether a text begins like a body; everything else in the language begins with `query`.

    >>> is_bare("// all\\nmatch { $p: P } return { $p.a }"), is_bare("query q() { delete P where a = 1 }"), is_bare("P")
    (True, False, False)
    """
    return _BODY.match(text) is not None


@contextmanager
def runnable(text: str) -> Iterator[str]:
    """The text as an engine or a server takes it; errors that leave the block speak of the text as it was typed."""
    if not is_bare(text):
        yield text
        return
    parse_body(text)
    try:
        yield f"{_HEAD}{text}{_TAIL}"
    except CompileError as error:
        raise type(error)(_moved(error.diagnostic, text), Source(text, error.source.name)) from error
    except BadRequest as error:
        raise BadRequest(_moved_message(error.message), code=error.code) from error


def _moved(found: Diagnostic, text: str) -> Diagnostic:
    help_text = found.help or _declare(found.message)
    if found.span is None:
        return replace(found, help=help_text)
    start, end = (min(max(0, place - len(_HEAD)), len(text)) for place in (found.span.start, found.span.end))
    return replace(found, span=Span(start, end), help=help_text)


def _moved_message(message: str) -> str:
    """The same for a server's refusal, which is text: the line that a place names is the one before."""
    moved = _PLACE.sub(_line_before, message)
    help_text = None if "= help:" in message else _declare(message)
    return moved if help_text is None else f"{moved}\n  = help: {help_text}"


def _line_before(found: re.Match[str]) -> str:
    arrow, place, margin = found.groups()
    return f"{arrow}{int(place) - 1}" if arrow else str(int(margin) - 1).rjust(len(margin))


def _declare(message: str) -> str | None:
    """What to do about a parameter, which only a head can declare."""
    found = _UNDECLARED.search(message)
    if found is None:
        return None
    return f"a body alone has no parameters; give it a head that declares them: query name(${found[1]}: String) {{ … }}"
