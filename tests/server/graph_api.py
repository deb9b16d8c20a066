"""One graph of a server, as the tests talk to it."""

from __future__ import annotations

from typing import Any

import httpx


class Api:
    """One graph of a server, as a client sees it."""

    def __init__(self, client: httpx.Client, graph: str) -> None:
        self.client = client
        self.graph = graph

    def path(self, suffix: str) -> str:
        return f"/graphs/{self.graph}{suffix}"

    def get(self, suffix: str, **options: Any) -> httpx.Response:
        return self.client.get(self.path(suffix), **options)

    def post(self, suffix: str, body: Any = None, **options: Any) -> httpx.Response:
        return self.client.post(self.path(suffix), json={} if body is None else body, **options)

    def delete(self, suffix: str) -> httpx.Response:
        return self.client.delete(self.path(suffix))

    def query(self, text: str, **fields: Any) -> httpx.Response:
        return self.post("/query", {"query": text, **fields})

    def mutate(self, text: str, **fields: Any) -> httpx.Response:
        return self.post("/mutate", {"query": text, **fields})

    def head(self, branch: str = "main") -> str:
        return str(self.get("/commits", params={"branch": branch}).json()["commits"][0]["graph_commit_id"])

    def rows(self, text: str, **fields: Any) -> list[dict[str, Any]]:
        answer = self.query(text, **fields)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["rows"])
