"""Light compaction: fragments stay few, content and history stay the same, and failures cost nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph.errors import StorageError
from omnigraph.settings import Settings
from omnigraph.storage.base.store import Store
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest import manifest
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.graphs.tiny import A, contents, create_tiny, inserting, upserting, write

SETTINGS = Settings(manifest_compact_fragments=5, table_compact_fragments=4)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return create_tiny(tmp_path / "graph", SETTINGS)


def fragments(store: Store) -> tuple[int, int]:
    loaded = manifest.load(store.root)
    entry = loaded.state.snapshot.entry(A)
    return loaded.handle.fragment_count(), tables.open_table(entry.address(store.root)).fragment_count()


def test_fragments_stay_few_and_every_row_and_commit_stays(store: Store) -> None:
    commits = []
    for number in range(20):
        done = write(store, upserting([f"r{number}", "hot"], A, value=number))
        assert done.commit is not None
        commits.append(done.commit)
        assert max(fragments(store)) <= 6
    assert contents(store, A) == {f"r{n}": ("", n) for n in range(20)} | {"hot": ("", 19)}
    store.memory.clear()
    state = manifest.load(store.root).state
    assert [state.lineage.get(commit.graph_commit_id) for commit in commits] == commits
    for number, commit in enumerate(commits):
        old = manifest.load_version(store.root, None, commit.manifest_version).snapshot.entry(A)
        rows = tables.open_table(old.address(store.root), old.version).scan()
        assert rows.num_rows == number + 2
    assert violations(store) == []


def test_what_is_remembered_across_a_compaction_equals_a_fresh_scan(store: Store) -> None:
    for number in range(12):
        write(store, inserting([f"r{number}"], A))
        remembered = manifest.load(store.root).state
        store.memory.clear()
        scanned = manifest.load(store.root).state
        assert (remembered.version, remembered.snapshot, remembered.heads) == (
            scanned.version,
            scanned.snapshot,
            scanned.heads,
        )
        ours, theirs = (list(state.lineage.newest_first()) for state in (remembered, scanned))
        assert ours == theirs


def test_without_thresholds_nothing_is_compacted(store: Store) -> None:
    idle = replace(store, settings=replace(SETTINGS, manifest_compact_fragments=0, table_compact_fragments=0))
    for number in range(8):
        write(idle, inserting([f"r{number}"], A))
    assert fragments(idle) == (9, 8)


def test_a_compaction_that_fails_does_not_fail_the_write(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise StorageError("no space left")

    monkeypatch.setattr(tables, "compact", broken)
    for number in range(8):
        assert write(store, inserting([f"r{number}"], A)).commit is not None
    assert len(contents(store, A)) == 8
