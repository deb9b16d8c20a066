"""The server answers others while it decodes what one client has sent."""

from __future__ import annotations

import threading

import httpx

from server_process import ServerProcess


def test_others_are_answered_while_a_large_body_is_decoded(open_server: ServerProcess) -> None:
    """Refused only once all of it is decoded, so nothing but decoding happens between its last byte and its answer."""
    body = b"[" + b'{"a":1,"b":"\\u00e9"},' * 1_200_000 + b"{}]"
    sent, answered = threading.Event(), threading.Event()
    seen: list[int] = []

    def pieces() -> object:
        for start in range(0, len(body), 1 << 20):
            yield body[start : start + (1 << 20)]
        sent.set()

    def send() -> None:
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        with open_server.client() as client:
            seen.append(client.post("/graphs/default/load", content=pieces(), headers=headers).status_code)
        answered.set()

    sender = threading.Thread(target=send)
    sender.start()
    assert sent.wait(240)
    answers = 0
    with httpx.Client(base_url=open_server.url, timeout=240) as client:
        while not answered.is_set():
            assert client.get("/healthz").status_code == 200
            answers += not answered.is_set()
    sender.join()
    assert seen == [400]
    assert answers > 3
