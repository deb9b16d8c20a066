"""A real server process on loopback, started from a description in JSON; the tests' side and the process's side."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

# How long a test waits for what has to come: no measure of speed, only an end for a run that hangs.
WORK = "OMNIGRAPH_TEST_WORK"
PATIENCE = 240
_LISTENS = re.compile(r"OMNIGRAPH_LISTEN_ADDR=(.+)\n")


@dataclass
class ServerProcess:
    """A running server and what it has written."""

    process: subprocess.Popen[str]
    address: str
    log: Path
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, headers=headers, **{"timeout": PATIENCE, **options})

    def get(self, path: str, **options: Any) -> httpx.Response:
        """One request over a connection of its own, by nobody in particular."""
        return httpx.get(f"{self.url}{path}", **{"timeout": PATIENCE, **options})

    def exchange(self, request: bytes) -> bytes:
        """Send bytes on a connection of their own; what comes back until the server closes it, or says no more."""
        host, _, port = self.address.rpartition(":")
        answer = b""
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(request)
            with suppress(ConnectionResetError, TimeoutError):
                while piece := connection.recv(65536):
                    answer += piece
                    connection.settimeout(1)  # a request without an end is answered on a connection that stays open
        return answer

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait(10)

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]


def eventually(what: str, holds: Callable[[], object]) -> None:
    """Return when something that takes its time has come about."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not come about"
        time.sleep(0.02)


@contextmanager
def running(command: list[str], environ: Mapping[str, str] | None = None, expected: int = 0) -> Iterator[ServerProcess]:
    """Run a server command until the block ends; it has to stop by itself when it is told to."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OMNIGRAPH_")}
    with tempfile.NamedTemporaryFile("w+", suffix=".log", delete=False) as log:
        process = subprocess.Popen(
            [sys.executable, *command],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**kept, **(environ or {})},
        )
        assert process.stdout is not None
        said: list[str] = []
        address = None
        for line in process.stdout:
            said.append(line)
            found = _LISTENS.fullmatch(line)
            if found is not None:
                address = found.group(1)
                break
        if address is None:
            process.wait(30)
            raise AssertionError("the server did not start: " + Path(log.name).read_text()[-4000:])
        rest = threading.Thread(target=process.stdout.read, daemon=True)
        rest.start()
        server = ServerProcess(process, address, Path(log.name))
        server.extra = dict(line.strip().split("=", 1) for line in said if "=" in line)
        try:
            yield server
        finally:
            status = server.stop() if process.poll() is None else process.returncode
            rest.join(30)
            process.stdout.close()
            said_last = server.log.read_text()[-4000:]
            server.log.unlink()
        assert status == expected, f"the server ended with {status}: {said_last}"


@contextmanager
def serving(
    description: Mapping[str, Any], environ: Mapping[str, str] | None = None, expected: int = 0
) -> Iterator[ServerProcess]:
    """Serve graphs as described: `{graphs: {id: {uri, queries?, policy?}}, server_policy?, tokens?, cluster?}`."""
    with running([__file__, json.dumps(description)], environ, expected) as server:
        yield server


def _main(description: Mapping[str, Any]) -> None:
    from omnigraph.assembly import open as open_graph
    from omnigraph.compiler.query.stored import registry
    from omnigraph.policy.authorize import State, classify
    from omnigraph.policy.bundle import parse_bundle
    from omnigraph.policy.engine import PolicyEngine
    from omnigraph.policy.tokens import INLINE, load_tokens
    from omnigraph.server import logs
    from omnigraph.server.process.deployment import Deployment, ServedGraph
    from omnigraph.server.process.listening import bound_socket, parse_bind
    from omnigraph.server.process.serve import run
    from omnigraph.server.settings import settings_from

    def engine(text: str | None, graph_id: str | None) -> PolicyEngine | None:
        return None if text is None else PolicyEngine(parse_bundle(text, "test"), graph_id)

    logs.configure(os.environ)

    def opened(name: str) -> ServedGraph:
        given = description["graphs"][name]
        handle = open_graph(given["uri"], policy=engine(given.get("policy"), name))
        return ServedGraph(name, handle, registry(given.get("queries", {})))

    with ThreadPoolExecutor(4) as pool:
        graphs = {graph.id: graph for graph in pool.map(opened, description["graphs"])}
    tokens = load_tokens({**os.environ, INLINE: json.dumps(description.get("tokens", {}))})
    server_policy = engine(description.get("server_policy"), None)
    has_policy = server_policy is not None or any(graph.policy for graph in graphs.values())
    state = classify(tokens=bool(len(tokens)), policy=has_policy, unauthenticated=True)
    assert isinstance(state, State)
    if os.environ.get(WORK):
        _show_work()
    deployment = Deployment(graphs, state, tokens, server_policy, cluster_backed=description.get("cluster", False))
    run(deployment, settings_from(os.environ), bound_socket(parse_bind("127.0.0.1:0")))


def _show_work() -> None:
    """Add a header to each answer: how often it waited for a thread, and how often tables were read."""
    from contextvars import ContextVar
    from functools import wraps

    from omnigraph.server.app import Server
    from omnigraph.server.work import Pools
    from omnigraph.storage.lance.handle import TableHandle

    counts: ContextVar[list[int] | None] = ContextVar("counts", default=None)

    def counted(at: int, call: Any) -> Any:
        @wraps(call)
        def wrapper(*args: Any, **options: Any) -> Any:
            found = counts.get()
            if found is not None:
                found[at] += 1
            return call(*args, **options)

        return wrapper

    for name in ("read", "write"):
        setattr(Pools, name, counted(0, getattr(Pools, name)))
    for name in ("count_rows", "scan", "batches", "take_ids", "take_rows", "take_positions", "nearest"):
        setattr(TableHandle, name, counted(1, getattr(TableHandle, name)))
    answer = Server.__call__

    async def answered(self: Server, scope: Any, receive: Any, send: Any) -> None:
        found = [0, 0]
        counts.set(found)

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"x-work", b"%d %d" % tuple(found))]}
            await send(message)

        await answer(self, scope, receive, sent)

    Server.__call__ = answered  # type: ignore[method-assign]


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
