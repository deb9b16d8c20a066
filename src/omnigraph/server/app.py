"""The ASGI application: match, authenticate, find the graph, answer; every failure leaves as an envelope."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from omnigraph.errors import OmnigraphError
from omnigraph.ids import new_ulid
from omnigraph.policy.authorize import REQUEST
from omnigraph.server.admission import ActorMemory, Admission
from omnigraph.server.http.answers import refused
from omnigraph.server.http.authentication import WrongTokens, authenticate
from omnigraph.server.http.connections import Connections
from omnigraph.server.http.exchange import PRECONDITION, RESERVATION, Exchange
from omnigraph.server.http.hosts import ALLOWED, is_own
from omnigraph.server.http.refusal import INTERNAL, Refusal, bad_request, refusal_of, refuse
from omnigraph.server.http.routing import GRAPH, Match, Route, Router
from omnigraph.server.http.streams import Transport
from omnigraph.server.metrics import Metrics
from omnigraph.server.openapi.operations import ACCEPTED, NOTHING_ACCEPTED
from omnigraph.server.process.deployment import Deployment, ServedGraph
from omnigraph.server.routes.table import ROUTES
from omnigraph.server.settings import Settings
from omnigraph.server.state_metrics import ServerState
from omnigraph.server.studio.routes import STUDIO_ROUTES
from omnigraph.server.tracing import Tracing
from omnigraph.server.uploads import Uploads
from omnigraph.server.work import Pools

REQUEST_ID = "X-Request-Id"
_ACTOR = "omnigraph.actor"
_GRAPH_SCOPE = "omnigraph.graph"

_GRAPH_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_RESERVED = frozenset({"policies", "healthz", "openapi", "graphs"})
_SANE_ID = re.compile(r"[\x21-\x7e]{1,128}")
_LOG = logging.getLogger("omnigraph.server")


class Server:
    """What every request shares; an ASGI application."""

    def __init__(self, deployment: Deployment, settings: Settings, tracing: Tracing | None = None) -> None:
        self.deployment = deployment
        self.settings = settings
        self.admission = Admission(settings.caps)
        self.pools = Pools(reads=settings.read_threads, writes=settings.write_threads, caps=settings.read_caps)
        self.memory = ActorMemory(settings.caps.read_bytes)
        self.connections = Connections(settings.wire)
        self.transport = Transport()
        self.uploads = Uploads(settings.uploads)
        self.metrics = Metrics()
        self.closing = asyncio.Event()
        self.reload_asked = asyncio.Event()
        self.draining = False  # stopping, and still answering
        self.reload_workers: Callable[[], None] | None = None
        self.reload_failed = False  # the deployment is older than what was last found applied
        self._tracing = tracing if tracing is not None else Tracing()
        self._router = Router((*ROUTES, *STUDIO_ROUTES) if settings.studio else ROUTES)
        self.wrong_tokens = WrongTokens()
        self.metrics.registry.register(ServerState(self))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await _no_websockets(scope, receive, send)
            return
        request = Request(scope, receive)
        request_id = _request_id(request)
        recorded = _Recorded(send, request_id)
        started = time.perf_counter()
        path = scope.get("raw_path") or scope["path"].encode()
        match = _ambiguous(request) or self._router.match(request.method, path)
        route = match.route if isinstance(match, Match) else None
        name = "unmatched" if route is None else route.name
        with self.metrics.in_flight(), self._tracing.request(request.method, name, request.headers) as span:
            try:
                response = await self._answered(match, request, request_id)
                await response(scope, receive, recorded)
            except ClientDisconnect:
                recorded.status = 499
            finally:
                if (reservation := scope.pop(RESERVATION, None)) is not None:
                    reservation.close()  # what was answered has been taken, or its reader is gone
                if span is not None:
                    span.set_attribute("http.response.status_code", recorded.status)
                self._note(request, name, recorded.status, started, request_id)

    def close(self) -> None:
        """Let go of the threads; running calls end first."""
        self.pools.close()
        self._tracing.close()

    async def _answered(self, match: Match | Refusal, request: Request, request_id: str) -> Response:
        try:
            if isinstance(match, Refusal):
                raise match
            exchange = Exchange(self, request, match.params, request_id)
            peer = "" if request.client is None else request.client.host
            REQUEST.set({"request_id": request_id, "graph_id": match.params.get(GRAPH, ""), "peer": peer})
            self._admit_sender(match.route, exchange)
            request.scope[_ACTOR] = exchange.actor
            _refuse_unknown(match.route, exchange)
            return await match.route.endpoint(exchange)
        except Refusal as refusal:
            return refused(refusal)
        except OmnigraphError as error:
            if error.http_status >= 500:
                _LOG.error("%s", error.message, extra={"request_id": request_id, "code": error.code})
            return refused(refusal_of(error))
        except ClientDisconnect:
            raise
        except Exception:
            _LOG.exception("unexpected failure", extra={"request_id": request_id})
            return refused(refuse(500, f"internal: {INTERNAL}"))

    def readmit(self, exchange: Exchange) -> None:
        """Ask again who sends and what for, under the newest deployment; for requests that outlive a reload."""
        exchange.deployment = self.deployment
        if exchange.deployment.requires_authentication:
            exchange.sender = authenticate(exchange.request, exchange.deployment.tokens, self.wrong_tokens)
        exchange.graph = _graph(exchange.deployment, exchange.params[GRAPH]).for_actor(exchange.sender)

    def _admit_sender(self, route: Route, exchange: Exchange) -> None:
        """Authentication comes before anything that could tell which graphs exist."""
        if exchange.deployment.sign_in is not None:  # `omnigraph studio`, for the browser of this machine alone
            _refuse_foreign_name(exchange.request, self.settings.allowed_hosts)
        if not exchange.deployment.requires_authentication:
            if route.authenticated:
                _refuse_foreign_name(exchange.request, self.settings.allowed_hosts)
            _refuse_foreign_page(exchange.request, self.settings.cors_origins)
        elif route.authenticated:
            exchange.sender = authenticate(exchange.request, exchange.deployment.tokens, self.wrong_tokens)
        if route.has_graph:
            exchange.graph = _graph(exchange.deployment, exchange.params[GRAPH]).for_actor(exchange.sender)
            exchange.request.scope[_GRAPH_SCOPE] = exchange.graph.id
            _LOG.info("graph routed", extra={"graph_id": exchange.graph.id, "request_id": exchange.request_id})

    def _note(self, request: Request, name: str, status: int, started: float, request_id: str) -> None:
        spent = time.perf_counter() - started
        self.metrics.observe(name, request.method, status, spent)
        if (graph := request.scope.get(_GRAPH_SCOPE)) is not None:
            self.metrics.observe_graph(graph, request.method)
        peer = "" if request.client is None else request.client.host
        fields: dict[str, Any] = {"route": name, "status": status, "ms": round(spent * 1000, 1), "peer": peer}
        if (actor := request.scope.get(_ACTOR)) is not None:
            fields["actor_id"] = actor
        _LOG.info("request", extra={"method": request.method, "request_id": request_id, **fields})


class _Recorded:
    """Sends a response on, marked with the request id, and remembers its status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._mark = (REQUEST_ID.lower().encode(), request_id.encode())
        self.status = 500

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message["headers"], self._mark]}
        await self._send(message)


def _graph(deployment: Deployment, graph_id: str) -> ServedGraph:
    if not _GRAPH_ID.fullmatch(graph_id) or graph_id in _RESERVED:
        raise bad_request("a graph id has 1 to 64 letters, digits or '-'")
    graph = deployment.graphs.get(graph_id)
    if graph is None:
        raise refuse(404, f"graph '{graph_id}' not found")
    return graph


def _refuse_unknown(route: Route, exchange: Exchange) -> None:
    """400 for a query parameter or a condition that the route would ignore."""
    accepted = ACCEPTED.get((route.method, route.path), NOTHING_ACCEPTED)
    exchange.only(accepted.parameters)
    if exchange.request.method in ("GET", "HEAD"):
        return
    for name in (PRECONDITION, "If-Match"):
        if name in exchange.request.headers and name not in accepted.headers:
            conditional = f"{route.path}/if-graph-commit"
            instead = f"; use POST {conditional}" if ("POST", conditional) in ACCEPTED else ""
            raise bad_request(f"{name} is not honoured here{instead}")


def _ambiguous(request: Request) -> Refusal | None:
    """400 for a body with two lengths: what a proxy in front took for its end may not be where it ends here."""
    if "transfer-encoding" in request.headers and "content-length" in request.headers:
        return refuse(400, "a request has a Content-Length or a Transfer-Encoding, not both", Connection="close")
    return None


def _refuse_foreign_name(request: Request, allowed: Collection[str]) -> None:
    """403 for what is sent to a name that any page could have given to this machine (DNS rebinding)."""
    host = request.headers.get("host")
    if not is_own(host, allowed):
        message = f"this server does not answer to the name '{host}'; add it to {ALLOWED} if it is yours"
        raise refuse(403, message)


def _refuse_foreign_page(request: Request, allowed: Sequence[str]) -> None:
    """Where no token is needed, 403 for what a page of another site makes its visitor's browser send."""
    origin = request.headers.get("origin")
    if origin is None or request.method in ("GET", "HEAD") or origin in allowed or "*" in allowed:
        return
    if origin.partition("://")[2] != request.headers.get("host"):
        raise refuse(403, "a page of another site may not do this; its origin is not in OMNIGRAPH_CORS_ORIGINS")


def _request_id(request: Request) -> str:
    given = request.headers.get(REQUEST_ID, "")
    return given if _SANE_ID.fullmatch(given) else new_ulid()


async def _no_websockets(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1000})
