"""Who runs a load: this process, or a package above the engine that has registered itself under a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.engine.values.result import LoadResult
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.view import View
from omnigraph.errors import BadRequest

# Reads come through here too; they never load, so loads import what they need when they run.
if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder
    from omnigraph.engine.write.load_rows import LoadMode

OnError = Literal["stop", "skip"]

# A JVM start would dwarf anything smaller.
INLINE_BYTES = 32 << 20
# Runners outside the engine register themselves when their package is imported, by name, for the first such load.
_PIPELINE = "omnigraph.pipeline"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """One call of `load` as the caller made it; `mapping` (a table, or the path of one) takes the place of `data`.

    With `base`, a missing branch is created from it first. `on_error="skip"` loads the good rows and counts the rest;
    `rejects` is a directory for what was refused, as JSON lines; `max_errors` ends the reading early.
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
    spark: Any = None
    embedder: Embedder | None = None
    no_embed: bool = False
    no_build: bool = False


Runner = Callable[[Core, LoadRequest], LoadResult]
_registered: dict[str, Runner] = {}


def register(name: str, runner: Runner) -> None:
    """Make a runner available under a name."""
    _registered[name] = runner


def run(core: Core, request: LoadRequest, runner: str) -> LoadResult:
    """Run a load where the caller said, or where its size belongs (`auto`); a large one leaves its indexes built."""
    done = _run(core, request, runner)
    if request.branch is None and not request.dry_run and not request.no_build:
        from omnigraph.engine.maintenance.indexes import build_after

        build_after(core, done, request.spark)
    return done


def _run(core: Core, request: LoadRequest, runner: str) -> LoadResult:
    if (request.data is None) == (request.mapping is None):
        raise BadRequest("load takes either data or a mapping")
    from omnigraph.engine.intake.sources import given

    request = replace(request, data=given(request.data))
    match _chosen(request) if runner == "auto" else runner:
        case "inline":
            return _registered_runner("tasks")(core, request) if _is_selective(request) else _inline(core, request)
        case "spark":
            if find_spec("pyspark") is None:
                raise BadRequest("the spark runner needs pyspark: install omnigraph[spark]")
            return _registered_runner("spark")(core, request)
    raise BadRequest(f"unknown runner '{runner}' (expected auto, inline or spark)")


def spark_reader(view: View) -> Any:
    """A view as Spark sees it; made by the pipeline."""
    if find_spec("pyspark") is None:
        raise BadRequest("reading with Spark needs pyspark: install omnigraph[spark]")
    return import_module(f"{_PIPELINE}.spark.reader").SparkReader(view)


def export(view: View, schema: str, target: Any, types: Sequence[str], format: str) -> int:
    """Write a view: JSON lines here, every other format by the pipeline."""
    if format == "jsonl":
        from omnigraph.engine.changes.export_file import write_export

        return write_export(view, target, types)
    written: int = import_module(f"{_PIPELINE}.formats.exporters").export_view(view, schema, target, types, format)
    return written


def analytics(reader: Any) -> Any:
    """The algorithms on what a reader sees; made by the pipeline."""
    return import_module(f"{_PIPELINE}.analytics").Analytics(reader)


def _registered_runner(name: str) -> Runner:
    if name not in _registered:
        import_module(_PIPELINE)
    return _registered[name]


def _chosen(request: LoadRequest) -> str:
    if request.spark is not None or type(request.data).__module__.startswith("pyspark."):
        return "spark"
    if find_spec("pyspark") is None:
        return "inline"
    from omnigraph.engine.intake.files import RECORD_SUFFIXES, TABLE_SUFFIXES
    from omnigraph.engine.intake.mapping import described, mapped_files
    from omnigraph.engine.intake.sources import input_files, is_paths

    if request.mapping is not None:
        if described(request.mapping).needs_spark:
            return "spark"
        return _for_size(sum(mapped.file.size for mapped in mapped_files(request.mapping)))
    if not is_paths(request.data):
        return "inline"
    suffixes = RECORD_SUFFIXES if request.type is None and request.edge is None else TABLE_SUFFIXES
    return _for_size(sum(file.size for file in input_files(request.data, suffixes)))


def _for_size(size: int) -> str:
    return "inline" if size <= INLINE_BYTES else "spark"


def _is_selective(request: LoadRequest) -> bool:
    """Whether a load wants more than its first violation; the pipeline's tasks then run in this process."""
    return request.on_error == "skip" or request.rejects is not None or request.max_errors is not None


def _inline(core: Core, request: LoadRequest) -> LoadResult:
    from omnigraph.engine.intake.sources import decoder_of, mapping_decoder
    from omnigraph.engine.write.load import LoadCall, run_load

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
    )
    return run_load(core, call, dry_run=request.dry_run)
