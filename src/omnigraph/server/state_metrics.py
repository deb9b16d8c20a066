"""What a server holds at the moment, for metrics: looked up when they are asked for, never counted along."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from omnigraph.memory.budget import PROCESS as CACHES
from omnigraph.memory.working import PROCESS as WORKING

if TYPE_CHECKING:
    from omnigraph.server.app import Server


class ServerState(Collector):
    """Gauges and refusals of one server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def describe(self) -> Iterable[Metric]:
        """Nothing beforehand: the families are the same whenever they are collected."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Everything, as it is now."""
        yield from self._pools()
        yield from self._connections()
        yield from _memory()
        yield from self._graphs()
        yield self._refusals()

    def _pools(self) -> Iterator[Metric]:
        pools = self._server.pools
        turns = pools.turns
        running = {"read": turns.running, **{name: pools.busy[name] for name in ("write", "stream")}}
        size = {"read": turns.threads, "write": self._server.settings.write_threads, "stream": pools.streams}
        yield _labelled(
            "omnigraph_pool_calls", "Calls that run, by pool; writes and streams that wait as well", "pool", running
        )
        yield _labelled("omnigraph_pool_threads", "Threads by pool", "pool", size)
        yield GaugeMetricFamily("omnigraph_reads_waiting", "Reads that wait for a thread", value=turns.waiting)
        computing = {"computing": pools.processors.computing, "waiting": pools.processors.waiting}
        yield _labelled("omnigraph_long_reads", "Long reads that compute, or wait to go on", "state", computing)
        yield GaugeMetricFamily("omnigraph_read_actors", "Actors with reads lately", value=turns.actors)

    def _connections(self) -> Iterator[Metric]:
        connections = self._server.connections
        yield GaugeMetricFamily("omnigraph_connections", "Open connections", value=len(connections))
        most = connections.wire.connections
        yield GaugeMetricFamily("omnigraph_connections_max", "How many there may be", value=most)
        ended = CounterMetricFamily("omnigraph_connections_ended", "Connections refused or cut off", labels=["reason"])
        for reason, count in sorted(connections.refused.items()):
            ended.add_metric([reason], count)
        yield ended

    def _graphs(self) -> Iterator[Metric]:
        deployment = self._server.deployment
        counts = {"served": len(deployment.graphs), "quarantined": len(deployment.quarantined)}
        yield _labelled("omnigraph_graphs", "Graphs of the deployment", "state", counts)
        revision = deployment.revision or 0
        yield GaugeMetricFamily("omnigraph_revision", "The served revision, 0 without a cluster", value=revision)
        failed = int(self._server.reload_failed)
        yield GaugeMetricFamily("omnigraph_reload_failed", "Whether a newer revision cannot be served", value=failed)

    def _refusals(self) -> Metric:
        found = CounterMetricFamily("omnigraph_refusals", "Requests refused to protect the server", labels=["reason"])
        counts = {**self._server.pools.turns.refused, "writes or streams of the actor": self._server.admission.refused}
        for reason, count in sorted({**counts, "memory": WORKING.refused}.items()):
            found.add_metric([reason], count)
        return found


def _memory() -> Iterator[Metric]:
    capacity = {"work": WORKING.capacity, "caches": CACHES.capacity}
    yield _labelled("omnigraph_memory_bytes", "Memory held", "use", {"work": WORKING.drawn, "caches": CACHES.used})
    yield _labelled("omnigraph_memory_capacity_bytes", "Memory that may be held", "use", capacity)
    yield _labelled("omnigraph_cache_bytes", "Memory held by caches of all graphs", "cache", CACHES.usage())


def _labelled(name: str, help: str, label: str, values: Mapping[str, int]) -> Metric:
    found = GaugeMetricFamily(name, help, labels=[label])
    for each, value in values.items():
        found.add_metric([each], value)
    return found
