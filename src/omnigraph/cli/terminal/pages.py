"""Results for a person at a terminal: cut where they are long, shown page by page, with the time they took."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping

from omnigraph.cli.terminal import output

TERMINAL_ROWS = 1000
_PAGER = "less -FRSX"  # leaves at once when everything fits, cuts long lines, keeps the text on the screen


def watched() -> bool:
    """Whether a person reads the result as it is printed."""
    return sys.stdout.isatty()


def show(text: str, env: Mapping[str, str]) -> None:
    """Print a result; at a terminal that is too low for it, through `$OMNIGRAPH_PAGER`, `$PAGER` or `less`."""
    command = _pager(env) if watched() and _taller(text) else None
    if command is None:
        output.write(text)
        return
    output.finish()
    try:
        subprocess.run(command, input=text.encode("utf-8", "surrogateescape"), check=False)
    except OSError as error:
        output.write(text)
        output.warn(f"cannot run the pager {command[0]}: {error.strerror}; set OMNIGRAPH_PAGER, or to 'cat' for none")


def elapsed(seconds: float) -> str:
    """A duration that can be read.

    >>> elapsed(0.0123), elapsed(4.56), elapsed(125.0)
    ('12 ms', '4.6 s', '2 min 5 s')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60} s"


def _taller(text: str) -> bool:
    return text.count("\n") >= shutil.get_terminal_size().lines


def _pager(env: Mapping[str, str]) -> list[str] | None:
    given = env.get("OMNIGRAPH_PAGER") or env.get("PAGER")
    if given is None:
        return shlex.split(_PAGER) if shutil.which("less", path=env.get("PATH", os.defpath)) else None
    words = shlex.split(given)
    return None if not words or words[0] == "cat" else words
