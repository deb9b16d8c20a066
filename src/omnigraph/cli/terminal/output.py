"""The two streams: results on stdout as exact bytes, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def write(text: str) -> None:
    """A piece of the result; nothing wraps, translates or colours it."""
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))


def line(text: str) -> None:
    """One line of the result."""
    write(f"{text}\n")


def document(value: Any) -> None:
    """The result as one pretty JSON document."""
    write(pretty(value) + "\n")


def pretty(value: Any) -> str:
    """JSON for people: two spaces a level, characters as they are."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def compact(value: Any) -> str:
    """JSON on one line without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def note(text: str) -> None:
    """One line beside the result."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def warn(text: str) -> None:
    """A warning beside the result."""
    note(f"warning: {text}")


def finish() -> None:
    """Everything written so far leaves the process; a closed reader is noticed here."""
    if not sys.stdout.closed:  # the language server closes it when an editor says goodbye
        sys.stdout.flush()


def abandon_stdout() -> None:
    """Stdout is not read any more: let the interpreter flush into nothing at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return  # stdout is not a real file, so nothing will be flushed into a closed pipe
