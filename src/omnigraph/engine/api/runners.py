"""Who runs what is too large for one thread: the interface to the package above the engine, and the choice of a runner.

The code that opens a graph passes in the runners; see `omnigraph.assembly`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from omnigraph.checkpoints import unchecked
from omnigraph.engine.api.access import Access
from omnigraph.engine.read.query import ReadCall, run_query
from omnigraph.engine.read.shape.result import Pictured, Result
from omnigraph.engine.values.load_profile import LoadClock
from omnigraph.engine.values.result import LoadMode, LoadResult, OnError
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.lifecycle import StrPath
from omnigraph.engine.views.table_tasks import Runner, SparkPlace, TableTasks, parse_runner
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest, KeyConflict, OmnigraphError, ValueViolation

# Reads come through here too; they never load, so loads import what they need when they run.
if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder
    from omnigraph.engine.api.analytics import Analytics
    from omnigraph.engine.api.reader import Reader
    from omnigraph.engine.api.spark import SparkView
    from omnigraph.storage.manifest.note import Epoch
    from omnigraph.storage.protocol.budget import Budget

# A JVM start would dwarf anything smaller.
INLINE_BYTES = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """One call of `load` as the caller made it; `mapping` (a table, or the path of one) takes the place of `data`.

    With `base`, a missing branch is created from it first. `on_error="skip"` loads the good rows and counts the rest;
    `rejects` is a file (`….jsonl`) or a directory for what was refused; `max_errors` ends the reading early. `epoch` is
    the batch of a stream that the commit brings; EpochSeen when the branch has it. With `order_by`, a property, a row
    is left out whose value is smaller than that of the stored row of its id.
    """

    data: Any
    mode: LoadMode
    type: str | None = None
    edge: str | None = None
    columns: Mapping[str, str] | None = None
    mapping: Any = None
    branch: str | None = None
    base: str | None = None
    actor: str | None = None
    if_commit: str | None = None
    on_error: OnError = "stop"
    rejects: str | None = None
    max_errors: int | None = None
    dry_run: bool = False
    progress: Callable[[Any], None] | None = None
    spark: SparkPlace = None
    embedder: Embedder | None = None
    no_embed: bool = False
    no_build: bool = False
    budget: Budget | None = None
    message: str | None = None
    resume: bool = False
    clock: LoadClock = field(default_factory=LoadClock)
    epoch: Epoch | None = None
    order_by: str | None = None


class Runners(TableTasks, Protocol):
    """What a package above the engine does for a graph that is opened with it."""

    def is_spark_frame(self, data: Any) -> bool:
        """Whether data is a Spark DataFrame, which only Spark can read."""
        ...

    def load_on_spark(self, graph: Access, request: LoadRequest) -> LoadResult:
        """Load by Spark tasks."""
        ...

    def load_in_tasks(self, graph: Access, request: LoadRequest) -> LoadResult:
        """The same load in this process, task by task."""
        ...

    def query_on_spark(self, view: View, call: ReadCall) -> Result:
        """The rows of a read, computed by Spark."""
        ...

    def export(self, view: View, schema: str, target: StrPath | BinaryIO, types: Sequence[str], format: str) -> int:
        """Write a view in a format other than JSON lines and return the number of bytes."""
        ...

    def spark(self, view: View) -> SparkView:
        """A view as Spark sees it."""
        ...

    def analytics(self, reader: Reader) -> Analytics:
        """The algorithms on what a handle sees."""
        ...


def run_load(runners: Runners, graph: Access, request: LoadRequest, runner: Runner) -> LoadResult:
    """Run a load where the caller said, or where its size belongs (`auto`); a large one leaves its indexes built."""
    with request.clock.stage("read"):
        done = _run(runners, graph, request, runner)
    if request.branch is None and not request.dry_run and not request.no_build:
        from omnigraph.engine.maintenance.indexes import build_after

        with unchecked():  # the rows are in
            build_after(graph._core, done.commit, request.spark, request.clock, request.progress)
    return replace(done, profile=request.clock.profile(done.total_entities))


def run_read(runners: Runners, view: View, call: ReadCall, pictured: Pictured | None = None) -> Result:
    """Run a read where the caller said; `auto` is this process. `pictured` draws its result."""
    if call.runner == "spark":
        require_spark(runners)
        return replace(runners.query_on_spark(view, call), pictured=pictured)
    return run_query(view, call, pictured)


def require_spark(runners: Runners) -> None:
    """Refuse what only Spark can do where it is not installed."""
    if not runners.is_installed():
        raise BadRequest("the spark runner needs pyspark: install omnigraph[spark]")


def _run(runners: Runners, graph: Access, request: LoadRequest, runner: Runner) -> LoadResult:
    if (request.data is None) == (request.mapping is None):
        raise BadRequest("load takes either data or a mapping")
    if request.max_errors is not None and request.max_errors < 0:
        raise BadRequest(f"max_errors is a number of rows, 0 or more; got {request.max_errors}")
    from omnigraph.engine.intake.sources import given

    request = replace(request, data=given(request.data))
    if (_chosen(runners, request) if parse_runner(runner) == "auto" else runner) == "spark":
        require_spark(runners)
        return runners.load_on_spark(graph, request)
    if _is_selective(request):
        return runners.load_in_tasks(graph, request)
    try:
        done = _inline(graph._core, request)
        if request.mapping is None and not request.clock.bytes:  # not looked at before
            request.clock.bytes = _input_bytes(request)
        return done
    except (ValueViolation, KeyConflict) as error:
        _count_others(runners, graph, request, error)
        raise


def _count_others(runners: Runners, graph: Access, request: LoadRequest, error: ValueViolation | KeyConflict) -> None:
    """Input that was refused is read once more, by the tasks that count everything that is wrong with it."""
    try:
        runners.load_in_tasks(graph, replace(request, dry_run=True, progress=None, clock=LoadClock()))
    except (ValueViolation, KeyConflict) as found:
        error.among(found.refused, found.others)
    except OmnigraphError:
        return  # the graph cannot be read any more, or not as it was; what was found first stands


def _chosen(runners: Runners, request: LoadRequest) -> Runner:
    if request.spark is not None or runners.is_spark_frame(request.data):
        return "spark"
    if not runners.is_installed():
        return "inline"
    from omnigraph.engine.intake.mapping import described

    if request.mapping is not None and described(request.mapping).needs_spark:
        return "spark"
    request.clock.bytes = _input_bytes(request)
    return "inline" if request.clock.bytes <= INLINE_BYTES else "spark"


def _input_bytes(request: LoadRequest) -> int:
    """How large the files of a load are together; 0 for what is in memory."""
    from omnigraph.engine.intake.inputs.files import RECORD_SUFFIXES, TABLE_SUFFIXES
    from omnigraph.engine.intake.mapping import mapped_files
    from omnigraph.engine.intake.sources import input_files, is_paths

    if request.mapping is not None:
        return sum(mapped.file.size for mapped in mapped_files(request.mapping))
    if not is_paths(request.data):
        return 0
    suffixes = RECORD_SUFFIXES if request.type is None and request.edge is None else TABLE_SUFFIXES
    return sum(file.size for file in input_files(request.data, suffixes))


def _is_selective(request: LoadRequest) -> bool:
    """Whether a load wants more than its first violation, or goes on after another; then it runs as tasks."""
    if request.on_error == "skip" or request.rejects is not None or request.max_errors is not None or request.resume:
        return True
    if request.mapping is None:
        return False
    from omnigraph.engine.intake.mapping import described

    return bool(described(request.mapping).skips_missing)


def _inline(core: Core, request: LoadRequest) -> LoadResult:
    from omnigraph.engine.intake.sources import decoder_of, mapping_decoder
    from omnigraph.engine.write.load import LoadCall
    from omnigraph.engine.write.load import run_load as load_at_once

    if request.mapping is not None:
        decode = mapping_decoder(request.mapping)
    else:
        decode = decoder_of(request.data, type=request.type, edge=request.edge, columns=request.columns)
    call = LoadCall(
        decode,
        request.mode,
        request.branch,
        request.base,
        request.actor,
        request.if_commit,
        request.embedder,
        request.no_embed,
        request.budget,
        request.message,
        request.clock,
    )
    return load_at_once(core, call, dry_run=request.dry_run)
