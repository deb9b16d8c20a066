"""HTTP/1.1 on the wire: uvicorn's h11 protocol, which here also refuses in envelopes and waits only so long."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from omnigraph.server.http.answers import JSON, compact
from omnigraph.server.http.refusal import bad_request

HEADER_BYTES = 64 << 10


def protocol(header_seconds: float) -> type[H11Protocol]:
    """The protocol class of a server that gives a client this long to send the head of its first request."""

    class Protocol(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._deadline = self.loop.call_later(header_seconds, self._too_slow)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
            super().connection_lost(exc)

        def _too_slow(self) -> None:
            began = getattr(self, "cycle", None) is not None
            if not began and not self.transport.is_closing():
                self.transport.close()

        def send_400_response(self, msg: str) -> None:
            if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
                self.transport.close()  # an answer is under way already; it cannot be taken back
                return
            body = compact(bad_request(msg).envelope())
            headers: list[Any] = [
                (b"content-type", JSON.encode()),
                (b"content-length", str(len(body)).encode()),
                (b"connection", b"close"),
            ]
            events = (h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage())
            self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
            self.transport.close()

    return Protocol
