"""Baselines: everything a branch holds at one moment, and the cursor with which its changes continue from there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from omnigraph.display import Displayed
from omnigraph.engine.changes.export import export_type
from omnigraph.engine.changes.output_file import StrPath, output_file
from omnigraph.engine.changes.poll import Feed
from omnigraph.engine.changes.scope import ChangeScope
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest


@dataclass(frozen=True, slots=True, repr=False)
class Baseline(Displayed):
    """Which commit was written out, where its changes continue, and how many bytes it took."""

    snapshot_commit_id: str
    resume_cursor: str
    bytes_written: int


def capture_baseline(core: Core, branch: str | None, scope: ChangeScope, target: StrPath | BinaryIO) -> Baseline:
    """Write every entity in scope as JSON lines, then one line that makes the stream valid.

    A file appears under its name only when it is complete and on disk. `ops` of the scope bind the cursor only.
    """
    core.require_everything_visible("a baseline of the change feed")
    feed = Feed(core, branch, scope)
    view = core.view_of(feed.state)
    types = _types(view, scope)
    if isinstance(target, str | os.PathLike):
        with output_file(target) as file:
            return _into_stream(feed, view, types, file)
    return _into_stream(feed, view, types, target)


def _into_stream(feed: Feed, view: View, types: list[TableType], stream: BinaryIO) -> Baseline:
    written = 0
    for chunk in _records(view, types):
        stream.write(chunk)
        written += len(chunk)
    feed.prove()
    cursor = feed.cursor(feed.head)
    end = {"baseline": {"snapshot_commit_id": feed.head, "resume_cursor": cursor}}
    last = json.dumps(end, separators=(",", ":")).encode() + b"\n"
    stream.write(last)
    return Baseline(feed.head, cursor, written + len(last))


def _records(view: View, types: list[TableType]) -> Iterator[bytes]:
    for info in types:
        yield from export_type(view, info)


def _types(view: View, scope: ChangeScope) -> list[TableType]:
    """Node types, then edge types, each by name."""
    catalog = view.catalog
    for name in scope.type_names:
        if name not in catalog.nodes and name not in catalog.edges:
            raise BadRequest(f"unknown type '{name}' in a change filter")
    nodes = [catalog.nodes[name] for name in sorted(catalog.nodes)] if scope.has_kind("node") else []
    edges = [catalog.edges[name] for name in sorted(catalog.edges)] if scope.has_kind("edge") else []
    types: list[TableType] = [*nodes, *edges]
    return [info for info in types if scope.has_type(info.name)]
