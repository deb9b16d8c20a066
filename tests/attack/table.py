"""The table: kind, what is tried, what must come back, and the attempt itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from tests.attack.target import COUNT, HIDDEN, PEOPLE, TOKENS, Target, body_of

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
POST = b"POST /graphs/people/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BLOB = "/graphs/people/blob?entity=node&type=Document&id=large&property=content"
MANY = " ".join(f"$p{number}: Person" for number in range(3))
CARTESIAN = f"query big() {{ match {{ {MANY} }} return {{ count($p0) as n }} }}"


@dataclass(frozen=True, slots=True)
class Attack:
    """One attempt; `must` are the outcomes that are no success."""

    kind: str
    what: str
    must: tuple[str, ...]
    attempt: Callable[[Target], str]


def status_of(send: Callable[[Target], object]) -> Callable[[Target], str]:
    def attempt(target: Target) -> str:
        found = send(target)
        return found if isinstance(found, str) else str(found.status_code)  # type: ignore[attr-defined]

    return attempt


def _hidden(send: Callable[[Target], object]) -> Callable[[Target], str]:
    """The status, and whether the answer tells what is hidden."""

    def attempt(target: Target) -> str:
        found = send(target)
        told = HIDDEN in found.text or "s1" in found.text  # type: ignore[attr-defined]
        return f"{found.status_code}{' and tells' if told else ''}"  # type: ignore[attr-defined]

    return attempt


# --- connection ---------------------------------------------------------------------------------


def _flood(target: Target) -> str:
    """Two hundred and twenty sockets that say nothing; somebody else is answered, at the latest when they are cut."""
    with ExitStack() as held:
        for _ in range(220):
            held.enter_context(target.connect())
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if "200" in target.raw(LAST):
                return "answered"
    return "port closed"


def _unread(target: Target) -> str:
    """Eighteen large answers that are not read, and an export beside them."""
    request = f"GET {BLOB} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token_of('reader')}\r\n\r\n".encode()
    with ExitStack() as held:
        for _ in range(18):
            held.enter_context(target.connect()).sendall(request)
        return str(target.ask("POST", "/graphs/people/export", "root", json={"type_names": ["Person"]}).status_code)


def _stalled_export(target: Target) -> str:
    """An export that is not read holds its graph only until it is cut off."""
    body = b'{"type_names": ["Document"]}'
    head = b"POST /graphs/people/export HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    token = f"Authorization: Bearer {token_of('root')}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with target.connect() as stalled:
        stalled.sendall(head + token + body)
        deadline = time.monotonic() + 60
        status = 413
        while status == 413 and time.monotonic() < deadline:
            status = target.ask("POST", "/graphs/people/export", "root", json={"type_names": ["Person"]}).status_code
    return str(status)


def token_of(actor: str) -> str:
    return TOKENS[actor]


CONNECTION = (
    Attack("connection", "a head that never ends", ("408", "closed"), lambda t: t.raw(HEALTH[:-2])),
    Attack("connection", "the same on the second request", ("200 408",), lambda t: t.raw(HEALTH, HEALTH[:-2])),
    Attack(
        "connection", "a body that never ends", ("408", "401"), lambda t: t.raw(POST, b"Content-Length: 9\r\n\r\n{")
    ),
    Attack(
        "connection",
        "a body that was never asked for",
        ("200",),
        lambda t: t.raw(HEALTH[:-2] + b"Content-Length: 99999\r\n\r\nx"),
    ),
    Attack("connection", "nothing at all", ("closed",), lambda t: t.raw()),
    Attack(
        "connection",
        "headers of 200 kB",
        ("400",),
        lambda t: t.raw(HEALTH[:-2] + b"X: " + b"x" * 200_000 + b"\r\n\r\n"),
    ),
    Attack("connection", "what is not HTTP", ("400", "closed"), lambda t: t.raw(b"\x16\x03\x01\x02\x00\r\n\r\n")),
    Attack(
        "connection",
        "two lengths",
        ("400",),
        lambda t: t.raw(POST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\n{}"),
    ),
    Attack(
        "connection",
        "a length and chunks",
        ("400",),
        lambda t: t.raw(POST + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HEALTH),
    ),
    Attack("connection", "220 silent sockets", ("answered",), _flood),
    Attack("connection", "18 unread answers of 16 MB", ("200",), _unread),
    Attack("connection", "an export that is not read", ("200",), _stalled_export),
    Attack(
        "connection",
        "an upgrade to a websocket",
        ("200", "200 200", "400", "closed"),
        lambda t: t.raw(LAST[:-2] + b"Upgrade: websocket\r\n\r\n"),
    ),
)

# --- body ---------------------------------------------------------------------------------------


def _posted(path: str, body: bytes, kind: str = "application/json", actor: str = "root") -> Callable[[Target], str]:
    return status_of(
        lambda t: t.ask("POST", f"/graphs/people{path}", actor, content=body, headers={"Content-Type": kind})
    )


LINES = "application/x-ndjson"
BODY = (
    Attack("body", "26 MB of numbers", ("400",), _posted("/load", b"[1" + b",1" * 13_000_000 + b"]")),
    Attack("body", "26 MB of objects", ("400",), _posted("/load", b'[{"a":1}' + b',{"a":1}' * 3_200_000 + b"]")),
    Attack("body", "40 MB", ("413",), _posted("/load", b'{"data":"' + b"x" * (40 << 20) + b'"}')),
    Attack("body", "2 MB of query", ("413",), _posted("/query", body_of({"query": " " * (2 << 20)}))),
    Attack("body", "100,000 brackets", ("400",), _posted("/query", b"[" * 100_000)),
    Attack(
        "body",
        "a number of 100,000 digits",
        ("400",),
        _posted("/query", b'{"query":"q","params":{"a":' + b"9" * 100_000 + b"}}"),
    ),
    Attack("body", "half a character", ("400",), _posted("/query", b'{"query":"\\ud800"}')),
    Attack("body", "a member twice", ("400",), _posted("/query", b'{"query":"a","query":"b"}')),
    Attack("body", "a misspelt member", ("400",), _posted("/mutate", body_of({"query": COUNT, "brnch": "x"}))),
    Attack("body", "a form", ("415",), _posted("/query", b"query=x", "text/plain")),
    Attack(
        "body",
        "a record nested 60,000 deep",
        ("400", "413"),
        _posted("/load/ndjson", b'{"type":"Person","data":' + b'{"a":' * 60_000, LINES),
    ),
    Attack(
        "body",
        "a record of 140,000 values",
        ("400", "413"),
        _posted("/load/ndjson", b'{"type":"Person","data":{"name":[' + b"1," * 140_000 + b"1]}}", LINES),
    ),
    Attack("body", "zeros", ("400",), _posted("/load/ndjson", b"\0" * 100_000, LINES)),
)

# --- query --------------------------------------------------------------------------------------


def _list(count: int) -> str:
    return f"query q() {{ match {{ $p: Person  $p.age in [{','.join(['1'] * count)}] }} return {{ count($p) as n }} }}"


def _beside_cartesian(target: Target) -> str:
    """Sixteen products of one actor; a small read of another is answered, and before all of them are over."""
    over: list[int] = []

    def heavy() -> None:
        over.append(target.query(CARTESIAN, "heavy").status_code)

    found = target.beside(heavy, 16, lambda: target.query(COUNT))
    return f"{found.status_code}" if set(over) <= {200, 413, 429, 503} else f"{found.status_code} {sorted(set(over))}"


def _gone(target: Target) -> str:
    """Clients that go away leave no work behind: a read of the same actor is soon answered."""
    body = body_of({"query": CARTESIAN})
    head = POST + f"Authorization: Bearer {token_of('heavy')}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    for _ in range(12):
        with target.connect() as connection:
            connection.sendall(head + body)
    deadline = time.monotonic() + 30
    status = 429
    while status in (429, 503) and time.monotonic() < deadline:
        status = target.query(COUNT, "heavy").status_code
    return str(status)


def _stalls(target: Target) -> str:
    """Probes beside a text of a megabyte: how many were answered before it was."""
    done, answered = threading.Event(), 0

    def heavy() -> None:
        target.query(_list(490_000), "heavy")
        done.set()

    thread = threading.Thread(target=heavy)
    thread.start()
    while not done.is_set():
        answered += target.ask("GET", "/healthz", None).status_code == 200 and not done.is_set()
    thread.join()
    return "answered" if answered > 3 else f"{answered} answers"


WAIT = {"Prefer": "wait=1"}
QUERY = (
    Attack("query", "a list of 490,000 numbers", ("200", "413"), status_of(lambda t: t.query(_list(490_000)))),
    Attack("query", "probes beside it", ("answered",), _stalls),
    Attack(
        "query",
        "a list of 140,000 different numbers",
        ("200",),
        status_of(
            lambda t: t.query(
                f"query q() {{ match {{ $p: Person  $p.age in [{','.join(map(str, range(140_000)))}] }} return {{ count($p) as n }} }}"
            )
        ),
    ),
    Attack(
        "query",
        "a list of 300,000 parameters",
        ("400",),
        status_of(
            lambda t: t.query(
                f"query q($v: I32) {{ match {{ $p: Person  $p.age in [{','.join(['$v'] * 300_000)}] }} return {{ count($p) as n }} }}",
                params={"v": 1},
            )
        ),
    ),
    Attack(
        "query",
        "2,000 patterns in conditions",
        ("200", "413"),
        status_of(
            lambda t: t.query(
                f"query q() {{ match {{ $p: Person  {' or '.join(['exists { $p knows $_ }'] * 2_000)} }} return {{ count($p) as n }} }}",
                headers=WAIT,
            )
        ),
    ),
    Attack(
        "query",
        "a product of 64,000,000 rows in a second",
        ("200", "413"),
        status_of(lambda t: t.query(CARTESIAN, headers=WAIT)),
    ),
    Attack(
        "query",
        "a product of 400^20 rows, whose number does not fit",
        ("413",),
        status_of(
            lambda t: t.query(
                f"query q() {{ match {{ {' '.join(f'$p{n}: Person' for n in range(20))} }} return {{ count($p0) as n }} }}"
            )
        ),
    ),
    Attack("query", "16 products beside a small read", ("200",), _beside_cartesian),
    Attack("query", "12 clients that do not wait", ("200",), _gone),
    Attack(
        "query",
        "an answer of 160,000 rows",
        ("413",),
        status_of(
            lambda t: t.query("query q() { match { $p: Person  $q: Person } return { $p.name, $q.name as other } }")
        ),
    ),
    Attack(
        "query",
        "a path of any length",
        ("200", "413"),
        status_of(
            lambda t: t.query(
                'query q() { match { $p: Person { name: "p000" }  $p knows{1,} $q } return { count($q) as n } }'
            )
        ),
    ),
    Attack(
        "query",
        "fuzzy with 200,000 words",
        ("200", "400", "413"),
        status_of(
            lambda t: t.query(
                "query q($t: String) { match { $p: Person  fuzzy($p.note, $t, 2) } return { count($p) as n } }",
                params={"t": "orchid " * 100_000},
                headers=WAIT,
            )
        ),
    ),
    Attack(
        "query",
        "a regular expression that backtracks",
        ("200", "400", "413"),
        status_of(
            lambda t: t.query(
                'query q() { match { $p: Person  $p.note matches "(a+)+$" } return { count($p) as n } }', headers=WAIT
            )
        ),
    ),
    Attack(
        "query",
        "100,000 conditions",
        ("200", "400", "413"),
        status_of(
            lambda t: t.query(
                f"query q() {{ match {{ $p: Person  {' or '.join(['$p.age = 1'] * 60_000)} }} return {{ count($p) as n }} }}"
            )
        ),
    ),
    Attack(
        "query",
        "a sum nested 100,000 deep",
        ("400",),
        status_of(lambda t: t.query(f"query q() {{ match {{ $p: Person }} return {{ {'(' * 100_000}1 as n }} }}")),
    ),
    Attack(
        "query",
        "an unclosed string of a megabyte",
        ("400",),
        status_of(lambda t: t.query('query q() { match { $p: Person { name: "' + "x" * 900_000)),
    ),
    Attack(
        "query",
        "a text that grows to a gigabyte",
        ("413",),
        status_of(
            lambda t: t.query(
                'query q() { match { $p: Person } return { length(replace(replace(replace(repeat("a", 1000),'
                ' "a", repeat("a", 1000)), "a", repeat("a", 1000)), "a", "bb")) as n } limit 1 }',
                headers=WAIT,
            )
        ),
    ),
    Attack(
        "query",
        "distinct pairs of 64,000,000 rows in a second",
        ("200", "413"),
        status_of(
            lambda t: t.query(
                "query q() { match { $p: Person  $q: Person  $r: Person  $p.age + $q.age + $r.age = 17 }"
                " return { $p.name, count(distinct $r) as n } }",
                headers=WAIT,
            )
        ),
    ),
    Attack(
        "query",
        "a mutation as a read",
        ("400",),
        status_of(lambda t: t.query('query q() { insert Person { name: "x" } }', "root")),
    ),
    Attack("query", "a path as a text", ("400",), status_of(lambda t: t.query("/etc/passwd"))),
)

# --- policy -------------------------------------------------------------------------------------


def _read_secret(target: Target) -> object:
    return target.query("query q() { match { $s: Secret } return { $s.body } }", "partial")


def _masked_condition(target: Target) -> str:
    """Whether a condition counts rows by a value that is not shown."""
    text = f'query q() {{ match {{ $p: Person {{ note: "{HIDDEN}" }} }} return {{ count($p) as n }} }}'
    answer = target.query(text, "partial")
    counts = answer.status_code == 200 and answer.json()["rows"] == [{"n": PEOPLE}]
    return "counts" if counts else str(answer.status_code)


POLICY = (
    Attack("policy", "no token", ("401",), status_of(lambda t: t.query(COUNT, None))),
    Attack(
        "policy",
        "a wrong token",
        ("401",),
        status_of(lambda t: t.ask("GET", "/graphs", None, headers={"Authorization": "Bearer x"})),
    ),
    Attack(
        "policy",
        "40 wrong tokens",
        ("429",),
        lambda t: [
            str(t.ask("GET", "/graphs", None, headers={"Authorization": f"Bearer x{n}"}).status_code) for n in range(40)
        ][-1],
    ),
    Attack("policy", "a right token after them", ("200",), status_of(lambda t: t.query(COUNT))),
    Attack(
        "policy",
        "an actor in a header",
        ("403",),
        status_of(lambda t: t.ask("POST", "/graphs/people/export", "reader", json={}, headers={"X-Actor-Id": "root"})),
    ),
    Attack("policy", "a type that is hidden", ("400", "403"), _hidden(_read_secret)),
    Attack(
        "policy",
        "a property that is masked",
        ("200",),
        _hidden(lambda t: t.query("query q() { match { $p: Person } return { $p.note } limit 3 }", "partial")),
    ),
    Attack(
        "policy",
        "a condition on a masked property",
        ("200", "400", "403"),
        _masked_condition,
    ),
    Attack(
        "policy",
        "a write that copies what may not be read",
        ("403",),
        _hidden(lambda t: t.mutate("query q() { match { $s: Secret } insert Person { name: $s.body } }", "writer")),
    ),
    Attack(
        "policy",
        "a refusal that names a hidden value",
        ("400", "403", "409"),
        _hidden(lambda t: t.mutate('query q() { insert Guards { from: "p001", to: "nope" } }', "writer")),
    ),
    Attack(
        "policy",
        "an export without the right",
        ("403",),
        status_of(lambda t: t.ask("POST", "/graphs/people/export", "reader", json={})),
    ),
    Attack("policy", "metrics without the right", ("403",), status_of(lambda t: t.ask("GET", "/metrics", "reader"))),
    Attack(
        "policy", "a reload without the right", ("403",), status_of(lambda t: t.ask("POST", "/admin/reload", "reader"))
    ),
    Attack("policy", "graphs without the right", ("403",), status_of(lambda t: t.ask("GET", "/graphs", "reader"))),
    Attack(
        "policy",
        "a graph beside the one that is served",
        ("404", "400"),
        status_of(lambda t: t.ask("GET", "/graphs/..%2fother/branches")),
    ),
    Attack(
        "policy",
        "a schema change without the right",
        ("403",),
        status_of(
            lambda t: t.ask(
                "POST", "/graphs/people/schema/apply", "reader", json={"schema_source": "node A { a: String @key }"}
            )
        ),
    ),
    Attack(
        "policy",
        "a fork that shows more than its source",
        ("403",),
        status_of(lambda t: t.ask("POST", "/graphs/people/branches", "partial", json={"name": "mine"})),
    ),
)

# --- agents -------------------------------------------------------------------------------------


def tool_error(target: Target, name: str, arguments: dict[str, object], actor: str) -> str:
    answer = target.agent("tools/call", {"name": name, "arguments": arguments}, actor)
    if HIDDEN in answer.text:
        return "tells"
    if answer.status_code != 200:
        return str(answer.status_code)
    found = answer.json()
    return "refused" if "error" in found or found.get("result", {}).get("isError") else "done"


MCP = (
    Attack("mcp", "no token", ("401",), status_of(lambda t: t.agent("tools/list", {}, None))),
    Attack("mcp", "the first message", ("200",), status_of(lambda t: t.agent("tools/list", {}))),
    Attack("mcp", "a tool that does not exist", ("refused", "403"), lambda t: tool_error(t, "nothing", {}, "reader")),
    Attack(
        "mcp",
        "an argument that a stored query does not take",
        ("refused",),
        lambda t: tool_error(t, "everybody", {"brnch": "x"}, "reader"),
    ),
    Attack(
        "mcp",
        "a tool without the right to invoke",
        ("refused", "403"),
        lambda t: tool_error(t, "everybody", {}, "writer"),
    ),
    Attack(
        "mcp", "a message of 2 MB", ("413", "400"), status_of(lambda t: t.agent("tools/list", {"x": "y" * (2 << 20)}))
    ),
    Attack(
        "mcp",
        "what is not JSON-RPC",
        ("400", "202"),
        status_of(
            lambda t: t.ask(
                "POST", "/graphs/people/mcp", json={"a": 1}, headers={"Accept": "application/json, text/event-stream"}
            )
        ),
    ),
    Attack(
        "mcp",
        "a branch that does not exist",
        ("200", "400", "403", "404"),
        _hidden(
            lambda t: t.ask(
                "POST",
                "/graphs/people/mcp?branch=nope",
                json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
                headers={"Accept": "application/json, text/event-stream"},
            )
        ),
    ),
)

ATTACKS = (*CONNECTION, *BODY, *QUERY, *POLICY, *MCP)
