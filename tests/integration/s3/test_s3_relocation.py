"""A graph with branches is synchronized to another prefix, to a disk and back; what it came from is gone then."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.storage.base.layout import normalize_root
from omnigraph.testing.services.s3server import S3Server
from relocation_trial import build, compact_branches, copy_files, heads, observed, opened, thin_out, work


@pytest.fixture
def places(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server.fresh_root("one").uri, s3_server.fresh_root("two/deeper").uri


@pytest.mark.slow
def test_a_graph_goes_to_another_prefix_to_a_disk_and_back(places: tuple[str, str], tmp_path: Path) -> None:
    first, second = places
    before = observed(build(first))
    copy_files(normalize_root(first), normalize_root(second), move=True)
    assert observed(opened(second, read_only=True)) == before
    work(opened(second), "synced")
    after = observed(opened(second))
    disk = str(tmp_path / "disk.omni")
    copy_files(normalize_root(second), normalize_root(disk), move=True)
    assert observed(opened(disk, read_only=True)) == after
    compact_branches(opened(disk))
    copy_files(normalize_root(disk), normalize_root(first), move=True)
    graph = opened(first)
    shown = heads(graph)
    thin_out(graph)
    shown.pop("idle")
    assert heads(opened(first)) == shown
