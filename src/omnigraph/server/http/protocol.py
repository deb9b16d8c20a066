"""HTTP/1.1 on the wire: uvicorn's h11 protocol, which here also refuses in envelopes and waits only so long.

A connection is always in one of four states, each with a deadline: idle (uvicorn's), sending a head, sending a body, or
taking an answer. What is being computed has limits of its own.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from omnigraph.server.http.answers import JSON, compact
from omnigraph.server.http.connections import LINGERING, Connections
from omnigraph.server.http.refusal import Refusal, bad_request, refuse

HEADER_BYTES = 64 << 10
_BUSY_SECONDS = 10
_LINGER_SECONDS = 1.0

_Part = Literal["head", "body"]


def protocol(connections: Connections) -> type[H11Protocol]:
    """The protocol class of a server whose connections are counted and given time here."""
    wire = connections.wire

    class Protocol(H11Protocol):
        _waiting: asyncio.TimerHandle | None = None
        _part: _Part | None = None
        _request: object = None
        _sending: asyncio.TimerHandle | None = None
        _unsent = 0
        _address = ""
        _refused = False

        @property
        def _cycle(self) -> RequestResponseCycle | None:
            return self.cycle  # none before the first request, whatever its type says

        @property
        def is_idle(self) -> bool:
            return self._cycle is None or self._cycle.response_complete

        def drop(self) -> None:
            self.transport.abort()

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._address = self.client[0] if self.client else ""
            why = connections.admit(self, self._address)
            if why is not None:
                self.refuse(refuse(503, f"{why}; try again later", Retry_After=str(_BUSY_SECONDS)))
                return
            self._await("head")

        def connection_lost(self, exc: Exception | None) -> None:
            connections.leave(self)
            self._await(None)
            self._stop_sending()
            super().connection_lost(exc)

        # --- what the client sends ---------------------------------------------------------------

        def data_received(self, data: bytes) -> None:
            if self._refused or self.transport.is_closing():
                return  # what comes after a refusal is not looked at
            super().data_received(data)
            self._look()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._look()

        def _look(self) -> None:
            """Set the deadline of the part that the client owes; the same one goes on while nothing new has begun."""
            state = self.conn.their_state
            if state is h11.SEND_BODY:
                part: _Part | None = "body"
            elif state is h11.IDLE and self.conn.trailing_data[0]:
                part = "head"
            elif state is h11.IDLE and self._cycle is None:
                part = "head"  # of the first request
            else:
                part = None
            if part != self._part or self._request is not self.cycle:
                self._await(part)

        def _await(self, part: _Part | None) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None
            self._part, self._request = part, self.cycle
            if part is not None:
                seconds = wire.header_seconds if part == "head" else wire.body_seconds + wire.header_seconds
                self._waiting = self.loop.call_later(seconds, self._too_slow)

        def _too_slow(self) -> None:
            if self._refused or self.transport.is_closing():
                return
            if self.flow.read_paused:  # the server is the one that takes its time
                self._await(self._part)
                return
            connections.note(f"its {self._part} did not arrive in time", self._address)
            if self.is_idle and self._part == "head" and self.conn.trailing_data[0]:
                message = f"the head of the request did not arrive within {wire.header_seconds:g} seconds"
                self.refuse(refuse(408, message))
            else:
                self.transport.close()

        # --- what the client takes ---------------------------------------------------------------

        def pause_writing(self) -> None:
            super().pause_writing()
            self._unsent = self.transport.get_write_buffer_size()
            self._sending = self.loop.call_later(wire.send_seconds, self._look_at_reader)

        def resume_writing(self) -> None:
            self._stop_sending()
            super().resume_writing()

        def _stop_sending(self) -> None:
            if self._sending is not None:
                self._sending.cancel()
                self._sending = None

        def _look_at_reader(self) -> None:
            """Cut off a client that takes less than the minimum of its answer within the time allowed."""
            left = self.transport.get_write_buffer_size()
            if self._unsent - left < wire.send_bytes:
                connections.note("its answer is not being read", self._address)
                self.transport.abort()
                return
            self._unsent = left
            self._sending = self.loop.call_later(wire.send_seconds, self._look_at_reader)

        # --- refusals ----------------------------------------------------------------------------

        def send_400_response(self, msg: str) -> None:
            self.refuse(bad_request(msg))

        def refuse(self, refusal: Refusal) -> None:
            """Answer outside of the application, and close."""
            if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
                self.transport.close()  # an answer is under way already; it cannot be taken back
                return
            body = compact(refusal.envelope())
            headers: list[Any] = [
                (b"content-type", JSON.encode()),
                (b"content-length", str(len(body)).encode()),
                (b"connection", b"close"),
                *((name.encode(), value.encode()) for name, value in refusal.headers.items()),
            ]
            events = (
                h11.Response(status_code=refusal.status, headers=headers),
                h11.Data(data=body),
                h11.EndOfMessage(),
            )
            self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
            self._hang_up()

        def _hang_up(self) -> None:
            """End the sending side first: closing at once would discard the answer for a client that still sends."""
            if self._refused or connections.lingering >= LINGERING or not self.transport.can_write_eof():
                self.transport.close()
                return
            self._refused = True
            connections.lingering += 1
            self.transport.write_eof()
            self.loop.call_later(_LINGER_SECONDS, self._closed_for_good)

        def _closed_for_good(self) -> None:
            connections.lingering -= 1
            self.transport.close()

    return Protocol
