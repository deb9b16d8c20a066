"""One export or baseline at a time, and nothing that would disturb it meanwhile."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import ResourceLimitExceeded

SCHEMA = "node Person { name: String @key  age: I32? }"
PUT = 'query q() { insert Person { name: "late" } }'


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    made = og.init(tmp_path_factory.mktemp("cut") / "g.omni", SCHEMA)
    made.load([{"type": "Person", "data": {"name": "Alice"}}])
    made.branches.create("old")
    made.branches.create("merged")
    made.mutate(PUT, branch="merged")
    return made


class During(io.BytesIO):
    """A stream that does something else when the first bytes arrive."""

    def __init__(self, action: Callable[[], object]) -> None:
        super().__init__()
        self._action: Callable[[], object] | None = action

    def write(self, data: bytes) -> int:  # type: ignore[override]
        action, self._action = self._action, None
        if action is not None:
            action()
        return super().write(data)


REFUSED: dict[str, Callable[[og.Graph], object]] = {
    "a second export": lambda graph: graph.export(io.BytesIO()),
    "an export of the past": lambda graph: graph.at(graph.commits.list()[0]).export(io.BytesIO()),
    "a baseline": lambda graph: graph.changes.baseline(io.BytesIO()),
    "creating a branch": lambda graph: graph.branches.create("new"),
    "creating one for a load": lambda graph: graph.load([], branch="new", from_="main"),
    "deleting a branch": lambda graph: graph.branches.delete("old"),
    "changing the schema": lambda graph: graph.schema.apply(SCHEMA + "\nnode Note { text: String }"),
    "optimizing": lambda graph: graph.optimize(),
    "cleaning up": lambda graph: graph.cleanup(keep=1, confirm=True),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("cut", ["export", "baseline"])
def test_what_would_disturb_a_running_export_is_refused(graph: og.Graph, what: str, cut: str) -> None:
    before = graph.branches.list(), graph.schema.source

    def attempt() -> None:
        # Another handle on the same graph is another caller in the same process.
        with pytest.raises(ResourceLimitExceeded) as refused, og.open(graph.uri) as other:
            REFUSED[what](other)
        assert refused.value.details() == {"resource": "stream_export_slots", "limit": 1, "actual": 2}

    write = graph.export if cut == "export" else graph.changes.baseline
    write(During(attempt))
    assert (graph.branches.list(), graph.schema.source) == before


def test_reads_and_writes_go_on_beside_an_export(graph: og.Graph) -> None:
    stream = During(lambda: graph.mutate('query q() { insert Person { name: "meanwhile" } }'))
    graph.export(stream)
    assert b"meanwhile" not in stream.getvalue()
    assert graph.get("Person", "meanwhile") is not None


def test_a_merge_stands_when_its_source_cannot_be_deleted_for_an_export(graph: og.Graph) -> None:
    results = []
    graph.export(During(lambda: results.append(graph.branches.merge("merged", delete=True))))
    assert results[0].branch_deleted is False
    assert "stream_export_slots" in results[0].branch_delete_error
    assert graph.get("Person", "late") is not None


def test_an_export_that_fails_gives_the_cut_back(graph: og.Graph, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        graph.export(During(_no_space))
    assert graph.export(tmp_path / "out.jsonl") > 0


def _no_space() -> None:
    raise OSError(28, "No space left on device")
