"""What is attacked: a server process with tokens and policies, short deadlines and small caps; and ways to talk to it."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

import omnigraph as og
from tests.server_process import PATIENCE, ServerProcess, serving

SCHEMA = """
node Person { name: String @key  age: I32?  note: String? }
node Secret { code: String @key  body: String }
node Document { name: String @key  content: Blob? }
edge Knows: Person -> Person
edge Guards: Person -> Secret
"""
HIDDEN = "orchid-7731"
TOKENS = {
    name: f"a-long-token-of-{name}-0123456789" for name in ("root", "reader", "partial", "writer", "heavy", "narrow")
}
POLICY = """
version: 1
groups: { admins: [root], readers: [root, reader, heavy], partial: [partial], narrow: [narrow], writers: [root, writer] }
protected_branches: [main]
rules:
  - { id: read, allow: { actors: { group: readers }, actions: [read], branch_scope: any } }
  - id: partial
    allow: { actors: { group: partial }, actions: [read], branch_scope: any, types: [Person, Knows], mask: { Person: [note] } }
  - { id: narrow, allow: { actors: { group: narrow }, actions: [read], branch_scope: protected } }
  - { id: write, allow: { actors: { group: writers }, actions: [change], branch_scope: any } }
  - { id: invoke, allow: { actors: { group: readers }, actions: [invoke_query] } }
  - { id: admin, allow: { actors: { group: admins }, actions: [export, schema_apply, branch_create, branch_delete, branch_merge, admin] } }
"""
SERVER_POLICY = """
version: 1
groups: { admins: [root] }
rules: [ { id: operate, allow: { actors: { group: admins }, actions: [graph_list, metrics] } } ]
"""
QUERIES = {"everybody": "query everybody() { match { $p: Person } return { $p.name } order { $p.name asc } }"}
ENVIRON = {
    "OMNIGRAPH_HEADER_TIMEOUT_MS": "700",
    "OMNIGRAPH_BODY_TIMEOUT_MS": "700",
    "OMNIGRAPH_SEND_TIMEOUT_MS": "700",
    "OMNIGRAPH_CONNECTIONS_MAX": "120",
    "OMNIGRAPH_CONNECTIONS_PER_ADDRESS_MAX": "100",
    "OMNIGRAPH_QUERY_TIMEOUT_MS": "5000",
    "OMNIGRAPH_PER_ACTOR_WAITING_MAX": "8",
    "OMNIGRAPH_RESPONSE_MAX_BYTES": str(4 << 20),
    "OMNIGRAPH_UPLOAD_EXPANDED_BYTES_MAX": str(64 << 20),
    "OMNIGRAPH_PER_ACTOR_UPLOAD_BYTES_MAX": str(8 << 20),
}
COUNT = "query total() { match { $p: Person } return { count($p) as n } }"
PEOPLE = 400


class Target:
    """A served graph, and how strangers talk to it."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server

    def ask(self, method: str, path: str, actor: str | None = "reader", **sent: Any) -> httpx.Response:
        """One request over a connection of its own."""
        headers = {} if actor is None else {"Authorization": f"Bearer {TOKENS[actor]}"}
        given = {**headers, **sent.pop("headers", {})}
        return httpx.request(method, f"{self.server.url}{path}", headers=given, timeout=PATIENCE, **sent)

    def query(self, text: str, actor: str | None = "reader", **sent: Any) -> httpx.Response:
        """A read."""
        headers = sent.pop("headers", {})
        return self.ask("POST", "/graphs/people/query", actor, json={"query": text, **sent}, headers=headers)

    def mutate(self, text: str, actor: str, **sent: Any) -> httpx.Response:
        """A write."""
        return self.ask("POST", "/graphs/people/mutate", actor, json={"query": text, **sent})

    def agent(
        self, method: str, params: Mapping[str, Any], actor: str | None = "reader", **sent: Any
    ) -> httpx.Response:
        """A message of an agent."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params)}
        headers = {"Accept": "application/json, text/event-stream", **sent.pop("headers", {})}
        return self.ask("POST", "/graphs/people/mcp", actor, json=message, headers=headers, **sent)

    def connect(self) -> socket.socket:
        """A connection for bytes."""
        host, _, port = self.server.address.rpartition(":")
        return socket.create_connection((host, int(port)), timeout=PATIENCE)

    def raw(self, *pieces: bytes) -> str:
        """Send bytes; the statuses of the answers until the server closes, or "closed"."""
        answer = b""
        with self.connect() as connection:
            with suppress(BrokenPipeError, ConnectionResetError):
                for piece in pieces:
                    connection.sendall(piece)
            with suppress(ConnectionResetError):
                while piece := connection.recv(1 << 16):
                    answer += piece
        return b" ".join(re.findall(rb"HTTP/1\.1 (\d+)", answer)).decode() or "closed"

    def beside(self, work: Callable[[], object], times: int, light: Callable[[], httpx.Response]) -> httpx.Response:
        """What is answered to somebody else while several threads do their worst."""
        threads = [threading.Thread(target=work) for _ in range(times)]
        for thread in threads:
            thread.start()
        try:
            return light()
        finally:
            for thread in threads:
                thread.join()


@contextmanager
def target(folder: Path) -> Iterator[Target]:
    """Serve a graph with something to hide."""
    place = folder / "people.omni"
    large = b64encode(os.urandom(1 << 20) * 16).decode()
    records: list[dict[str, Any]] = [
        {"type": "Person", "data": {"name": f"p{number:03}", "age": number % 90, "note": HIDDEN}}
        for number in range(PEOPLE)
    ]
    records += [
        {"type": "Secret", "data": {"code": "s1", "body": HIDDEN}},
        {"type": "Document", "data": {"name": "large", "content": f"base64:{large}"}},
        {"edge": "Guards", "from": "p001", "to": "s1"},
        *({"edge": "Knows", "from": f"p{number:03}", "to": f"p{number + 1:03}"} for number in range(PEOPLE - 1)),
    ]
    with og.init(place, SCHEMA) as graph:
        graph.load(records)
        graph.branches.create("hidden")
    graphs = {"people": {"uri": str(place), "queries": QUERIES, "policy": POLICY}}
    description = {"graphs": graphs, "server_policy": SERVER_POLICY, "tokens": TOKENS, "cluster": True}
    with ExitStack() as held:
        yield Target(held.enter_context(serving(description, ENVIRON)))


def body_of(document: Any) -> bytes:
    """JSON."""
    return json.dumps(document).encode()
