"""Blobs: one value of one entity, whole or in part."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from omnigraph.engine.views.blob import Blob
from omnigraph.errors import BadRequest, NotFound, OmnigraphError
from omnigraph.policy.actions import Action
from omnigraph.server.http.exchange import Exchange
from omnigraph.server.http.ranges import Changed, NotModified, Part, Unsatisfiable, Whole, wanted
from omnigraph.server.http.refusal import Refusal, bad_request, refuse
from omnigraph.server.http.rendering import SNAPSHOT_ID
from omnigraph.server.routes.reads import read_target
from omnigraph.server.work import on_disconnect

_CHUNK = 1 << 20
_BINARY = "application/octet-stream"
_SELECTORS = ("entity", "type", "id", "property")
_FAILED = "the blob cannot be delivered"


async def blob(exchange: Exchange) -> Response:
    """Deliver a blob; every failure of storage has one text."""
    try:
        return await _deliver(exchange)
    except OmnigraphError as error:
        if error.http_status < 500:
            raise
        raise refuse(500, _FAILED) from error


async def _deliver(exchange: Exchange) -> Response:
    selector = _selector(exchange)
    snapshot = exchange.value("snapshot")
    target = await read_target(exchange, exchange.value("branch"), snapshot, exchange.value("at"))
    await exchange.allow(Action.READ, branch=target.branch)
    graph = exchange.graph.handle

    def look(_: object) -> Blob:
        catalog = graph.view(target.live, at=target.commit).catalog
        if selector["type"] not in (catalog.nodes if selector["entity"] == "node" else catalog.edges):
            raise BadRequest(f"unknown {selector['entity']} type '{selector['type']}'")
        name = f"{selector['entity']}:{selector['type']}"
        return graph.blob(name, selector["id"], selector["property"], branch=target.live, at=target.commit)

    try:
        found = await exchange.read(look)
    except NotFound as error:
        raise refuse(404, error.message) from error
    marks = {SNAPSHOT_ID: found.snapshot_id or ""}
    if found.uri is not None:
        return Response(b"", 302, headers={**marks, "Location": found.uri, "Cache-Control": "no-store"})
    return await _managed(exchange, found, marks)


async def _managed(exchange: Exchange, found: Blob, marks: Mapping[str, str]) -> Response:
    head = exchange.request.method == "HEAD"
    kept = {**marks, "ETag": f'"{found.etag}"', "Accept-Ranges": "bytes"}
    match wanted(exchange.request.headers, found.etag, found.size, head=head):
        case Changed():
            raise Refusal(412, "the blob is not the one that If-Match names", "conflict", headers=kept)
        case NotModified():
            return Response(None, 304, headers={**kept, "Content-Length": str(found.size)})
        case Unsatisfiable(start, end):
            detail = {"blob_range": {"start": start, "end": end, "length": found.size}}
            headers = {**kept, "Content-Range": f"bytes */{found.size}"}
            raise Refusal(416, "the range lies outside the blob", "bad_request", detail, headers)
        case Part(start, end):
            kept["Content-Range"] = f"bytes {start}-{end - 1}/{found.size}"
            return await _body(exchange, found, Part(start, end), kept)
        case Whole():
            if head:
                return Response(None, 200, headers={**kept, "Content-Length": str(found.size)}, media_type=_BINARY)
            return await _body(exchange, found, Part(0, found.size), kept)


async def _body(exchange: Exchange, found: Blob, part: Part, headers: Mapping[str, str]) -> Response:
    start, end = part.start, part.end
    status = 206 if "Content-Range" in headers else 200
    first = await exchange.read(lambda _: found.read(start, min(_CHUNK, end - start)))
    if end - start <= _CHUNK:
        return Response(first, status, headers=dict(headers), media_type=_BINARY)
    exchange.reservation.need(2 * _CHUNK)
    return _InPieces(exchange, found, part, first, {**headers, "Content-Length": str(end - start)})


class _InPieces(Response):
    """A large blob, read as fast as its reader takes it; no thread waits while the reader does something else."""

    def __init__(self, exchange: Exchange, found: Blob, part: Part, first: bytes, headers: Mapping[str, str]) -> None:
        status = 206 if "Content-Range" in headers else 200
        super().__init__(None, status, headers=dict(headers), media_type=_BINARY)
        self._exchange = exchange
        self._found = found
        self._part = part
        self._first = first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.Event()
        async with on_disconnect(receive, gone.set):
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": self._first, "more_body": True})
            for at in range(self._part.start + _CHUNK, self._part.end, _CHUNK):
                if gone.is_set():
                    raise ClientDisconnect
                await send({"type": "http.response.body", "body": await self._read(at), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _read(self, at: int) -> bytes:
        pools, size = self._exchange.server.pools, min(_CHUNK, self._part.end - at)
        # No second listener for a disconnection here: the response itself is one.
        return await pools.read(lambda _: self._found.read(at, size), None, self._exchange.reader)


def _selector(exchange: Exchange) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _SELECTORS:
        value = exchange.value(name)
        if value is None:
            raise bad_request(f"'{name}' is missing")
        found[name] = value
    if found["entity"] not in ("node", "edge"):
        raise bad_request("'entity' is node or edge")
    return found
