"""Where an entry at the prompt ends: a command with its line, a query with `;` or an empty line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

ReadLine: TypeAlias = Callable[[str], str]
WORDS = ("help", "quit", "exit")  # understood without a colon


def is_complete(text: str) -> bool:
    """Whether an entry can be run as it is.

    An empty line inside braces belongs to the query, unless another one follows: then something was forgotten.

    >>> query = "match { $p: P } return { $p }"
    >>> is_complete(query), is_complete(f"{query};"), is_complete(f"{query}\\n"), is_complete(":help")
    (False, True, True, True)
    >>> is_complete("match {\\n"), is_complete("match {\\n\\n")
    (False, True)

    A command after a query ends it, on a line of its own.

    >>> is_complete(f"{query}\\n:help"), is_complete("match {\\n:help")
    (True, False)
    """
    bare = text.strip()
    if not bare or bare.startswith(":") or bare in WORDS or _before_command(text) is not None:
        return True
    depth, ends = _scan(bare)
    if ends and ends[-1] == len(bare) - 1:
        return True
    empty = text[len(text.rstrip()) :].count("\n")
    return empty >= (1 if depth <= 0 else 2)


def statements(text: str) -> Iterator[str]:
    """The queries of an entry, without the semicolons that end them.

    >>> list(statements('insert P { a: ";" }; insert P { a: "b" };'))
    ['insert P { a: ";" }', 'insert P { a: "b" }']
    """
    _, ends = _scan(text)
    start = 0
    for end in (*ends, len(text)):
        found = text[start:end].strip()
        start = end + 1
        if found:
            yield found


def entries(read: ReadLine, prompt: Callable[[], str], interrupted: Callable[[], None]) -> Iterator[str]:
    """Entries from lines, or from texts of several lines, as they are read; Ctrl-C forgets an unfinished one."""
    pending: str | None = None
    while True:
        try:
            line = read(prompt() if pending is None else "... ")
        except EOFError:
            break
        except KeyboardInterrupt:
            interrupted()
            pending = None
            continue
        pending = line if pending is None else f"{pending}\n{line}"
        if (ended := _before_command(pending)) is not None:
            yield ended.strip()
            pending = pending[len(ended) :].strip()
        if is_complete(pending):
            yield pending.strip()
            pending = None
    if pending is not None:
        yield pending.strip()


def _before_command(text: str) -> str | None:
    """The query before a command that stands on the last line; None where there is none, or its braces are open."""
    before, _, last = text.rpartition("\n")
    is_command = last.lstrip().startswith(":") and before.strip() != "" and not before.lstrip().startswith(":")
    return before if is_command and _scan(before)[0] <= 0 else None


def _scan(text: str) -> tuple[int, list[int]]:
    """How many braces are open at the end, and where semicolons stand; strings and comments do not count."""
    depth, ends = 0, []
    quoted = escaped = comment = False
    for place, letter in enumerate(text):
        if comment:
            comment = letter != "\n"
        elif quoted:
            quoted = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            quoted = True
        elif text.startswith("//", place):
            comment = True
        elif letter in "{}":
            depth += 1 if letter == "{" else -1
        elif letter == ";":
            ends.append(place)
    return depth, ends
