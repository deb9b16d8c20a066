"""A cluster whose storage is a bucket: case 52, and the primitives it rests on."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from omnigraph.cluster.apply import apply
from omnigraph.cluster.approve import approve
from omnigraph.cluster.boot import applied_graph_uri, read_applied
from omnigraph.cluster.plan import plan
from omnigraph.cluster.refresh import import_state, refresh
from omnigraph.cluster.status import status
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.objects import open_objects
from omnigraph.testing.services.s3server import S3Server

CONFIG = """\
version: 1
storage: %s/
graphs:
  knowledge: {schema: people.pg, queries: find.gq}
  old: {schema: people.pg}
policies:
  base: {file: base.yaml, applies_to: [knowledge]}
"""
SCHEMA = "node Person { name: String @key  age: I32? }\n"
WIDER = "node Person { name: String @key  age: I32?  city: String? }\n"
FIND = "query find($name: String) { match { $p: Person { name: $name } } return { $p.age } }\n"


@pytest.fixture
def place(s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "cluster.yaml").write_text(CONFIG % s3_server.fresh_root("cluster").uri)
    (tmp_path / "people.pg").write_text(SCHEMA)
    (tmp_path / "find.gq").write_text(FIND)
    (tmp_path / "base.yaml").write_text("version: 1\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("case", [pytest.param("cluster-52", id="cluster-52")])
def test_a_cluster_lives_in_a_bucket_alone(place: Path, case: str) -> None:
    before = sorted(path.name for path in place.iterdir())
    assert import_state(place)["ok"]
    report = apply(place, "act-ops")
    assert report["converged"], report
    root = report["state_observations"]["state_path"].removesuffix("/__cluster/state.json")
    assert root.startswith("s3://")
    assert sorted(path.name for path in place.iterdir()) == before
    assert status(place)["state_observations"]["locked"] is False
    assert read_applied(str(place), {}) == read_applied(root, {})
    assert applied_graph_uri(root, "old") == f"{root}/graphs/old.omni"
    (place / "people.pg").write_text(WIDER)
    assert apply(place, "act-ops")["converged"]
    assert apply(place, "act-ops")["state_written"] is False
    assert refresh(place)["ok"]
    assert plan(place)["changes"] == []
    _delete_old(place)
    with pytest.raises(Exception, match="is not applied in cluster"):
        applied_graph_uri(root, "old")
    assert [graph.id for graph in read_applied(root, {}).graphs] == ["knowledge"]


def _delete_old(place: Path) -> None:
    text = (place / "cluster.yaml").read_text()
    (place / "cluster.yaml").write_text(text.replace("  old: {schema: people.pg}\n", ""))
    assert approve(place, "graph.old", "act-boss")["ok"]
    assert apply(place, "act-ops")["converged"]


def test_a_ledger_in_a_bucket_is_replaced_by_comparison(place: Path) -> None:
    assert import_state(place)["ok"]
    assert apply(place)["converged"]
    (place / "base.yaml").write_text("# edited\nversion: 1\n")
    root = status(place)["state_observations"]["state_path"].removesuffix("/__cluster/state.json")

    def interfere() -> None:
        from omnigraph.cluster.state.stored import STATE, open_stored

        objects = open_stored(root).objects
        document = json.loads(objects.read(STATE))
        objects.write(STATE, json.dumps({**document, "state_revision": 41}))

    with failpoints.armed({"cluster.before_state_write": interfere}):
        report = apply(place)
    assert [item["code"] for item in report["diagnostics"] if item["severity"] == "error"] == ["state_cas_mismatch"]
    assert status(place)["state_observations"]["state_revision"] == 41
    assert apply(place)["converged"]


def test_one_of_several_writers_wins_a_conditional_replacement(s3_server: S3Server) -> None:
    objects = open_objects(s3_server.fresh_root("cas"))
    objects.write("ledger", "0")
    found = objects.read_tagged("ledger")
    assert found is not None
    won: list[int] = []
    ready = threading.Barrier(6)

    def race(number: int) -> None:
        ready.wait()
        if objects.write_if_match("ledger", str(number), found[1]):
            won.append(number)

    threads = [threading.Thread(target=race, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [str(number) for number in won] == [objects.read("ledger")]
