"""`graph.spark`: the types of one view as Spark frames and views, and an export that every core works on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from omnigraph.display import Displayed
from omnigraph.engine.api.spark import SparkView
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.query import ReadCall
from omnigraph.engine.read.shape.result import Result
from omnigraph.engine.values.arrow import table_types
from omnigraph.engine.values.result import LoadMode
from omnigraph.engine.views.entity import type_named
from omnigraph.engine.views.lifecycle import Text, read_source
from omnigraph.engine.views.targets import Names
from omnigraph.engine.views.view import View
from omnigraph.pipeline.gq.query import query_on_spark
from omnigraph.pipeline.spark.datasource import OmnigraphSource, chosen_columns, plan_table, require_predicate
from omnigraph.pipeline.spark.feed_stream import require_options
from omnigraph.pipeline.spark.pushing import Asked
from omnigraph.pipeline.spark.session import spark_session, without_warnings
from omnigraph.pipeline.spark.sink import Sink
from omnigraph.pipeline.spark.sizes import TableSize
from omnigraph.pipeline.tasks.export import export_files
from omnigraph.pipeline.tasks.jobs import SparkTasks

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder


class SparkReader(Displayed, SparkView):
    """One view of a graph in a session; `SparkView` says what each verb does."""

    def __init__(self, view: View, session: Any = None) -> None:
        self.view = view
        self._session = session

    def __repr__(self) -> str:
        return f"<SparkView of '{self.view.tables.root.uri}' on branch '{self.view.branch or 'main'}'>"

    @property
    def session(self) -> Any:
        if self._session is None:
            self._session = spark_session()
        with without_warnings():
            self._session.dataSource.register(OmnigraphSource)
        return self._session

    def read(
        self,
        type_name: str,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        *,
        blobs: Literal["bytes", "cells"] = "bytes",
    ) -> Any:
        info = type_named(self.view, type_name)
        options = {
            "graph": self.view.tables.root.uri,
            "type": type_name,
            "branch": self.view.branch or "main",
            "version": str(self.view.version),
            "blobs": blobs,
        }
        plan = plan_table(options | ({} if columns is None else {"columns": ",".join(columns)}))
        size = None if info.blobs & set(plan.arrow_schema.names) else TableSize.of(self.view, info, plan)

        def load(names: Sequence[str] | None, pushed: Sequence[str], limit: int | None) -> Any:
            predicates = [f"({text})" for text in (where, *pushed) if text is not None]
            given = options | ({} if names is None else {"columns": ",".join(names)})
            given |= {"where": " AND ".join(predicates)} if predicates else {}
            given |= {} if limit is None else {"limit": str(limit)}
            with without_warnings():
                source = self.session.read.format(self._source_name(info.name, predicates))
                frame = source.options(**given).load()
            shown = plan if names is None else chosen_columns(plan, names)
            return frame if size is None else size.told(frame, shown.arrow_schema)

        if where is not None:
            require_predicate(self.view, info, where)
        stored = {name: at if at == name else None for name, at in plan.columns}
        return Asked(load, plan.arrow_schema, stored, tuple(plan.arrow_schema.names)).frame()

    def _source_name(self, type_name: str, predicates: Sequence[str]) -> str:
        """The name of the source in Spark's plans, which shows what is pushed down to Lance."""
        if not predicates:
            return OmnigraphSource.name()
        name = f"omnigraph {type_name} where {' and '.join(predicates)}"
        source = type("NamedSource", (OmnigraphSource,), {"name": classmethod(lambda cls: name)})
        with without_warnings():
            self.session.dataSource.register(source)
        return name

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
        call = ReadCall(read_source(source), name, params, "spark", limits, embedder, node_ids=node_ids)
        return query_on_spark(self.view, call, self._session)

    def changes(
        self,
        start: str = "now",
        *,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
        max_commits: int | None = None,
    ) -> Any:
        options = {"graph": self.view.tables.root.uri, "branch": self.view.branch or "main", "start": start}
        for name, wanted in (("kinds", kinds), ("types", types), ("ops", ops)):
            if wanted is not None:
                options[name] = wanted if isinstance(wanted, str) else ",".join(wanted)
        if max_commits is not None:
            options["max_commits"] = str(max_commits)
        require_options(options)
        with without_warnings():
            return self.session.readStream.format("omnigraph").options(**options).load()

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
    ) -> Sink:
        place = self.view.tables.root.uri, name, self.view.branch or "main"
        return Sink(*place, type, edge, columns, mode, actor, external_blobs, op, order_by)

    def create_views(self, prefix: str = "") -> list[str]:
        made = []
        for info in table_types(self.view.catalog).values():
            shared = info.table_key.startswith("edge:") and info.name in self.view.catalog.nodes
            name = f"{prefix}{info.name}{'_edge' if shared else ''}"
            self.read(info.table_key).createOrReplaceTempView(name)
            made.append(name)
        return made

    def export(self, target: str, types: Sequence[str] = ()) -> int:
        return export_files(self.view, target, types, SparkTasks(self.session))
