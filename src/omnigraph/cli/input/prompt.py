"""Reading entries at a terminal: with history, completion and colours where prompt-toolkit is installed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from omnigraph.cli.input.entries import ReadLine, is_complete
from omnigraph.cli.terminal import output
from omnigraph.compiler.assist.complete import complete
from omnigraph.compiler.assist.words import CALLS, CONSTANTS, QUERY_KEYWORDS, QUERY_OPERATORS

if TYPE_CHECKING:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.lexers import Lexer

    from omnigraph.compiler.catalog.model import Catalog

_KEYWORDS = (*QUERY_KEYWORDS, *QUERY_OPERATORS, *CONSTANTS, *CALLS)
# A body alone is a query at the prompt; completion knows names inside a query only.
_HEAD = "query entry() { "


@dataclass(frozen=True, slots=True)
class Offer:
    """One word that could stand there, and what it is."""

    text: str
    detail: str = ""


Offers: TypeAlias = Callable[[str], tuple[str, list[Offer]]]

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
    r"|(?P<command>^\s*:\w*)|(?P<keyword>\b(?:" + "|".join(_KEYWORDS) + r")\b)|(?P<type>\b[A-Z]\w*)"
)


def line_reader(directory: Path, words: Offers) -> ReadLine:
    """A function that shows a prompt and returns an entry, or without prompt-toolkit a line of one.

    EOFError and KeyboardInterrupt pass through.
    """
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


def offers(before: str, commands: Sequence[str], catalog: Catalog) -> tuple[str, list[Offer]]:
    """What was begun, and what may complete it: commands of the shell, or what fits the place in a query.

    >>> from omnigraph.compiler.catalog import compile_schema
    >>> offers(":he", ["help", "load"], compile_schema("node A { b: String @key }"))
    (':he', [Offer(text=':help', detail='')])
    """
    if re.fullmatch(r"\s*(:\w*)?", before):
        begun = before.strip()
        return begun, [Offer(f":{name}") for name in commands if f":{name}".startswith(begun)]
    if before.lstrip().startswith(":"):
        begun = before[len(before) - len(before.rpartition(" ")[2]) :]
        return begun, []
    head = "" if before.lstrip().startswith("query") else _HEAD
    word, found = complete(head + before, len(head + before), "gq", catalog)
    return (head + before)[word.start :], [Offer(each.text, each.detail) for each in found]


def _toolkit_reader(directory: Path, words: Offers) -> ReadLine:
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
        enable_history_search=True,
        multiline=True,
        prompt_continuation="... ",
        key_bindings=_keys(),
    )
    return lambda prompt: str(session.prompt(prompt))


def _keys() -> KeyBindings:
    """Enter runs an entry that is complete, and otherwise begins another line; in a search it takes what was found."""
    from prompt_toolkit.filters import is_searching
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.search import accept_search

    keys = KeyBindings()

    @keys.add("enter", filter=is_searching)
    def _(event: KeyPressEvent) -> None:
        accept_search()
        found = event.app.current_buffer
        found.cursor_position = len(
            found.text
        )  # so that the next Enter runs it instead of breaking it where it matched

    @keys.add("enter", filter=~is_searching)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if not buffer.document.text_after_cursor.strip() and is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys


def _lexer() -> Lexer:
    from prompt_toolkit.lexers import Lexer

    class QueryLexer(Lexer):
        def lex_document(self, document: Document) -> Callable[[int], Any]:
            return lambda number: fragments(document.lines[number])

    return QueryLexer()


def _completer(words: Offers) -> Completer:
    from prompt_toolkit.completion import Completer, Completion

    class PlaceCompleter(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
            begun, offered = words(document.text_before_cursor)
            for each in offered:
                yield Completion(each.text, start_position=-len(begun), display_meta=each.detail)

    return PlaceCompleter()
