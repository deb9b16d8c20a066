"""What branch operations cost follows the change, not the number of other branches: requests are counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.storage.base.objects_local import LocalObjects
from omnigraph.storage.lance import refs, tables
from omnigraph.testing.storage_graph import create_branch

SCHEMA = "node P { k: String @key n: I32? }\nedge K: P -> P"
PUT = "query m($k: String) { insert P { k: $k n: 1 } }"
FEW, MANY = 3, 60
_REQUESTS = ("read", "write", "write_if_absent", "exists", "stat", "delete", "delete_prefix", "_entries", "list_tree",
             "list_sizes")  # fmt: skip


class Requests:
    """Counts what is asked of storage: objects read, listed and written, datasets opened, refs listed by Lance."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: Counter[str] = Counter()
        for name in _REQUESTS:
            self._count(monkeypatch, LocalObjects, name)
        self._count(monkeypatch, tables, "_opened")
        for module in (refs, tables):
            self._count(monkeypatch, module, "list_refs")

    def _count(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        whole = getattr(owner, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.made[name] += 1
            return whole(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)

    def of(self, work: Callable[[], object]) -> Counter[str]:
        self.made.clear()
        work()
        return Counter(self.made)


@contextmanager
def graph_with(place: Path, branches: int) -> Iterator[og.Graph]:
    with og.init(place, SCHEMA) as graph:
        graph.load([json.dumps({"type": "P", "data": {"k": "a"}})])
        root = graph._core.store.root
        for number in range(branches):
            create_branch(root, f"b{number}")
        graph.mutate(PUT, params={"k": "on b0"}, branch="b0")
        yield graph


def _works(graph: og.Graph) -> dict[str, Callable[[], object]]:
    def transaction() -> None:
        with graph.transaction() as tx:
            tx.mutate(PUT, params={"k": "in transaction"})

    return {
        "create": lambda: graph.branches.create("new"),
        "first write": lambda: graph.mutate(PUT, params={"k": "x"}, branch="new"),
        "write": lambda: graph.mutate(PUT, params={"k": "y"}, branch="new"),
        "merge": lambda: graph.branches.merge("new"),
        "delete": lambda: graph.branches.delete("new"),
        "create again": lambda: graph.branches.create("new"),
        "write to main": lambda: graph.mutate(PUT, params={"k": "z"}),
        "transaction": transaction,
        "list": graph.branches.list,
        "look at a branch": lambda: graph.branch("b0").get("P", "a"),
        "open": lambda: og.open(graph.uri).close(),
        "open a branch": lambda: og.open(graph.uri, branch="b0").close(),
    }


def test_as_many_requests_with_sixty_branches_as_with_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[int, dict[str, Counter[str]]] = {}
    for count in (FEW, MANY):
        with graph_with(tmp_path / f"{count}.omni", count) as graph, monkeypatch.context() as patched:
            requests = Requests(patched)
            made[count] = {name: requests.of(work) for name, work in _works(graph).items()}
    assert made[MANY] == made[FEW]
    assert all(counts["list_refs"] == 0 for counts in made[MANY].values())
    assert made[MANY]["list"] == Counter({"_entries": 1})
