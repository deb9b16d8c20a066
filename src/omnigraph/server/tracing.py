"""Optional spans: one per request, continuing the trace of its caller, sent to the OTLP endpoint of the environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from omnigraph.errors import StartRefused

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


class Tracing:
    """Spans around requests, or nothing at all."""

    def __init__(self, tracer: Tracer | None = None, close: Any = None) -> None:
        self._tracer = tracer
        self._close = close

    @contextmanager
    def request(self, method: str, route: str, headers: Mapping[str, str]) -> Iterator[Any]:
        """A span for one request; None when tracing is off."""
        if self._tracer is None:
            yield None
            return
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        attributes = {"http.request.method": method, "http.route": route}
        with self._tracer.start_as_current_span(
            f"{method} {route}", context=extract(headers), kind=SpanKind.SERVER, attributes=attributes
        ) as span:
            yield span

    def close(self) -> None:
        """Send what is left."""
        if self._close is not None:
            self._close()


def tracing_from(environ: Mapping[str, str]) -> Tracing:
    """Tracing as the environment asks for; it is off unless an endpoint is named."""
    if not environ.get(ENDPOINT, "").strip():
        return Tracing()
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise StartRefused(f"{ENDPOINT} is set, but tracing is not installed: pip install omnigraph[otel]") from error
    resource = Resource.create({"service.name": "omnigraph-server", "service.version": version("omnigraph")})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider.get_tracer("omnigraph.server"), provider.shutdown)
