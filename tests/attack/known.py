"""More of the table: reads that are in memory because others asked for them, and are answered by the event loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import httpx

from tests.attack.table import Attack
from tests.attack.target import HIDDEN, TOKENS, Target

_NOTE = "query known($name: String) { match { $p: Person { name: $name } } return { $p.name, $p.note, $p.age } }"
_GUARDED = (
    "query guarded($name: String) { match { $p: Person { name: $name }  $p guards $s } return { $s.code, $s.body } }"
)
_BIRTHDAY = "query up($name: String) { update Person set { age: age + 1 } where name = $name }"
_ENOUGH = 12  # so often has a read been asked for when its answer is in memory


def _read(target: Target, text: str, actor: str, name: str = "p001", **sent: object) -> httpx.Response:
    return target.query(text, actor, params={"name": name}, **sent)


def _make_known(target: Target, text: str, **sent: object) -> None:
    for _ in range(_ENOUGH):
        assert _read(target, text, "reader", **sent).status_code == 200


def _of_another(text: str, actor: str | None, **sent: object) -> Callable[[Target], str]:
    """Ask for what another reader has made known: the status, and whether the answer tells what is hidden."""

    def attempt(target: Target) -> str:
        _make_known(target, text, **sent)
        found = target.query(text, actor, params={"name": "p001"}, **sent)
        told = HIDDEN in found.text or "s1" in found.text
        return f"{found.status_code}{' and tells' if told else ''}"

    return attempt


def _stale(branch: str) -> Callable[[Target], str]:
    """Read after every acknowledged write, while other readers keep the answer in memory."""

    def attempt(target: Target) -> str:
        over = threading.Event()

        def keep_known() -> None:
            while not over.is_set():
                _read(target, _NOTE, "reader", "p002", branch=branch)

        readers = [threading.Thread(target=keep_known) for _ in range(2)]
        for each in readers:
            each.start()
        try:
            age = _read(target, _NOTE, "reader", "p002", branch=branch).json()["rows"][0]["p.age"]
            for turn in range(1, 11):
                answer = target.mutate(_BIRTHDAY, "root", params={"name": "p002"}, branch=branch)
                if answer.status_code != 200:
                    return str(answer.status_code)
                seen = _read(target, _NOTE, "reader", "p002", branch=branch).json()["rows"][0]["p.age"]
                if seen != age + turn:
                    return f"{seen} after {age + turn} was written"
        finally:
            over.set()
            for each in readers:
                each.join()
        return "fresh"

    return attempt


def _another_branch_of_the_name(target: Target) -> str:
    """A branch is deleted and made again with another value: what was known of its name is not answered."""
    made = {"name": "again"}
    for age in (1001, 1002):
        answer = target.ask("POST", "/graphs/people/branches", "root", json=made)
        if answer.status_code not in (200, 201):
            return f"{answer.status_code} {answer.text[:80]}"
        text = f'query set() {{ update Person set {{ age: {age} }} where name = "p003" }}'
        assert target.mutate(text, "root", branch="again").status_code == 200
        for _ in range(_ENOUGH):
            found = _read(target, _NOTE, "reader", "p003", branch="again").json()["rows"]
            if found[0]["p.age"] != age:
                return f"{found[0]['p.age']} where {age} was written"
        assert target.ask("DELETE", "/graphs/people/branches/again", "root").status_code in (200, 204)
    return str(_read(target, _NOTE, "reader", "p003", branch="again").status_code)


def _of_the_past(target: Target) -> str:
    """What is known of the head is not answered for a commit of the past."""
    head = target.ask("GET", "/graphs/people/commits?limit=1", "reader").json()["commits"][0]["graph_commit_id"]
    before = _read(target, _NOTE, "reader", "p004").json()["rows"]
    assert target.mutate(_BIRTHDAY, "root", params={"name": "p004"}).status_code == 200
    _make_known(target, _NOTE)
    found = _read(target, _NOTE, "reader", "p004", at=head).json()["rows"]
    return "the past" if found == before else f"{found}"


def _beside_known_reads(target: Target) -> str:
    """A probe while forty connections of one actor ask for what is known."""
    _make_known(target, _NOTE)
    over = threading.Event()

    def ask() -> None:
        headers = {"Authorization": f"Bearer {TOKENS['heavy']}"}
        with httpx.Client(base_url=target.server.url, headers=headers, timeout=60) as client:
            while not over.is_set():
                client.post("/graphs/people/query", json={"query": _NOTE, "params": {"name": "p001"}})

    clients = [threading.Thread(target=ask) for _ in range(40)]
    for each in clients:
        each.start()
    try:
        time.sleep(0.5)
        return str(target.ask("GET", "/healthz", None).status_code)
    finally:
        over.set()
        for each in clients:
            each.join()


def _written_down(target: Target) -> str:
    """Every answer has a decision in the log, with its request id and actor."""
    _make_known(target, _NOTE)
    wanted = [f"known-{number}" for number in range(5)]
    for each in wanted:
        target.query(_NOTE, "reader", params={"name": "p001"}, headers={"X-Request-Id": each})
    lines = [line for line in target.server.logged() if line.get("request_id") in wanted]
    decided = {
        line["request_id"] for line in lines if line.get("actor_id") == "reader" or line.get("actor") == "reader"
    }
    return "all" if decided == set(wanted) else f"{len(decided)} of {len(wanted)}"


ATTACKS = (
    Attack("known", "a masked property of a known read", ("200",), _of_another(_NOTE, "partial")),
    Attack("known", "a hidden type of a known read", ("400", "403"), _of_another(_GUARDED, "partial")),
    Attack("known", "a known read without a token", ("401",), _of_another(_NOTE, None)),
    Attack("known", "a known read of a writer", ("403",), _of_another(_NOTE, "writer")),
    Attack("known", "a known read of another's branch", ("403",), _of_another(_NOTE, "narrow", branch="hidden")),
    Attack("known", "a value that was written since", ("fresh",), _stale("main")),
    Attack("known", "the same on a branch", ("fresh",), _stale("hidden")),
    Attack("known", "a branch made again under its name", ("404",), _another_branch_of_the_name),
    Attack("known", "a commit of the past", ("the past",), _of_the_past),
    Attack("known", "a probe beside 40 clients", ("200",), _beside_known_reads),
    Attack("known", "what the log says of it", ("all",), _written_down),
)
