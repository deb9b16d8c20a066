"""References to objects in a bucket, taken in by a real server under the policy of its cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import omnigraph as og
from omnigraph.cli.main import main
from omnigraph.cluster.apply import apply
from omnigraph.cluster.refresh import import_state
from omnigraph.errors import ExternalBlobSource
from omnigraph.storage.base.layout import Root
from omnigraph.storage.base.objects import open_objects
from omnigraph.testing.services.s3server import S3Server
from server_process import ServerProcess, running

CONFIG = """\
version: 1
storage: {storage}/
graphs:
  docs:
    schema: docs.pg
    external_blobs: {{allow: [{{base: '{base}', scope: server_safe}}, {{base: '{local}', scope: embedded_only}}]}}
policies:
  all: {{file: all.yaml, applies_to: [docs]}}
pipelines:
  local: {{graph: docs, mapping: local.yaml, mode: merge}}
"""
POLICY = """\
version: 1
groups: {all: [ada]}
rules:
  - {id: data, allow: {actors: {group: all}, actions: [read, export, change], branch_scope: any}}
  - id: branches
    allow: {actors: {group: all}, actions: [branch_create, branch_delete, branch_merge], target_branch_scope: any}
"""
SCHEMA = "node Doc { name: String @key  content: Blob?  n: I32? }\n"
WIDER = SCHEMA.replace("n: I32?", "n: I32?  note: String?")
PUT = "query put($name: String, $content: String) { insert Doc { name: $name, content: $content } }"
COUNT = "query up($name: String, $n: I32) { update Doc set { n: $n } where name = $name }"


@pytest.fixture
def shelf(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Root:
    """A prefix with one object."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    root = s3_server.fresh_root("shelf")
    open_objects(root).write("a b.txt", "outside")
    return root


@pytest.fixture
def place(s3_server: S3Server, shelf: Root, tmp_path: Path) -> Path:
    """A cluster in the bucket that allows the prefix, and a directory that servers must not use."""
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "x").write_bytes(b"x")
    local = (tmp_path / "local").as_uri()
    config = CONFIG.format(storage=s3_server.fresh_root("cluster").uri, base=shelf.uri, local=local)
    files = {"cluster.yaml": config, "all.yaml": POLICY, "docs.pg": SCHEMA}
    files["rows.csv"] = f"name,content\nfrom-csv,{local}/x\n"
    files["local.yaml"] = "sources: {rows: {format: csv, path: rows.csv}}\nnodes: {Doc: {from: rows}}\n"
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert import_state(tmp_path)["ok"]
    assert apply(tmp_path, "ops")["converged"]
    return tmp_path


@pytest.fixture
def server(place: Path) -> Iterator[ServerProcess]:
    environ = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps({"ada": "t"})}
    with running(["-m", "omnigraph.server", "--bind", "127.0.0.1:0", "--cluster", str(place)], environ) as found:
        yield found


class Docs:
    """The served graph."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def post(self, route: str, body: Any) -> httpx.Response:
        return self.client.post(f"/graphs/docs{route}", json=body)

    def put(self, name: str, content: str, branch: str = "main") -> httpx.Response:
        return self.post("/mutate", {"query": PUT, "params": {"name": name, "content": content}, "branch": branch})

    def load(self, *records: tuple[str, str], mode: str = "merge") -> httpx.Response:
        lines = [{"type": "Doc", "data": {"name": name, "content": content}} for name, content in records]
        body = "".join(json.dumps(line) + "\n" for line in lines)
        kind = {"Content-Type": "application/x-ndjson"}
        return self.client.post(f"/graphs/docs/load/ndjson?mode={mode}", content=body, headers=kind)

    def blob(self, name: str) -> httpx.Response:
        selector = {"entity": "node", "type": "Doc", "id": name, "property": "content"}
        return self.client.get("/graphs/docs/blob", params=selector)

    def contents(self) -> dict[str, Any]:
        lines = self.post("/export", {"branch": "main"}).text.splitlines()
        return {found["id"]: found["content"] for line in lines for found in [json.loads(line)["data"]]}


def test_a_server_takes_references_in_and_never_opens_them(place: Path, shelf: Root, server: ServerProcess) -> None:
    there, stored = f"{shelf.uri}/a b.txt", f"{shelf.uri}/a%20b.txt"
    with server.client("t") as client:
        docs = Docs(client)
        _refuses(docs, place, shelf, there)
        assert docs.put("a", there).status_code == 200
        assert docs.load(("b", there), ("k", "base64:"), mode="append").status_code == 200
        open_objects(shelf).delete("a b.txt")
        found = docs.blob("a")
        assert (found.status_code, found.headers["location"], found.content) == (302, stored, b"")
        _branches(docs, stored)
        commit = client.get("/graphs/docs/commits").json()["commits"][0]
        changes = client.get(f"/graphs/docs/commits/{commit['graph_commit_id']}/changes")
        [change] = changes.json()["changes"]
        assert (change["id"], change["after"]["properties"]["content"]) == ("a", stored)
        assert docs.contents() == {"a": stored, "b": stored, "k": "base64:"}
    (place / "docs.pg").write_text(WIDER)
    report = apply(place, "ops")
    assert report["converged"], report
    _maintained(place, shelf, report, stored)


def _refuses(docs: Docs, place: Path, shelf: Root, there: str) -> None:
    for outside in ("s3://elsewhere/x", (place / "local" / "x").as_uri(), f"{shelf.uri}/../x", f"{there}?sig=hidden"):
        for answer in (docs.put("x", outside), docs.load(("x", outside))):
            assert answer.status_code == 400, answer.text
            assert "is not allowed" in answer.json()["error"]
            assert "hidden" not in answer.text
    lost = {"uri": f"{shelf.uri}/lost", "reason": "there is no such object"}
    for answer in (docs.put("x", lost["uri"]), docs.load(("a", there), ("x", lost["uri"]))):
        assert answer.status_code == 424, answer.text
        assert (answer.json()["external_blob_source"], "code" in answer.json()) == (lost, False)
    answer = docs.put("x", f"{shelf.uri}/{'x' * 65_536}")
    assert (answer.status_code, answer.json()["resource_limit"]["resource"]) == (413, "external Blob URI bytes")
    assert docs.contents() == {}
    with og.connect(str(docs.client.base_url), "docs", token="t") as remote, pytest.raises(ExternalBlobSource):
        remote.mutate(PUT, params={"name": "x", "content": lost["uri"]})


def _branches(docs: Docs, stored: str) -> None:
    assert docs.post("/branches", {"name": "side", "from": "main"}).status_code == 200
    update = {"query": COUNT, "params": {"name": "a", "n": 1}, "branch": "side"}
    assert docs.post("/mutate", update).json()["affected_nodes"] == 1
    assert docs.post("/mutate", {**update, "params": {"name": "b", "n": 2}, "branch": "main"}).status_code == 200
    merged = docs.post("/branches/merge", {"source": "side", "target": "main"})
    assert (merged.status_code, merged.json()["outcome"]) == (200, "merged")
    assert docs.client.delete("/graphs/docs/branches/side").status_code == 200


def _maintained(place: Path, shelf: Root, report: dict[str, Any], stored: str) -> None:
    """Embedded, after a schema change: optimized, exported, loaded elsewhere, and written by a declared pipeline."""
    uri = report["state_observations"]["state_path"].removesuffix("/__cluster/state.json") + "/graphs/docs.omni"
    assert main(["pipeline", "run", "local", "--config", str(place), "--yes"]) == 0
    with og.open(uri) as graph:
        graph.optimize()
        graph.export(place / "out.jsonl")
        assert graph.get("Doc", "b")["content"] == stored  # type: ignore[index]
        assert graph.get("Doc", "from-csv")["content"] == (place / "local" / "x").as_uri()  # type: ignore[index]
    open_objects(shelf).write("a b.txt", "outside")
    bases = [shelf.uri, (place / "local").as_uri()]
    with og.init(place / "copy.omni", WIDER, external_blobs=bases) as copy:
        copy.load(place / "out.jsonl", "overwrite")
        copy.export(place / "again.jsonl")
    assert (place / "again.jsonl").read_bytes() == (place / "out.jsonl").read_bytes()
