"""History that is older than the settings keep goes by itself, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.engine.api.access import access
from omnigraph.errors import BadRequest, HistoricalVersionReclaimed
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest import manifest

SCHEMA = "node Hut { code: String @key  beds: I32? }"
SHORT = og.Settings(history="0s", history_versions=8)


def write(graph: og.Graph, number: int) -> str:
    done = graph.mutate("query m($c: String) { insert Hut { code: $c } }", params={"c": f"h{number}"})
    assert done.commit is not None
    return done.commit.graph_commit_id


def files(place: Path) -> int:
    return sum(1 for path in (place / "nodes").rglob("*") if path.is_file())


def test_files_follow_what_is_kept(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", SCHEMA, settings=SHORT)
    first = write(graph, 0)
    tagged = write(graph, 1)
    graph.tags.create("release", tagged)
    counts = []
    for number in range(2, 50):
        last = write(graph, number)
        counts.append(files(tmp_path / "g.omni"))
    # Twice as many commits, and not more files than while the first of them were made.
    assert max(counts[24:]) <= max(counts[:24])
    assert len(graph.query("query q() { match { $h: Hut } return { $h.code } }").rows()) == 50
    assert graph.at(commit=last).get("Hut", "h49") is not None
    assert graph.at(commit=tagged).get("Hut", "h1") is not None
    with pytest.raises(HistoricalVersionReclaimed):
        graph.at(commit=first).get("Hut", "h0")
    assert graph.check().ok


def test_without_a_limit_nothing_is_forgotten(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", SCHEMA, settings=og.Settings(history_versions=8))
    commits = [write(graph, number) for number in range(20)]
    assert [
        len(graph.at(commit=each).query("query q() { match { $h: Hut } return { $h.code } }").rows())
        for each in commits
    ] == [*range(1, 21)]


def test_a_commit_leaves_its_version_its_rows_and_nothing_that_repeats_them(tmp_path: Path) -> None:
    place = tmp_path / "g.omni"
    graph = og.init(place, SCHEMA, settings=og.Settings(table_compact_fragments=0))
    commits = [write(graph, number) for number in range(40)]
    for number in range(40):
        graph.mutate("query m($c: String) { delete Hut where code = $c }", params={"c": f"h{number}"})
    of = {name: len(list(place.glob(f"nodes/*/{name}/*"))) for name in ("_transactions", "data", "_deletions")}
    assert of["_transactions"] < 8  # lance writes one more for each version, and repeats it in the version file
    assert of["data"] == 40
    assert len(list(place.glob("__manifest/_transactions/*"))) < 24
    # What transactions say can still be told: who wrote a version, and which checksums its files had.
    assert graph.check().ok
    assert graph.at(commit=commits[7]).get("Hut", "h7") is not None
    newest = access(graph).store.root.table(next(iter(manifest.load(access(graph).store.root).state.snapshot)).location)
    handle = tables.open_table(newest)
    assert all(handle.transaction(version) is not None for version in range(1, handle.version + 1))
    graph.cleanup(keep=1, confirm=True)
    assert not list(place.glob("nodes/*/_transactions/*"))
    assert graph.check().ok


def test_young_history_stays(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", SCHEMA, settings=og.Settings(history="1h", history_versions=8))
    commits = [write(graph, number) for number in range(20)]
    assert graph.at(commit=commits[0]).get("Hut", "h0") is not None


def test_the_environment_limits_history_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_HISTORY", "0s")
    graph = og.init(tmp_path / "g.omni", SCHEMA, settings=og.Settings(history_versions=8))
    first = write(graph, 0)
    for number in range(1, 24):
        write(graph, number)
    with pytest.raises(HistoricalVersionReclaimed):
        graph.at(commit=first).get("Hut", "h0")


def test_a_cleanup_that_cannot_run_does_not_fail_the_write(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    graph = og.init(tmp_path / "g.omni", SCHEMA, settings=SHORT)
    foreign = tmp_path / "g.omni" / "__tags" / "broken.json"
    write(graph, 0)
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text("{")
    with caplog.at_level("WARNING", "omnigraph.maintenance"):
        for number in range(1, 20):
            write(graph, number)
    assert "history was not cleaned up" in caplog.text


def test_a_duration_that_is_none_is_refused_when_the_graph_is_opened(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="invalid duration 'soon'"):
        og.init(tmp_path / "g.omni", SCHEMA, settings=og.Settings(history="soon"))
