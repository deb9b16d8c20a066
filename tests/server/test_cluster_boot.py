"""Servers that boot from an applied cluster: when they start, when they refuse, and what they then serve."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import time
from pathlib import Path

import httpx
import pytest
from graph_api import Api
from served_people import FIND, SCHEMA

from aws_service import amazon_service
from omnigraph.cluster.apply import apply
from omnigraph.cluster.refresh import import_state
from omnigraph.policy.authorize import State
from omnigraph.policy.tokens import TokenTable
from omnigraph.server.app import Server
from omnigraph.server.main import main
from omnigraph.server.process.boot import cluster_deployment
from omnigraph.server.process.deployment import Deployment
from omnigraph.server.settings import Settings
from server_process import ServerProcess, running

CONFIG = """
version: 1
graphs:
  healthy: {schema: people.pg, queries: find.gq}
  broken: {schema: people.pg}
"""
POLICY = "version: 1\ngroups: {g: [ada]}\nrules: [{id: r, allow: {actors: {group: g}, actions: [%s]}}]\n"


UNFINISHED = {
    "schema_version": 1,
    "operation_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "started_at": "2026-01-01T00:00:00Z",
    "actor": None,
    "kind": "schema_apply",
    "graph_id": "healthy",
    "graph_uri": "graphs/healthy.omni",
    "observed_manifest_version": 1,
    "expected_manifest_version": None,
    "desired_schema_digest": "0" * 64,
    "state_cas_base": None,
    "approval_id": None,
}


def case(*names: str) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(name, id=name) for name in names])


def declare(place: Path, config: str = CONFIG) -> Path:
    place.mkdir()
    (place / "cluster.yaml").write_text(config)
    (place / "people.pg").write_text(SCHEMA)
    (place / "find.gq").write_text(FIND)
    (place / "graph.yaml").write_text(POLICY % "read")
    (place / "server.yaml").write_text(POLICY % "graph_list")
    assert import_state(place)["ok"]
    assert apply(place)["converged"]
    return place


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return declare(tmp_path_factory.mktemp("booting") / "config")


@pytest.fixture
def place(template: Path, tmp_path: Path) -> Path:
    shutil.copytree(template, tmp_path / "config")
    return tmp_path / "config"


def state_revision(place: Path) -> int:
    found: int = json.loads((place / "__cluster" / "state.json").read_text())["state_revision"]
    return found


def refused(place: Path, capsys: pytest.CaptureFixture[str], *flags: str, **environ: str) -> str:
    """What a server says that does not start."""
    assert main(["--cluster", str(place), "--bind", "127.0.0.1:0", *flags], environ) == 1
    return capsys.readouterr().err


@case("auth-1_auth-2")
def test_a_server_that_nothing_guards_does_not_start(
    place: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--unauthenticated" in refused(place, capsys)
    assert "--unauthenticated" in refused(place, capsys, OMNIGRAPH_UNAUTHENTICATED="0")


@case("auth-2_cluster-50")
def test_a_damaged_graph_does_not_take_the_others_down(
    place: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(place / "graphs" / "broken.omni" / "__manifest")
    message = refused(place, capsys, "--require-all-graphs", "--unauthenticated")
    assert "broken" in message
    command = ["-m", "omnigraph.server", "--cluster", str(place), "--bind", "127.0.0.1:0"]
    with running(command, {"OMNIGRAPH_UNAUTHENTICATED": "1"}) as server, server.client() as client:
        assert Api(client, "healthy").get("/snapshot").status_code == 200
        assert Api(client, "healthy").post("/queries/find", {"params": {"name": "x"}}).status_code == 200
        assert Api(client, "broken").get("/snapshot").content.replace(b"broken", b"") == (
            Api(client, "never").get("/snapshot").content.replace(b"never", b"")
        )
        assert Api(client, "broken").get("/snapshot").status_code == 404
        assert client.get("/readyz").json() == {"status": "ready"}, "nobody may list graphs here"


@case("auth-4")
@pytest.mark.parametrize("flags", [(), ("--unauthenticated",)])
def test_a_policy_without_tokens_refuses_to_start(
    tmp_path: Path, case: str, flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    bound = CONFIG + "policies: {base: {file: graph.yaml, applies_to: [healthy]}}\n"
    assert "no bearer tokens" in refused(declare(tmp_path / "config", bound), capsys, *flags)


@case("auth-7_auth-8")
def test_bad_token_settings_refuse_to_start(place: Path, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "same token" in refused(place, capsys, OMNIGRAPH_SERVER_BEARER_TOKENS_JSON='{"a":"x","b":"x"}')
    message = refused(place, capsys, OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET="x", OMNIGRAPH_SERVER_BEARER_TOKEN="t")
    assert "no AWS region" in message


def test_a_rotated_token_file_takes_effect_without_a_restart(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text('{"ada": "old"}')
    environ = {"OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": str(file), "OMNIGRAPH_RELOAD_MS": "50"}
    command = ["-m", "omnigraph.server", "--cluster", str(place), "--bind", "127.0.0.1:0"]
    with running(command, environ) as server, server.client("old") as old, server.client("new") as new:
        assert old.get("/graphs/healthy/snapshot").status_code == 200
        assert new.get("/graphs/healthy/snapshot").status_code == 401
        file.write_text('{"ada": "new"}')
        deadline = time.monotonic() + 240
        while new.get("/graphs/healthy/snapshot").status_code != 200:
            assert time.monotonic() < deadline, server.log.read_text()[-2000:]
            time.sleep(0.05)
        assert old.get("/graphs/healthy/snapshot").status_code == 401
        file.write_text("{")
        while "cannot be read again" not in server.log.read_text():
            assert time.monotonic() < deadline, server.log.read_text()[-2000:]
            time.sleep(0.05)
        assert new.get("/graphs/healthy/snapshot").status_code == 200, "a broken table changes nothing"


def test_two_tokens_of_an_actor_overlap_and_a_hangup_reads_them_again_in_every_worker(
    place: Path, tmp_path: Path
) -> None:
    file = tmp_path / "tokens.json"
    file.write_text('{"ada": "old"}')
    environ = {"OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": str(file), "OMNIGRAPH_RELOAD_MS": "3600000"}
    command = ["-m", "omnigraph.server", "--cluster", str(place), "--bind", "127.0.0.1:0", "--workers", "2"]

    def asked(server: ServerProcess, token: str) -> set[int]:
        """Statuses over connections of their own, so that either worker gets some."""
        headers = {"Authorization": f"Bearer {token}"}
        url = f"{server.url}/graphs/healthy/branches"
        return {httpx.get(url, headers=headers, timeout=60).status_code for _ in range(6)}

    def rotated(server: ServerProcess, table: str) -> None:
        before = server.log.read_text().count('"reloaded"')
        file.write_text(table)
        deadline = time.monotonic() + 240
        while server.log.read_text().count('"reloaded"') < before + 2:
            assert time.monotonic() < deadline, server.log.read_text()[-2000:]
            server.process.send_signal(signal.SIGHUP)  # a worker that has only just begun does not listen yet
            time.sleep(0.1)

    with running(command, environ) as server:
        assert asked(server, "new") == {401}
        rotated(server, '{"ada": ["new", "old"]}')
        assert asked(server, "old") == {200}
        assert asked(server, "new") == {200}
        rotated(server, '{"ada": ["new"]}')
        assert asked(server, "old") == {401}
        assert asked(server, "new") == {200}


def test_a_secret_is_asked_for_again_when_somebody_wants_it_and_kept_when_it_fails(place: Path) -> None:
    with amazon_service() as amazon:
        amazon.secrets = {"tokens": {"SecretString": '{"ada": "old"}'}}
        deployment = cluster_deployment(str(place), amazon.keyed())
        assert deployment.successor is not None
        amazon.secrets["tokens"] = {"SecretString": '{"ada": ["new", "old"]}'}
        assert deployment.successor(deployment) is None
        assert amazon.asked == ["secret"], "not at every look"
        rotated = deployment.successor(deployment, asked=True)
        assert rotated is not None
        assert [rotated.tokens.verify(token) is not None for token in ("new", "old", "x")] == [True, True, False]
        amazon.secrets["tokens"] = 403
        assert deployment.successor(rotated, asked=True) is None
        assert amazon.asked == ["secret"] * 3


def test_a_revision_waits_for_the_operation_that_applies_it(place: Path) -> None:
    """The ledger is written before the sidecar of its operation goes; a look in between takes no graph away."""
    deployment = cluster_deployment(str(place), {}, unauthenticated=True)
    assert deployment.successor is not None
    (place / "find.gq").write_text(FIND.replace("find", "seek"))
    assert apply(place)["converged"]
    sidecar = place / "__cluster" / "recoveries" / "01ARZ3NDEKTSV4RRFFQ69G5FAV.json"
    sidecar.parent.mkdir(parents=True, exist_ok=True)
    sidecar.write_text(json.dumps(UNFINISHED))
    assert deployment.successor(deployment) is None
    booted = cluster_deployment(str(place), {}, unauthenticated=True)
    assert booted.successor is not None
    assert booted.quarantined == ("healthy",)
    sidecar.unlink()
    for server in (deployment, booted):
        assert server.successor is not None
        after = server.successor(server)
        assert after is not None
        assert after.quarantined == ()
        assert set(after.graphs["healthy"].queries) == {"seek"}
        assert after.revision == booted.revision
        assert server.successor(after) is None


def test_a_server_that_is_stopping_is_alive_and_not_ready() -> None:
    async def session() -> list[tuple[int, str]]:
        server = Server(Deployment({}, State.OPEN, TokenTable((), "none")), Settings())
        carrier = httpx.ASGITransport(app=server)
        async with httpx.AsyncClient(transport=carrier, base_url="http://inside") as client:
            before = await client.get("/readyz")
            server.closing.set()
            answers = [before, await client.get("/readyz"), await client.get("/healthz")]
        server.close()
        return [(answer.status_code, answer.text) for answer in answers]

    before, after, alive = asyncio.run(session())
    assert before == (200, '{"status":"ready"}')
    assert after == (503, '{"error":"the server is stopping"}')
    assert alive[0] == 200


@case("auth-3_auth-15")
def test_the_applied_policies_are_the_ones_in_force(tmp_path: Path, case: str) -> None:
    bound = (
        CONFIG
        + "policies: {base: {file: graph.yaml, applies_to: [healthy]}, top: {file: server.yaml, applies_to: [cluster]}}\n"
    )
    place = declare(tmp_path / "config", bound)
    (place / "graph.yaml").write_text("version: 1\n")  # declared, not applied
    tokens = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps({"ada": "a", "bob": "b"})}
    command = ["-m", "omnigraph.server", "--cluster", str(place), "--bind", "127.0.0.1:0"]
    with running(command, tokens) as server, server.client("a") as ada, server.client("b") as bob:
        assert [graph["graph_id"] for graph in ada.get("/graphs").json()["graphs"]] == ["broken", "healthy"]
        assert bob.get("/graphs").status_code == 403
        ready = ada.get("/readyz")
        assert ready.json() == {
            "status": "ready",
            "revision": state_revision(place),
            "graphs": {"served": 2, "quarantined": 0},
            "quarantined": [],
            "reload_failed": False,
        }
        for headers in ({}, {"Authorization": "Bearer b"}, {"Authorization": "Bearer wrong"}):
            answer = server.get("/readyz", headers=headers)
            assert (answer.status_code, answer.json()) == (200, {"status": "ready"})
        assert "bearer token refused" in server.log.read_text(), "guessing leaves a trace here too"
        assert ada.get("/graphs/healthy/snapshot").status_code == 200
        assert bob.get("/graphs/healthy/snapshot").status_code == 403
        assert bob.get("/graphs/broken/snapshot").status_code == 200, "a graph without a bundle can be read"
        denied = ada.post("/graphs/broken/branches", json={"name": "x"})
        assert denied.status_code == 403
        assert "default-deny" in denied.json()["error"]
        assert server.get("/graphs/healthy/snapshot").status_code == 401
