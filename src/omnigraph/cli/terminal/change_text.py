"""Changes of commits, printed as they arrive: as one JSON document, or as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.cli.terminal import output

if TYPE_CHECKING:
    from omnigraph.engine.changes.block import Cause

_ABSENT = object()


def cause_json(cause: Cause) -> dict[str, Any]:
    """The commit behind a block; what it does not have is left out."""
    found: dict[str, Any] = {
        "graph_commit_id": cause.graph_commit_id,
        "parent_commit_id": cause.parent_commit_id,
        "merged_parent_commit_id": cause.merged_parent_commit_id,
        "authored_branch": cause.authored_branch or "main",
        "actor_id": cause.actor_id,
        "authored_at": cause.authored_at,
    }
    return {name: value for name, value in found.items() if value is not None}


def change_json(change: Mapping[str, Any]) -> dict[str, Any]:
    """One change in the shape of the contract."""
    images = {name: change[name] for name in ("before", "after") if name in change}
    return {
        "kind": change["kind"],
        "type": change["entity_type"],
        "id": change["id"],
        "op": change["op"],
        **images,
    }


class JsonBlock:
    """Writes `{cause, changes}` piece by piece, byte for byte as if it were printed at once."""

    def __init__(self, depth: int = 0) -> None:
        self._indent = "  " * depth
        self._empty = True

    def begin(self, cause: Cause) -> None:
        output.write(f'{{\n{self._indent}  "cause": {self._nested(cause_json(cause), 1)},\n')
        output.write(f'{self._indent}  "changes": [')

    def change(self, change: Mapping[str, Any]) -> None:
        output.write(f"{'' if self._empty else ','}\n{self._indent}    {self._nested(change_json(change), 2)}")
        self._empty = False

    def end(self) -> None:
        closing = "]" if self._empty else f"\n{self._indent}  ]"
        output.write(f"{closing}\n{self._indent}}}")

    def _nested(self, value: Any, levels: int) -> str:
        return output.pretty(value).replace("\n", f"\n{self._indent}{'  ' * levels}")


class TextBlock:
    """Writes a commit and its changes as lines."""

    def begin(self, cause: Cause) -> None:
        named = [
            ("commit", cause.graph_commit_id),
            ("branch", cause.authored_branch or "main"),
            ("parent", cause.parent_commit_id),
            ("merged_parent", cause.merged_parent_commit_id),
            ("actor", cause.actor_id),
            ("authored_at", cause.authored_at),
        ]
        output.write("".join(f"{name}: {value}\n" for name, value in named if value is not None))

    def change(self, change: Mapping[str, Any]) -> None:
        output.write("".join(f"{text}\n" for text in change_lines(change)))

    def end(self) -> None:
        return


def change_lines(change: Mapping[str, Any]) -> Iterator[str]:
    """One change: what happened, where an edge leads, and which properties differ."""
    yield f"{change['op']} {change['kind']} {change['entity_type']['name']} {change['id']}"
    before, after = change.get("before"), change.get("after")
    ends = [_ends(image) for image in (before, after) if image is not None and "endpoints" in image]
    if ends:
        yield "  " + (ends[0] if len(set(ends)) == 1 else " => ".join(ends))
    old = before["properties"] if before is not None else {}
    new = after["properties"] if after is not None else {}
    for name in sorted({*old, *new}):
        if before is None:
            yield f"  + {name}: {_value(new[name])}"
        elif after is None:
            yield f"  - {name}: {_value(old[name])}"
        elif old.get(name, _ABSENT) != new.get(name, _ABSENT):
            yield f"  {name}: {_value(old.get(name, _ABSENT))} -> {_value(new.get(name, _ABSENT))}"


def _ends(image: Mapping[str, Any]) -> str:
    return f"{image['endpoints']['from']} -> {image['endpoints']['to']}"


def _value(value: Any) -> str:
    if value is None:
        return "<null>"
    if value is _ABSENT:
        return "<absent>"
    return value if isinstance(value, str) else output.compact(value)
