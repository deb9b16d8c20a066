"""The change feed as server-sent events: the same pages as polling, pushed while the client listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from omnigraph.engine.changes.poll import FeedPage
from omnigraph.engine.changes.scope import ChangeScope
from omnigraph.errors import OmnigraphError
from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import compact
from omnigraph.server.http.exchange import Exchange, named_branch
from omnigraph.server.http.outputs import block_output
from omnigraph.server.http.refusal import Refusal
from omnigraph.server.routes.changes import FEED_KEYS, FeedPlace, change_filter, feed_place, redacted, redaction
from omnigraph.server.routes.commits import without_hidden_parents

_POLL_SECONDS = 0.5
_SILENCE_POLLS = 30  # a comment every so often tells both sides that the connection lives


@redacted
async def stream(exchange: Exchange) -> Response:
    """An event per commit; its id is the cursor behind it, and `Last-Event-ID` resumes from there."""
    exchange.only(FEED_KEYS)
    branch = named_branch(exchange.value("branch"))
    await exchange.allow(Action.READ, branch=branch)
    position = feed_place(exchange)
    resumed = exchange.request.headers.get("last-event-id")
    if resumed:
        position = FeedPlace(cursor=resumed)
    feed = _Feed(exchange, branch, change_filter(exchange))
    with ExitStack() as place:
        place.enter_context(exchange.listen())
        first = await feed.poll(position)  # a bad position is refused before anything is promised
        return _Events(feed, first, place.pop_all(), headers_only=exchange.request.method == "HEAD")


class _Feed:
    """Polls one branch, whole commits at a time."""

    def __init__(self, exchange: Exchange, branch: str, scope: ChangeScope) -> None:
        self.exchange = exchange
        self.branch = branch
        self.scope = scope

    async def poll(self, position: FeedPlace) -> FeedPage:
        graph, pools, reader = self.exchange.graph.handle, self.exchange.server.pools, self.exchange.reader
        # No second listener for a disconnection here: the response itself is one.
        return await pools.read(lambda _: position.poll(graph, self.branch, self.scope), None, reader)

    async def events(self, page: FeedPage) -> AsyncIterator[bytes]:
        """Events for ever; a commit whose changes fill several pages is several events, the last with an id."""
        quiet = 0
        if not page.blocks:
            yield _event("cursor", {"cursor": page.cursor}, page.cursor)
        while True:
            for at, block in enumerate(page.blocks, 1):
                shown = await without_hidden_parents(self.exchange, block_output(block))
                yield _event("changes", shown, page.cursor if at == len(page.blocks) else None)
            quiet = 0 if page.blocks else quiet + 1
            if quiet and quiet % _SILENCE_POLLS == 0:
                yield b": still here\n\n"
            if page.caught_up:
                await asyncio.sleep(_POLL_SECONDS)
                # A right that was taken away ends a stream that it once opened.
                self.exchange.server.readmit(self.exchange)
                await self.exchange.allow(Action.READ, branch=self.branch)
            page = await self.poll(_next(page))


class _Events(Response):
    """A response without an end, unless only its headers are wanted; its place is free when its reader is gone."""

    def __init__(self, feed: _Feed, first: FeedPage, place: ExitStack, *, headers_only: bool) -> None:
        super().__init__(None, headers={"Cache-Control": "no-store"}, media_type="text/event-stream")
        del self.headers["content-length"]
        self._feed = feed
        self._first = first
        self._place = place
        self._headers_only = headers_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._place:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if not self._headers_only:
                await self._push(receive, send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _push(self, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send(send))
        gone = asyncio.create_task(_disconnected(receive))
        closing = asyncio.create_task(self._feed.exchange.server.closing.wait())
        await asyncio.wait([sending, gone, closing], return_when=asyncio.FIRST_COMPLETED)
        for task in (sending, gone, closing):
            task.cancel()
        await asyncio.gather(sending, gone, closing, return_exceptions=True)

    async def _send(self, send: Send) -> None:
        try:
            async for event in self._feed.events(self._first):
                await send({"type": "http.response.body", "body": event, "more_body": True})
        except (OmnigraphError, Refusal) as error:
            refusal = error if isinstance(error, Refusal) else redaction(error, self._feed.exchange)
            await send({"type": "http.response.body", "body": _event("error", refusal.envelope()), "more_body": True})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _next(page: FeedPage) -> FeedPlace:
    return FeedPlace(cursor=page.cursor, page_token=page.next_page_token)


def _event(kind: str, document: Any, cursor: str | None = None) -> bytes:
    mark = b"" if cursor is None else b"id: " + cursor.encode() + b"\n"
    return mark + b"event: " + kind.encode() + b"\ndata: " + compact(document) + b"\n\n"
