"""Uploads: files that a client sends to be looked at and loaded, kept for a while."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response

from omnigraph.checkpoints import checking
from omnigraph.engine.read.frames.budget import Budget
from omnigraph.pipeline.formats.confined import file_name, require_bounded
from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import Exchange, named_branch
from omnigraph.server.http.preferences import preferences
from omnigraph.server.http.refusal import Refusal, refuse
from omnigraph.server.uploads import Incoming, Uploaded

_PIECE = 1 << 20


async def upload(exchange: Exchange) -> Response:
    """Keep a file under a name; not a byte of it is asked for before the policy has decided."""
    await allow_loading(exchange, exchange.value("branch"))
    name = file_name(exchange.params["file"])
    directory, uploads = place_of(exchange), exchange.server.uploads
    limits = preferences(exchange.request).limits(exchange.server.settings.limits)

    def check(cancel: threading.Event) -> None:
        with checking(Budget(limits, cancel=cancel).check):  # unpacking takes its time: that of the sender's reads
            require_bounded(incoming.path, uploads.limits.expanded_bytes)
        incoming.finish()

    with exchange.admit(_declared(exchange)):
        incoming = await exchange.server.pools.small(lambda: uploads.begin(directory, name))
        try:
            incoming.require(_declared(exchange))
            await _receive(exchange, incoming)
            await exchange.read(check, limits.seconds)
        finally:
            incoming.abandon()
    found = await exchange.server.pools.small(lambda: uploads.listed(directory))
    return answer(next(uploaded_output(each) for each in found if each.name == name))


async def list_uploads(exchange: Exchange) -> Response:
    """The files that the sender has uploaded for this graph."""
    await allow_loading(exchange, exchange.value("branch"))
    directory, uploads = place_of(exchange), exchange.server.uploads
    found = await exchange.server.pools.small(lambda: uploads.listed(directory))
    limits = {"file_bytes": uploads.limits.file_bytes, "actor_bytes": uploads.limits.actor_bytes}
    return answer({"files": [uploaded_output(each) for each in found], **limits})


async def delete(exchange: Exchange) -> Response:
    """Remove an uploaded file."""
    await allow_loading(exchange, exchange.value("branch"))
    name, directory, uploads = file_name(exchange.params["file"]), place_of(exchange), exchange.server.uploads
    if not await exchange.server.pools.small(lambda: uploads.remove(directory, name)):
        raise refuse(404, f"there is no uploaded file '{name}'")
    return answer({"name": name})


async def allow_loading(exchange: Exchange, branch: str | None) -> None:
    """403 for those who may not change the branch that the files are meant for, and on a server that only reads."""
    await exchange.allow(Action.CHANGE, branch=named_branch(branch))
    exchange.require_writes()


def place_of(exchange: Exchange) -> Path:
    """Where the files of the sender for this graph are."""
    return exchange.server.uploads.directory(exchange.graph.uri, exchange.actor)


def uploaded_output(file: Uploaded) -> dict[str, Any]:
    """An uploaded file, and until when it is kept if nothing uses it."""
    until = datetime.fromtimestamp(file.expires_at, UTC).isoformat(timespec="seconds")
    return {"name": file.name, "bytes": file.bytes, "expires_at": until.replace("+00:00", "Z")}


async def _receive(exchange: Exchange, incoming: Incoming) -> None:
    """The body onto the disk, a piece at a time; it may take as long as it keeps arriving."""
    pending, seconds = bytearray(), exchange.server.settings.body_seconds
    stream = exchange.request.stream()
    try:
        while True:
            async with asyncio.timeout(seconds):
                piece = await anext(stream, None)
            if piece is None:
                break
            pending += piece
            if len(pending) >= _PIECE:
                taken, pending = bytes(pending), bytearray()
                await asyncio.to_thread(incoming.write, taken)
    except TimeoutError:
        message = f"no more of the file arrived within {seconds:g} seconds"
        raise Refusal(408, message, "bad_request", None, {"Connection": "close"}) from None
    except ClientDisconnect:
        raise refuse(400, "the connection ended inside the file") from None
    await asyncio.to_thread(incoming.write, bytes(pending))


def _declared(exchange: Exchange) -> int:
    declared = exchange.request.headers.get("content-length", "")
    return int(declared) if declared.isascii() and declared.isdecimal() and len(declared) < 19 else 0
