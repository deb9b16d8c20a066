"""More of the table: clients that drip and idle, uploads, hidden names, what is written down, and tools of agents."""

from __future__ import annotations

import io
import json
import threading
import time
import zipfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from gzip import compress
from typing import Any

import httpx

from tests.attack.table import HEALTH, POST, Attack, status_of, token_of, tool_error
from tests.attack.target import COUNT, Target

_TOOLS: dict[str, dict[str, Any]] = {
    "graph_describe": {},
    "graph_look_up": {"type": "Person", "id": "p001"},
    "graph_neighbours": {"type": "Person", "id": "p001"},
    "graph_search": {"type": "Person", "text": "orchid"},
    "graph_query": {"query": COUNT},
    "graph_explain": {"query": COUNT},
    "graph_history": {},
    "graph_propose": {"query": 'query q() { insert Person { name: "z" } }', "branch": "idea", "message": "m"},
    "graph_request_merge": {"branch": "idea"},
}


# --- connections --------------------------------------------------------------------------------


def _dripped(head: bytes, dripped: bytes) -> Callable[[Target], str]:
    """Bytes one by one, each in time and all of them too late; what comes back."""

    def attempt(target: Target) -> str:
        with target.connect() as connection:
            connection.sendall(head)
            began = time.monotonic()
            with suppress(OSError):
                for at in range(len(dripped)):
                    connection.sendall(dripped[at : at + 1])
                    time.sleep(0.1)
                    if time.monotonic() - began > 20:
                        return "still listening"
            answer = b""
            with suppress(OSError):
                while piece := connection.recv(1 << 16):
                    answer += piece
        return " ".join(line.split()[1] for line in answer.decode(errors="replace").splitlines() if "HTTP/1.1" in line)

    return attempt


def _endless_chunks(target: Target) -> str:
    """Chunks without an end, each in time."""
    head = POST + f"Authorization: Bearer {token_of('reader')}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    with target.connect() as connection:
        connection.sendall(head)
        began = time.monotonic()
        try:
            while time.monotonic() - began < 30:
                connection.sendall(b"1000\r\n" + b" " * 4096 + b"\r\n")
        except OSError:
            return "closed"
    return "still listening"


def _idle(target: Target) -> str:
    """Connections of one address that have been answered and stay open: more than it may have are not served."""
    with ExitStack() as held:
        served = 0
        for _ in range(120):
            connection = held.enter_context(target.connect())
            with suppress(OSError):
                connection.sendall(HEALTH)
                served += b"200" in connection.recv(64)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:  # until those that were closed are counted as such
        with suppress(OSError):
            if target.ask("GET", "/healthz", None).status_code == 200:
                break
    return "bounded" if served <= 100 else f"{served} served"


def _lying(length: int, body: bytes) -> Callable[[Target], str]:
    head = f"Authorization: Bearer {token_of('reader')}\r\nContent-Length: {length}\r\n\r\n".encode()
    return lambda target: target.raw(POST + head + body)


_QUERY = json.dumps({"query": COUNT}).encode()
_KEPT = POST + f"Authorization: Bearer {token_of('reader')}\r\nContent-Length: {len(_QUERY)}\r\n\r\n".encode()
CONNECTIONS = (
    Attack("connection", "a head that drips", ("408", ""), _dripped(b"", HEALTH[:-2] + b"X: " + b"y" * 300)),
    Attack(
        "connection",
        "a head that drips on a kept connection",
        ("200 408", "200"),
        _dripped(HEALTH, HEALTH[:-2] + b"X: " + b"y" * 300),
    ),
    Attack(
        "connection",
        "a body that drips on a kept connection",
        ("200 408",),
        _dripped(_KEPT + _QUERY + _KEPT, b" " * (len(_QUERY) - 2)),
    ),
    Attack("connection", "chunks without an end", ("closed",), _endless_chunks),
    Attack("connection", "120 idle connections of one address", ("bounded",), _idle),
    Attack("connection", "a length beyond the body", ("408",), _lying(len(_QUERY) + 9, _QUERY)),
    Attack("connection", "a length below the body", ("400 408",), _lying(len(_QUERY) - 9, _QUERY)),
    Attack(
        "connection", "a length that is not a number", ("400",), lambda t: t.raw(POST + b"Content-Length: x\r\n\r\n")
    ),
    Attack("connection", "a negative length", ("400",), lambda t: t.raw(POST + b"Content-Length: -1\r\n\r\n")),
)

# --- uploads ------------------------------------------------------------------------------------


def _put(name: str, content: Callable[[], bytes], actor: str = "root") -> Callable[[Target], httpx.Response]:
    kind = {"Content-Type": "text/csv"}
    return lambda target: target.ask("PUT", f"/graphs/people/uploads/{name}", actor, content=content(), headers=kind)


def _small() -> bytes:
    return b"name\nx\n"


def _zip() -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.csv", "w") as inside:
        for _ in range(256):
            inside.write(b"a" * (1 << 20))
    return found.getvalue()


def _bomb() -> bytes:
    return compress(b"name\n" + b"a" * (256 << 20))


def _parallel_uploads(target: Target) -> str:
    """Files at the same time that together are more than a sender may keep."""
    found: list[int] = []

    def send(number: int) -> None:
        found.append(_put(f"part{number}.csv", lambda: b"name\n" + b"x" * (3 << 20))(target).status_code)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = target.ask("GET", "/graphs/people/uploads", "root").json()["files"]
    for each in kept:
        target.ask("DELETE", f"/graphs/people/uploads/{each['name']}", "root")
    size = sum(each["bytes"] for each in kept)
    return "bounded" if size <= 8 << 20 and 413 in found else f"{size >> 20} MiB kept, {sorted(found)}"


UPLOADS = (
    Attack("upload", "without the right", ("403",), status_of(_put("a.csv", _small, "reader"))),
    Attack("upload", "a name that leaves its folder", ("400", "404"), status_of(_put("..%2f..%2fa.csv", _small))),
    Attack("upload", "a gzip file of 256 MB", ("413",), status_of(_put("a.csv.gz", _bomb))),
    Attack("upload", "a zip file of 256 MB", ("413", "400"), status_of(_put("a.xlsx", _zip))),
    Attack("upload", "6 files at once beyond the limit", ("bounded",), _parallel_uploads),
    Attack(
        "upload",
        "a compressed body",
        ("400", "415"),
        status_of(
            lambda each: each.ask(
                "POST",
                "/graphs/people/query",
                content=compress(_QUERY),
                headers={"Content-Type": "application/json", "Content-Encoding": "gzip"},
            )
        ),
    ),
)

# --- names and what is written down ----------------------------------------------------------------


def _alike(first: str, second: str, actor: str) -> Callable[[Target], str]:
    """Whether a hidden name and one that does not exist get the same answer."""

    def attempt(target: Target) -> str:
        answers = [target.ask("GET", f"/graphs/people{path}", actor) for path in (first, second)]
        told = [(each.status_code, each.text.replace(first, "").replace(second, "")) for each in answers]
        return "alike" if told[0][0] == told[1][0] and len(told[0][1]) == len(told[1][1]) else f"{told}"

    return attempt


def _audited(target: Target) -> str:
    """A line for each decision, with who, from where, what and how it ended."""
    before = len(_decisions(target))
    target.ask("POST", "/graphs/people/export", "reader", json={})
    target.ask("POST", "/graphs/people/query", "reader", json={"query": COUNT})
    target.ask("GET", "/metrics", "reader")
    found = _decisions(target)[before:]
    named = {"request_id", "graph_id", "actor_id", "peer", "action", "allowed"}
    seen = {(line["actor_id"], line["action"], line["allowed"]) for line in found if named <= line.keys()}
    wanted = {("reader", "export", False), ("reader", "read", True), ("reader", "metrics", False)}
    return "written down" if wanted <= seen else f"{len(found)} lines, {sorted(seen)}"


def _decisions(target: Target) -> list[dict[str, Any]]:
    return [line for line in target.server.logged() if line["logger"] == "omnigraph.audit"]


NAMES = (
    Attack(
        "policy",
        "a hidden branch beside a missing one",
        ("alike",),
        _alike("/snapshot?branch=hidden", "/snapshot?branch=absent", "narrow"),
    ),
    Attack(
        "policy",
        "a hidden type beside a missing one",
        ("alike",),
        _alike("/entities/Secret/s1", "/entities/Nosuch/s1", "partial"),
    ),
    Attack("policy", "branches that may not be read", ("200", "403"), lambda t: _names(t, "narrow")),
    Attack("policy", "a line for each decision", ("written down",), _audited),
)


def _names(target: Target, actor: str) -> str:
    answer = target.ask("GET", "/graphs/people/branches", actor)
    return f"{answer.status_code}{' and tells' if 'hidden' in answer.text else ''}"


# --- agents -------------------------------------------------------------------------------------


def _listed(actor: str, *wanted: str) -> Callable[[Target], str]:
    """Whether exactly these tools are listed, beside stored queries."""

    def attempt(target: Target) -> str:
        answer = target.agent("tools/list", {}, actor)
        if answer.status_code != 200:
            return str(answer.status_code)
        names = {each["name"] for each in answer.json()["result"]["tools"]} & _TOOLS.keys()
        return "these" if names == {*wanted} else f"{sorted(names)}"

    return attempt


def _every_tool(actor: str, **more: Any) -> Callable[[Target], str]:
    """What the tools answer to an actor, or to an argument: `refused` where all of them refuse."""

    def attempt(target: Target) -> str:
        done = [name for name, given in _TOOLS.items() if tool_error(target, name, {**given, **more}, actor) == "done"]
        return "refused" if not done else f"done: {', '.join(done)}"

    return attempt


def _huge(target: Target) -> str:
    found = {
        tool_error(target, "graph_search", {"type": "Person", "text": "orchid " * 100_000}, "reader"),
        tool_error(target, "graph_look_up", {"type": "Person", "id": "x" * 900_000}, "reader"),
        tool_error(target, "graph_query", {"query": COUNT, "limit": 10**9}, "reader"),
        tool_error(target, "graph_query", {"query": COUNT, "params": {"a": "x" * 900_000}}, "reader"),
    }
    return "answered" if found <= {"refused", "done", "400", "413"} else f"{found}"


_READING = ("graph_describe", "graph_look_up", "graph_neighbours", "graph_search", "graph_query", "graph_explain")
AGENTS = (
    Attack(
        "mcp", "tools of a reader", ("these",), _listed("reader", *_READING, "graph_history", "graph_request_merge")
    ),
    Attack("mcp", "tools of one who reads a part", ("these",), _listed("partial", *_READING, "graph_history")),
    Attack("mcp", "tools of one who may only write", ("403",), _listed("writer")),
    Attack("mcp", "every tool for one who may only write", ("refused",), _every_tool("writer")),
    Attack("mcp", "an argument that no tool takes", ("refused",), _every_tool("root", brnch="x")),
    Attack("mcp", "arguments of another type", ("refused",), _every_tool("root", limit="many", type=7)),
    Attack(
        "mcp",
        "a proposal without the right",
        ("refused", "403"),
        lambda t: tool_error(t, "graph_propose", _TOOLS["graph_propose"], "reader"),
    ),
    Attack(
        "mcp",
        "a proposal that goes to main",
        ("refused",),
        lambda t: tool_error(t, "graph_propose", {**_TOOLS["graph_propose"], "branch": "main"}, "root"),
    ),
    Attack(
        "mcp",
        "a mutation as a read",
        ("refused",),
        lambda t: tool_error(t, "graph_query", {"query": _TOOLS["graph_propose"]["query"]}, "root"),
    ),
    Attack(
        "mcp",
        "a hidden type for one who reads a part",
        ("refused",),
        lambda t: tool_error(t, "graph_look_up", {"type": "Secret", "id": "s1"}, "partial"),
    ),
    Attack("mcp", "arguments of a megabyte", ("answered",), _huge),
    Attack(
        "mcp",
        "a product that takes longer than it may",
        ("refused",),
        lambda t: tool_error(
            t,
            "graph_query",
            {
                "query": "query q() { match { $a: Person  $b: Person  $c: Person  $d: Person  $a.age + $b.age + $c.age = $d.age } return { count($a) as n } }"
            },
            "heavy",
        ),
    ),
)

ATTACKS = (*CONNECTIONS, *UPLOADS, *NAMES, *AGENTS)
