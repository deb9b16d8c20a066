"""Old manifest versions go, and what they said can still be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import HistoricalVersionReclaimed
from omnigraph.settings import Settings
from omnigraph.storage.intent.control import hold_control
from omnigraph.storage.lance import tables, version_files
from omnigraph.storage.lance.reclaim import Reclaimed, existing_versions
from omnigraph.storage.lance.tables import Refused, Staged
from omnigraph.storage.manifest import manifest, trimmed
from omnigraph.storage.manifest.branch_refs import address_of
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.row_codec import encode_rows
from omnigraph.storage.manifest.rows import HeadRow
from omnigraph.storage.protocol.trim import trim_manifest
from omnigraph.testing.crash.invariants import violations

SCHEMA = "node Person { name: String @key  age: I32? }\nnode Note { text: String }"
MORE = SCHEMA + "\nnode Place { name: String @key }"
AGAIN = MORE.replace("age: I32?", "age: I32?  mail: String?")
PUT = "query q($n: String) { insert Person { name: $n } }"
NAMES = "query q() { match { $p: Person } return { $p.name } order { $p.name asc } }"
KEEP = Settings(manifest_keep_versions=0)


def told(state: ManifestState) -> tuple[object, ...]:
    """Everything in a state that somebody who reads the past can see."""
    commits = [commit.graph_commit_id for commit in state.lineage.newest_first()]
    parts = state.registrations, state.published, state.tombstones, state.heads
    return (*(dict(part) for part in parts), state.schema, commits, state.snapshot.entries, state.effective_head)


def every_state(graph: og.Graph, branch: str | None, start: int = 1) -> dict[int, tuple[object, ...]]:
    root = graph._core.store.root
    newest, _ = manifest.newest(root, branch)
    return {number: told(manifest.load_version(root, branch, number)) for number in range(start, newest + 1)}


def and_barrier(states: dict[int, tuple[object, ...]]) -> dict[int, tuple[object, ...]]:
    """The same with one version more, which says what the newest one says."""
    newest = max(states)
    return states | {newest + 1: states[newest]}


@pytest.fixture
def lived(tmp_path: Path) -> og.Graph:
    """A graph with commits, schema changes, a branch of its own commits and a tag."""
    graph = og.init(tmp_path / "g.omni", SCHEMA, settings=KEEP)
    for number in range(5):
        graph.mutate(PUT, params={"n": f"a{number}"})
    graph.schema.apply(MORE)
    graph.mutate(PUT, params={"n": "b"})
    graph.schema.apply(AGAIN)
    graph.optimize()
    for number in range(5):
        graph.mutate(PUT, params={"n": f"c{number}"})
    graph.branches.create("feature")
    graph.tags.create("now")
    for number in range(4):
        graph.mutate(PUT, params={"n": f"d{number}"})
        graph.mutate(PUT, params={"n": f"e{number}"}, branch="feature")
    return graph


def test_every_version_of_main_reads_the_same_after_trimming(lived: og.Graph) -> None:
    root = lived._core.store.root
    before = every_state(lived, None)
    gone = trim_manifest(root.manifest(), keep=1)
    root.memory.clear()
    assert gone.versions > len(before) // 2
    assert every_state(lived, None) == and_barrier(before)


def test_every_version_of_a_branch_reads_the_same_after_trimming(lived: og.Graph) -> None:
    root = lived._core.store.root
    before = every_state(lived, "feature")
    assert trim_manifest(address_of(root, "feature"), keep=1).versions
    trim_manifest(root.manifest(), keep=1)
    root.memory.clear()
    assert every_state(lived, "feature") == and_barrier(before)


def test_trimming_between_schema_changes_loses_none_of_them(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", SCHEMA, settings=KEEP)
    root = graph._core.store.root
    expected: dict[int, tuple[object, ...]] = {}
    for schema in (MORE, AGAIN):
        graph.mutate(PUT, params={"n": f"before {len(schema)}"})
        graph.schema.apply(schema)
        expected |= every_state(graph, None, max(expected, default=0) + 1)
        trim_manifest(root.manifest(), keep=1)
        root.memory.clear()
        expected = and_barrier(expected)
        assert every_state(graph, None) == expected


def test_commits_can_be_read_and_branched_from_after_trimming(lived: og.Graph) -> None:
    commits = lived.commits.list()
    names = {commit: lived.at(commit).query(NAMES).to_arrow() for commit in commits}
    trim_manifest(lived._core.store.root.manifest(), keep=1)
    with og.open(lived.uri) as reopened:
        for commit, expected in names.items():
            assert reopened.at(commit).query(NAMES).to_arrow() == expected
        assert reopened.branches.merge("feature").outcome == "merged"
        assert len(reopened.query(NAMES)) == len(names[commits[0]]) + 4


def test_a_history_that_was_not_read_before_trimming_can_be_read_after_it(lived: og.Graph) -> None:
    root = lived._core.store.root
    root.memory.clear()
    state = manifest.load(root).state
    for number in range(3):
        lived.mutate(PUT, params={"n": f"later {number}"})
    lived.optimize()
    trim_manifest(root.manifest(), keep=1)
    assert len(list(state.lineage.newest_first())) == len(state.lineage)


def test_the_past_can_be_read_while_others_trim_it(lived: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cleanup that took this for the end of a version would remove what branches need to be merged."""
    root = lived._core.store.root
    looks = [existing_versions(manifest.load(root).handle)]
    version = looks[0][-3]
    expected = told(manifest.load_version(root, None, version))
    trim_manifest(root.manifest(), keep=1)
    root.memory.clear()
    late = trimmed.listed_versions
    monkeypatch.setattr(trimmed, "listed_versions", lambda *place: frozenset(looks.pop()) if looks else late(*place))
    assert told(manifest.load_version(root, None, version)) == expected
    assert looks == []


def test_writers_trim_by_themselves(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", SCHEMA, settings=Settings(manifest_keep_versions=8))
    for number in range(60):
        graph.mutate(PUT, params={"n": f"p{number}"})
    assert len(existing_versions(manifest.load(graph._core.store.root).handle)) < 40
    first = graph.commits.list()[-2]
    assert graph.get("Person", "p0", at=first) is not None


def test_a_version_that_nothing_can_tell_any_more_was_reclaimed(lived: og.Graph) -> None:
    root = lived._core.store.root
    trim_manifest(root.manifest(), keep=1)
    kept = sorted((Path(lived.uri) / "__manifest" / "_versions").glob("*.manifest"))
    kept[-1].unlink()  # the oldest: it alone knew the first schema
    root.memory.clear()
    with pytest.raises(HistoricalVersionReclaimed):
        manifest.load_version(root, None, 2)


@pytest.mark.parametrize("branch", [None, "feature"])
def test_a_commit_that_slept_while_versions_were_trimmed_is_refused(lived: og.Graph, branch: str | None) -> None:
    """Lance compares with existing versions only: without a barrier the head would be there twice, for ever."""
    root = lived._core.store.root
    slept = manifest.load(root, branch)
    rows = encode_rows([HeadRow(branch, "somebody-else")])
    merge = tables.open_table(slept.handle.address, slept.state.version).dataset.merge_insert("object_id")
    inside, _ = merge.when_matched_update_all().conflict_retries(0).use_index(False).execute_uncommitted(rows)
    lived.mutate(PUT, params={"n": "meanwhile"}, branch=branch)
    assert trim_manifest(address_of(root, branch), keep=1).versions
    assert slept.state.version + 1 not in existing_versions(manifest.load(root, branch).handle)
    staged = Staged(slept.handle.address, slept.state.version, inside, slept.handle.dataset)
    assert isinstance(tables.commit(staged), Refused)
    lived.mutate(PUT, params={"n": "afterwards"}, branch=branch)


def test_while_somebody_is_at_work_the_versions_of_the_last_seconds_stay(lived: og.Graph) -> None:
    store = lived._core.store
    with hold_control(store, "branch_create"):
        before = existing_versions(manifest.load(store.root).handle)
        files = list((Path(lived.uri) / "__manifest" / "_versions").glob("*.manifest"))
        for file in files:
            os.utime(file, (2**32, 2**32))
        assert trim_manifest(store.root.manifest(), keep=1) == Reclaimed()
        for file in files:
            # Decision 0035: ages are differences of the store's own dates, whatever this machine's clock says.
            os.utime(file, (3_600, 3_600) if file == min(files) else (0, 0))
        newest = manifest.load(store.root).state.version
        assert trim_manifest(store.root.manifest(), keep=1).versions > len(before) // 2
        assert manifest.load(store.root).state.version == newest + 1


def test_a_commit_that_took_long_is_looked_for_and_leaves_no_hint(
    lived: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version_files, "LONG_COMMIT_SECONDS", 0)
    before = len(lived.commits.list())
    lived.mutate(PUT, params={"n": "slowly"})
    assert len(lived.commits.list()) == before + 1
    assert lived.get("Person", "slowly") is not None
    assert version_files.hinted_version(f"{lived.uri}/__manifest") is None
    assert violations(lived._core.store) == []


def test_a_trim_that_was_interrupted_loses_nothing(tmp_path: Path) -> None:
    """Lance removes data before the files of the versions that show it; a process may die in between."""
    graph = og.init(
        tmp_path / "g.omni", SCHEMA, settings=Settings(manifest_keep_versions=0, manifest_compact_fragments=0)
    )
    for number in range(5):
        graph.mutate(PUT, params={"n": f"a{number}"})
    place = graph._core.store.root.manifest()
    manifest.compact_manifest(place)
    before = every_state(graph, None)
    newest = tables.open_table(place, control=True)
    graph.close()
    kept = {file.path for fragment in newest.dataset.get_fragments() for file in fragment.metadata.files}
    for path in Path(place.uri, "data").iterdir():
        if path.name not in kept:
            path.unlink()
    for version in range(1, 4):
        os.unlink(f"{place.uri}/{version_files.version_name(version)}")
    with og.open(tmp_path / "g.omni", settings=KEEP) as reopened:
        assert every_state(reopened, None) == before
