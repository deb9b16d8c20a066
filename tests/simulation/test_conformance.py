"""The stand-in and lance answer alike: versions, conflicts, keyed insertion, refs, missing files, compaction, cleanup."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import HistoricalVersionReclaimed, KeyConflict, StorageError
from omnigraph.storage.base.layout import Address, Root, normalize_root
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.reclaim import existing_versions, reclaim_versions
from omnigraph.storage.lance.refs import create_ref, list_refs, read_ref
from omnigraph.storage.lance.tables import CommitOutcome, Landed, TableHandle
from omnigraph.storage.lance.version_tree import changes_along, fresh_row_count
from omnigraph.testing.graphs import row_steps
from omnigraph.testing.graphs.tiny import NODE_SCHEMA, rows_of
from omnigraph.testing.services import object_behaviour
from tests.simulation.alone import alone
from tests.simulation.objects import SimulatedObjects

LOCATION = "nodes/40d76f1f51639ec0"
Trace = list[Any]
_SHOWN = ["id", "value", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]


def on_both(tmp_path: Path, scenario: Callable[[Address, Trace], None]) -> Trace:
    """What a scenario shows on lance; the stand-in must show the same."""
    traces = []
    for root in (normalize_root(tmp_path / "real"), alone().store.root):
        trace: Trace = []
        scenario(root.table(LOCATION), trace)
        traces.append(trace)
    assert traces[1] == traces[0]
    return traces[0]


def begun(address: Address) -> TableHandle:
    """Three versions: empty, three rows, two more in a fragment of their own."""
    land(tables.stage_create(address, NODE_SCHEMA))
    land(row_steps.stage_insert(tables.open_table(address), rows_of(["a0", "a1", "a2"])))
    land(row_steps.stage_insert(tables.open_table(address), rows_of(["b0", "b1"])))
    return tables.open_table(address)


def land(staged: tables.Staged) -> TableHandle:
    outcome = tables.commit(staged)
    assert isinstance(outcome, Landed), outcome
    return outcome.handle


def told(outcome: CommitOutcome) -> Any:
    if isinstance(outcome, Landed):
        return "landed", outcome.version, outcome.exact
    return (type(outcome).__name__,)


def shown(handle: TableHandle) -> Any:
    """Everything that a version says, but names and times."""
    rows = sorted(tuple(row.values()) for row in handle.scan(_SHOWN).to_pylist())
    return handle.version, handle.count_rows(), sorted(handle.fragment_ids()), rows


def history(handle: TableHandle) -> Any:
    """The transactions behind the versions."""
    found = [handle.transaction(version) for version in range(1, handle.version + 1)]
    return [None if info is None else (info.version, info.operation, info.restored) for info in found]


STAGED: dict[str, Callable[[TableHandle], tables.Staged | None]] = {
    "insert": lambda base: row_steps.stage_insert(base, rows_of(["x"])),
    "insert another": lambda base: row_steps.stage_insert(base, rows_of(["y"])),
    "update": lambda base: row_steps.stage_update(base, rows_of(["a0"], value=9)),
    "update elsewhere": lambda base: row_steps.stage_update(base, rows_of(["b0"], value=9)),
    "upsert": lambda base: row_steps.stage_upsert(base, rows_of(["a1", "z"], value=3)),
    "delete": lambda base: row_steps.stage_delete(base, ["b1"]),
    "delete a fragment": lambda base: row_steps.stage_delete(base, ["b0", "b1"]),
    "overwrite": lambda base: tables.stage_overwrite(base, NODE_SCHEMA, rows_of(["new"])),
    "restore": lambda base: tables.stage_restore(base, 2),
    "barrier": tables.stage_barrier,
    "mark": lambda base: tables.stage_index(base, ()),
    "append": lambda base: tables.stage_carried(
        base, tables.parse_fragments(tables.write_fragments(base, rows_of(["c"]), NODE_SCHEMA))
    ),
}


@pytest.mark.parametrize("second", STAGED)
@pytest.mark.parametrize("first", STAGED)
def test_two_transactions_staged_on_one_version(tmp_path: Path, first: str, second: str) -> None:
    def scenario(address: Address, trace: Trace) -> None:
        base = begun(address)
        one, two = STAGED[first](base), STAGED[second](base)
        assert one is not None
        assert two is not None
        trace += [told(tables.commit(one)), told(tables.commit(two))]
        newest = tables.open_table(address)
        trace += [shown(newest), history(newest)]
        trace.append(tables.locate(address, two.uuid, after=3))
        land(row_steps.stage_upsert(newest, rows_of(["a0", "later"], value=7)))  # numbers go on from there
        trace.append(shown(tables.open_table(address)))

    on_both(tmp_path, scenario)


MERGED: dict[str, tuple[list[str], bool]] = {
    "update a0": (["a0"], True),
    "update a1": (["a1"], True),
    "update b0": (["b0"], True),
    "insert x": (["x"], True),
    "insert y": (["y"], True),
    "a0 and x": (["a0", "x"], True),
    "a1 and y": (["a1", "y"], True),
    "a whole fragment": (["a0", "a1", "a2"], True),
    "insert x only": (["a0", "x"], False),
    "nothing new": (["a0"], False),
}


def compacted(base: TableHandle) -> Any:
    try:
        return tables.compact(base).version
    except StorageError:
        return "refused"


BESIDE: dict[str, Callable[[TableHandle], Any]] = {
    "barrier": lambda base: told(tables.commit(tables.stage_barrier(base))),
    "compact": compacted,
}


def merged(name: str, base: TableHandle) -> Any:
    if name in BESIDE:
        return BESIDE[name](base)
    ids, update = MERGED[name]
    return told(tables.merge_rows(base, rows_of(ids, value=len(name)), key="id", update=update))


@pytest.mark.parametrize("second", [*MERGED, *BESIDE])
@pytest.mark.parametrize("first", [*MERGED, *BESIDE])
def test_two_insertions_by_key_on_one_version(tmp_path: Path, first: str, second: str) -> None:
    def scenario(address: Address, trace: Trace) -> None:
        base = begun(address)
        trace += [merged(first, base), merged(second, base)]
        newest = tables.open_table(address)
        trace += [shown(newest), history(newest)]

    on_both(tmp_path, scenario)


def test_lance_compares_only_with_versions_that_still_exist(tmp_path: Path) -> None:
    def scenario(address: Address, trace: Trace) -> None:
        base = begun(address)
        late = row_steps.stage_insert(base, rows_of(["late"]))
        newest = land(row_steps.stage_update(base, rows_of(["a0"], value=1)))
        newest = land(tables.stage_index(newest, ()))
        trace.append(reclaim_versions(newest, [4]).versions)
        trace.append(existing_versions(newest))
        trace.append(told(tables.commit(late)))
        trace.append(tables.open_table(address).version)

    trace = on_both(tmp_path, scenario)
    assert trace[2][0] == "landed"  # nothing is left to conflict with: why trimming puts a barrier first


def test_a_version_that_was_reclaimed_is_missing_and_the_rest_stays(tmp_path: Path) -> None:
    def scenario(address: Address, trace: Trace) -> None:
        newest = land(row_steps.stage_update(begun(address), rows_of(["a0", "b0"], value=1)))
        newest = tables.compact(newest)
        reclaim_versions(newest, [1, 3])
        for version in (1, 2, 3, 4):
            try:
                trace.append(shown(tables.open_table(address, version, control=True)))
            except HistoricalVersionReclaimed as error:
                trace.append(error.version)
            info = newest.transaction(version)
            trace.append(None if info is None else info.operation)
        trace.append(shown(tables.open_table(address)))

    on_both(tmp_path, scenario)


def test_refs_continue_versions_and_are_told_apart(tmp_path: Path) -> None:
    def scenario(address: Address, trace: Trace) -> None:
        trunk = begun(address)
        create_ref(trunk, "one", source=None, version=2)
        land(row_steps.stage_insert(tables.open_table(address.on("one")), rows_of(["c"])))
        create_ref(trunk, "two", source="one", version=3)
        land(row_steps.stage_delete(tables.open_table(address.on("two")), ["a0"]))
        trace += [shown(tables.open_table(address.on(name))) for name in (None, "one", "two")]
        refs = list_refs(trunk)
        trace.append({name: (ref.parent, ref.parent_version, len(ref.identifier)) for name, ref in refs.items()})
        assert read_ref(address, "two") == refs["two"]
        assert refs["two"].identifier[:1] == refs["one"].identifier
        trace.append(read_ref(address, "three"))
        for name, source, version in (("one", None, 2), ("four", None, 99), ("five", "nobody", 1)):
            with pytest.raises(StorageError):
                create_ref(trunk, name, source=source, version=version)
        trace.append(sorted(list_refs(trunk)))

    on_both(tmp_path, scenario)


def test_a_ref_whose_file_is_gone_leaves_a_tree_that_is_in_the_way(tmp_path: Path) -> None:
    def scenario(address: Address, trace: Trace) -> None:
        from omnigraph.storage.base.layout import ref_file
        from omnigraph.storage.base.objects import open_objects

        trunk, objects = begun(address), open_objects(address.root)
        create_ref(trunk, "one", source=None, version=2)
        before = list_refs(trunk)["one"].identifier
        objects.delete(f"{address.location}/{ref_file('one')}")
        trace.append(list_refs(trunk))
        trace.append(tables.open_table(address.on("one")).version)
        try:
            create_ref(trunk, "one", source=None, version=2)
            trace.append("created")
        except StorageError:
            trace.append("refused")
        objects.delete_prefix(f"{address.location}/tree/one")
        create_ref(trunk, "one", source=None, version=2)
        assert list_refs(trunk)["one"].identifier != before

    on_both(tmp_path, scenario)


def test_changes_between_two_versions_are_found(tmp_path: Path) -> None:
    def scenario(address: Address, trace: Trace) -> None:
        old = begun(address)
        new = land(row_steps.stage_upsert(old, rows_of(["a1", "b0", "new"], value=5)))
        staged = row_steps.stage_delete(new, ["a2"])
        assert staged is not None
        new = tables.compact(land(staged))
        new = land(row_steps.stage_insert(new, rows_of(["last"])))
        found = changes_along(old, new, ["id", "value"])
        trace += [sorted(found.before["id"].to_pylist()), sorted(found.after["id"].to_pylist())]
        trace.append(fresh_row_count(old, new))

    on_both(tmp_path, scenario)


def test_what_is_not_there_is_told_alike(tmp_path: Path) -> None:
    def scenario(address: Address, trace: Trace) -> None:
        trace.append(tables.dataset_exists(address))
        for look in (lambda: tables.open_table(address), lambda: tables.open_table(address.on("none"))):
            with pytest.raises(StorageError) as caught:
                look()
            trace.append(caught.value.kind)
        handle = begun(address)
        trace.append(told(tables.commit(tables.stage_create(address, NODE_SCHEMA))))
        with pytest.raises(HistoricalVersionReclaimed):
            tables.open_table(address, 9)
        with pytest.raises(KeyConflict):
            row_steps.stage_insert(handle, rows_of(["a0"]))
        with pytest.raises(StorageError) as absent:
            row_steps.stage_update(handle, rows_of(["nobody"]))
        trace.append(absent.value.kind)
        trace.append(row_steps.stage_delete(handle, ["nobody"]))

    on_both(tmp_path, scenario)


@pytest.mark.parametrize("seed", range(6))
def test_a_random_history_looks_the_same(tmp_path: Path, seed: int) -> None:
    def scenario(address: Address, trace: Trace) -> None:
        chance, handles = random.Random(seed), [begun(address)]
        for step in range(25):
            base = chance.choice(handles[-3:])
            kind = chance.choice(["upsert", "delete", "restore", "mark", "barrier", "compact", "overwrite", "append"])
            ids = chance.sample([f"r{number}" for number in range(8)], 3)
            trace.append((step, kind, _random_step(address, base, kind, ids, step)))
            handles.append(tables.open_table(address, control=True))
            trace.append(shown(handles[-1]))
        trace.append(history(handles[-1]))

    on_both(tmp_path, scenario)


def _random_step(address: Address, base: TableHandle, kind: str, ids: list[str], step: int) -> Any:
    match kind:
        case "compact":
            return compacted(tables.open_table(address, control=True))
        case "upsert":
            staged: tables.Staged | None = row_steps.stage_upsert(base, rows_of(ids, value=step))
        case "delete":
            staged = row_steps.stage_delete(base, ids)
        case "restore":
            staged = tables.stage_restore(base, max(base.version - 1, 1))
        case "mark":
            staged = tables.stage_index(base, ())
        case "barrier":
            staged = tables.stage_barrier(base)
        case "overwrite":
            staged = tables.stage_overwrite(base, NODE_SCHEMA, rows_of(ids, value=step))
        case _:
            fresh = rows_of([f"s{step}-{name}" for name in ids])
            staged = row_steps.stage_insert(base, fresh)
    return None if staged is None else told(tables.commit(staged))


@pytest.mark.parametrize("behaviour", object_behaviour.BEHAVIOURS, ids=lambda behaviour: behaviour.__name__)
def test_simulated_objects_behave_as_objects_do(behaviour: object_behaviour.Behaviour) -> None:
    behaviour(SimulatedObjects(alone()))


def test_a_root_with_backing_asks_nothing_of_the_disk(tmp_path: Path) -> None:
    process = alone()
    begun(process.store.root.table(LOCATION))
    assert not list(tmp_path.iterdir())
    assert any(path.startswith(LOCATION) for path in process.bucket.files)
    assert Root(process.store.root.uri) == process.store.root
