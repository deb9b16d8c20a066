"""Clones and backups between a disk and a bucket."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import Conflict
from omnigraph.testing.services.s3server import S3Server
from relocation_trial import add, build, observed, opened, work


@pytest.fixture
def bucket(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server.fresh_root("copies").uri


@pytest.mark.slow
def test_a_graph_is_cloned_to_a_bucket_within_it_and_back(bucket: str, tmp_path: Path) -> None:
    local = str(tmp_path / "graph.omni")
    before = observed(build(local))
    og.clone(local, f"{bucket}/one")
    assert observed(opened(f"{bucket}/one", read_only=True)) == before
    with pytest.raises(Conflict, match="holds a graph"):
        og.clone(local, f"{bucket}/one")
    og.clone(f"{bucket}/one", f"{bucket}/two")
    work(opened(f"{bucket}/two"), "second")
    assert observed(opened(f"{bucket}/one", read_only=True)) == before
    after = observed(opened(f"{bucket}/two", read_only=True))
    og.clone(f"{bucket}/two", tmp_path / "back.omni")
    assert observed(opened(str(tmp_path / "back.omni"))) == after


@pytest.mark.slow
def test_backups_in_a_bucket_are_restored_to_a_disk_and_to_a_bucket(bucket: str, tmp_path: Path) -> None:
    local = str(tmp_path / "graph.omni")
    before = observed(build(local))
    backups = og.Backups(f"{bucket}/backups")
    first = backups.create(local)
    work(opened(local), "later")
    second = backups.create(local)
    assert second.copied_bytes < first.copied_bytes
    backups.restore(f"{bucket}/then", backup=backups.list()[0].id)
    assert observed(opened(f"{bucket}/then", read_only=True)) == before
    backups.restore(tmp_path / "now.omni")
    assert observed(opened(str(tmp_path / "now.omni"))) == observed(opened(local))
    assert backups.verify() == ()


def test_a_branch_is_pushed_to_a_bucket_and_pulled_from_it(bucket: str, tmp_path: Path) -> None:
    local = str(tmp_path / "graph.omni")
    build(local)
    og.clone(local, f"{bucket}/clone")
    add(opened(local), "here", 1)
    done = og.push(local, f"{bucket}/clone")
    assert len(done.commits) == 1
    assert done.head == opened(local).commits.head() == opened(f"{bucket}/clone", read_only=True).commits.head()
    add(opened(f"{bucket}/clone"), "there", 2)
    og.pull(local, f"{bucket}/clone")
    assert opened(local).commits.head() == opened(f"{bucket}/clone", read_only=True).commits.head()
