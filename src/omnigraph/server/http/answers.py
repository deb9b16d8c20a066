"""Responses: compact JSON, refusals as envelopes, and bytes that were JSON already."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from omnigraph.server.http.refusal import Refusal

JSON = "application/json"
NDJSON = "application/x-ndjson; charset=utf-8"
ARROW = "application/vnd.apache.arrow.stream"
_SHORT = 512


def answer(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON document; a long one is encoded off the event loop."""
    if is_short(document):
        return raw_answer(compact(document), status, headers)
    return _Long(document, status, headers)


def raw_answer(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None, kind: str = JSON) -> Response:
    """A body that is in its final form."""
    return Response(body, status, headers=dict(headers or {}), media_type=kind)


def is_short(document: Any, most: int = _SHORT) -> bool:
    """Whether encoding takes no time to speak of: few values, and no long text."""
    pending = [document]
    while pending:
        value = pending.pop()
        most -= 1 + (len(value) >> 6 if isinstance(value, str) else 0)
        if most < 0:
            return False
        if isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, list | tuple):
            if len(value) > most:
                return False
            pending.extend(value)
    return True


class _Long(Response):
    """A document that is encoded in a thread, item by item: encoding a list at once would stop all other threads."""

    def __init__(self, document: Any, status: int, headers: Mapping[str, str] | None) -> None:
        super().__init__(None, status, headers=dict(headers or {}), media_type=JSON)
        self._document = document

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.body = await asyncio.to_thread(_by_items, self._document)
        self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


def _by_items(document: Any) -> bytes:
    if isinstance(document, dict):
        members = (compact(str(name)) + b":" + _by_items(value) for name, value in document.items())
        return b"{" + b",".join(members) + b"}"
    if isinstance(document, list | tuple):
        return b"[" + b",".join(_by_items(item) if not is_short(item) else compact(item) for item in document) + b"]"
    return compact(document)


def refused(refusal: Refusal) -> Response:
    """The envelope of a refusal."""
    return answer(refusal.envelope(), refusal.status, refusal.headers)


def compact(document: Any) -> bytes:
    """JSON without spaces, UTF-8 as it is; half characters, which only an echo can hold, are replaced."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")
