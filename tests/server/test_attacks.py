"""Attacks, each refused and none leaking: forged identity, odd names, traversal, bombs, slow clients, side doors."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from graph_api import Api
from served_people import ADD, COUNT, TOKENS, combinations

from server_process import PATIENCE, ServerProcess

BOB = {"Authorization": f"Bearer {TOKENS['bob']}"}
STORAGE_WORDS = (
    tempfile.gettempdir(),
    ".omni",
    "nodes/",
    "edges/",
    "__manifest",
    "_versions",
    "Traceback",
    ".lance",
    "_rowid",
)


# --- identity -------------------------------------------------------------------------------

FORGED: list[Any] = [
    pytest.param([], id="nothing"),
    pytest.param([("Authorization", "Basic dXNlcjpwYXNz")], id="another scheme"),
    pytest.param([("Authorization", "Bearer")], id="no token"),
    pytest.param([("Authorization", f"Bearer  {TOKENS['root']}")], id="two spaces"),
    pytest.param([("Authorization", f"Bearer {TOKENS['root']} x")], id="more behind it"),
    pytest.param([("Authorization", f"Bearer {TOKENS['root'].upper()}")], id="another case"),
    pytest.param([("Authorization", f"Bearer {TOKENS['root'][:-1]}")], id="cut short"),
    pytest.param([("Authorization", f"Bearer {TOKENS['root']}\u00e9")], id="bytes behind it"),
    pytest.param([("Authorization", f"Bearer {TOKENS['root']}"), ("Authorization", "Bearer x")], id="two headers"),
    pytest.param([("Cookie", f"token={TOKENS['root']}")], id="a cookie"),
    pytest.param([("Authorization", "Bearer " + "x" * 30_000)], id="a very long token"),
]


@pytest.mark.parametrize("headers", FORGED)
def test_a_forged_token_is_unauthorized(guarded_server: ServerProcess, headers: list[tuple[str, str]]) -> None:
    sent = [(name.encode(), value.encode()) for name, value in headers]
    answer = guarded_server.get("/graphs/default/branches", headers=sent)
    assert answer.status_code == 401
    assert answer.json()["code"] == "unauthorized"


@pytest.mark.parametrize("header", ["X-Actor-Id", "X-Forwarded-User", "Remote-User", "X-Omnigraph-Actor", "Actor"])
def test_an_actor_cannot_be_claimed(guarded_server: ServerProcess, header: str) -> None:
    url, body = f"{guarded_server.url}/graphs/default/mutate", {"query": ADD, "params": {"name": "Mallory"}}
    answer = httpx.post(url, json=body, headers={**BOB, header: "root"}, timeout=PATIENCE)
    assert answer.status_code == 403
    assert "'bob'" in answer.json()["error"]
    for place, claim in ((f"{url}?actor=root", {}), (url, {"actor": "root"}), (url, {"actor_id": "root"})):
        refused = httpx.post(place, json={**body, **claim}, headers={**BOB, header: "root"}, timeout=PATIENCE)
        assert refused.status_code == 400
        assert "unknown" in refused.json()["error"]


# --- names ----------------------------------------------------------------------------------

PROTECTED = ["main", " main", "main ", "\tmain\n", "\u00a0main", "main\u2003", "\u3000main\u3000"]


@pytest.mark.parametrize("branch", PROTECTED)
def test_a_padded_name_is_the_protected_branch(guarded_server: ServerProcess, branch: str) -> None:
    with guarded_server.client(TOKENS["bob"]) as client:
        api = Api(client, "default")
        assert api.mutate(ADD, params={"name": "Mallory"}, branch=branch).status_code == 403
        assert api.post("/load", {"data": "", "branch": branch}).status_code == 403
        assert api.post("/export", {"branch": branch}).status_code == 403
        assert api.post("/changes/baseline", {"branch": branch}).status_code == 403


ODD_BRANCHES = [
    "Main",
    "ma\u0131n",
    "m\u0430in",
    "main\x00",
    "main/../main",
    "./main",
    "main%20",
    "__schema_apply_lock__",
    "",
    "\x7f",
]


@pytest.mark.parametrize("branch", ODD_BRANCHES)
def test_an_odd_name_never_reaches_the_protected_branch(guarded_server: ServerProcess, branch: str) -> None:
    with guarded_server.client(TOKENS["bob"]) as client:
        api = Api(client, "default")
        before = api.head()
        answer = api.mutate(ADD, params={"name": "Mallory"}, branch=branch)
        assert answer.status_code in (400, 403, 404)
        assert api.head() == before


ODD_PATHS = [
    "/graphs/../healthz",
    "/graphs/%2e%2e/healthz",
    "/graphs/default%2fbranches",
    "/graphs/default%00/branches",
    "/graphs/DEFAULT/branches",
    "/graphs/default/../other/branches",
    "/graphs//branches",
    "//graphs/default/branches",
    "/graphs/default/branches/%2e%2e%2f%2e%2e",
    "/graphs/default/commits/%ff",
    "/graphs/default/commits/..%2f..%2f..%2fetc%2fpasswd/changes",
    "/graphs/default/queries/..%2f..%2fadd",
    "/%67raphs/default/branches",
    "/graphs/%ff/branches",
]


@pytest.mark.parametrize("path", ODD_PATHS)
def test_an_odd_path_finds_nothing(open_server: ServerProcess, path: str) -> None:
    status, body = raw(open_server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert status in (400, 404, 405), body
    assert "error" in json.loads(body)
    assert not any(word in body for word in STORAGE_WORDS)


def test_query_text_is_never_taken_for_a_path(open_server: ServerProcess, tmp_path: Path) -> None:
    secret = tmp_path / "secret.gq"
    secret.write_text("query top_secret() { match { $p: Person } return { $p.name } }")
    with open_server.client() as client:
        api = Api(client, "default")
        for suffix, field in (
            ("/query", "query"),
            ("/mutate", "query"),
            ("/schema/apply", "schema_source"),
            ("/load", "data"),
        ):
            answer = api.post(suffix, {field: str(secret)})
            assert answer.status_code == 400
            assert "top_secret" not in answer.text


# --- bombs and slow clients -----------------------------------------------------------------


def test_a_bomb_of_headers_is_refused_in_an_envelope(open_server: ServerProcess) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X-Bomb: " + b"x" * 200_000 + b"\r\n\r\n"
    status, body = raw(open_server, request)
    assert (status, json.loads(body)["code"]) == (400, "bad_request")


@pytest.mark.parametrize(
    "request_line", [b"GET /healthz\r\n\r\n", b"\x16\x03\x01\x02\x00\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"]
)
def test_what_is_no_http_is_refused(open_server: ServerProcess, request_line: bytes) -> None:
    status, body = raw(open_server, request_line)
    assert status in (0, 400, 404), body


SECOND = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_a_smuggled_length_is_refused(open_server: ServerProcess) -> None:
    head = b"POST /graphs/default/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    both = b"Content-Length: 4\r\nContent-Length: 5\r\n\r\n{}"
    assert raw(open_server, head + both)[0] == 400
    assert raw(open_server, head + b"Content-Length: -1\r\n\r\n")[0] == 400
    status, body = raw(open_server, head + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SECOND)
    assert status == 400
    assert "HTTP/1.1" not in body, "what follows is not taken for a request"


BOMBS = [
    pytest.param(b'{"type":"Person","data":' + b'{"a":' * 60_000, id="nested"),
    pytest.param(b'{"type":"Person","data":{"name":[' + b"1," * 140_000 + b"1]}}", id="many slots"),
    pytest.param(b'{"type":"Person","data":{"name":"x","age":' + b"9" * 100_000 + b"}}", id="a huge number"),
    pytest.param(b'{"type":"Person","data":{"name":"\\ud800"}}', id="half a character"),
    pytest.param(b"\x00" * 10_000, id="zeros"),
    pytest.param(b"{}\n" * 20_000, id="many empty records"),
]


@pytest.mark.parametrize("line", BOMBS)
def test_a_bomb_in_a_batch_is_refused(open_server: ServerProcess, line: bytes) -> None:
    with open_server.client() as client:
        api = Api(client, "default")
        head = api.head()
        kind = {"content-type": "application/x-ndjson"}
        answer = client.post(api.path("/load/ndjson"), content=line, headers=kind)
        assert answer.status_code in (400, 413)
        assert api.head() == head


def test_an_endless_body_is_cut_off(open_server: ServerProcess) -> None:
    head = b"POST /graphs/default/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    status, _ = raw(open_server, head + chunk * 40)
    assert status == 413


def test_an_expensive_query_ends_at_its_budget(open_server: ServerProcess) -> None:
    text = combinations(20)
    with open_server.client() as client:
        answer = Api(client, "default").post("/query", {"query": text}, headers={"Prefer": "wait=1"})
    assert answer.status_code == 413
    assert answer.json()["resource_limit"]["resource"].startswith("query_")


NUMBERS = [
    pytest.param({"headers": {"Range": f"bytes=0-{'9' * 5000}"}}, 200, id="range"),
    pytest.param({"headers": {"If-None-Match": '"a",' * 8_000}}, 200, id="conditions"),
]


@pytest.mark.parametrize(("sent", "status"), NUMBERS)
def test_headers_that_are_too_long_to_mean_anything_are_passed_over(
    open_server: ServerProcess, sent: dict[str, Any], status: int
) -> None:
    cell = {"entity": "node", "type": "Document", "id": "hello", "property": "content"}
    with open_server.client() as client:
        assert Api(client, "default").get("/blob", params=cell, **sent).status_code == status


def test_values_that_are_too_long_are_refused(open_server: ServerProcess) -> None:
    digits = "9" * 5_000
    kind = {"Content-Type": "application/json"}
    with open_server.client() as client:
        api = Api(client, "default")
        deep = "[" * 100_000
        answers = [
            api.get("/changes", params={"limit": digits}),
            api.post("/query", {"query": COUNT}, headers={"Prefer": f"wait={digits}"}),
            client.post(api.path("/query"), content=f'{{"query":"q","params":{{"a":{digits}}}}}', headers=kind),
            client.post(api.path("/query"), content=deep, headers=kind),
            api.query(f"query q() {{ match {{ $p: Person {deep} }} return {{ $p.name }} }}"),
            api.post("/branches", {"name": "x" * 5_000}),
            api.post("/branches", {"name": "/".join("x" * 60)}),
        ]
    for answer in answers:
        assert answer.status_code == 400, answer.text[:300]
        assert answer.json()["code"] == "bad_request"
        assert "sys." not in answer.text


def test_looking_at_the_headers_of_an_endless_stream_ends(open_server: ServerProcess) -> None:
    with open_server.client() as client:
        seen = client.head("/graphs/default/changes/stream")
        assert (seen.status_code, seen.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
        assert client.get("/healthz").status_code == 200, "the connection is free again"


# --- pages of other sites -------------------------------------------------------------------


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://[", ""])
@pytest.mark.parametrize("path", ["/queries/add", "/mcp", "/mutate", "/load/ndjson?mode=merge"])
def test_a_page_of_another_site_cannot_use_its_visitors_to_write_to_an_open_server(
    open_server: ServerProcess, origin: str, path: str
) -> None:
    """A plain form or fetch reaches a server on loopback without asking; only routes with a token are safe by nature."""
    with open_server.client() as client:
        api = Api(client, "default")
        before = api.head()
        sent = client.post(
            api.path(path),
            content='{"params":{"name":"Mallory"}}',
            headers={"Origin": origin, "Content-Type": "text/plain"},
        )
        assert sent.status_code == 403
        assert api.head() == before
        own = {"Origin": open_server.url}
        assert client.post(api.path("/query"), json={"query": COUNT}, headers=own).status_code == 200


NAMES = ["evil.example", "evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example:{port}", "x", ""]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_cannot_reach_an_open_server_under_a_name_of_its_own(open_server: ServerProcess, name: str) -> None:
    """DNS rebinding: to the browser the page and the server are one site, so that nothing but the name tells them apart."""
    host = name.format(port=open_server.address.rpartition(":")[2])
    with open_server.client() as client:
        client.headers.update({"Host": host, "Origin": f"http://{host}"})
        api = Api(client, "default")
        doors = [
            api.query(COUNT),
            api.post("/export", {}),
            api.get("/schema"),
            api.get("/changes/stream"),
            api.mutate(ADD, params={"name": "Mallory"}),
            api.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
            client.get("/metrics"),
        ]
        assert client.get("/healthz").status_code == 200, "a probe may use any name"
    assert {(answer.status_code, answer.json()["code"]) for answer in doors} == {(403, "forbidden")}
    assert all("OMNIGRAPH_ALLOWED_HOSTS" in answer.json()["error"] for answer in doors)


# --- side doors -----------------------------------------------------------------------------


def test_whoever_may_not_read_learns_nothing_by_another_way(guarded_server: ServerProcess) -> None:
    with guarded_server.client(TOKENS["eve"]) as client, guarded_server.client(TOKENS["root"]) as root:
        api, head = Api(client, "default"), Api(root, "default").head()
        doors = [
            api.query(COUNT),
            api.query('query q() { match { not { $p: Person { name: "Alice" } } } return { 1 as n } }'),
            api.query("this is not a query"),
            api.query(COUNT, snapshot=head),
            api.get("/snapshot"),
            api.get("/schema"),
            api.get("/branches"),
            api.get("/commits"),
            api.get(f"/commits/{head}"),
            api.get(f"/commits/{head}/changes"),
            api.get("/changes", params={"start": "beginning"}),
            api.get("/changes/stream"),
            api.get("/queries"),
            api.post("/queries/everybody"),
            api.post("/export", {}),
            api.post("/changes/baseline", {}),
            api.get("/blob", params={"entity": "node", "type": "Document", "id": "hello", "property": "content"}),
            api.post("/branches/merge", {"source": "lost"}),
            api.delete("/branches/lost"),
            client.get("/graphs"),
        ]
    assert {answer.status_code for answer in doors} <= {403, 404}
    for answer in doors:
        assert "Alice" not in answer.text
        assert not any(word in answer.text for word in STORAGE_WORDS)


def test_a_hidden_commit_and_an_unknown_one_look_the_same(guarded_server: ServerProcess) -> None:
    with guarded_server.client(TOKENS["eve"]) as client, guarded_server.client(TOKENS["root"]) as root:
        head = Api(root, "default").head()
        hidden = Api(client, "default").get(f"/commits/{head}/changes")
        unknown = Api(client, "default").get("/commits/01ARZ3NDEKTSV4RRFFQ69G5FAV/changes")
    assert (hidden.status_code, unknown.status_code) == (404, 404)
    assert hidden.json()["error"].replace(head, "X") == unknown.json()["error"].replace(
        "01ARZ3NDEKTSV4RRFFQ69G5FAV", "X"
    )


def test_a_cursor_of_one_graph_opens_no_other(guarded_server: ServerProcess) -> None:
    with guarded_server.client(TOKENS["bob"]) as client:
        cursor = Api(client, "default").get("/changes").json()["cursor"]
        tampered = cursor[:-4] + ("AAAA" if cursor[-4:] != "AAAA" else "BBBB")
        answer = Api(client, "default").get("/changes", params={"cursor": tampered})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("change cursor rejected: ")


def raw(server: ServerProcess, request: bytes) -> tuple[int, str]:
    """Send bytes; the status (0 when the server just closes) and the body of what comes back."""
    head, _, body = server.exchange(request).partition(b"\r\n\r\n")
    return (int(head.split(b" ")[1]) if head.startswith(b"HTTP/") else 0), body.decode(errors="replace")
