"""A merge of parts into a large table: several versions say of every row what one version says."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.pipeline.tasks.jobs import LocalTasks
from omnigraph.pipeline.tasks.load import load
from omnigraph.pipeline.tasks.stage_driver import Tuning
from omnigraph.storage.lance import replace_large

SCHEMA = "node P { name: String @key  n: I64 }"
LINEAGE = ["id", "n", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]


def _merged(place: Path) -> tuple[dict[str, tuple[int, ...]], int, int]:
    """Every row with its row id, when it was created and when it was written, counted in loads; versions; commits."""
    graph = og.init(place / "g.omni", SCHEMA)
    table = graph.view().catalog.nodes["P"]
    loads = {}
    for number, names in enumerate((range(40), range(30, 60), range(0, 80, 3))):
        lines = place / f"{number}.jsonl"
        lines.write_text("".join(f'{{"type":"P","data":{{"name":"p{at}","n":{number}}}}}\n' for at in names))
        before = graph.view().entry(table).version if number else 0
        request = LoadRequest(data=str(lines), mode="merge")
        load(access(graph), request, LocalTasks(cores=1), Tuning(split_bytes=400))
        loads |= dict.fromkeys(range(before + 1, graph.view().entry(table).version + 1), number)
    rows = graph.view().table(table).scan(LINEAGE).to_pylist()
    found = {row["id"]: (row["n"], row["_rowid"], *(loads[row[name]] for name in LINEAGE[3:])) for row in rows}
    assert len(found) == len(rows) == 67
    assert not graph.check().findings
    return found, graph.view().entry(table).version, len(graph.commits.list())


def test_several_versions_say_the_same_of_every_row_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "once").mkdir()
    (tmp_path / "thrice").mkdir()
    once, versions, commits = _merged(tmp_path / "once")
    monkeypatch.setattr(replace_large, "LARGE_TABLE", 1)
    thrice, more, again = _merged(tmp_path / "thrice")
    assert {name: (row[0], *row[2:]) for name, row in once.items()} == {
        name: (row[0], *row[2:]) for name, row in thrice.items()
    }
    assert {row[2:] for row in thrice.values()} == {(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)}
    assert (more, again) == (versions + 4, commits)
