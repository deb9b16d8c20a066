"""Writing batches of a stream exactly once: the commit that brings a batch says which one it is.

There is no second place to keep in step: a batch whose commit is there is not applied again, and one whose commit is
not there leaves nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.engine.api.access import access
from omnigraph.engine.api.graph import Graph
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.values.result import LoadMode
from omnigraph.engine.views.targets import branch_named
from omnigraph.errors import BadRequest
from omnigraph.pipeline.runners import open_graph
from omnigraph.pipeline.spark.session import is_connect
from omnigraph.pipeline.tasks.epochs import EpochSeen
from omnigraph.pipeline.tasks.load import load_on_spark
from omnigraph.storage.manifest.note import Epoch

_log = logging.getLogger(__name__)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# Spark's name for the id that a checkpoint gives its query; a new checkpoint has a new one.
_QUERY_ID = "sql.streaming.queryId"
# Batches that a caller numbers without a stream of Spark's.
_BY_HAND = "by-hand"

LoadBatch = Callable[[Graph, Epoch], Any]
"""Loads the rows of a batch, in one commit with its epoch."""


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
        self.apply(checkpoint_of(frame), batch_id, lambda graph, epoch: self._load(graph, epoch, frame))

    def apply(self, checkpoint: str, batch_id: int, load: LoadBatch) -> bool:
        """Apply a batch unless it has been; whether it had to be."""
        with open_graph(self.uri, self.branch, self.actor, external_blobs=self.external_blobs) as graph:
            try:
                load(graph, Epoch(self.name, checkpoint, batch_id))
            except EpochSeen:
                _log.info("batch %d of stream '%s' was applied before", batch_id, self.name)
                return False
            return True

    def _load(self, graph: Graph, epoch: Epoch, frame: Any) -> None:
        found = access(graph)
        branch = branch_named(self.branch, None)
        found.require_change(branch)
        request = LoadRequest(
            data=frame,
            mode=self.mode,
            type=self.type,
            edge=self.edge,
            columns=self.columns,
            branch=branch,
            actor=graph.actor,
            spark=frame.sparkSession,
            message=batch_message(epoch),
            epoch=epoch,
        )
        load_on_spark(found, request)


def batch_message(epoch: Epoch) -> str:
    """What the commit of a batch says."""
    return f"batch {epoch.batch} of stream {epoch.stream}"


def checkpoint_of(frame: Any) -> str:
    """The id of the query that a batch belongs to, which its checkpoint keeps."""
    spark = frame.sparkSession
    if not is_connect(spark):
        return spark.sparkContext.getLocalProperty(_QUERY_ID) or _BY_HAND

    def ask(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"id": [checkpoint_in_task()]})

    found: str = spark.range(1).mapInArrow(ask, "id string").first().id
    return found


def checkpoint_in_task() -> str:
    """The same, asked inside a task of the batch."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return (context.getLocalProperty(_QUERY_ID) if context is not None else None) or _BY_HAND
