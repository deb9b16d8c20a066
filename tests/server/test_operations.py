"""What operators see and set: metrics on an address of their own, traces, slow queries, browsers from other origins."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest
from graph_api import Api
from served_people import COUNT, copies

from server_process import PATIENCE, ServerProcess, eventually, serving

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Collector(HTTPServer):
    """Takes traces and keeps their bytes."""

    received: list[bytes]


class _Take(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        self.server.received.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector(("127.0.0.1", 0), _Take) as found:
        found.received = []
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def metrics_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def server(
    template: Path, tmp_path_factory: pytest.TempPathFactory, collector: Collector, metrics_port: int
) -> Iterator[ServerProcess]:
    places = copies(template, tmp_path_factory.mktemp("operated"), ["default"])
    environ = {
        "OMNIGRAPH_SLOW_QUERY_MS": "1",
        "OMNIGRAPH_BODY_TIMEOUT_MS": "300",
        "OMNIGRAPH_CORS_ORIGINS": "https://app.example, https://other.example",
        "OMNIGRAPH_METRICS_BIND": f"127.0.0.1:{metrics_port}",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    with serving({"graphs": {"default": {"uri": places["default"]}}}, environ) as found:
        yield found


@pytest.fixture
def api(server: ServerProcess) -> Iterator[Api]:
    with server.client() as client:
        yield Api(client, "default")


def test_metrics_can_have_an_address_of_their_own(api: Api, metrics_port: int) -> None:
    api.get("/branches")
    assert (
        "omnigraph_http_requests_total" in httpx.get(f"http://127.0.0.1:{metrics_port}/metrics", timeout=PATIENCE).text
    )
    assert api.client.get("/metrics").status_code == 404


def test_a_request_continues_the_trace_of_its_caller(api: Api, collector: Collector) -> None:
    api.get("/branches", headers={"traceparent": PARENT})
    trace = bytes.fromhex(PARENT.split("-")[1])
    eventually("the span", lambda: any(trace in body for body in collector.received))
    assert any(b"cluster_listBranches" in body for body in collector.received)


def test_a_slow_query_is_logged_by_name_and_counted(api: Api, server: ServerProcess, metrics_port: int) -> None:
    api.query(COUNT)
    line = next(line for line in server.logged() if line["message"] == "slow query")
    assert (line["query"], line["graph_id"]) == ("total", "default")
    assert (
        "omnigraph_slow_queries_total" in httpx.get(f"http://127.0.0.1:{metrics_port}/metrics", timeout=PATIENCE).text
    )


def test_browsers_are_answered_for_the_origins_that_are_allowed(api: Api) -> None:
    asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    asked["Access-Control-Request-Headers"] = "authorization,omnigraph-if-graph-commit"
    preflight = api.client.options(api.path("/mutate/if-graph-commit"), headers=asked)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == "https://app.example"
    simple = api.get("/branches", headers={"Origin": "https://app.example"})
    assert "ETag" in simple.headers["access-control-expose-headers"]
    assert "access-control-allow-origin" not in api.get("/branches", headers={"Origin": "https://evil.example"}).headers


def test_a_slow_body_is_not_waited_for(server: ServerProcess) -> None:
    host, _, port = server.address.rpartition(":")
    head = "POST /graphs/default/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in answer.lower()
