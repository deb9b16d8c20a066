"""One server of each store for all its tests of a worker; where one cannot be run, its tests say why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from omnigraph.storage.base.layout import Root
from omnigraph.testing.services.clouds import CloudServer, running_amazon, running_azure, running_google
from omnigraph.testing.services.emulator_install import EmulatorUnavailable

# CI sets it: there an emulator that cannot be installed is a failure.
REQUIRED = "OMNIGRAPH_REQUIRE_EMULATORS"
_SERVERS = {"az": running_azure, "gs": running_google, "s3": running_amazon}
Servers = Callable[[str], CloudServer]


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """Starts the server of a scheme when it is first asked for."""
    started: dict[str, CloudServer] = {}
    with ExitStack() as running:

        def server(scheme: str) -> CloudServer:
            if scheme not in started:
                try:
                    started[scheme] = running.enter_context(_SERVERS[scheme]())
                except EmulatorUnavailable as error:
                    if os.environ.get(REQUIRED):
                        raise
                    pytest.skip(f"no emulator: {error}")
            return started[scheme]

        yield server


@pytest.fixture(scope="session", params=["az", "gs"])
def cloud(request: pytest.FixtureRequest, servers: Servers) -> CloudServer:
    """Azure or Google; S3 has tests of its own."""
    return servers(request.param)


@pytest.fixture(scope="session", params=["az", "gs", "s3"])
def store(request: pytest.FixtureRequest, servers: Servers) -> CloudServer:
    """Every kind of object store."""
    return servers(request.param)


@pytest.fixture
def root(cloud: CloudServer, monkeypatch: pytest.MonkeyPatch) -> Root:
    """An unused root that this process, and those it starts, can reach."""
    return _reachable(cloud, monkeypatch)


@pytest.fixture
def place(store: CloudServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of an unused directory on every kind of store, which this process can reach."""
    return _reachable(store, monkeypatch).uri


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local session on two cores, whose own processes do not know how to reach any of the stores."""
    from omnigraph.pipeline.spark.session import spark_session

    session = spark_session("local[2,4]")
    yield session
    session.stop()


def _reachable(server: CloudServer, monkeypatch: pytest.MonkeyPatch) -> Root:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server.fresh_root()
