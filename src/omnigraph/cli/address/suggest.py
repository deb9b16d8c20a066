"""What was probably meant by a name that does not exist: a branch or tag that the caller may list, or a file nearby."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from omnigraph.cli.address.target import read_target
from omnigraph.cli.call import Call
from omnigraph.cli.table.globals import global_option
from omnigraph.cli.table.parse import nearest_word
from omnigraph.errors import AmbiguousCommit, BranchNotFound, CommitNotFound, NotFound, OmnigraphError

_PATHS = frozenset({"FILE", "PATH", "YAML", "SOURCE", "URI"})


def suggest(call: Call, error: NotFound) -> None:
    """Add the nearest name to the message, if any is near."""
    match error:
        case AmbiguousCommit():
            near = None
        case BranchNotFound():
            near = _near_reference(call, error.branch, tags=False)
        case CommitNotFound():
            near = _near_reference(call, error.reference, tags=True)
        case _ if call.command.path[0] == "tag" and (name := call.argument("NAME")):
            near = _near_reference(call, name, tags=True)
        case _:
            near = _near_path(call, str(error))
    if near is not None:
        error.add_note(f"= help: did you mean '{near}'?")


def _near_reference(call: Call, name: str, *, tags: bool) -> str | None:
    """The nearest branch or tag; None when the graph cannot be asked again."""
    try:
        with read_target(call).reader() as graph:
            known = [each.name for each in graph.tags.list()] if tags else list(graph.branches.list())
    except OmnigraphError:
        return None
    return nearest_word(name, known)


def _near_path(call: Call, message: str) -> str | None:
    """The nearest file beside one that was typed, is not there, and is what the message is about."""
    for text in _typed_paths(call):
        if f"'{text}'" not in message and f"'{os.path.abspath(text)}'" not in message:
            continue
        if (near := nearest_file(text)) is not None:
            return near
    return None


def nearest_file(text: str) -> str | None:
    """The file beside a path that does not exist whose name is nearest."""
    path = Path(text)
    try:
        beside = [] if path.exists() else [each.name for each in path.parent.iterdir()]
    except (OSError, ValueError):
        return None
    near = nearest_word(path.name, beside)
    return None if near is None else str(path.with_name(near))


def _typed_paths(call: Call) -> Iterator[str]:
    """Every value of the command that its table calls a file or a graph."""
    for name, values in call.parsed.options.items():
        option = call.command.option(name) or global_option(name)
        if option is not None and option.metavar in _PATHS:
            yield from values
    for name, values in call.parsed.arguments.items():
        if name in _PATHS:
            yield from values
