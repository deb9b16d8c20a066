"""Every property type keeps its values and its type over HTTP, as Arrow and as JSON (issue 13, 2)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph as og
from server_process import ServerProcess, serving
from typed_values import EVERY, OBJECTS, SCHEMA, exported, records, typed_graph


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("typed")
    typed_graph(found / "graph").close()
    og.init(found / "empty", SCHEMA).close()
    return found


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[ServerProcess]:
    graphs = {
        "default": {"uri": str(place / "graph"), "queries": {"every": EVERY}},
        "empty": {"uri": str(place / "empty")},
    }
    with serving({"graphs": graphs}) as found:
        yield found


@pytest.mark.parametrize("text", [EVERY, OBJECTS], ids=["properties", "objects"])
def test_the_client_gets_the_table_of_an_embedded_graph(server: ServerProcess, place: Path, text: str) -> None:
    with og.connect(server.url) as remote, og.open(place / "graph", read_only=True) as embedded:
        found, expected = remote.query(text), embedded.query(text)
        assert found.to_arrow().equals(expected.to_arrow())
        assert found.rows() == expected.rows()


def test_stored_queries_keep_values_and_types_too(server: ServerProcess, place: Path) -> None:
    with og.connect(server.url) as remote, og.open(place / "graph", read_only=True) as embedded:
        assert remote.queries.run("every").to_arrow().equals(embedded.query(EVERY).to_arrow())


def test_an_agent_gets_integers_of_any_size(server: ServerProcess, place: Path) -> None:
    with og.open(place / "graph", read_only=True) as embedded:
        expected = embedded.query(EVERY).rows(js_safe=True)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "every", "arguments": {}}}
    with server.client() as client:
        found = client.post("/graphs/default/mcp", json=message, headers={"Accept": "application/json"}).json()
    assert found["result"]["structuredContent"]["rows"] == expected


@pytest.mark.parametrize("accept", ["application/json", "application/x-ndjson"])
def test_rows_as_json_are_those_of_an_embedded_graph(server: ServerProcess, place: Path, accept: str) -> None:
    with server.client() as client:
        answer = client.post("/graphs/default/query", json={"query": EVERY}, headers={"Accept": accept})
    rows = answer.json()["rows"] if accept == "application/json" else list(map(json.loads, answer.text.splitlines()))
    with og.open(place / "graph", read_only=True) as embedded:
        assert rows == embedded.query(EVERY).rows()


def test_loads_and_exports_bring_every_value(server: ServerProcess, place: Path, tmp_path: Path) -> None:
    with og.connect(server.url, graph="empty") as remote, og.open(place / "graph", read_only=True) as embedded:
        remote.load(records())
        remote.export(tmp_path / "served.jsonl")
        assert (tmp_path / "served.jsonl").read_bytes() == exported(embedded, tmp_path / "embedded.jsonl")
