"""Drift, marks and the pause that maintenance asks writers for."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from lance.optimize import Compaction

from omnigraph.errors import Conflict, Corrupt, ReadSetChanged, RecoveryRequired
from omnigraph.settings import Settings
from omnigraph.storage.base.store import Store, store_for
from omnigraph.storage.intent import sidecar
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.compact import mark, tidy
from omnigraph.storage.lance.reclaim import reclaim_versions
from omnigraph.storage.maintenance.drift import drift_of, is_uncovered, newest_of, refuse_drift
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.snapshot import TableEntry
from omnigraph.storage.protocol import audit, recovery
from omnigraph.storage.protocol.pause import paused_writers
from omnigraph.storage.protocol.quiesce import require_clean
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.crash.processes import WritingChild
from omnigraph.testing.graphs.tiny import A, contents, create_tiny, inserting, updating, write

SETTINGS = Settings(
    lease_ttl_ms=600_000, lease_skew_ms=0, writer_wait_ms=60_000, table_compact_fragments=0, mark_wait_ms=0
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = create_tiny(tmp_path / "graph", SETTINGS)
    for name in ("a", "b", "c"):
        write(made, inserting([name], A))
    return made


def entry(store: Store) -> TableEntry:
    return manifest.load(store.root).state.snapshot.entry(A)


def test_a_compaction_without_a_mark_is_drift_and_one_below_a_mark_is_not(store: Store) -> None:
    pin = entry(store).version
    assert not is_uncovered(newest_of(store, entry(store)), pin)
    compacted = tables.compact(newest_of(store, entry(store)))
    assert is_uncovered(compacted, pin)
    with pytest.raises(Conflict, match=r"dataset for node type 'A' has uncovered HEAD drift.*run repair"):
        refuse_drift(store, entry(store))
    marked = mark(compacted)
    assert not is_uncovered(marked, pin)
    assert is_uncovered(tables.open_table(marked.address, compacted.version), pin)


def test_the_compaction_of_a_live_process_is_given_time_for_its_mark(store: Store, tmp_path: Path) -> None:
    patient = store_for(tmp_path / "graph", replace(SETTINGS, mark_wait_ms=60_000))
    compacted = tables.compact(newest_of(store, entry(store)))
    marking = threading.Timer(0.2, lambda: mark(compacted))
    marking.start()
    assert drift_of(patient, entry(store)) is None
    marking.join()


def test_foreign_rows_are_drift_at_once_however_patient(store: Store, tmp_path: Path) -> None:
    patient = store_for(tmp_path / "graph", replace(SETTINGS, mark_wait_ms=3_600_000))
    newest_of(store, entry(store)).dataset.delete("id = 'a'")
    assert drift_of(patient, entry(store)) is not None


def test_a_mark_answers_for_a_second_compaction_that_came_in_between(store: Store) -> None:
    stale = newest_of(store, entry(store))
    tasks = [task.execute(stale.dataset) for task in Compaction.plan(stale.dataset, {}).tasks]
    compacted = tables.compact(stale)
    with pytest.raises(OSError, match="preempted"):
        Compaction.commit(stale.dataset, tasks)
    assert newest_of(store, entry(store)).version == compacted.version + 1
    with pytest.raises(ReadSetChanged):
        mark(compacted)
    assert drift_of(store, entry(store)) is None


def test_commits_that_were_made_and_cleaned_up_since_are_no_drift(store: Store) -> None:
    seen = entry(store)
    for name in ("d", "e", "f"):
        write(store, inserting([name], A))
    reclaim_versions(newest_of(store, seen), [seen.version, seen.version + 1])
    tables.forget_cached(store.root)
    assert is_uncovered(newest_of(store, seen), seen.version)
    assert drift_of(store, seen) is None


def test_what_an_overtaken_compaction_leaves_behind_is_no_drift(store: Store) -> None:
    stale = newest_of(store, entry(store))
    tasks = [task.execute(stale.dataset) for task in Compaction.plan(stale.dataset, {}).tasks]
    write(store, updating(["a"], A))
    with pytest.raises(OSError, match="preempted"):
        Compaction.commit(stale.dataset, tasks)
    newest = newest_of(store, entry(store))
    assert newest.version == entry(store).version + 1  # it holds the fragment ids reserved for nothing
    assert not is_uncovered(newest, entry(store).version)


def test_a_mark_does_not_answer_for_foreign_rows(store: Store) -> None:
    pin, handle = entry(store).version, newest_of(store, entry(store))
    handle.dataset.delete("id = 'a'")
    assert is_uncovered(mark(newest_of(store, entry(store))), pin)


def test_a_table_below_its_published_version_fails_closed(store: Store) -> None:
    handle = newest_of(store, entry(store))
    newest = tables.open_table(handle.address, handle.version)
    (Path(newest.address.uri) / "_versions" / f"{(1 << 64) - 1 - newest.version:020d}.manifest").unlink()
    (Path(newest.address.uri) / "_versions" / "latest_version_hint.json").unlink()
    with pytest.raises(Corrupt, match="below"):
        newest_of(store, entry(store))


def test_tidying_up_changes_no_row_and_the_next_writer_builds_on_it(store: Store) -> None:
    before = contents(store, A)
    tidied = tidy(newest_of(store, entry(store)), lambda _table: [])
    assert tidied.fragment_count() == 1
    assert tidy(tidied, lambda _table: []) is tidied
    write(store, inserting(["d"], A))
    assert entry(store).version == tidied.version + 1
    assert contents(store, A) == {**before, "d": ("", 0)}
    assert violations(store) == []


def test_writers_of_another_process_wait_for_the_end_of_a_pause(store: Store, tmp_path: Path) -> None:
    seen = []
    with paused_writers(store_for(tmp_path / "graph", replace(SETTINGS, lease_ttl_ms=4_000))):
        child = WritingChild(tmp_path / "graph", SETTINGS, "", ("late",), (A,))
        child.process.join(5.0)  # longer than the lease: the pause keeps its intent alive
        seen.append(child.process.is_alive())
        assert "late" not in contents(store, A)
    assert child.finish().commit is not None
    assert seen == [True]
    assert "late" in contents(store, A)
    assert violations(store) == []


def test_a_pause_waits_for_writers_that_came_first(store: Store, tmp_path: Path) -> None:
    lasting = replace(SETTINGS, lease_ttl_ms=60_000)  # however slow the machine, nobody is taken for dead
    child = WritingChild(tmp_path / "graph", lasting, "mutation.post_table_commit=sleep:0.2", ("first",), (A,))
    while not sidecar.pending(store.objects):
        assert child.process.is_alive() or contents(store, A)
    with paused_writers(store):
        assert "first" in contents(store, A)
    assert child.finish().commit is not None


def test_threads_of_this_process_take_turns_with_a_pause(store: Store) -> None:
    order = []

    def writer() -> None:
        write(store, inserting(["threaded"], A))
        order.append("written")

    with paused_writers(store):
        thread = threading.Thread(target=writer)
        thread.start()
        thread.join(0.1)
        order.append("paused")
    thread.join()
    assert order == ["paused", "written"]


def test_an_abandoned_pause_is_recovered_without_an_empty_commit(store: Store) -> None:
    with paused_writers(store):
        (operation,) = sidecar.pending(store.objects)
        intent = store.objects.read_if_exists(sidecar.path(operation))
    store.objects.write(sidecar.path(operation), intent or "")  # as if the process had died inside the pause
    with pytest.raises(RecoveryRequired, match="clean recovery state"):
        require_clean(store, "optimize")
    assert [outcome.kind for outcome in recovery.sweep(store)] == ["RolledBack"]
    assert manifest.load(store.root).state.decision(operation) == "aborted"
    assert len(audit.records(store.root)) == 1
    assert violations(store) == []
