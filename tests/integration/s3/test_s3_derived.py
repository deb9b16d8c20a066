"""Topologies of a graph in a bucket are kept there, fetched once, and mapped from a bounded local cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import omnigraph as og
from omnigraph.engine.read.topology import files as files_module
from omnigraph.engine.read.topology import store as topologies_module
from omnigraph.storage.base import derived_remote
from omnigraph.storage.base.derived import drop_arrays, load_arrays, names_under, save_arrays
from omnigraph.storage.base.layout import Root
from omnigraph.testing.services.s3server import S3Server

QUERY = 'query q() { match { $a: A { k: "a0" } $a e $b $b e $c } return { $c.k } }'
ARRAYS = {"values": np.arange(1_000), "origin": np.frombuffer(b"here", np.uint8)}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OMNIGRAPH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(derived_remote, "_asked", {})
    return tmp_path / "cache"


def test_arrays_are_installed_whole_listed_and_dropped(s3_root: Root, cache: Path) -> None:
    assert load_arrays(s3_root, "kind/table/one") is None
    assert save_arrays(s3_root, "kind/table/one", ARRAYS)
    assert save_arrays(s3_root, "kind/table/two", ARRAYS)
    assert names_under(s3_root, "kind/table") == ["kind/table/one", "kind/table/two"]
    for path in cache.rglob("*.npy"):
        path.unlink()
    for place in cache.rglob("one"):
        place.rmdir()
    derived_remote._asked.clear()
    found = load_arrays(s3_root, "kind/table/one")
    assert found is not None
    assert isinstance(found["values"].base, np.memmap)
    assert found["values"].tolist() == ARRAYS["values"].tolist()
    drop_arrays(s3_root, "kind/table/one")
    assert names_under(s3_root, "kind/table") == ["kind/table/two"]
    derived_remote._asked.clear()
    assert load_arrays(s3_root, "kind/table/one") is None


def test_the_local_cache_keeps_what_was_used_last(s3_root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_CACHE_BYTES", "20000")
    for name in ("a", "b", "c"):
        save_arrays(s3_root, f"kind/table/{name}", ARRAYS)
    kept = [name for name in ("a", "b", "c") if derived_remote.cached(s3_root, f"__derived/kind/table/{name}").is_dir()]
    assert kept == ["b", "c"]
    assert load_arrays(s3_root, "kind/table/a") is not None


def test_another_machine_fetches_the_topology_instead_of_building_it(
    s3_server: S3Server, s3_root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    for module in (files_module, topologies_module):
        monkeypatch.setattr(module, "WORTH_KEEPING", 0)
    query = QUERY
    graph = og.init(s3_root.uri, "node A { k: String @key }\nedge E: A -> A")
    nodes = [f'{{"type":"A","data":{{"k":"a{number}"}}}}' for number in range(4)]
    edges = [f'{{"edge":"E","from":"a{number}","to":"a{(number + 1) % 4}"}}' for number in range(4)]
    graph.load([*nodes, *edges])
    assert graph.query(query).rows() == [{"c.k": "a2"}]
    graph._core.store.memory.clear()
    monkeypatch.setenv("OMNIGRAPH_CACHE_DIR", str(tmp_path / "another machine"))
    monkeypatch.setattr(topologies_module, "build_topology", lambda ends: pytest.fail("built again"))
    assert graph.query(query).rows() == [{"c.k": "a2"}]
    graph.mutate('query m() { insert E { from: "a1" to: "a0" } }')
    monkeypatch.setattr("omnigraph.engine.read.topology.advance._MOST_CHANGED", 10.0)
    assert graph.query(query).rows() == [{"c.k": "a0"}, {"c.k": "a2"}]
    graph.close()


def test_a_process_that_only_reads_keeps_what_it_derives_on_its_machine(
    s3_server: S3Server, s3_root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    for module in (files_module, topologies_module):
        monkeypatch.setattr(module, "WORTH_KEEPING", 0)
    with og.init(s3_root.uri, "node A { k: String @key }\nedge E: A -> A") as graph:
        nodes = [f'{{"type":"A","data":{{"k":"a{number}"}}}}' for number in range(4)]
        edges = [f'{{"edge":"E","from":"a{number}","to":"a{(number + 1) % 4}"}}' for number in range(4)]
        graph.load([*nodes, *edges])
    with og.open(s3_root.uri, read_only=True) as graph:
        assert graph.query(QUERY).rows() == [{"c.k": "a2"}]
    assert names_under(s3_root, "topology") == []
    monkeypatch.setattr(topologies_module, "build_topology", lambda ends: pytest.fail("built again"))
    with og.open(s3_root.uri, read_only=True) as graph:
        assert graph.query(QUERY).rows() == [{"c.k": "a2"}]
