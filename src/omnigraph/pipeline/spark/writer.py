"""`df.write.format("omnigraph")`: tasks check and stage rows beside the graph, and the end of the job is one load."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from omnigraph.engine.api.access import access
from omnigraph.engine.api.graph import Graph
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.intake.frame_shape import FrameShape
from omnigraph.engine.intake.inputs.files import InputFile
from omnigraph.engine.values.message import commit_message
from omnigraph.engine.values.result import parse_mode
from omnigraph.engine.views.targets import branch_named
from omnigraph.errors import BadRequest, OmnigraphError
from omnigraph.ids import new_ulid
from omnigraph.pipeline.runners import open_graph
from omnigraph.pipeline.spark.feed_stream import GIVEN_BY_SPARK
from omnigraph.pipeline.spark.frames import Spilled, SpilledFrame, numbered, spill_partition
from omnigraph.pipeline.spark.refusals import told_plainly
from omnigraph.pipeline.spark.sink import Sink, batch_message, checkpoint_in_task
from omnigraph.pipeline.tasks.jobs import LocalTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.splits import Source, Split
from omnigraph.pipeline.tasks.stage import Staged, StageJob, stage_split
from omnigraph.pipeline.tasks.stage_driver import Place, Prestaged, Tuning, stage_job
from omnigraph.storage.base.clouds import receive_variables, store_variables
from omnigraph.storage.base.layout import normalize_root
from omnigraph.storage.lance.parts import discard_load, load_directory
from omnigraph.storage.maintenance.load_claims import claim_for_others
from omnigraph.storage.manifest.note import Epoch

OPTIONS = {
    "graph",
    "type",
    "edge",
    "branch",
    "load_mode",
    "columns",
    "actor",
    "stream",
    "checkpointlocation",
    "no_embed",
    "external_blobs",
    "message",
}
_DAY_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Target:
    """Where rows go, from the options of a writer."""

    uri: str
    branch: str
    type: str | None
    edge: str | None
    mode: str
    columns: Mapping[str, str] | None
    actor: str | None
    no_embed: bool = False
    external_blobs: tuple[str, ...] = ()
    message: str | None = None
    load_id: str = field(default_factory=new_ulid)
    variables: Mapping[str, str] = field(default_factory=lambda: store_variables(os.environ), repr=False)

    @classmethod
    def of(cls, options: Mapping[str, str], *, overwrite: bool = False) -> Target:
        """The target that options describe; unknown or missing ones are errors."""
        unknown = sorted(set(options) - OPTIONS - GIVEN_BY_SPARK)
        if unknown:
            raise BadRequest(f"unknown option '{unknown[0]}' for writing (known: {', '.join(sorted(OPTIONS))})")
        if "graph" not in options:
            # The metadata of columns does not tell it: it may be that of the table which the rows come from.
            raise BadRequest(
                "writing to omnigraph needs the option 'graph'; Spark does not keep it for INSERT into a table of its"
                ' catalog: use frame.write.format("omnigraph") with options, or graph.load(frame, …)'
            )
        if ("type" in options) == ("edge" in options):
            raise BadRequest("writing to omnigraph needs one of the options 'type' (nodes) and 'edge' (edges)")
        mode = "overwrite" if overwrite else options.get("load_mode", "append")
        if mode == "patch":
            raise BadRequest("the data source does not patch; graph.load(frame, 'patch', type=…) does")
        return cls(
            normalize_root(options["graph"]).uri,
            options.get("branch", "main"),
            options.get("type"),
            options.get("edge"),
            mode,
            _renames(options.get("columns")),
            options.get("actor"),
            options.get("no_embed", "false").lower() == "true",
            tuple(base.strip() for base in options.get("external_blobs", "").split(",") if base.strip()),
            commit_message(options.get("message")),
        )

    @property
    def directory(self) -> str:
        return f"{self.uri}/{load_directory(self.load_id)}"

    def open(self) -> Graph:
        return open_graph(self.uri, self.branch, self.actor, external_blobs=self.external_blobs)

    def load(
        self, graph: Graph, spilled: Sequence[Spilled], done: Prestaged | None = None, epoch: Epoch | None = None
    ) -> None:
        """One load of everything that tasks have written, in the order of the partitions."""
        found = access(graph)
        found.require_change(branch_named(self.branch, None))
        request = self.request(graph, SpilledFrame(tuple(numbered(spilled))))
        if epoch is not None:
            request = replace(request, epoch=epoch, message=self.message or batch_message(epoch))
        # Spark gives this process no session, so that no more than one machine can check.
        memory = graph.view().tables.memory.limit
        load(found, request, LocalTasks(checks_at_once(memory, found.store.settings.task_bytes)), done=done)

    def request(self, graph: Graph, data: Any) -> LoadRequest:
        """The load that these options describe."""
        return LoadRequest(
            data=data,
            mode=parse_mode(self.mode),
            type=self.type,
            edge=self.edge,
            columns=self.columns,
            branch=branch_named(self.branch, None),
            actor=graph.actor,
            no_embed=self.no_embed,
            message=self.message,
        )

    def stage_job(self, graph: Graph) -> StageJob | None:
        """What tasks need in order to stage their rows; None where an embedder would have to be shared among them."""
        found = access(graph)
        place = Place(found.store.root, self.load_id, found.external_blobs)
        request = self.request(graph, None)
        job = stage_job(place, graph.view().catalog, request, Tuning(), cores=1, elsewhere=True)
        return job if job.fill.embedder is None else None

    def split(self, spilled: Spilled, first: int = 1) -> Split:
        """A partition as the share of one task."""
        number, path, size, _ = spilled
        source = Source(InputFile(path, size), None, FrameShape(self.type, self.edge, self.columns), first)
        return Split(number, source, 0, None, first)

    def discard(self, graph: Graph) -> None:
        discard_load(access(graph).store.objects, self.load_id)


@dataclass
class SpilledRows(WriterCommitMessage):
    """What one task has written: its rows as they came, and what became of them where it staged them as well."""

    spilled: Spilled
    staged: Staged | None = None
    checkpoint: str = ""


class GraphWriter(DataSourceArrowWriter):
    """A job whose rows arrive in one commit, or not at all."""

    def __init__(self, target: Target) -> None:
        self.target = target
        with target.open() as graph:
            claim_for_others(access(graph).store.objects, target.load_id, _DAY_MS)
            self.job = target.stage_job(graph)

    @told_plainly
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        receive_variables(self.target.variables)
        spilled = spill_partition(iterator, self.target.directory)
        number, *_, rows = spilled
        if self.job is None or not rows:
            return SpilledRows(spilled, Staged(number))
        try:
            return SpilledRows(spilled, stage_split(self.job, self.target.split(spilled)))
        except OmnigraphError:
            return SpilledRows(spilled)  # reported once, by the load that ends the job, not by Spark after four tries

    @told_plainly
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        with self.target.open() as graph:
            try:
                found = _spilled(messages)
                if any(rows for *_, rows in found):
                    self.target.load(graph, found, self._staged(messages))
            finally:
                self.target.discard(graph)

    def _staged(self, messages: Sequence[Any]) -> Prestaged | None:
        """What all tasks have staged together; None when it has to be done here, from the rows as they came."""
        told = sorted((message for message in messages if message is not None), key=lambda each: each.spilled[0])
        staged = tuple(message.staged for message in told if message.staged is not None)
        if self.job is None or [each.split for each in staged] != list(range(len(told))):
            return None
        firsts = accumulate((message.spilled[3] for message in told), initial=1)
        splits = tuple(self.target.split(message.spilled, first) for message, first in zip(told, firsts, strict=False))
        return Prestaged(self.job, splits, staged)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        with self.target.open() as graph:
            self.target.discard(graph)


class GraphStreamWriter(DataSourceStreamArrowWriter):
    """A stream whose batches arrive once each; the option `stream` names it."""

    def __init__(self, target: Target, stream: str) -> None:
        self.target = target
        self.sink = Sink(
            target.uri,
            stream,
            target.branch,
            target.type,
            target.edge,
            actor=target.actor,
            external_blobs=target.external_blobs,
        )
        with target.open() as graph:
            claim_for_others(access(graph).store.objects, target.load_id, _DAY_MS)

    @told_plainly
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        receive_variables(self.target.variables)
        return SpilledRows(spill_partition(iterator, self.target.directory), checkpoint=checkpoint_in_task())

    @told_plainly
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        found = _spilled(messages)
        if any(rows for *_, rows in found):
            told: list[Any] = [message for message in messages if message is not None]
            self.sink.apply(
                told[0].checkpoint, batchId, lambda graph, epoch: self.target.load(graph, found, epoch=epoch)
            )
        with self.target.open() as graph:
            claim_for_others(access(graph).store.objects, self.target.load_id, _DAY_MS)  # the stream goes on
            for _, path, *_ in found:
                access(graph).store.objects.delete(path.removeprefix(f"{self.target.uri}/"))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """What the tasks have written goes with the scratch directory."""


def checks_at_once(memory: int, task_bytes: int) -> int:
    """How many checks run beside each other: one a core, as long as the memory of the graph is enough for all.

    >>> checks_at_once(1 << 30, 4 << 30)
    1
    """
    return max(1, min(os.cpu_count() or 1, memory // task_bytes))


def _spilled(messages: Sequence[Any]) -> list[Spilled]:
    return [message.spilled for message in messages if message is not None]


def _renames(text: str | None) -> dict[str, str] | None:
    """`property=column,…` as a mapping."""
    if text is None:
        return None
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    if not all(sign for _, sign, _ in pairs):
        raise BadRequest(f"columns are written property=column,…, not '{text}'")
    return {name.strip(): column.strip() for name, _, column in pairs}
