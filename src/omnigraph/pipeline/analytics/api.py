"""`graph.analytics`: whole-graph algorithms by name, each in memory or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.display import Displayed
from omnigraph.engine.api.access import Access, access
from omnigraph.engine.api.analytics import Analytics, Direction, NodeValues
from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.api.graph import Graph
from omnigraph.engine.api.reader import Reader
from omnigraph.engine.values.message import commit_message
from omnigraph.engine.views.table_tasks import Runner, SparkPlace, parse_runner
from omnigraph.errors import BadRequest
from omnigraph.pipeline.analytics import kernels
from omnigraph.pipeline.analytics.kernels import Teleport
from omnigraph.pipeline.analytics.links import distance_links, group_links
from omnigraph.pipeline.analytics.network import Network, Selection, select
from omnigraph.pipeline.analytics.write_back import check_place, parse_place, write_edges, write_property

if TYPE_CHECKING:
    from omnigraph.pipeline.analytics.spark_network import SparkNetwork

_DIRECTIONS = ("out", "in", "both")
Inline = Callable[[Network], tuple[pa.Array, int | None]]
Distributed = Callable[["SparkNetwork"], tuple[Any, int | None]]
Links = Callable[[pa.Table], pa.Table]


@checked_methods
class GraphAnalytics(Displayed, Analytics):
    """The algorithms on what a handle sees; `Analytics` says what each of them computes."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def pagerank(
        self,
        edge: str | Sequence[str],
        *,
        damping: float = 0.85,
        tolerance: float = 1e-8,
        iterations: int = 100,
        weight: str | None = None,
        direction: Direction = "out",
        runner: Runner = "auto",
        write_to: str | None = None,
        branch: str | None = None,
        spark: SparkPlace = None,
        message: str | None = None,
    ) -> NodeValues:
        if not 0 <= damping < 1:
            raise BadRequest(f"damping lies between 0 and 1, and {damping} does not")
        walk = Teleport(float(damping), float(tolerance), _at_least(iterations, 1, "iterations"))
        way = _one_of(direction, _DIRECTIONS, "direction")

        def inline(network: Network) -> tuple[pa.Array, int | None]:
            ranks, done = kernels.pagerank(network.pairs.turned(way), walk)
            return pa.array(ranks), done

        def distributed(network: SparkNetwork) -> tuple[Any, int | None]:
            from omnigraph.pipeline.analytics import spark_kernels

            return spark_kernels.pagerank(network.nodes, network.edges.turned(way), walk)

        job = _Job("rank", pa.float64(), inline, distributed)
        return self._run(edge, job, _How(runner, write_to, branch, spark, message), weight)

    def components(
        self,
        edge: str | Sequence[str],
        *,
        runner: Runner = "auto",
        write_to: str | None = None,
        branch: str | None = None,
        spark: SparkPlace = None,
        message: str | None = None,
    ) -> NodeValues:
        def inline(network: Network) -> tuple[pa.Array, int | None]:
            return pa.array(kernels.dense(kernels.components(network.pairs))), None

        def distributed(network: SparkNetwork) -> tuple[Any, int | None]:
            from omnigraph.pipeline.analytics import spark_kernels

            return spark_kernels.dense(spark_kernels.components(network.nodes, network.edges)), None

        job = _Job("component", pa.int64(), inline, distributed, group_links)
        return self._run(edge, job, _How(runner, write_to, branch, spark, message))

    def label_propagation(
        self,
        edge: str | Sequence[str],
        *,
        iterations: int = 10,
        runner: Runner = "auto",
        write_to: str | None = None,
        branch: str | None = None,
        spark: SparkPlace = None,
        message: str | None = None,
    ) -> NodeValues:
        rounds = _at_least(iterations, 1, "iterations")

        def inline(network: Network) -> tuple[pa.Array, int | None]:
            labels, done = kernels.label_propagation(network.pairs, rounds)
            return pa.array(kernels.dense(labels)), done

        def distributed(network: SparkNetwork) -> tuple[Any, int | None]:
            from omnigraph.pipeline.analytics import spark_kernels

            labels, done = spark_kernels.label_propagation(network.nodes, network.edges, rounds)
            return spark_kernels.dense(labels), done

        job = _Job("label", pa.int64(), inline, distributed, group_links)
        return self._run(edge, job, _How(runner, write_to, branch, spark, message))

    def triangles(
        self,
        edge: str | Sequence[str],
        *,
        runner: Runner = "auto",
        write_to: str | None = None,
        branch: str | None = None,
        spark: SparkPlace = None,
        message: str | None = None,
    ) -> NodeValues:
        def inline(network: Network) -> tuple[pa.Array, int | None]:
            return pa.array(kernels.triangles(network.pairs)), None

        def distributed(network: SparkNetwork) -> tuple[Any, int | None]:
            from omnigraph.pipeline.analytics import spark_kernels

            return spark_kernels.triangles(network.nodes, network.edges), None

        job = _Job("triangles", pa.int64(), inline, distributed)
        return self._run(edge, job, _How(runner, write_to, branch, spark, message))

    def degree(
        self,
        edge: str | Sequence[str],
        *,
        direction: Direction = "both",
        runner: Runner = "auto",
        write_to: str | None = None,
        branch: str | None = None,
        spark: SparkPlace = None,
        message: str | None = None,
    ) -> NodeValues:
        way = _one_of(direction, _DIRECTIONS, "direction")

        def inline(network: Network) -> tuple[pa.Array, int | None]:
            return pa.array(kernels.degrees(network.pairs, way)), None

        def distributed(network: SparkNetwork) -> tuple[Any, int | None]:
            from omnigraph.pipeline.analytics import spark_kernels

            return spark_kernels.degrees(network.nodes, network.edges, way), None

        job = _Job("degree", pa.int64(), inline, distributed)
        return self._run(edge, job, _How(runner, write_to, branch, spark, message))

    def distances(
        self,
        source: str | Sequence[str],
        edge: str | Sequence[str],
        *,
        source_type: str | None = None,
        direction: Direction = "out",
        depth: int | None = None,
        runner: Runner = "auto",
        write_to: str | None = None,
        branch: str | None = None,
        spark: SparkPlace = None,
        message: str | None = None,
    ) -> NodeValues:
        way = _one_of(direction, _DIRECTIONS, "direction")
        ids = [source] if isinstance(source, str) else list(source)
        if not ids:
            raise BadRequest("name at least one source")
        far = None if depth is None else _at_least(depth, 0, "depth")

        def inline(network: Network) -> tuple[pa.Array, int | None]:
            start = network.positions_of(_source_type(network.selection, source_type), ids)
            hops = kernels.distances(network.pairs.turned(way), start, far)
            return pa.array(hops, mask=hops < 0), None

        def distributed(network: SparkNetwork) -> tuple[Any, int | None]:
            from omnigraph.pipeline.analytics import spark_kernels

            start = network.numbers_of(_source_type(network.selection, source_type), ids)
            return spark_kernels.distances(network.nodes, network.edges.turned(way), start, far), None

        links = partial(distance_links, ids) if len(ids) == 1 else None
        job = _Job("distance", pa.int64(), inline, distributed, links)
        return self._run(edge, job, _How(runner, write_to, branch, spark, message))

    # --- running ---------------------------------------------------------------------------------

    def _run(self, edge: str | Sequence[str], job: _Job, how: _How, weight: str | None = None) -> NodeValues:
        reader = self._bound(how.branch)
        selection = select(reader.view(), edge, weight)
        place = None if how.write_to is None else parse_place(how.write_to, commit_message(how.message))
        if place is not None:
            writer = _writer(reader)
            if place.edge and job.links is None:
                raise BadRequest(f"'{job.column}' is a number of a node; write it to a property: Type.{job.column}")
            check_place(selection.view.catalog, place, job.kind)
        keeper = reader if isinstance(reader, Graph) and not reader.read_only else None
        if _chosen(how.runner, selection, how.spark) == "inline":
            values = job.in_memory(selection, keep=keeper is not None)
        else:
            if keeper is not None:
                access(keeper).keep_lists([info.table_key for info in selection.edges], how.spark)
            values = job.on_spark(selection, how.spark)
        if place is None:
            return values
        if place.edge:
            assert job.links is not None
            return replace(values, commit=write_edges(writer, place, job.links(values.table)))
        return replace(values, commit=write_property(writer, place, values.table))

    def _bound(self, branch: str | None) -> Reader:
        if branch is None:
            return self._reader
        if not isinstance(self._reader, Graph):
            raise BadRequest("a view of the past is on no branch; leave out branch=")
        return self._reader.branch(branch)


@dataclass(frozen=True, slots=True)
class _How:
    """What every algorithm takes: where it runs, what becomes of its values, and on which branch."""

    runner: str
    write_to: str | None
    branch: str | None
    spark: SparkPlace
    message: str | None = None


def _writer(reader: Reader) -> Access:
    if not isinstance(reader, Graph):
        raise BadRequest("a view of the past cannot be written to; leave out write_to=")
    found = access(reader)
    found.require_change(found.branch)
    return found


class _Job:
    """One algorithm: its value's name and type, its two ways to run, and its form as edges if it has one."""

    def __init__(
        self, column: str, kind: pa.DataType, inline: Inline, distributed: Distributed, links: Links | None = None
    ) -> None:
        self.column = column
        self.kind = kind
        self.inline = inline
        self.distributed = distributed
        self.links = links

    def in_memory(self, selection: Selection, *, keep: bool) -> NodeValues:
        network = Network(selection, keep=keep)
        found, done = self.inline(network)
        table = network.table(self.column, found)
        return NodeValues(self.column, "inline", lambda: table, _to_session, done)

    def on_spark(self, selection: Selection, spark: SparkPlace) -> NodeValues:
        from omnigraph.pipeline.analytics.spark_network import SparkNetwork, session_for
        from omnigraph.pipeline.analytics.spark_vectors import NodeArray
        from omnigraph.pipeline.spark.session import spark_session, without_warnings
        from omnigraph.pipeline.tasks.watching import translated

        given = spark_session(spark) if spark is None or isinstance(spark, str) else spark
        session = session_for(given, selection.rows)

        def prepared() -> ExitStack:
            held = ExitStack()
            held.enter_context(without_warnings())
            held.enter_context(translated(f"analytics: {self.column}"))
            return held

        with prepared():
            network = SparkNetwork(session, selection)
            found, done = self.distributed(network)

        def frame() -> Any:
            if isinstance(found, NodeArray):  # in the caller's session, where it may be joined with other frames
                return SparkNetwork(given, selection).shown(replace(found, spark=given).frame, self.column)
            return network.shown(found, self.column)

        def collect() -> pa.Table:
            with prepared():
                if isinstance(found, NodeArray):
                    table = found.table(network.nodes.toArrow(), self.column)
                else:
                    table = frame().toArrow()
                kinds = {"type": pa.utf8(), "id": pa.utf8(), self.column: self.kind}
                return table.cast(pa.schema(kinds))

        return NodeValues(self.column, "spark", collect, lambda _: frame(), done)


def _to_session(values: NodeValues) -> Any:
    from omnigraph.pipeline.spark.session import spark_session, without_warnings

    with without_warnings():
        return spark_session().createDataFrame(values.table)


def _chosen(runner: str, selection: Selection, spark: SparkPlace) -> str:
    wanted = parse_runner(runner)
    if wanted == "spark" and find_spec("pyspark") is None:
        raise BadRequest("the spark runner needs pyspark: install omnigraph[spark]")
    if wanted != "auto":
        return wanted
    if spark is not None:
        return "spark"
    if selection.fits:
        return "inline"
    if find_spec("pyspark") is None:
        raise BadRequest(
            f"this needs about {selection.memory >> 30} GiB of memory; "
            'install omnigraph[spark] to run it on Spark, or insist with runner="inline"'
        )
    return "spark"


def _source_type(selection: Selection, given: str | None) -> str:
    names = [info.name for info in selection.nodes]
    if given is None and len(names) == 1:
        return names[0]
    if given is None:
        raise BadRequest(f"these edges link several node types; say source_type= ({', '.join(names)})")
    return _one_of(given, names, "source_type")


def _one_of(value: str, known: Sequence[str], name: str) -> str:
    if value not in known:
        raise BadRequest(f"unknown {name} '{value}' (expected {', '.join(known)})")
    return value


def _at_least(value: int, least: int, name: str) -> int:
    if value < least:
        raise BadRequest(f"{name} must be at least {least}, and {value} is less")
    return value
