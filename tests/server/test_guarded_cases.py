"""HTTP cases that need tokens, policies and a cluster behind the server."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack

import httpx
import pytest
from graph_api import Api
from served_people import ADD, COUNT, TOKENS

from server_process import PATIENCE, ServerProcess, eventually


def case(*numbers: int) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(number, id=f"http-{number}") for number in numbers])


class Actors:
    """A client per actor."""

    def __init__(self, server: ServerProcess) -> None:
        self._clients = {actor: server.client(token) for actor, token in TOKENS.items()}

    def __call__(self, actor: str, graph: str = "default") -> Api:
        return Api(self._clients[actor], graph)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


@pytest.fixture(scope="module")
def as_(guarded_server: ServerProcess) -> Iterator[Actors]:
    actors = Actors(guarded_server)
    yield actors
    actors.close()


@case(1)
def test_health_asks_nobody(guarded_server: ServerProcess, case: int) -> None:
    answer = guarded_server.get("/healthz")
    assert answer.status_code == 200
    assert answer.json()["status"] == "ok"
    assert isinstance(answer.json()["internal_schema_version"], int)


@case(3)
def test_a_request_without_a_token_is_unauthorized(guarded_server: ServerProcess, case: int) -> None:
    answer = guarded_server.get("/graphs/default/branches")
    assert answer.status_code == 401
    assert answer.json() == {"error": "missing bearer token", "code": "unauthorized"}
    assert answer.headers["www-authenticate"] == "Bearer"
    for path in ("/graphs/nope/branches", "/graphs/bad_id/branches", "/graphs"):
        assert guarded_server.get(f"{path}").status_code == 401
    assert guarded_server.get("/nowhere").status_code == 404


@case(38)
def test_a_refused_batch_is_never_asked_for(guarded_server: ServerProcess, case: int) -> None:
    host, _, port = guarded_server.address.rpartition(":")
    head = (
        "POST /graphs/default/load/ndjson HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
        f"Authorization: Bearer {TOKENS['bob']}\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(head.encode())
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 403"), "the first thing said is the refusal, not 100 Continue"


@case(70)
def test_a_declared_schema_is_changed_by_the_cluster_only(as_: Actors, case: int) -> None:
    root, ada = as_("root"), as_("ada")
    before = root.get("/schema").json()
    body = {"schema_source": before["schema_source"] + "node More { name: String @key }"}
    assert ada.post("/schema/apply", body).status_code == 403
    answer = root.post("/schema/apply", body)
    assert answer.status_code == 409
    assert "cluster apply" in answer.json()["error"]
    assert root.get("/schema").json() == before


def test_graphs_are_listed_to_those_whom_the_server_policy_names(as_: Actors) -> None:
    listed = as_("root").client.get("/graphs").json()["graphs"]
    assert [graph["graph_id"] for graph in listed] == ["default", "other"]
    assert as_("bob").client.get("/graphs").status_code == 403


def test_commits_carry_the_actor_of_the_token(as_: Actors) -> None:
    root = as_("root", "other")
    root.post("/branches", {"name": "feature"})
    bob = as_("bob", "other")
    answer = bob.mutate(ADD, params={"name": "Eve"}, branch=" feature ")
    assert (answer.status_code, answer.json()["actor_id"]) == (200, "bob")
    assert answer.json()["commit"]["actor_id"] == "bob"
    assert bob.mutate(ADD, params={"name": "Fay"}, branch=" main ").status_code == 403
    assert bob.query(COUNT, branch="feature").json()["rows"] == [{"n": 5}]


def test_denied_and_unknown_stored_queries_answer_the_same_bytes(as_: Actors) -> None:
    bob = as_("bob")
    denied, unknown = bob.post("/queries/everybody"), bob.post("/queries/lost")
    assert (denied.status_code, unknown.status_code) == (404, 404)
    assert denied.content == unknown.content
    assert bob.get("/queries").status_code == 200
    assert as_("root").post("/queries/everybody").status_code == 200


def test_an_actor_over_its_limit_is_told_to_wait(as_: Actors) -> None:
    def write(number: int) -> httpx.Response:
        return as_("root").mutate(ADD, params={"name": f"n{number}"})

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(write, range(12)))
    refused = [answer for answer in answers if answer.status_code == 429]
    assert {answer.status_code for answer in answers} == {200, 429}
    assert refused[0].headers["retry-after"] == "60"
    assert refused[0].json()["code"] == "too_many_requests"


def test_an_actor_listens_to_so_many_feeds_and_to_others_when_it_has_left_one(as_: Actors) -> None:
    def listening(actor: str) -> AbstractContextManager[httpx.Response]:
        api = as_(actor)
        return api.client.stream("GET", api.path("/changes/stream"))

    with ExitStack() as others:
        with listening("root") as first, listening("root") as second:
            assert (first.status_code, second.status_code) == (200, 200)
            refused = as_("root").get("/changes/stream")
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
            assert refused.headers["retry-after"] == "60"
            assert as_("eve").get("/changes/stream").status_code == 403, "who may not read learns nothing of limits"
            assert others.enter_context(listening("bob")).status_code == 200
            assert as_("root").get("/changes").status_code == 200
        # The server notices a reader that has left a little later than the reader.
        for _ in range(2):
            eventually("a free place", lambda: others.enter_context(listening("root")).status_code == 200)


def test_no_log_line_holds_a_token_or_a_body(guarded_server: ServerProcess, as_: Actors) -> None:
    root = as_("root")
    root.query('query secret_text() { match { $p: Person { name: "hidden-value" } } return { $p.name } }')
    guarded_server.get("/graphs/default/branches", headers={"Authorization": "Bearer forged-token"})
    text = guarded_server.log.read_text()
    assert "policy decision" in text
    for secret in (*TOKENS.values(), "forged-token", "hidden-value"):
        assert secret not in text
    assert any(line.get("token_sha256") for line in guarded_server.logged())
    assert json.dumps(guarded_server.logged()[0])
