"""Merges and diffs of versions that have to be compared from end to end: by Spark the same answer as in process."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.views import delta
from omnigraph.engine.views.delta import compared
from omnigraph.pipeline.tasks import compare
from omnigraph.pipeline.tasks.jobs import LocalTasks
from omnigraph.settings import Settings

SCHEMA = "node Doc { name: String @key  n: I64?  body: Blob? }"


def docs(numbers: range, shift: int = 0) -> list[dict[str, Any]]:
    return [{"type": "Doc", "data": {"name": f"d'{at:03d}", "n": at + shift, "body": "base64:AAE="}} for at in numbers]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Main and a branch that has rewritten the whole table: some rows equal, some changed, some new, some gone."""
    place = tmp_path_factory.mktemp("large") / "g.omni"
    with og.init(place, SCHEMA) as graph:
        graph.load(docs(range(300)))
        graph.branches.create("other")
        graph.load([*docs(range(50, 250)), *docs(range(250, 400), shift=1)], mode="overwrite", branch="other")
    return place


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every rewritten table counts as large; says how many ranges were compared by tasks."""
    seen: list[int] = []
    plain = compare._ranges

    def counted(cuts: Any) -> Any:
        found = plain(cuts)
        seen.append(len(found))
        return found

    monkeypatch.setattr(delta, "_REWRITE_ROWS", 0)
    monkeypatch.setattr(compare, "_SENT_BYTES", 0)
    monkeypatch.setattr(compare, "_ranges", counted)
    return seen


def test_ranges_together_are_the_whole(template: Path) -> None:
    with og.open(template) as graph:
        one, other = (graph.view(branch) for branch in ("main", "other"))
        tables = [view.table(view.catalog.nodes["Doc"]) for view in (one, other)]
        whole = compared(*tables)
        for rows, sent in ((10_000, 1 << 20), (100, 0), (7, 300)):
            spread = compare.spread_delta(*tables, LocalTasks(), range_rows=rows, sent_bytes=sent)
            assert spread.before.equals(whole.before)
            assert spread.after.equals(whole.after)
        assert list((template / "__loads").glob("*")) == [], "files that tasks have written are gone"
        assert (whole.inserted.num_rows, whole.updated.num_rows, whole.deleted.num_rows) == (100, 50, 50)


def test_a_large_diff_is_the_same_by_spark(template: Path, spark: Any, small: list[int]) -> None:
    with og.open(template) as graph:
        expected = graph.diff("main", "other").table
    with og.open(template, settings=Settings(distribute_rows=100)) as graph:
        found = graph.diff("main", "other").table
    assert small == [1]
    assert found.equals(expected)


def test_a_large_merge_is_the_same_by_spark(template: Path, tmp_path: Path, spark: Any, small: list[int]) -> None:
    exported = []
    for name, limit in (("inline", 10**9), ("spark", 100)):
        shutil.copytree(template, tmp_path / name)
        with og.open(tmp_path / name, settings=Settings(distribute_rows=limit)) as graph:
            graph.load(docs(range(1_000, 1_010)))
            graph.branches.merge("other")
            graph.export(tmp_path / f"{name}.jsonl")
        exported.append((tmp_path / f"{name}.jsonl").read_bytes())
    assert small, "the second merge was compared by tasks"
    assert exported[0] == exported[1]
    assert exported[0].count(b"\n") == 360
