"""Shared servers: one process per configuration, each with more graphs than its tests use up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from graph_api import Api
from served_people import POLICY, SERVER_POLICY, STORED, TOKENS, copies, create_people

from server_process import ServerProcess, serving

GRAPHS = 220


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_people(tmp_path_factory.mktemp("served") / "template.omni")


@pytest.fixture(scope="session")
def open_server(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Everybody may do everything; `default` is only read, the others are handed out one by one."""
    names = ["default", *(f"g{number}" for number in range(GRAPHS))]
    places = copies(template, tmp_path_factory.mktemp("open"), names)
    graphs = {name: {"uri": uri, "queries": STORED} for name, uri in places.items()}
    uploads = {"OMNIGRAPH_UPLOADS": str(tmp_path_factory.mktemp("uploads"))}
    with serving({"graphs": graphs}, uploads) as server:
        yield server


@pytest.fixture(scope="session")
def fresh_names() -> Iterator[str]:
    return (f"g{number}" for number in itertools.count())


@pytest.fixture
def client(open_server: ServerProcess) -> Iterator[httpx.Client]:
    with open_server.client() as found:
        yield found


@pytest.fixture
def shared(client: httpx.Client) -> Api:
    """The graph that nobody writes to."""
    return Api(client, "default")


@pytest.fixture
def api(client: httpx.Client, fresh_names: Iterator[str]) -> Api:
    """A graph of one's own."""
    return Api(client, next(fresh_names))


@pytest.fixture(scope="session")
def guarded_server(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Tokens and policies, as in a cluster."""
    places = copies(template, tmp_path_factory.mktemp("guarded"), ["default", "other"])
    graphs = {name: {"uri": uri, "queries": STORED, "policy": POLICY} for name, uri in places.items()}
    caps = {
        "OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX": "2",
        "OMNIGRAPH_PER_ACTOR_STREAMS_MAX": "2",
        "OMNIGRAPH_UPLOADS": str(tmp_path_factory.mktemp("uploads")),
        "OMNIGRAPH_UPLOAD_BYTES_MAX": "60000",
        "OMNIGRAPH_PER_ACTOR_UPLOAD_BYTES_MAX": "100000",
        "OMNIGRAPH_UPLOAD_EXPANDED_BYTES_MAX": "1000000",
    }
    description = {"graphs": graphs, "server_policy": SERVER_POLICY, "tokens": TOKENS, "cluster": True}
    with serving(description, caps) as server:
        yield server
