"""Connections that misbehave: slow heads and bodies on any request, too many sockets, answers that are not read."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from graph_api import Api
from served_people import COUNT, SCHEMA, STORED, copies

import omnigraph as og
from server_process import PATIENCE, ServerProcess, eventually, running, serving

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /graphs/default/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SHORT = {
    "OMNIGRAPH_HEADER_TIMEOUT_MS": "400",
    "OMNIGRAPH_BODY_TIMEOUT_MS": "400",
    "OMNIGRAPH_SEND_TIMEOUT_MS": "400",
    "OMNIGRAPH_CONNECTIONS_MAX": "24",
    "OMNIGRAPH_CONNECTIONS_PER_ADDRESS_MAX": "20",
}


@pytest.fixture(scope="module")
def server(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server without patience, with a graph of blobs that do not fit into the buffers of a connection."""
    folder = tmp_path_factory.mktemp("strangers")
    places = copies(template, folder, ["default", "other"])
    blobs = str(folder / "blobs.omni")
    with og.init(blobs, SCHEMA) as graph:
        large = b64encode(os.urandom(1 << 20) * 20).decode()
        graph.load([{"type": "Document", "data": {"name": "large", "content": f"base64:{large}"}}])
    graphs = {name: {"uri": uri, "queries": STORED} for name, uri in {**places, "blobs": blobs}.items()}
    with serving({"graphs": graphs}, SHORT) as found:
        yield found


def connect(server: ServerProcess) -> socket.socket:
    host, _, port = server.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def answered(connection: socket.socket) -> bytes:
    """Everything until the server closes."""
    found = b""
    while piece := connection.recv(1 << 16):
        found += piece
    return found


def one_answer(connection: socket.socket) -> bytes:
    found = b""
    while b"\r\n\r\n" not in found:
        found += connection.recv(1 << 16)
    head, _, body = found.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(1 << 16)
    return head


@pytest.mark.parametrize("before", [0, 1, 2], ids=lambda number: f"after {number} requests")
def test_a_head_has_to_arrive_on_every_request_of_a_connection(server: ServerProcess, before: int) -> None:
    with connect(server) as connection:
        for _ in range(before):
            connection.sendall(HEALTH)
            assert b" 200 " in one_answer(connection)
        connection.sendall(HEALTH[:-2])
        head, _, body = answered(connection).partition(b"\r\n\r\n")
    assert b" 408 " in head
    assert json.loads(body)["code"] == "bad_request"


@pytest.mark.parametrize("before", [0, 1], ids=lambda number: f"after {number} requests")
def test_a_body_has_to_arrive_on_every_request_of_a_connection(server: ServerProcess, before: int) -> None:
    with connect(server) as connection:
        for _ in range(before):
            connection.sendall(HEALTH)
            assert b" 200 " in one_answer(connection)
        connection.sendall(POST + b"Content-Length: 100\r\n\r\n{")
        assert b" 408 " in answered(connection)


def test_a_body_that_no_route_asked_for_has_to_end_as_well(server: ServerProcess) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx")
        assert b" 200 " in answered(connection)


def test_an_idle_connection_costs_nothing_and_more_of_one_address_than_allowed_are_refused(
    server: ServerProcess,
) -> None:
    with ExitStack() as held:
        refused = b""
        for _ in range(60):
            connection = held.enter_context(connect(server))
            connection.sendall(HEALTH)
            head = one_answer(connection)
            if b" 503 " in head:
                refused = head
                break
        assert b"retry-after" in refused.lower()
    eventually("a free place", lambda: server.get("/healthz").status_code == 200)
    lines = [line for line in server.logged() if line["message"] == "connection refused"]
    assert 0 < len(lines) <= 5


def test_answers_that_are_not_read_hold_no_thread_and_do_not_last(server: ServerProcess) -> None:
    """Eighteen of these once took every thread that exports of other graphs need."""
    path = "/graphs/blobs/blob?entity=node&type=Document&id=large&property=content"
    with ExitStack() as held:
        connections = [held.enter_context(connect(server)) for _ in range(17)]
        for connection in connections:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        for connection in connections:
            assert select.select([connection], [], [], PATIENCE)[0]
        with server.client() as client:
            assert Api(client, "other").post("/export", {}).status_code == 200
            assert Api(client, "other").query(COUNT).status_code == 200
        eventually(
            "the end of those answers",
            lambda: any("not being read" in line["message"] for line in server.logged()),
        )
        eventually("the end of all of them", lambda: all(_is_cut(each) for each in connections))


def _is_cut(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        while connection.recv(1 << 20):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    return True


def test_a_stalled_export_lets_the_next_one_of_its_graph_go_on(server: ServerProcess) -> None:
    body = b'{"type_names": ["Document"]}'
    request = b"POST /graphs/blobs/export HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with connect(server) as stalled, server.client() as client:
        stalled.sendall(request + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert select.select([stalled], [], [], PATIENCE)[0]
        first = Api(client, "blobs").post("/export", {"type_names": ["Person"]})
        assert first.status_code in (200, 413)
        eventually(
            "the next export",
            lambda: Api(client, "blobs").post("/export", {"type_names": ["Person"]}).status_code == 200,
        )


def test_a_worker_that_dies_is_replaced(template: Path, tmp_path: Path) -> None:
    place = copies(template, tmp_path, ["default"])["default"]
    command = ["-m", "omnigraph.cli", "serve", "--store", place, "--bind", "127.0.0.1:0", "--workers", "2"]
    with running(command) as server:
        assert server.get("/healthz").status_code == 200
        children = _children(server.process.pid)
        assert len(children) == 2
        os.kill(children[0], signal.SIGKILL)

        def replaced() -> bool:
            now = _children(server.process.pid)
            return len(now) == 2 and children[0] not in now

        eventually("another worker", replaced)
        for _ in range(8):
            assert server.get("/healthz").status_code == 200
        assert any(line["message"] == "a worker died and is replaced" for line in server.logged())


def _children(parent: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
