"""HTTP cases about streamed exports and about blobs."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from graph_api import Api
from served_people import SCHEMA, create_people

import omnigraph as og
from omnigraph.errors import ResourceLimitExceeded
from omnigraph.policy.visibility import Visibility
from omnigraph.server.process.deployment import ServedGraph
from server_process import PATIENCE, ServerProcess, eventually, serving

NDJSON = "application/x-ndjson; charset=utf-8"
WIDE = 6_000


def case(*numbers: int) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(number, id=f"http-{number}") for number in numbers])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Nine graphs that are too large for the buffers of a connection, one small one, one with external blobs."""
    folder = tmp_path_factory.mktemp("streams")
    wide = folder / "wide.omni"
    with og.init(wide, SCHEMA) as graph:
        graph.load([{"type": "Person", "data": {"name": f"{n:05}" + "x" * 1_000}} for n in range(WIDE)])
    graphs = {"default": create_people(folder / "default.omni"), "external": create_external(folder)}
    for number in range(9):
        graphs[f"wide{number}"] = folder / f"wide{number}.omni"
        shutil.copytree(wide, graphs[f"wide{number}"], copy_function=os.link)
    with serving({"graphs": {name: {"uri": str(path)} for name, path in graphs.items()}}) as found:
        yield found


def create_external(folder: Path) -> Path:
    """A document whose content is a reference to a file that has gone since."""
    path, target = folder / "external.omni", folder / "outside.bin"
    target.write_bytes(b"outside")
    with og.init(path, SCHEMA, external_blobs=[folder.as_uri()]) as graph:
        graph.load([{"type": "Document", "data": {"name": "outside", "content": target.as_uri()}}])
    target.unlink()
    return path


@pytest.fixture
def client(server: ServerProcess) -> Iterator[httpx.Client]:
    with server.client() as found:
        yield found


@pytest.fixture
def api(client: httpx.Client) -> Api:
    return Api(client, "default")


# --- exports --------------------------------------------------------------------------------


@case(26)
def test_an_export_streams_edges_before_nodes(api: Api, case: int) -> None:
    answer = api.post("/export", {"branch": "main"})
    assert answer.headers["content-type"] == NDJSON
    found = [json.loads(line) for line in answer.text.splitlines()]
    kinds = ["edge" if "edge" in record else "node" for record in found]
    assert kinds == ["edge"] * 3 + ["node"] * 9
    assert all(record["data"]["id"] for record in found)
    only = api.post("/export", {"type_names": ["Company"]})
    assert only.text.splitlines() == [
        '{"type":"Company","data":{"id":"Acme","name":"Acme"}}',
        '{"type":"Company","data":{"id":"Globex","name":"Globex"}}',
    ]


@case(27)
def test_an_export_of_an_unknown_type_is_refused_before_it_starts(api: Api, case: int) -> None:
    answer = api.post("/export", {"type_names": ["Missing"]})
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/json")
    assert answer.json() == {"error": "unknown export type 'Missing'", "code": "bad_request"}


@case(28)
def test_an_export_names_the_member_it_does_not_know(api: Api, case: int) -> None:
    answer = api.post("/export", {"table_keys": []})
    assert answer.status_code == 400
    assert "table_keys" in answer.json()["error"]
    assert api.post("/export", {"type_names": None}).status_code == 400


@contextmanager
def held_export(server: ServerProcess, graph: str) -> Iterator[None]:
    """An export whose reader takes the head of the answer and then nothing more."""
    host, _, port = server.address.rpartition(":")
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE)
        connection.connect((host, int(port)))
        head = f"POST /graphs/{graph}/export HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: 2\r\n\r\n{{}}".encode())
        assert connection.recv(12) == b"HTTP/1.1 200"
        yield


@case(29)
def test_a_graph_gives_out_one_cut_at_a_time(server: ServerProcess, client: httpx.Client, case: int) -> None:
    api = Api(client, "wide0")
    with held_export(server, "wide0"):
        refused = api.post("/export", {})
        assert refused.status_code == 413
        assert refused.json()["resource_limit"] == {"resource": "stream_export_slots", "limit": 1, "actual": 2}
        assert api.post("/changes/baseline", {}).status_code == 413
        assert api.post("/branches", {"name": "b"}).status_code == 413
        assert Api(client, "default").post("/export", {}).status_code == 200
    answers: list[httpx.Response] = []

    def exported() -> bool:
        answers.append(api.post("/export", {}))
        return answers[-1].status_code == 200

    eventually("the end of the held export", exported)
    assert len(answers[-1].text.splitlines()) == WIDE


def test_whoever_exports_in_a_process_excludes_the_others(tmp_path: Path) -> None:
    with og.init(tmp_path / "g.omni", SCHEMA) as graph:
        graph.mutate('query q() { insert Person { name: "Ada" } }')
        served = ServedGraph("default", og.open(graph.uri))
        part = Visibility(frozenset({"Person"}), frozenset())
        others = (graph, served.handle, ServedGraph("default", og.open(graph.uri)).with_visibility(part).handle)
        refused: list[og.Graph] = []

        class Nested(io.BytesIO):
            """A target that everybody else tries to export into while it is written to."""

            def write(self, data: Any) -> int:
                for other in others:
                    with pytest.raises(ResourceLimitExceeded, match="stream_export_slots"):
                        other.export(io.BytesIO())
                    refused.append(other)
                return super().write(data)

        written = served.handle.export(Nested())
        assert refused == list(others)
        assert [other.export(io.BytesIO()) for other in others] == [written] * 3


@case(30)
def test_streams_share_a_budget(server: ServerProcess, client: httpx.Client, case: int) -> None:
    with ExitStack() as held:
        for number in range(8):
            held.enter_context(held_export(server, f"wide{number}"))
        refused = Api(client, "wide8").post("/export", {})
        assert refused.status_code == 413
        limit = {"resource": "stream_export_transport_bytes", "limit": 2097152, "actual": 2359296}
        assert refused.json()["resource_limit"] == limit
        assert Api(client, "wide8").get("/branches").status_code == 200, "other requests go on"


# --- blobs ----------------------------------------------------------------------------------


def blob(api: Api, name: str = "hello", method: str = "GET", **headers: str) -> httpx.Response:
    query = {"entity": "node", "type": "Document", "id": name, "property": "content"}
    sent = {key.replace("_", "-"): value for key, value in headers.items()}
    return api.client.request(method, api.path("/blob"), params=query, headers=sent)


@pytest.fixture
def etag(api: Api) -> str:
    return str(blob(api).headers["etag"])


@case(58)
def test_a_blob_is_delivered_whole(api: Api, case: int) -> None:
    answer = blob(api)
    assert (answer.status_code, answer.content) == (200, b"Hello World")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-length"] == "11"
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["etag"].startswith('"')
    assert answer.headers["omnigraph-snapshot-id"] == api.head()


@case(59)
@pytest.mark.parametrize(
    ("asked", "content", "place"),
    [("1-4", b"ello", "1-4/11"), ("6-", b"World", "6-10/11"), ("-5", b"World", "6-10/11"), ("9-99", b"ld", "9-10/11")],
)
def test_a_part_of_a_blob(api: Api, case: int, asked: str, content: bytes, place: str) -> None:
    answer = blob(api, Range=f"Bytes={asked}")
    assert (answer.status_code, answer.content) == (206, content)
    assert answer.headers["content-range"] == f"bytes {place}"


@case(60)
@pytest.mark.parametrize(
    "asked", ["bytes=0-1,6-10", "items=0-1", "bytes=4-1", "bytes=-", "bytes=a-b", f"bytes={10**20}-", "bytes"]
)
def test_what_is_no_single_range_means_everything(api: Api, case: int, asked: str) -> None:
    answer = blob(api, Range=asked)
    assert (answer.status_code, answer.content) == (200, b"Hello World")
    assert "content-range" not in answer.headers


@case(61)
def test_a_known_blob_is_not_sent_again(api: Api, etag: str, case: int) -> None:
    answer = blob(api, If_None_Match=f'"other", W/{etag}', Range="bytes=0-1")
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["etag"] == etag
    assert answer.headers["content-length"] == "11"
    assert blob(api, If_None_Match="junk").status_code == 200
    assert blob(api).status_code == 200, "the connection still works"


@case(62)
def test_another_version_fails_the_precondition_first(api: Api, etag: str, case: int) -> None:
    answer = blob(api, If_Match='"stale"', If_None_Match=etag, Range="bytes=0-1")
    assert answer.status_code == 412
    assert answer.json()["code"] == "conflict"
    assert answer.headers["etag"] == etag
    assert blob(api, If_Match=f'"stale", {etag}').status_code == 200
    assert blob(api, If_Match="*").status_code == 200
    assert blob(api, If_Match=f"W/{etag}").status_code == 412


@case(63)
def test_a_range_condition_is_strong(api: Api, etag: str, case: int) -> None:
    assert blob(api, If_Range=f"W/{etag}", Range="bytes=0-1").content == b"Hello World"
    assert blob(api, If_Range="Sun, 15 Nov 2026 00:00:00 GMT", Range="bytes=0-1").status_code == 200
    assert blob(api, If_Range=etag, Range="bytes=0-1").content == b"He"


@case(64)
@pytest.mark.parametrize(
    ("name", "asked", "outside"),
    [
        ("empty", "0-0", (0, 1, 0)),
        ("empty", "-3", (0, 0, 0)),
        ("hello", "-0", (11, 11, 11)),
        ("hello", "11-", (11, 11, 11)),
        ("hello", "20-30", (20, 31, 11)),
    ],
)
def test_a_range_outside_the_blob(api: Api, case: int, name: str, asked: str, outside: tuple[int, int, int]) -> None:
    answer = blob(api, name, Range=f"bytes={asked}")
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{outside[2]}"
    assert answer.json()["blob_range"] == dict(zip(("start", "end", "length"), outside, strict=True))
    assert answer.json()["code"] == "bad_request"


@case(65)
def test_head_of_a_blob_ignores_ranges(api: Api, case: int) -> None:
    answer = blob(api, method="HEAD", Range="bytes=99-")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == "11"
    assert "content-range" not in answer.headers


@case(66)
def test_a_blob_that_is_not_there(api: Api, case: int) -> None:
    assert blob(api, "none").status_code == 404
    assert blob(api, "lost").status_code == 404
    other: dict[str, Any] = {"entity": "node", "type": "Person", "id": "Alice", "property": "age"}
    assert api.get("/blob", params=other).status_code == 400
    assert api.get("/blob", params={**other, "property": "lost"}).status_code == 400
    assert api.get("/blob", params={**other, "type": "Lost"}).status_code == 400
    assert api.get("/blob", params={"entity": "node", "type": "Document", "id": "hello"}).status_code == 400
    assert api.get("/blob", params={**other, "entity": "table"}).status_code == 400
    assert api.client.head(api.path("/blob")).status_code == 400


@case(67)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_an_external_blob_is_a_redirect_without_a_look(client: httpx.Client, case: int, method: str) -> None:
    answer = blob(Api(client, "external"), "outside", method, If_Match='"x"', Range="bytes=0-1")
    assert (answer.status_code, answer.content) == (302, b"")
    assert answer.headers["location"].startswith("file:///")
    assert answer.headers["location"].endswith("/outside.bin")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["omnigraph-snapshot-id"]
    assert "etag" not in answer.headers
