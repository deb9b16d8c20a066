"""What this package does for the engine: its runners, each imported when it is first needed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, BinaryIO

from omnigraph.engine.api.graph import Graph
from omnigraph.engine.api.opening import open_handle
from omnigraph.engine.api.runners import Runners
from omnigraph.policy.external_blobs import ExternalBlobPolicy

if TYPE_CHECKING:
    from omnigraph.engine.api.access import Access
    from omnigraph.engine.api.analytics import Analytics
    from omnigraph.engine.api.reader import Reader
    from omnigraph.engine.api.runners import LoadRequest
    from omnigraph.engine.api.spark import SparkView
    from omnigraph.engine.read.query import ReadCall
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import LoadResult
    from omnigraph.engine.views.delta import RowDelta
    from omnigraph.engine.views.lifecycle import StrPath
    from omnigraph.engine.views.table_tasks import IndexBuilder, RunTasks, SparkPlace
    from omnigraph.engine.views.view import View
    from omnigraph.storage.lance.tables import TableHandle


class PipelineRunners(Runners):
    """Spark, and tasks in this process."""

    def is_installed(self) -> bool:
        return find_spec("pyspark") is not None

    def is_running(self) -> bool:
        from omnigraph.pipeline.spark import session

        return session.is_running()

    def compare(self, old: TableHandle, new: TableHandle) -> RowDelta:
        from omnigraph.pipeline.tasks.compare import spread_delta

        return spread_delta(old, new)

    def index_builder(self, least_rows: int, spark: SparkPlace) -> IndexBuilder:
        from omnigraph.pipeline.tasks.indexing import SpreadBuilder

        return SpreadBuilder(least_rows, spark)

    def task_runner(self, stage: str, spark: SparkPlace) -> RunTasks:
        from omnigraph.pipeline.tasks.indexing import task_runner

        return task_runner(stage, spark)

    def is_spark_frame(self, data: Any) -> bool:
        from omnigraph.pipeline.spark.frames import is_spark_frame

        return is_spark_frame(data)

    def load_on_spark(self, graph: Access, request: LoadRequest) -> LoadResult:
        from omnigraph.pipeline.tasks.load import load_on_spark

        return load_on_spark(graph, request)

    def load_in_tasks(self, graph: Access, request: LoadRequest) -> LoadResult:
        from omnigraph.pipeline.tasks.load import load_here

        return load_here(graph, request)

    def query_on_spark(self, view: View, call: ReadCall) -> Result:
        from omnigraph.pipeline.gq.query import query_on_spark

        return query_on_spark(view, call)

    def export(self, view: View, schema: str, target: StrPath | BinaryIO, types: Sequence[str], format: str) -> int:
        from omnigraph.pipeline.formats.exporters import export_view

        return export_view(view, schema, target, types, format)

    def spark(self, view: View) -> SparkView:
        from omnigraph.pipeline.spark.reader import SparkReader

        return SparkReader(view)

    def analytics(self, reader: Reader) -> Analytics:
        from omnigraph.pipeline.analytics import GraphAnalytics

        return GraphAnalytics(reader)


RUNNERS = PipelineRunners()


def open_graph(
    uri: StrPath,
    branch: str = "main",
    actor: str | None = None,
    read_only: bool = False,
    *,
    external_blobs: Sequence[str] | ExternalBlobPolicy = (),
) -> Graph:
    """Open a graph from inside this package: a data source, a sink or an importer."""
    return open_handle(uri, branch, actor, read_only, runners=RUNNERS, external_blobs=external_blobs)
