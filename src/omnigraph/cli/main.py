"""The console entry: parse, guard, dispatch; every failure becomes a message and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import cast

from omnigraph.cli.address.scope import guard
from omnigraph.cli.call import Call
from omnigraph.cli.startup import defer_pandas, end_at_once
from omnigraph.cli.table.help import help_text, usage
from omnigraph.cli.table.parse import Help, UsageError, Version, parse
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.failure import INTERRUPTED, READER_GONE, report
from omnigraph.errors import NotFound

# How the scripts of `omnigraph completion` ask for candidates; no command has such a name.
COMPLETE = "__complete"

Handler = Callable[[Call], int | None]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; without `argv` this process is the command's own."""
    if argv is None:
        argv = sys.argv[1:]
        defer_pandas()
        end_at_once()
    try:
        status = _run(argv)
        output.finish()
    except BrokenPipeError:
        output.abandon_stdout()
        return READER_GONE
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _run(argv: Sequence[str]) -> int:
    if argv and argv[0] == COMPLETE:
        return _complete(argv[1:])
    try:
        parsed = parse(argv)
    except UsageError as error:
        hint = [f"  hint: {error.hint}"] if error.hint else []
        output.note("\n".join([f"error: {error.message}", *hint, "", usage(error.path), "Try '--help'."]))
        return 2
    match parsed:
        case Version():
            output.line(release())
            return 0
        case Help(path, asked):
            (output.write if asked else sys.stderr.write)(help_text(path))
            return 0 if asked else 2
    call = Call(parsed)
    try:
        guard(call)
        return handler_of(call.command.handler)(call) or 0
    except BrokenPipeError:
        raise
    except Exception as error:
        if isinstance(error, NotFound):
            from omnigraph.cli.address.suggest import suggest

            suggest(call, error)
        return report(error, json=call.json)


def _complete(words: Sequence[str]) -> int:
    """What a shell may offer for the last word; never an error, because it would not be seen."""
    from omnigraph.cli.table.complete import candidates

    output.write("".join(f"{word}\n" for word in candidates(words)))
    return 0


def handler_of(name: str) -> Handler:
    """The function behind a command; importing it is what makes a command slow, so only one ever is."""
    module, _, function = name.rpartition(".")
    return cast("Handler", getattr(import_module(f"omnigraph.cli.verbs.{module}"), function))


def release() -> str:
    """`omnigraph 1.2.3`."""
    from importlib.metadata import version

    return f"omnigraph {version('omnigraph')}"
