"""A graph with branches is synchronized to another prefix, to a disk and back; what it came from is gone then."""

from __future__ import annotations

from pathlib import Path

import obstore
import pytest
from obstore.store import LocalStore, ObjectStore, S3Store

from omnigraph.testing.s3server import S3Server
from relocation_trial import build, compact_branches, heads, observed, opened, thin_out, work


@pytest.fixture
def places(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server.fresh_root("one").uri, s3_server.fresh_root("two/deeper").uri


def store_of(place: str, server: S3Server) -> ObjectStore:
    """The objects of a place, as a tool that knows nothing of graphs sees them."""
    if not place.startswith("s3://"):
        return LocalStore(place, mkdir=True)
    bucket, _, prefix = place.removeprefix("s3://").partition("/")
    given = server.environment
    return S3Store(
        bucket,
        prefix=prefix,
        endpoint=server.endpoint,
        access_key_id=given["AWS_ACCESS_KEY_ID"],
        secret_access_key=given["AWS_SECRET_ACCESS_KEY"],
        region="us-east-1",
        client_options={"allow_http": True},
    )


def synchronize(source: str, target: str, server: S3Server) -> None:
    """Every object gets the same name below another place; the source goes away."""
    one, other = store_of(source, server), store_of(target, server)
    for batch in obstore.list(one):
        for found in batch:
            obstore.put(other, found["path"], bytes(obstore.get(one, found["path"]).bytes()))
            obstore.delete(one, found["path"])


def test_a_graph_goes_to_another_prefix_to_a_disk_and_back(
    places: tuple[str, str], s3_server: S3Server, tmp_path: Path
) -> None:
    first, second = places
    before = observed(build(first))
    synchronize(first, second, s3_server)
    assert observed(opened(second, read_only=True)) == before
    work(opened(second), "synced")
    after = observed(opened(second))
    disk = str(tmp_path / "disk.omni")
    synchronize(second, disk, s3_server)
    assert observed(opened(disk, read_only=True)) == after
    compact_branches(opened(disk))
    synchronize(disk, first, s3_server)
    graph = opened(first)
    shown = heads(graph)
    thin_out(graph)
    shown.pop("idle")
    assert heads(opened(first)) == shown
