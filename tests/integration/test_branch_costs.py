"""Costs follow the change, not the number of other branches nor the length of the history: requests are counted."""

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
from omnigraph.storage.lance import opening, refs, tables
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.manifest import manifest
from omnigraph.testing.graphs.storage_graph import create_branch

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
        self._count(monkeypatch, opening, "_opened")
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


def test_a_new_branch_is_remembered_as_it_would_be_read(tmp_path: Path) -> None:
    with graph_with(tmp_path / "g.omni", 1) as graph:
        root = graph._core.store.root
        for source, name in ((None, "one"), ("one", "two")):
            graph.branches.create(name, from_=source)
            remembered = manifest.load(root, name).state
            root.memory.clear()
            read = manifest.load(root, name).state
            for part in ("branch", "version", "identifier", "registrations", "published", "heads", "control"):
                assert getattr(remembered, part) == getattr(read, part), part
            assert remembered.snapshot == read.snapshot
            assert remembered.branch_row == read.branch_row
            assert remembered.lineage.table.equals(read.lineage.table)


@pytest.mark.parametrize("verb", ["blame", "history"])
def test_blame_and_history_look_at_the_changes_of_their_row_and_not_at_all_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    update = "query u($k: String, $n: I32) { update P set { n: $n } where k = $k }"
    with graph_with(tmp_path / "g.omni", 1) as graph, monkeypatch.context() as patched:
        graph.mutate(PUT, params={"k": "row"})
        for number in range(4):
            graph.mutate(update, params={"k": "row", "n": 10 + number})
        requests, opened = Requests(patched), []
        for length in (1, 20):
            for number in range(length):
                graph.mutate(update, params={"k": "a", "n": 100 + number})
            graph._core.store.root.memory.clear()
            opened.append(requests.of(lambda: getattr(graph.commits, verb)("P", "row"))["_opened"])
        assert opened[0] == opened[1]
        for number in range(8):
            graph.mutate(update, params={"k": "row", "n": 50 + number})
        graph._core.store.root.memory.clear()
        more = requests.of(lambda: getattr(graph.commits, verb)("P", "row"))["_opened"]
    assert 8 <= more - opened[1] <= 2 * 8


def test_the_first_commit_is_read_without_the_rest_of_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = og.Settings(manifest_keep_versions=4, manifest_compact_fragments=4)
    with og.init(tmp_path / "g.omni", SCHEMA, settings=settings) as graph:
        graph.mutate(PUT, params={"k": "first"})
        first = graph.commits.head()
        for number in range(40):
            graph.mutate(PUT, params={"k": f"k{number}"})
    fetched: Counter[str] = Counter()
    taken, scanned = TableHandle.take_positions, TableHandle.scan

    def take(handle: TableHandle, positions: Any, columns: Any) -> Any:
        fetched["rows"] += len(positions)
        return taken(handle, positions, columns)

    def scan(handle: TableHandle, columns: Any = None, *args: Any, **kwargs: Any) -> Any:
        found = scanned(handle, columns, *args, **kwargs)
        if handle.address.location == "__manifest" and "metadata" in (columns or ()):
            fetched["rows"] += found.num_rows
        return found

    with og.open(tmp_path / "g.omni", read_only=True) as fresh:
        monkeypatch.setattr(TableHandle, "take_positions", take)
        monkeypatch.setattr(TableHandle, "scan", scan)
        assert [
            row["k"] for row in fresh.at(first).query("query q() { match { $p: P } return { $p.k as k } }").rows()
        ] == ["first"]
    assert 0 < fetched["rows"] <= 20  # whole rows: registrations, versions, heads and one commit, not 40 of each
