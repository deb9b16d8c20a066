"""`graph.spark`: what one view of a graph offers to Spark; the pipeline implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.shape.result import Result
from omnigraph.engine.values.result import LoadMode
from omnigraph.engine.views.lifecycle import Text
from omnigraph.engine.views.targets import Names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from omnigraph.embeddings.provider import Embedder


class BatchSink(Protocol):
    """What `foreachBatch` takes."""

    def __call__(self, frame: Any, batch_id: int) -> None:
        """Apply one micro-batch, unless it was applied before."""
        ...


class SparkView(Protocol):
    """One view of a graph in Spark; every frame made here sees the same snapshot."""

    @property
    def session(self) -> SparkSession:
        """The Spark session, started when it is first needed."""
        ...

    def read(
        self,
        type_name: str,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        *,
        blobs: Literal["bytes", "cells"] = "bytes",
    ) -> DataFrame:
        """The entities of a type as a frame: id, endpoints, properties, or only some of these columns.

        `where` is a predicate that Lance evaluates while reading; Spark's own filters come after it. A blob that is a
        reference has no bytes here: with `blobs="cells"` blobs are structs of `data` and `uri`.
        """
        ...

    def query(
        self,
        source: Text,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        limits: Limits | None = None,
        embedder: Embedder | None = None,
        node_ids: bool = False,
    ) -> Result:
        """Run a read on what this sees, by Spark; the answer is the one that `graph.query` gives."""
        ...

    def changes(
        self,
        start: str = "now",
        *,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
        max_commits: int | None = None,
    ) -> DataFrame:
        """The change feed of this branch as a streaming frame; offsets are feed cursors.

        `start` is "now", "beginning" or "after:<commit id>"; `max_commits` bounds a batch.
        """
        ...

    def sink(
        self,
        name: str,
        *,
        type: str | None = None,
        edge: str | None = None,
        columns: Mapping[str, str] | None = None,
        mode: LoadMode = "merge",
        actor: str | None = None,
        external_blobs: Sequence[str] = (),
        op: str | None = None,
        order_by: str | None = None,
    ) -> BatchSink:
        """What `foreachBatch` takes to load the batches of a stream into this branch, each batch once.

        `name` stands for the stream: batches are numbered by its checkpoint, so a new checkpoint needs a new name.
        `mode="patch"` takes partial rows. `op` is the column that says whether a row is written or removed, `order_by`
        the one by which the last of several rows of an id is known: of those of a batch, and where it is a property,
        of the stored one as well, so that batches may come late.
        """
        ...

    def create_views(self, prefix: str = "") -> list[str]:
        """A temporary view per type, under its name; a name that nodes and edges share gets `_edge` for the edges."""
        ...

    def export(self, target: str, types: Sequence[str] = ()) -> int:
        """Write JSON lines, byte for byte what a plain export writes: one file, or parts of it in a directory.

        A target that ends in `.jsonl` becomes one file. Anything else is a directory of numbered parts.
        """
        ...
