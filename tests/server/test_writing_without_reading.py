"""An actor who may write and not read learns nothing of what is stored: from no answer, count or refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from graph_api import Api
from served_people import ADD, STORED, copies

from omnigraph.policy.tokens import FILE, load_tokens
from omnigraph.server.http.authentication import WRONG_TOKENS
from server_process import ServerProcess, serving

POLICY = """
version: 1
groups: {writers: [wim], readers: [rea], all: [root]}
protected_branches: [main]
rules:
  - {id: write, allow: {actors: {group: writers}, actions: [change, branch_merge, branch_create, schema_apply, invoke_query]}}
  - {id: drafts, allow: {actors: {group: readers}, actions: [read], branch_scope: unprotected}}
  - {id: people, allow: {actors: {group: readers}, actions: [read], branch_scope: protected, mask: {Person: [age]}}}
  - {id: fork, allow: {actors: {group: readers}, actions: [branch_create]}}
  - {id: everything, allow: {actors: {group: all}, actions: [read, export, change, branch_create, branch_merge, schema_apply]}}
"""
TOKENS = {"wim": "token-of-wim-0123456789", "rea": "token-of-rea-0123456789", "root": "token-of-root-012345678"}
AGES = "query q() { match { $p: Person } return { $p.name as name, $p.age as age } }"


@pytest.fixture(scope="module")
def server(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    places = copies(template, tmp_path_factory.mktemp("written"), ["default"])
    graphs = {name: {"uri": uri, "queries": STORED, "policy": POLICY} for name, uri in places.items()}
    with serving({"graphs": graphs, "tokens": TOKENS}) as found:
        yield found


def as_actor(server: ServerProcess, actor: str) -> httpx.Client:
    return server.client(TOKENS[actor])


def test_a_taken_key_and_a_missing_end_are_refused_without_a_name(server: ServerProcess) -> None:
    with as_actor(server, "root") as client:
        assert Api(client, "default").mutate(ADD, params={"name": "Zebra", "age": 77}).status_code == 200
    with as_actor(server, "wim") as client:
        api = Api(client, "default")
        taken = api.post("/load", {"data": '{"type":"Person","data":{"name":"Zebra"}}', "mode": "append"})
        line = '{"edge":"Knows","from":"Zebra","to":"Quagga"}'
        missing = api.post("/load", {"data": line, "mode": "append"})
        for answer in (taken, missing):
            assert answer.status_code in (400, 409)
            assert "may not read" in answer.json()["error"]
            assert "Zebra" not in answer.text
            assert "Quagga" not in answer.text
        own = api.post("/load", {"data": '{"type":"Person","data":{"nme":"x"}}'})
        assert "nme" in own.json()["error"]  # a mistake of the input alone is named
        both = {
            "data": '{"type":"Person","data":{"nme":"x"}}\n{"type":"Person","data":{"name":"Zebra"}}',
            "mode": "append",
        }
        mixed = api.post("/load", both)
        assert "nme" in mixed.json()["error"]
        assert "refused_rows" not in mixed.json(), "how many rows contradict stored ones is not told either"
        assert "Zebra" not in mixed.text
    with as_actor(server, "root") as client:
        told = Api(client, "default").post("/load", both).json()
    assert told["refused_rows"]["counts"] == {"W015": 1, "W017": 1}
    assert any("Zebra" in each for each in told["refused_rows"]["others"])


def test_a_load_that_replaces_rows_does_not_say_how_many(server: ServerProcess) -> None:
    with as_actor(server, "wim") as client:
        answer = Api(client, "default").post("/load", {"data": '{"type":"Person","data":{"name":"Zebra"}}'})
    assert answer.status_code == 200
    assert "counts" not in answer.json()["commit"] or not answer.json()["commit"]["counts"]
    assert json.loads(answer.text)["total_entities"] == 1


@pytest.mark.parametrize(
    "text",
    [
        'query q() { update Person set { age: 1 } where name = "Zebra" }',
        "query q() { match { $p: Person } insert Person { name: $p.name } }",
    ],
)
def test_a_mutation_that_matches_is_refused(server: ServerProcess, text: str) -> None:
    with as_actor(server, "wim") as client:
        answer = Api(client, "default").mutate(text)
    assert answer.status_code == 403
    assert "'read'" in answer.json()["error"]


def test_a_stale_condition_does_not_say_where_the_branch_is(server: ServerProcess) -> None:
    with as_actor(server, "wim") as client:
        answer = Api(client, "default").mutate(ADD, params={"name": "New"}, if_commit="01J00000000000000000000000")
    assert answer.status_code == 412
    assert "precondition_failure" not in answer.json()


def test_a_fork_shows_no_more_than_its_source(server: ServerProcess) -> None:
    with as_actor(server, "rea") as client:
        api = Api(client, "default")
        refused = api.post("/branches", {"name": "mine"})
        assert refused.status_code == 403
        assert "would show more than its source" in refused.json()["error"]
    with as_actor(server, "root") as client:
        assert Api(client, "default").post("/branches", {"name": "theirs"}).status_code == 200
    with as_actor(server, "rea") as client:
        rows = Api(client, "default").rows(AGES, branch="theirs")
    assert rows
    assert {row["age"] for row in rows} == {None}


# --- who did what ---------------------------------------------------------------------------------


def test_every_decision_is_a_line_of_its_own_file(template: Path, tmp_path: Path) -> None:
    uri = copies(template, tmp_path, ["default"])["default"]
    graphs = {"default": {"uri": uri, "policy": POLICY}}
    audit = tmp_path / "audit.jsonl"
    with serving({"graphs": graphs, "tokens": TOKENS}, {"OMNIGRAPH_AUDIT_LOG": str(audit)}) as server:
        with as_actor(server, "wim") as client:
            client.headers["X-Request-Id"] = "ask-1"
            assert client.get("/graphs/default/commits").status_code == 403
        with as_actor(server, "root") as client:
            assert client.get("/graphs/default/commits").status_code == 200
        assert "policy decision" not in server.log.read_text()
        requests = [line for line in server.logged() if line["message"] == "request"]
        assert {"wim", "root"} <= {line.get("actor_id") for line in requests}
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    refused = next(line for line in lines if line["actor_id"] == "wim")
    assert (refused["request_id"], refused["graph_id"], refused["peer"]) == ("ask-1", "default", "127.0.0.1")
    assert (refused["action"], refused["branch"], refused["allowed"]) == ("read", "main", False)
    assert next(line for line in lines if line["actor_id"] == "root")["matched_rule_id"] == "everything"


def test_wrong_tokens_are_put_off_and_right_ones_are_not(template: Path, tmp_path: Path) -> None:
    uri = copies(template, tmp_path, ["default"])["default"]
    with serving({"graphs": {"default": {"uri": uri, "policy": POLICY}}, "tokens": TOKENS}) as server:
        with server.client("forged") as client:
            statuses = [client.get("/graphs/default/commits").status_code for _ in range(WRONG_TOKENS + 5)]
            late = client.get("/graphs/default/commits")
        assert statuses == [401] * WRONG_TOKENS + [429] * 5
        assert int(late.headers["retry-after"]) > 0
        with as_actor(server, "root") as client:
            assert client.get("/graphs/default/commits").status_code == 200
        refused = [line for line in server.logged() if line["message"] == "bearer token refused"]
        assert len(refused) == WRONG_TOKENS


def test_metrics_need_a_right(server: ServerProcess) -> None:
    for actor in TOKENS:
        with as_actor(server, actor) as client:
            answer = client.get("/metrics")
        assert answer.status_code == 403
        assert "omnigraph_" not in answer.text


def test_weak_tokens_and_open_files_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps({"ada": "short", "bob": "x" * 40, "cy": "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA"}))
    path.chmod(0o644)
    load_tokens({FILE: str(path)})
    warned = [record.__dict__.get("actor_id") or record.__dict__.get("path") for record in caplog.records]
    assert sorted(map(str, warned)) == sorted(["ada", "bob", str(path)])
    caplog.clear()
    path.write_text(json.dumps({"cy": "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA"}))
    path.chmod(0o600)
    load_tokens({FILE: str(path)})
    assert not caplog.records
