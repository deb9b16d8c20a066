"""The Model Context Protocol of a graph: every call of an agent becomes a request that passes the ordinary gates."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from omnigraph.client.aio import AsyncGraph
from omnigraph.client.transport import AsyncTransport
from omnigraph.mcp.protocol import tool_server
from omnigraph.mcp.source import ServedSource
from omnigraph.policy.actions import Action
from omnigraph.server.http.exchange import Exchange, named_branch

_BODY_LIMIT = 1 << 20


async def serve_agent(exchange: Exchange) -> Response:
    """Answer one message; sessions are not kept, so that any worker can answer the next."""
    branch = named_branch(exchange.value("branch"))
    await exchange.allow(Action.READ, branch=branch)
    await exchange.server.pools.small(_import_protocol)
    transport = AsyncTransport.inside(
        exchange.server, f"http://localhost/graphs/{exchange.graph.id}", _identity(exchange)
    )
    return _Conversation(transport, tool_server(ServedSource(AsyncGraph(transport, branch)), version("omnigraph")))


def _import_protocol() -> None:
    """The first message would otherwise keep the event loop for the second that importing takes."""
    try:
        import mcp.server.lowlevel
        import mcp.server.streamable_http_manager  # noqa: F401
    except ImportError:
        return  # reported by the route that needs it


class _Conversation(Response):
    """A response that the protocol's own transport writes."""

    def __init__(self, transport: AsyncTransport, tools: Any) -> None:
        super().__init__()
        self._transport = transport
        self._tools = tools

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        manager = StreamableHTTPSessionManager(
            self._tools, json_response=True, stateless=True, max_request_body_size=_BODY_LIMIT
        )
        try:
            async with manager.run():
                await manager.handle_request(scope, receive, send)
        finally:
            await self._transport.close()


def _identity(exchange: Exchange) -> dict[str, str]:
    """Who asks is proven again by the same token; the request id ties the inner requests to this one."""
    given = exchange.request.headers.get("authorization")
    return {"X-Request-Id": exchange.request_id, **({} if given is None else {"Authorization": given})}
