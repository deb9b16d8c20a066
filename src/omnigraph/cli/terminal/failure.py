"""How a failure looks on stderr and which exit code it becomes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import dumps
from typing import Any

from omnigraph.cli.terminal import output
from omnigraph.display import counted
from omnigraph.errors import (
    ChangeFeedGap,
    ChangeSchemaBoundary,
    CommitHasNoParent,
    MergeConflict,
    MergeConflicts,
    OmnigraphError,
    ParameterError,
    PreconditionFailed,
    Unauthenticated,
)

CONFLICT_ADVICE = "decide with --resolve TYPE/ID=ours|theirs|{…}, --strategy ours|theirs, or --disjoint"
INTERRUPTED = 130
READER_GONE = 141
_LONGEST_VALUE = 80
_CAMEL = re.compile(r"(?<!^)(?=[A-Z])")


def report(error: Exception, *, json: bool) -> int:
    """Print a failure and return the exit code."""
    if isinstance(error, PreconditionFailed):
        return _precondition(error, json=json)
    head, *causes = message_of(error).splitlines() or [""]
    # A refused load notes how many rows have what wrong with them, and the first of them.
    causes += getattr(error, "__notes__", [])
    output.note("\n".join([f"error: {head}", *(f"  {cause}" for cause in causes)]))
    if json:
        output.note(output.compact(_document(error, head)))
    return error.exit_code if isinstance(error, OmnigraphError) else 1


def _document(error: Exception, head: str) -> dict[str, Any]:
    """The last line of stderr for programs: what went wrong, its code, and its details where there are any."""
    if not isinstance(error, OmnigraphError):
        return {"error": head, "code": "internal"}
    found = {name: value for name, value in error.details().items() if value is not None}
    return {"error": head, "code": error.code, **found}


def message_of(error: Exception) -> str:
    """The sentence for a failure, with details on further lines."""
    match error:
        case MergeConflicts():
            found = f"{counted(len(error.conflicts), 'merge conflict')}; nothing was written"
            return "\n".join([found, *map(conflict_text, error.conflicts), CONFLICT_ADVICE])
        case ParameterError() if error.parameter is not None:
            hint = f"\n= help: pass it with -p {error.parameter}=VALUE, or in --params" if error.code == "P006" else ""
            return f"param '{error.parameter}': {error.message}{hint}"
        case Unauthenticated():
            return f"{error.message}\n= help: set OMNIGRAPH_BEARER_TOKEN, or store a token with `omnigraph login`"
        case ChangeFeedGap():
            return f"change feed gap: {error.message}"
        case ChangeSchemaBoundary():
            return f"schema boundary: {error.message}"
        case CommitHasNoParent():
            return f"no first parent: {error.message}"
        case OmnigraphError():
            return error.message
        case UnicodeError():
            return "the arguments hold bytes that are not UTF-8 text"
        case OSError() if error.strerror is not None:
            return f"{error.strerror}: '{error.filename}'" if error.filename is not None else error.strerror
        case _:
            return f"internal error ({type(error).__name__}): {error}"


def conflict_text(conflict: MergeConflict) -> str:
    """One conflict: what, which entity, which kind, why; below it, what the base and the two sides say."""
    entity = "" if conflict.entity_id is None else f" '{conflict.entity_id}'"
    first = f"{subject(conflict.table_key)}{entity}: {conflict_kind(conflict)}: {conflict.message}"
    return "\n".join([first, *(f"    {line}" for line in _sides(conflict))])


def _sides(conflict: MergeConflict) -> list[str]:
    """Every property in which the sides differ: what it was, unless the entity is new, and what it is on each side."""
    base, ours, theirs = conflict.base, conflict.ours, conflict.theirs
    names = [*dict.fromkeys([*(ours or {}), *(theirs or {})])]
    was = {name: "" if base is None else f"base {_value(base, name)}, " for name in names}
    return [f"{name}: {was[name]}ours {_value(ours, name)}, theirs {_value(theirs, name)}" for name in names]


def _value(side: Mapping[str, Any] | None, name: str) -> str:
    if side is None:
        return "deleted"
    text = dumps(side.get(name), ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def conflict_kind(conflict: MergeConflict) -> str:
    """The kind as the contract spells it: `divergent_update`."""
    return _CAMEL.sub("_", conflict.kind).lower()


def subject(type_key: str) -> str:
    """A table key for people: `node type 'Person'`."""
    kind, separator, name = type_key.partition(":")
    return f"{kind} type '{name}'" if separator else f"dataset '{type_key}'"


def _precondition(error: PreconditionFailed, *, json: bool) -> int:
    actual = {} if error.actual is None else {"actual": error.actual}
    message = f"precondition failed on branch '{error.branch}': expected {error.expected}, actual {error.actual}"
    if json:
        output.document({"error": message, "precondition_failure": {"expected": error.expected, **actual}})
    else:
        output.note(f"error: {message}")
    return 4
