"""Writing batches of a stream exactly once: the commit that brings a batch says which one it is.

There is no second place to keep in step: a batch whose commit is there is not applied again, and one whose commit is
not there leaves nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from omnigraph.display import Displayed
from omnigraph.engine.api.access import access
from omnigraph.engine.api.graph import Graph
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.api.transaction import Transaction
from omnigraph.engine.intake.frames import named_type
from omnigraph.engine.merge.outcome import MergeOptions
from omnigraph.engine.values.result import LoadMode
from omnigraph.engine.views.targets import branch_named
from omnigraph.errors import BadRequest, MergeConflicts
from omnigraph.pipeline.runners import open_graph
from omnigraph.pipeline.spark.batches import Fields, Operations
from omnigraph.pipeline.spark.refusals import told_plainly, told_to_java
from omnigraph.pipeline.spark.session import is_connect
from omnigraph.pipeline.tasks.load import load_on_spark
from omnigraph.storage.manifest.epochs import EpochSeen
from omnigraph.storage.manifest.note import Epoch

_log = logging.getLogger(__name__)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# Spark's name for the id that a checkpoint gives its query; a new checkpoint has a new one.
_QUERY_ID = "sql.streaming.queryId"
# Batches that a caller numbers without a stream of Spark's.
_BY_HAND = "by-hand"
# Others may change the rows of a batch while it is applied; so often it is compared with theirs again.
_TRIES = 10

LoadBatch = Callable[[Graph, Epoch], Any]
"""Loads the rows of a batch, in one commit with its epoch."""


@dataclass(frozen=True, slots=True, repr=False)
class Sink(Displayed):
    """What `foreachBatch` calls: rows of one type go into a graph, each batch once.

    `name` stands for the stream: batches are numbered by its checkpoint, so a new checkpoint needs a new name. The
    column `op`, where there is one, says which rows are removed instead, and `order_by` which row of an id is the last:
    of those of a batch, and where it is a property, of the one that the graph has as well.
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
    op: str | None = None
    order_by: str | None = None

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None:
            raise BadRequest(f"'{self.name}' cannot name a stream: use letters, digits, '_' and '-'")
        if (self.type is None) == (self.edge is None):
            raise BadRequest("a sink needs exactly one of type= (nodes) or edge= (edges)")
        for name, given in (("op", self.op), ("order_by", self.order_by)):
            if given is not None and self.mode not in ("merge", "patch"):
                raise BadRequest(f"a sink with {name}= merges or patches rows; mode '{self.mode}' does neither")

    @told_plainly
    def __call__(self, frame: Any, batch_id: int) -> None:
        """Apply one micro-batch; what is refused ends the stream, and its message is that of the query."""
        checkpoint = checkpoint_of(frame)
        called_by_java = checkpoint != _BY_HAND and not is_connect(frame.sparkSession)
        with told_to_java(frame.sparkSession) if called_by_java else nullcontext():
            self.apply(checkpoint, batch_id, lambda graph, epoch: self._load(graph, epoch, frame))

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
        branch = branch_named(self.branch, None)
        access(graph).require_change(branch)
        fields = Fields(named_type(graph.view().catalog, self.type, self.edge), self.columns or {})
        changes = Operations(fields, self.op, self.order_by)
        partial = self.mode == "patch" or self.op is not None
        fields.require_fit(frame.columns, epoch, used=changes.used(), partial=partial)
        if not changes.used():
            load_on_spark(access(graph), replace(self._request(graph, frame, branch, epoch), epoch=epoch))
            return
        frame = frame.persist()
        try:
            self._apply_changes(graph, epoch, changes, *changes.parted(frame))
        finally:
            frame.unpersist()

    def _apply_changes(self, graph: Graph, epoch: Epoch, changes: Operations, brought: Any, removed: pa.Table) -> None:
        """Rows and removals of a batch, in one commit: both go to a private branch, whose merge is the batch."""
        if not removed.num_rows:
            request = self._request(graph, brought, branch_named(self.branch, None), epoch, changes.sequence)
            load_on_spark(access(graph), replace(request, epoch=epoch))
            return
        for tries_left in reversed(range(_TRIES)):
            try:
                self._apply_at_once(graph, epoch, changes, brought, removed)
                return
            except MergeConflicts:
                if not tries_left:
                    raise  # otherwise the batch is compared once more, with what others have written meanwhile

    def _apply_at_once(self, graph: Graph, epoch: Epoch, changes: Operations, brought: Any, removed: pa.Table) -> None:
        # What others have changed meanwhile was there before this batch, unless a property says what is newer.
        options = MergeOptions("theirs" if changes.sequence is None else "fail")
        with Transaction(graph, options, message=batch_message(epoch), epoch=epoch) as batch:
            batch.mutate_many(changes.removals(removed))
            private = access(batch.graph)
            load_on_spark(private, self._request(graph, brought, private.branch, epoch, changes.sequence))

    def _request(
        self, graph: Graph, frame: Any, branch: str | None, epoch: Epoch, order_by: str | None = None
    ) -> LoadRequest:
        return LoadRequest(
            order_by=order_by,
            data=frame,
            mode=self.mode,
            type=self.type,
            edge=self.edge,
            columns=self.columns,
            branch=branch,
            actor=graph.actor,
            spark=frame.sparkSession,
            message=batch_message(epoch),
        )


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
