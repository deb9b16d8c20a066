"""What a server counts, in a registry of its own: requests, latencies, pools, queues, refusals, memory, graphs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """One registry per server, so that two of them in one process do not add up."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("route", "method")
        self._requests = Counter(
            "omnigraph_http_requests", "Answered requests", (*labels, "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "omnigraph_http_request_seconds", "Time to answer", labels, registry=self.registry, buckets=_BUCKETS
        )
        self._in_flight = Gauge("omnigraph_http_requests_in_flight", "Requests being answered", registry=self.registry)
        self._by_graph = Counter(
            "omnigraph_graph_requests", "Answered requests by graph", ("graph", "kind"), registry=self.registry
        )
        ProcessCollector(registry=self.registry)
        self.slow_queries = Counter("omnigraph_slow_queries", "Reads over the threshold", registry=self.registry)

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Counts the block as a request being answered."""
        with self._in_flight.track_inprogress():
            yield

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """One answered request; an unknown method is not a label of its own."""
        known = method if method in _METHODS else "other"
        self._requests.labels(route, known, str(status)).inc()
        self._seconds.labels(route, known).observe(seconds)

    def observe_graph(self, graph: str, method: str) -> None:
        """One answered request about a graph that is served."""
        self._by_graph.labels(graph, "read" if method in ("GET", "HEAD") else "post").inc()

    def text(self) -> bytes:
        """The exposition format."""
        return bytes(generate_latest(self.registry))


_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"})
