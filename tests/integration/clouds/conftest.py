"""One emulator of each cloud for all its tests of a worker; where one cannot be run, its tests say why."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from omnigraph.storage.base.layout import Root
from omnigraph.testing.services.clouds import CloudServer, running_azure, running_google
from omnigraph.testing.services.emulator_install import EmulatorUnavailable

# CI sets it: there an emulator that cannot be installed is a failure.
REQUIRED = "OMNIGRAPH_REQUIRE_EMULATORS"
_SERVERS = {"az": running_azure, "gs": running_google}


@pytest.fixture(scope="session", params=_SERVERS)
def cloud(request: pytest.FixtureRequest) -> Iterator[CloudServer]:
    try:
        running = _SERVERS[request.param]()
        server = running.__enter__()
    except EmulatorUnavailable as error:
        if os.environ.get(REQUIRED):
            raise
        pytest.skip(f"no emulator: {error}")
    try:
        yield server
    finally:
        running.__exit__(None, None, None)


@pytest.fixture
def root(cloud: CloudServer, monkeypatch: pytest.MonkeyPatch) -> Root:
    """An unused root that this process, and those it starts, can reach."""
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    return cloud.fresh_root()
