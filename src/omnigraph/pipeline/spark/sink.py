"""Writing batches of a stream exactly once: a batch lands on a branch of its own, is merged, and then marked as done.

Whatever is interrupted can be done again: the branch says whether the batch was loaded, merging what is merged changes
nothing, and a batch up to the mark is not applied any more.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omnigraph.engine.api.access import access
from omnigraph.engine.api.graph import Graph
from omnigraph.engine.values.result import LoadMode
from omnigraph.errors import BadRequest
from omnigraph.ids import now_micros
from omnigraph.pipeline.runners import open_graph
from omnigraph.storage.base import failpoints
from omnigraph.storage.branches import tags
from omnigraph.storage.branches.tags import Tag

_log = logging.getLogger(__name__)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

LoadBatch = Callable[[Graph, str], Any]
"""Loads the rows of a batch on a branch."""


@dataclass(frozen=True, slots=True)
class Sink:
    """What `foreachBatch` calls: rows of one type go into a graph, each batch once.

    `name` stands for the stream: batches are numbered by its checkpoint, so a new checkpoint needs a new name.
    """

    uri: str
    name: str
    branch: str = "main"
    type: str | None = None
    edge: str | None = None
    columns: Mapping[str, str] | None = None
    mode: LoadMode = "merge"
    actor: str | None = None
    external_blobs: Sequence[str] = ()

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None:
            raise BadRequest(f"'{self.name}' cannot name a stream: use letters, digits, '_' and '-'")
        if (self.type is None) == (self.edge is None):
            raise BadRequest("a sink needs exactly one of type= (nodes) or edge= (edges)")

    def __call__(self, frame: Any, batch_id: int) -> None:
        """Apply one micro-batch."""
        self.apply(batch_id, lambda graph, branch: self._load(graph, branch, frame))

    def apply(self, batch_id: int, load: LoadBatch) -> bool:
        """Apply a batch unless it has been; whether it had to be."""
        with open_graph(self.uri, self.branch, self.actor, external_blobs=self.external_blobs) as graph:
            return apply_batch(graph, self.name, batch_id, load)

    def _load(self, graph: Graph, branch: str, frame: Any) -> None:
        graph.load(
            frame,
            self.mode,
            type=self.type,
            edge=self.edge,
            columns=self.columns,
            branch=branch,
            from_=graph.branch_name,
            spark=frame.sparkSession,
        )


def apply_batch(graph: Graph, name: str, batch_id: int, load: LoadBatch) -> bool:
    """Load, merge and mark one batch of a stream; False when it is marked already."""
    staging = f"stream-{name}-{batch_id}"
    marks = _marks(graph, name)
    applies = batch_id > max(marks, default=-1)
    if applies:
        if not _is_loaded(graph, staging):
            load(graph, staging)
        failpoints.hit("stream.post_load")
        graph.branches.merge(staging, into=graph.branch_name, message=f"batch {batch_id} of stream {name}")
        failpoints.hit("stream.post_merge")
        _mark(graph, name, batch_id)
        failpoints.hit("stream.post_mark")
    for old in _marks(graph, name)[:-1]:
        tags.delete_tag(access(graph).store, _tag_name(name, old))
    if staging in graph.branches.list():
        graph.branches.delete(staging)
    if not applies:
        _log.info("batch %d of stream '%s' was applied before", batch_id, name)
    return applies


def _is_loaded(graph: Graph, staging: str) -> bool:
    """Whether the branch of a batch has a commit of its own."""
    if staging not in graph.branches.list():
        return False
    newest = graph.branch(staging).commits.list(limit=1, maintenance=True)
    return bool(newest) and newest[0].manifest_branch == staging


def _marks(graph: Graph, name: str) -> list[int]:
    prefix = _tag_name(name, "")
    found = (
        tag.name.removeprefix(prefix) for tag in tags.list_tags(access(graph).store) if tag.name.startswith(prefix)
    )
    return sorted(int(number) for number in found if number.isdecimal())


def _mark(graph: Graph, name: str, batch_id: int) -> None:
    head = graph.commits.list(limit=1, maintenance=True)[0]
    tag = Tag(
        name=_tag_name(name, batch_id),
        graph_commit_id=head.graph_commit_id,
        branch=head.manifest_branch,
        manifest_version=head.manifest_version,
        created_at=now_micros(),
        actor_id=graph.actor,
        message=f"batch {batch_id} of stream '{name}' is applied",
    )
    tags.create_tag(access(graph).store, tag)


def _tag_name(name: str, batch_id: int | str) -> str:
    return f"stream/{name}/{batch_id}"
