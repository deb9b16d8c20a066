"""The server answers others while it works on what one client has sent."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest
from served_people import COUNT, TOKENS, combinations

from server_process import PATIENCE, ServerProcess

JSON = {"Content-Type": "application/json"}
NUMBERS = ",".join(["1"] * 490_000)
IN_LIST = f"query q() {{ match {{ $p: Person  $p.age in [{NUMBERS}] }} return {{ $p.name }} }}"
CARTESIAN = combinations(13)


def answers_beside(server: ServerProcess, send: Callable[[httpx.Client, threading.Event], int]) -> tuple[int, int]:
    """The status of a request, and how often `/healthz` was answered between its last byte and its answer."""
    sent, done = threading.Event(), threading.Event()
    seen: list[int] = []

    def work() -> None:
        with server.client() as client:
            seen.append(send(client, sent))
        done.set()

    sender = threading.Thread(target=work)
    sender.start()
    assert sent.wait(PATIENCE)
    answers = 0
    with server.client() as client:
        while not done.is_set():
            assert client.get("/healthz").status_code == 200
            answers += not done.is_set()
    sender.join()
    return seen[0], answers


def posted(path: str, body: bytes, headers: dict[str, str] = JSON) -> Callable[[httpx.Client, threading.Event], int]:
    def send(client: httpx.Client, sent: threading.Event) -> int:
        def pieces() -> Iterator[bytes]:
            for start in range(0, len(body), 1 << 20):
                yield body[start : start + (1 << 20)]
            sent.set()

        sized = {**headers, "Content-Length": str(len(body))}
        return client.post(path, content=pieces(), headers=sized).status_code

    return send


def test_others_are_answered_while_a_large_body_is_decoded(open_server: ServerProcess) -> None:
    """Refused only once all of it is decoded, so nothing but decoding happens between its last byte and its answer."""
    body = b'{"data": "' + b"\\u00e9" * 4_500_000 + b'", "dat": ""}'
    status, answers = answers_beside(open_server, posted("/graphs/default/load", body))
    assert status == 400
    assert answers > 3


@pytest.mark.parametrize("start", [b"[1", b'{"data": [1'], ids=["a list", "a list in an object"])
def test_a_large_body_that_is_not_an_object_of_strings_is_not_decoded_at_all(
    open_server: ServerProcess, start: bytes
) -> None:
    body = start + b",1" * 15_000_000 + b"]"
    with open_server.client() as client:
        answer = client.post("/graphs/default/load", content=body, headers=JSON)
    assert (answer.status_code, "invalid JSON" in answer.json()["error"]) == (400, True)


def test_others_are_answered_while_a_long_text_is_parsed(open_server: ServerProcess) -> None:
    """It took four seconds on the event loop."""
    body = json.dumps({"query": IN_LIST}).encode()
    status, answers = answers_beside(open_server, posted("/graphs/default/query", body))
    assert status == 200
    assert answers > 3


def test_reads_of_one_actor_do_not_keep_another_waiting(guarded_server: ServerProcess) -> None:
    """More heavy reads than one actor has threads, and a small one of somebody else is answered before they end."""
    statuses: list[int] = []

    def heavy() -> None:
        with guarded_server.client(TOKENS["ada"]) as client:
            answer = client.post("/graphs/default/query", json={"query": CARTESIAN}, headers={"Prefer": "wait=3"})
            statuses.append(answer.status_code)

    threads = [threading.Thread(target=heavy) for _ in range(10)]
    for thread in threads:
        thread.start()
    with guarded_server.client(TOKENS["bob"]) as client:
        answer = client.post("/graphs/default/query", json={"query": COUNT})
    over = len(statuses)
    for thread in threads:
        thread.join()
    assert answer.status_code == 200
    assert over < 10, "the heavy ones were not all over"
    assert set(statuses) <= {200, 413, 429, 503}


def test_others_are_answered_while_the_text_of_a_mapping_is_parsed(open_server: ServerProcess) -> None:
    """YAML is parsed in Python, a few hundred kilobytes a second at most."""
    text = "nodes:\n" + "".join(f"- {{a{at}: [1, 2, 3]}}\n" for at in range(8_000)) + "- [\n"
    body = json.dumps({"mapping": text}).encode()
    status, answers = answers_beside(open_server, posted("/graphs/default/load/files", body))
    assert status == 400
    assert answers >= 3


def test_others_are_answered_while_many_columns_are_described(open_server: ServerProcess) -> None:
    names = ",".join(f"column{at}" for at in range(1_500))
    rows = [",".join(str(row % 2 + at / 10) for at in range(1_500)) for row in range(3)]
    with open_server.client() as client:
        client.put("/graphs/default/uploads/wide.csv", content="\n".join([names, *rows])).raise_for_status()
    body = json.dumps({"files": ["wide.csv"]}).encode()
    status, answers = answers_beside(open_server, posted("/graphs/default/infer", body))
    assert status == 200
    assert answers >= 3


@pytest.mark.parametrize("path", ["infer", "uploads"])
def test_files_are_looked_at_for_as_long_as_a_query_may_take(open_server: ServerProcess, path: str) -> None:
    hurry = {"Prefer": "wait=0"}
    with open_server.client() as client:
        if path == "uploads":
            packed = gzip.compress(b" " * 60_000_000)
            found = client.put("/graphs/default/uploads/packed.csv.gz", content=packed, headers=hurry)
        else:
            text = "id,a,b,c\n" + "".join(f"k{row},x{row},y{row},z{row}\n" for row in range(20_000))
            client.put("/graphs/default/uploads/keys.csv", content=text).raise_for_status()
            found = client.post("/graphs/default/infer", json={"files": ["keys.csv"]}, headers=hurry)
    assert found.json()["resource_limit"]["resource"] == "query_time_ms", found.text
