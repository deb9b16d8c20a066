"""Many clients of one server write to one branch: none is refused, and one that must not wait is told what happened."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from graph_api import Api
from served_people import ADD, AGE

from omnigraph.client.failures import failure
from omnigraph.errors import BranchBusy, ExpectedVersionMismatch, OmnigraphError, OtherChange, ReadSetChanged
from omnigraph.server.http.refusal import refusal_of
from server_process import ServerProcess

CLIENTS = 8


def test_eight_clients_that_update_and_insert_are_all_served(open_server: ServerProcess, api: Api) -> None:
    for number in range(CLIENTS):
        assert api.mutate(ADD, params={"name": f"own{number}", "age": 0}).status_code == 200

    def client(number: int) -> list[int]:
        with open_server.client(timeout=120) as connection:
            mine = Api(connection, api.graph)
            answers = [mine.mutate(AGE, params={"name": f"own{number}", "age": age}) for age in (1, 2, 3)]
            answers.append(mine.mutate(ADD, params={"name": f"new{number}"}))
            return [answer.status_code for answer in answers]

    with ThreadPoolExecutor(CLIENTS) as pool:
        assert list(pool.map(client, range(CLIENTS))) == [[200] * 4] * CLIENTS
    people = api.rows("query q() { match { $p: Person } return { $p.name as name, $p.age as age } }")
    ages = {row["name"]: row["age"] for row in people}
    assert {ages[f"own{number}"] for number in range(CLIENTS)} == {3}
    assert {f"new{number}" for number in range(CLIENTS)} <= ages.keys()


def test_if_match_asks_for_a_refusal(api: Api) -> None:
    head = api.head()
    first = api.mutate(ADD, params={"name": "first"})
    assert first.status_code == 200
    stale = api.post("/mutate", {"query": ADD, "params": {"name": "second"}}, headers={"If-Match": f'"{head}"'})
    assert stale.status_code == 412
    assert stale.json()["precondition_failure"] == {"expected": head, "actual": api.head()}
    fresh = api.post("/mutate", {"query": ADD, "params": {"name": "second"}}, headers={"If-Match": f'"{api.head()}"'})
    assert fresh.status_code == 200


def test_if_match_guards_stored_queries_and_loads(api: Api) -> None:
    head = api.head()
    tag = {"If-Match": f'"{head}"'}
    assert api.post("/queries/add", {"params": {"name": "one"}}, headers=tag).status_code == 200
    assert api.post("/queries/add", {"params": {"name": "two"}}, headers=tag).status_code == 412
    line = '{"type":"Person","data":{"name":"three"}}'
    assert api.post("/load", {"data": line}, headers=tag).status_code == 412
    assert api.post("/load", {"data": line}, headers={"If-Match": f'"{api.head()}"'}).status_code == 200


@pytest.mark.parametrize("value", ["*", "01J", 'W/"01J"', '"01J", "01K"', '""'])
def test_if_match_is_one_commit_id_in_quotes(api: Api, value: str) -> None:
    answer = api.post("/mutate", {"query": ADD, "params": {"name": "x"}}, headers={"If-Match": value})
    assert answer.status_code == 400
    assert "If-Match" in answer.json()["error"]


@pytest.mark.parametrize("seconds", ["0", "30"])
def test_a_write_that_prefers_not_to_wait_is_served_when_the_branch_is_free(api: Api, seconds: str) -> None:
    answer = api.post("/mutate", {"query": ADD, "params": {"name": "x"}}, headers={"Prefer": f"wait={seconds}"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "error",
    [
        ReadSetChanged(
            "graph_head:main",
            expected="a",
            actual="b",
            change=OtherChange("node:Person", ("ann", "bob"), "01J", "act-ana"),
            attempts=3,
        ),
        ReadSetChanged("graph_head:main", expected="a", actual="b", attempts=1),
        ExpectedVersionMismatch("node:Person", expected=3, actual=4),
    ],
)
def test_a_refusal_reaches_the_client_with_everything_it_says(error: OmnigraphError) -> None:
    refusal = refusal_of(error)
    assert refusal.status == 409
    received = failure(refusal.status, json.dumps(refusal.envelope()).encode())
    assert type(received) is type(error)
    assert received.details() == error.details()


def test_a_busy_branch_says_when_to_come_back() -> None:
    refusal = refusal_of(BranchBusy("main", "others were ahead for 5.0 s"))
    assert (refusal.status, refusal.headers["Retry-After"]) == (503, "1")
    received = failure(refusal.status, json.dumps(refusal.envelope()).encode())
    assert isinstance(received, BranchBusy)
    assert received.branch == "main"


def test_a_client_bounds_how_often_its_write_is_computed(api: Api) -> None:
    answer = api.post("/mutate", {"query": ADD, "params": {"name": "x"}}, headers={"Prefer": "attempts=1"})
    assert answer.status_code == 200
    for refused in ("0", "many"):
        answer = api.post("/mutate", {"query": ADD, "params": {"name": "x"}}, headers={"Prefer": f"attempts={refused}"})
        assert answer.status_code == 400
        assert "attempts" in answer.json()["error"]
