"""One SeaweedFS server for all S3 tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from omnigraph.storage.base.layout import Root
from omnigraph.testing.services.s3server import S3Server, running_s3


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "integration/s3" in str(item.path):
            item.add_marker(pytest.mark.s3)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    with running_s3() as server:
        yield server


@pytest.fixture
def s3_root(s3_server: S3Server) -> Root:
    """An unused root."""
    return s3_server.fresh_root()


@pytest.fixture
def place(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an unused root, with the credentials for it in the environment."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server.fresh_root().uri
