"""The process: how it starts, from which cluster, how it follows a new revision, and how it ends."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from graph_api import Api
from served_people import ADD, AGE, COUNT, SCHEMA, copies

import omnigraph as og
from omnigraph.cli.main import main as cli
from omnigraph.cluster.apply import apply
from omnigraph.cluster.refresh import import_state
from omnigraph.server import logs
from omnigraph.server.main import main
from server_process import ServerProcess, eventually, running, serving

MODULE = ["-m", "omnigraph.server", "--bind", "127.0.0.1:0"]
TOKENS = '{"ada": "token-of-ada", "bob": "token-of-bob"}'
CLUSTER = """
version: 1
graphs:
  people: { schema: people.pg, queries: people.gq }
policies:
  team: { file: team.yaml, applies_to: [people] }
"""
TEAM = """
version: 1
groups: { team: [ada] }
rules: [ { id: all, allow: { actors: { group: team }, actions: [read, change, invoke_query, export] } } ]
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An applied cluster of one graph, one stored query and one policy."""
    return applied_cluster(tmp_path_factory.mktemp("cluster"), TEAM)


def applied_cluster(folder: Path, team: str) -> Path:
    (folder / "cluster.yaml").write_text(CLUSTER)
    (folder / "people.pg").write_text(SCHEMA)
    (folder / "people.gq").write_text(ADD)
    (folder / "team.yaml").write_text(team)
    assert import_state(folder)["ok"]
    applied = apply(folder)
    assert applied["ok"], applied
    return folder


@pytest.fixture(scope="module")
def server(cluster: Path) -> Iterator[ServerProcess]:
    environ = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": TOKENS, "OMNIGRAPH_RELOAD_MS": "100"}
    with running([*MODULE, "--cluster", str(cluster)], environ) as found:
        yield found


def test_a_cluster_is_served_under_its_policy(server: ServerProcess) -> None:
    with server.client("token-of-ada") as client:
        api = Api(client, "people")
        assert api.post("/queries/add", {"params": {"name": "Eve"}}).json()["actor_id"] == "ada"
        assert api.query(COUNT).json()["rows"] == [{"n": 1}]
        assert api.post("/branches", {"name": "x"}).status_code == 403
    with server.client("token-of-bob") as client:
        answer = Api(client, "people").query(COUNT)
        assert (answer.status_code, "unknown actor" in answer.json()["error"]) == (403, True)


def test_a_new_revision_is_served_without_a_restart(server: ServerProcess, cluster: Path) -> None:
    (cluster / "people.gq").write_text(f"{ADD}\n{COUNT}\n")
    (cluster / "team.yaml").write_text(TEAM.replace("[ada]", "[ada, bob]"))
    with server.client("token-of-bob") as bob, server.client("token-of-ada") as ada:
        assert Api(bob, "people").post("/queries/total").status_code == 404
        failed = []
        stop = threading.Event()

        def ask() -> None:
            while not stop.is_set():
                status = Api(ada, "people").query(COUNT).status_code
                if status != 200:
                    failed.append(status)

        asking = threading.Thread(target=ask)
        asking.start()
        applied = apply(cluster)
        assert applied["ok"], applied
        eventually("the new revision", lambda: Api(bob, "people").post("/queries/total").status_code == 200)
        stop.set()
        asking.join()
        assert failed == []


def test_a_revision_that_cannot_be_served_changes_nothing(server: ServerProcess, cluster: Path) -> None:
    state = cluster / "__cluster" / "state.json"
    kept = state.read_text()
    try:
        state.write_text("{")
        eventually("a line about it", lambda: any("the last one stays" in line["message"] for line in server.logged()))
        with server.client("token-of-ada") as client:
            assert Api(client, "people").query(COUNT).status_code == 200
    finally:
        state.write_text(kept)


def test_a_pushed_feed_ends_when_its_right_is_taken_away(server: ServerProcess, cluster: Path) -> None:
    with server.client("token-of-ada") as client, client.stream("GET", "/graphs/people/changes/stream") as response:
        assert response.status_code == 200
        (cluster / "team.yaml").write_text(TEAM.replace("[ada]", "[bob]"))
        applied = apply(cluster)
        assert applied["ok"], applied
        said = "".join(response.iter_text())
    assert "event: error" in said
    assert "unknown actor 'ada'" in said


def test_a_read_that_is_in_memory_follows_other_writers_and_the_policy(tmp_path: Path) -> None:
    """The event loop answers such a read by itself: not with what was true, nor for someone who may no longer ask."""
    both = TEAM.replace("[ada]", "[ada, bob]")
    folder = applied_cluster(tmp_path, both)
    environ = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": TOKENS, "OMNIGRAPH_RELOAD_MS": "100"}
    age = "query age($name: String) { match { $p: Person { name: $name } } return { $p.age } }"
    with running([*MODULE, "--cluster", str(folder)], environ) as found, found.client("token-of-bob") as client:
        bob = Api(client, "people")
        assert bob.mutate(ADD, params={"name": "Eve", "age": 1}).status_code == 200
        place = next(path.parent for path in folder.rglob("__manifest"))
        with og.open(str(place)) as graph:  # this process, not the server's
            for turn in range(2, 8):
                for _ in range(12):
                    assert bob.rows(age, params={"name": "Eve"}) == [{"p.age": turn - 1}]
                graph.mutate(AGE, params={"name": "Eve", "age": turn})
                assert bob.rows(age, params={"name": "Eve"}) == [{"p.age": turn}]
        (folder / "team.yaml").write_text(TEAM)
        assert apply(folder)["ok"]
        eventually("the new policy", lambda: bob.query(COUNT).status_code == 403)
        assert bob.query(age, params={"name": "Eve"}).status_code == 403


def test_a_reload_can_be_asked_for_by_those_who_may(cluster: Path) -> None:
    """Looking by itself once in a while is switched off, as far as it can be."""
    (cluster / "team.yaml").write_text(TEAM.replace("[ada]", "[ada, bob]"))
    (cluster / "server.yaml").write_text(
        "version: 1\ngroups: { admins: [ada] }\n"
        "rules: [ { id: operate, allow: { actors: { group: admins }, actions: [reload, graph_list] } } ]\n"
    )
    (cluster / "cluster.yaml").write_text(f"{CLUSTER}  operators: {{ file: server.yaml, applies_to: [cluster] }}\n")
    applied = apply(cluster)
    assert applied["ok"], applied
    environ = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": TOKENS, "OMNIGRAPH_RELOAD_MS": "3600000"}
    with (
        running([*MODULE, "--cluster", str(cluster), "--read-only"], environ) as found,
        found.client("token-of-ada") as ada,
    ):
        with found.client("token-of-bob") as bob:
            assert bob.post("/admin/reload").status_code == 403
        assert ada.post("/admin/reload").json()["changed"] is False
        (cluster / "people.gq").write_text(f"{ADD}\n{COUNT.replace('total', 'again')}\n")
        assert apply(cluster)["ok"]
        assert Api(ada, "people").post("/queries/again").status_code == 404
        answer = ada.post("/admin/reload")
        assert (answer.status_code, answer.json()["changed"]) == (200, True)
        assert Api(ada, "people").post("/queries/again").status_code == 200
        refused = Api(ada, "people").mutate(ADD, params={"name": "Zoe"})
        assert (refused.status_code, "only reads" in refused.json()["error"]) == (403, True)
        offered = set(ada.get("/graphs/people/permissions").json()["actions"])
        assert "read" in offered, "and nothing that writes, whatever the policy allows"
        assert offered <= {"read", "export", "invoke_query"}
        assert ada.post("/admin/reload?x=1").status_code == 400


def test_a_server_that_drains_says_so_and_goes_on_answering(template: Path, tmp_path: Path) -> None:
    place = copies(template, tmp_path, ["default"])["default"]
    with serving({"graphs": {"default": {"uri": place}}}, {"OMNIGRAPH_DRAIN_MS": "60000"}) as found:
        assert found.get("/readyz").status_code == 200
        found.process.send_signal(signal.SIGTERM)
        eventually("the drain", lambda: found.get("/readyz").status_code == 503)
        with found.client() as client:
            assert Api(client, "default").query(COUNT).status_code == 200, "on a connection that is new"
            assert client.post("/admin/reload").status_code == 403, "no policy allows it"
        found.process.send_signal(signal.SIGTERM)  # a second signal ends it at once
        assert found.process.wait(240) == 0


REFUSALS = [
    pytest.param([], {}, "boots from a cluster", 64, id="no cluster"),
    pytest.param(["--cluster", "/nowhere"], {}, "cluster", 1, id="no such cluster"),
    pytest.param(["--cluster", "{cluster}"], {}, "BEARER_TOKENS", 1, id="a policy without tokens"),
    pytest.param(["--cluster", "{cluster}", "--bind", "x"], {}, "host:port", 1, id="no address"),
    pytest.param(["--cluster", "x"], {"OMNIGRAPH_BODY_TIMEOUT_MS": "soon"}, "BODY_TIMEOUT", 1, id="no number"),
]


@pytest.mark.parametrize(("flags", "environ", "said", "status"), REFUSALS)
def test_a_refusal_to_start_says_why(
    cluster: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    environ: dict[str, str],
    said: str,
    status: int,
) -> None:
    monkeypatch.setattr(logs, "configure", lambda _: None)  # the log of this process stays as it is
    assert main([flag.format(cluster=cluster) for flag in flags], environ) == status
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err


def case(*numbers: int) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(number, id=f"http-{number}") for number in numbers])


@pytest.fixture(scope="module")
def racing_server(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Writers wait between preparing and publishing, so that all of them have seen the same head."""
    places = copies(template, tmp_path_factory.mktemp("racing"), ["default"])
    slow = {"OMNIGRAPH_FAILPOINTS": "mutation.post_stage_pre_gate=sleep:1.5"}
    with serving({"graphs": {"default": {"uri": places["default"]}}}, slow) as server:
        yield server


@case(24)
def test_concurrent_updates_all_land_one_after_the_other(racing_server: ServerProcess, case: int) -> None:
    """Decision 12 of the contract: an update whose branch moved is prepared again instead of being refused."""
    start = threading.Barrier(8)

    def update(number: int) -> httpx.Response:
        with racing_server.client() as client:
            start.wait()
            return Api(client, "default").mutate(AGE, params={"name": "Alice", "age": number})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(update, range(8)))
    assert [answer.status_code for answer in answers] == [200] * 8
    commits = [answer.headers.get("etag") or answer.json()["commit"]["graph_commit_id"] for answer in answers]
    assert len(set(commits)) == 8


def test_a_request_in_flight_ends_before_the_server_does(racing_server: ServerProcess) -> None:
    answers: list[httpx.Response] = []
    with racing_server.client() as client:
        api = Api(client, "default")
        writing = threading.Thread(target=lambda: answers.append(api.mutate(ADD, params={"name": "Eve"})))
        writing.start()
        both = "omnigraph_http_requests_in_flight 2.0"  # the write, and the one that asks
        with racing_server.client() as asking:
            eventually("the write", lambda: both in asking.get("/metrics").text or answers)
        assert racing_server.stop() == 0
        writing.join()
    assert answers[0].status_code == 200


def test_workers_share_an_address_and_a_graph(template: Path, tmp_path: Path) -> None:
    place = copies(template, tmp_path, ["default"])["default"]
    command = ["-m", "omnigraph.cli", "serve", "--store", place, "--bind", "127.0.0.1:0", "--workers", "2"]
    with running(command) as server:
        token = server.extra["OMNIGRAPH_BEARER_TOKEN"]
        assert server.get("/graphs/default/branches").status_code == 401
        for number in range(4):
            with server.client(token) as client:  # a connection each, so that both workers get some
                assert Api(client, "default").mutate(ADD, params={"name": f"n{number}"}).status_code == 200
                assert Api(client, "default").query(COUNT).json()["rows"] == [{"n": 5 + number}]
                assert client.get("/graphs").json()["graphs"][0]["graph_id"] == "default"


def test_a_development_server_stays_on_this_machine(template: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["serve", "--store", str(template), "--bind", "0.0.0.0:0"]) == 1
    assert "loopback" in capsys.readouterr().err


@pytest.mark.slow
def test_every_acknowledged_commit_survives_a_kill(template: Path, tmp_path: Path) -> None:
    place = copies(template, tmp_path, ["default"])["default"]
    description = {"graphs": {"default": {"uri": place}}}
    acknowledged: list[str] = []

    def write(server: ServerProcess, writer: int) -> None:
        with server.client() as client:
            for number in range(1000):
                name = f"w{writer}-{number}"
                try:
                    answer = Api(client, "default").mutate(ADD, params={"name": name})
                except httpx.TransportError:
                    return
                if answer.status_code == 200:
                    acknowledged.append(name)

    with serving(description, expected=-9) as server:
        writers = [threading.Thread(target=write, args=(server, number)) for number in range(4)]
        for writer in writers:
            writer.start()
        while len(acknowledged) < 12:
            time.sleep(0.02)
        server.process.kill()
        for writer in writers:
            writer.join()
    with serving(description) as server, server.client() as client:
        api = Api(client, "default")
        everybody = "query e() { match { $p: Person } return { $p.name } }"
        assert set(acknowledged) <= {row["p.name"] for row in api.rows(everybody)}
        assert api.mutate(ADD, params={"name": "after"}).status_code == 200
