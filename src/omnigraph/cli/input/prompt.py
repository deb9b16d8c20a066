"""Reading lines at a terminal: with history, completion and colours where prompt-toolkit is installed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from omnigraph.cli.terminal import output

if TYPE_CHECKING:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.lexers import Lexer

ReadLine: TypeAlias = Callable[[str], str]
_CLAUSES = ("query", "match", "return", "order", "limit", "offset", "distinct", "not", "optional", "having", "as")
_WRITES = ("insert", "update", "delete", "set", "where", "from", "to")
_VALUES = ("asc", "desc", "in", "is", "null", "or", "and", "true", "false", "now")
_FUNCTIONS = ("nearest", "bm25", "rrf", "search", "fuzzy", "match_text", "count", "sum", "avg", "min", "max", "collect")
KEYWORDS = (*_CLAUSES, *_WRITES, *_VALUES, *_FUNCTIONS)

_COLOURS = {
    "comment": "#7f8c8d italic",
    "text": "#2e8b57",
    "variable": "#1f78d1",
    "number": "#b8860b",
    "command": "#c0392b bold",
    "keyword": "#8e44ad bold",
    "type": "#16a085",
}
_TOKENS = re.compile(
    r"(?P<comment>//.*)|(?P<text>\"(?:\\.|[^\"\\])*\"?)|(?P<variable>\$\w*)|(?P<number>-?\b\d[\d.]*\b)"
    r"|(?P<command>^\s*:\w*)|(?P<keyword>\b(?:" + "|".join(KEYWORDS) + r")\b)|(?P<type>\b[A-Z]\w*)"
)


def line_reader(directory: Path, words: Callable[[], Sequence[str]]) -> ReadLine:
    """A function that shows a prompt and returns a line; EOFError and KeyboardInterrupt pass through."""
    if not sys.stdout.isatty():
        return input
    try:
        return _toolkit_reader(directory, words)
    except ImportError:
        output.note("pip install 'omnigraph[shell]' adds history, completion and colours to this prompt")
        return input


def fragments(line: str) -> list[tuple[str, str]]:
    """A line cut into pieces, each with the name of its colour; joined they are the line.

    >>> fragments('match { $p: Person } // all')[:3]
    [('class:keyword', 'match'), ('', ' { '), ('class:variable', '$p')]
    """
    pieces: list[tuple[str, str]] = []
    at = 0
    for found in _TOKENS.finditer(line):
        if found.start() > at:
            pieces.append(("", line[at : found.start()]))
        pieces.append((f"class:{found.lastgroup}", found.group()))
        at = found.end()
    return [*pieces, ("", line[at:])] if at < len(line) else pieces


def offers(before: str, words: Sequence[str]) -> tuple[str, list[str]]:
    """What was begun, and what may complete it: commands at the start of an entry, names of the schema elsewhere.

    >>> offers("match { $p.na", [":name", "name", "Name", "match"])
    ('na', ['name'])
    """
    found = re.search(r":?\w*$", before)
    begun = found.group() if found else ""
    head = before[: len(before) - len(begun)]
    if begun.startswith(":") or (not head.strip() and not begun):
        fitting = [word for word in words if word.startswith(":")]
    elif head.endswith("."):
        fitting = [word for word in words if word[0].islower() and word not in KEYWORDS]
    else:
        fitting = [word for word in words if not word.startswith(":")]
    return begun, [word for word in fitting if word.startswith(begun) and word != begun]


def _toolkit_reader(directory: Path, words: Callable[[], Sequence[str]]) -> ReadLine:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory
    from prompt_toolkit.styles import Style

    history: History = InMemoryHistory()
    with suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        (directory / "history").touch(mode=0o600)
        history = FileHistory(str(directory / "history"))
    session: Any = PromptSession(
        history=history,
        lexer=_lexer(),
        completer=_completer(words),
        style=Style.from_dict(_COLOURS),
        complete_while_typing=False,
    )
    return lambda prompt: str(session.prompt(prompt))


def _lexer() -> Lexer:
    from prompt_toolkit.lexers import Lexer

    class QueryLexer(Lexer):
        def lex_document(self, document: Document) -> Callable[[int], Any]:
            return lambda number: fragments(document.lines[number])

    return QueryLexer()


def _completer(words: Callable[[], Sequence[str]]) -> Completer:
    from prompt_toolkit.completion import Completer, Completion

    class WordCompleter(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
            begun, offered = offers(document.text_before_cursor, words())
            for word in offered:
                yield Completion(word, start_position=-len(begun))

    return WordCompleter()
