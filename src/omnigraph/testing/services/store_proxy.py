"""An HTTP proxy in front of an object store, in a process of its own: it counts requests and injects faults.

Lance does some of its input and output while it holds Python's lock, so a proxy in the same process could never answer.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

CONTROL = "/__proxy/"
_PER_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect"}

Effect = Literal["status", "drop", "lose_answer", "delay"]


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to requests whose method and target match: `effect`, for the first `times` of them (None: all).

    `status` answers with that status and forwards nothing, `drop` closes the connection instead of forwarding,
    `lose_answer` forwards and closes the connection instead of answering, `delay` waits before it forwards.
    """

    effect: Effect
    methods: tuple[str, ...] = ()
    target: str = ""
    times: int | None = None
    after: int = 0
    status: int = 503
    seconds: float = 0.0


class Seen(NamedTuple):
    """One request that came in, and the status of its answer; 0 when it got none."""

    method: str
    target: str
    status: int


@dataclass(frozen=True, slots=True)
class StoreProxy:
    """A running proxy, as tests use it."""

    endpoint: str

    def inject(self, *faults: Fault) -> None:
        """Replace all faults; none at all means that everything is forwarded."""
        self._control("faults", json.dumps([asdict(fault) for fault in faults]))

    def take_seen(self) -> list[Seen]:
        """The requests since the last call."""
        return [Seen(*each) for each in json.loads(self._control("seen"))]

    def _control(self, verb: str, body: str = "") -> bytes:
        parts = urlsplit(self.endpoint)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=30)
        try:
            connection.request("POST", f"{CONTROL}{verb}", body)
            return connection.getresponse().read()
        finally:
            connection.close()


@contextmanager
def running_proxy(upstream: str, *, google: bool = False) -> Iterator[StoreProxy]:
    """A proxy in front of the server at a URL until the block ends; `google` speaks Google's dialect to clients."""
    command = [sys.executable, "-m", __name__, upstream, *(["google"] if google else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield StoreProxy(f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.kill()


# --- the process -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Request:
    """One request as the client sent it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Response:
    """One answer; `headers` may repeat a name."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""


class Dropped(Exception):
    """The connection is closed without an answer."""


Forward = Callable[[Request], Response]


class _Upstream:
    """The store behind the proxy, over connections that are used again."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._address = str(parts.hostname), parts.port or 80
        self._idle: list[http.client.HTTPConnection] = []

    def forward(self, request: Request) -> Response:
        """The store's own answer; a store that does not answer is like a broken connection."""
        try:
            with suppress(IndexError, OSError, http.client.HTTPException):
                return self._asked(self._idle.pop(), request)  # the store may have closed it meanwhile
            return self._asked(http.client.HTTPConnection(*self._address, timeout=60), request)
        except (OSError, http.client.HTTPException) as error:
            raise Dropped(str(error)) from error

    def _asked(self, connection: http.client.HTTPConnection, request: Request) -> Response:
        try:
            connection.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers.items():
                if name.lower() not in _PER_HOP:
                    connection.putheader(name, value)
            connection.endheaders(request.body or None)
            found = connection.getresponse()
            answer = Response(found.status, found.getheaders(), found.read())
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return answer


class _Plan:
    """The faults still to come, and what came in."""

    def __init__(self, answer: Forward) -> None:
        self._answer = answer
        self._lock = threading.Lock()
        self._faults: list[dict[str, Any]] = []
        self._seen: list[tuple[str, str, int]] = []

    def control(self, verb: str, body: bytes) -> bytes:
        with self._lock:
            if verb == "faults":
                self._faults = json.loads(body)
                return b"[]"
            seen, self._seen = self._seen, []
            return json.dumps(seen).encode()

    def answer(self, request: Request) -> Response:
        status = 0
        try:
            found = self._with_faults(request)
            status = found.status
            return found
        finally:
            with self._lock:
                self._seen.append((request.method, request.target, status))

    def _with_faults(self, request: Request) -> Response:
        fault = self._next(request)
        match None if fault is None else fault["effect"]:
            case "status":
                assert fault is not None
                return Response(fault["status"], [("Content-Type", "text/plain")], b"injected")
            case "drop":
                raise Dropped("injected")
            case "lose_answer":
                self._answer(request)
                raise Dropped("injected")
            case "delay":
                assert fault is not None
                time.sleep(fault["seconds"])
        return self._answer(request)

    def _next(self, request: Request) -> dict[str, Any] | None:
        with self._lock:
            for fault in self._faults:
                if fault["methods"] and request.method not in fault["methods"]:
                    continue
                if not re.search(fault["target"], request.target) or fault["times"] == 0:
                    continue
                if fault["after"]:
                    fault["after"] -= 1
                    continue
                if fault["times"] is not None:
                    fault["times"] -= 1
                return fault
        return None


class _Server(ThreadingHTTPServer):
    plan: _Plan
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that close their connections are no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        request = Request(self.command, self.path, dict(self.headers.items()), self._body())
        if self.path.startswith(CONTROL):
            self._send(Response(200, body=self.server.plan.control(self.path.removeprefix(CONTROL), request.body)))
            return
        try:
            self._send(self.server.plan.answer(request))
        except Dropped:
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            return b"".join(self._chunks())
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _send(self, found: Response) -> None:
        self.send_response_only(found.status)
        lengths = [value for name, value in found.headers if name.lower() == "content-length"]
        for name, value in found.headers:
            if name.lower() not in _PER_HOP | {"content-length"}:
                self.send_header(name, value)
        # The answer to HEAD has the length of what GET would give.
        size = lengths[0] if self.command == "HEAD" and lengths else str(len(found.body))
        if found.status not in (204, 304):
            self.send_header("Content-Length", size)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests ask for what was seen instead."""


def _translated(forward: Forward) -> Forward:
    from omnigraph.testing.services.google_dialect import GoogleDialect

    dialect = GoogleDialect()
    return lambda request: dialect(request, forward)


def main(arguments: Sequence[str]) -> None:
    """Serve until killed; the port is printed first."""
    upstream = _Upstream(arguments[0])
    server = _Server(("127.0.0.1", 0), _Handler)
    server.plan = _Plan(_translated(upstream.forward) if "google" in arguments[1:] else upstream.forward)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
