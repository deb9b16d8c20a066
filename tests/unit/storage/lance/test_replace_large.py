"""Replacing rows of a large table in three versions gives what one version gives; known row ids spare the lookup."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.storage.base.layout import Address, normalize_root
from omnigraph.storage.intent.writeset import Patch
from omnigraph.storage.lance import replace_large, tables
from omnigraph.storage.lance.columns import key_field
from omnigraph.storage.lance.tables import IndexSpec, Landed, Refused, Staged, TableHandle
from omnigraph.storage.protocol.table_steps import stage_step
from omnigraph.testing.graphs import row_steps

SCHEMA = pa.schema([key_field(), pa.field("v", pa.int64())])
NAMES = [f"k{number}" for number in range(60)]
ID_INDEX = IndexSpec(column="id", index_type="BTREE", name="id_idx")
LINEAGE = ["id", "v", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]


@pytest.fixture
def every_table_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replace_large, "LARGE_TABLE", 1)


def rows(content: dict[str, int]) -> pa.Table:
    return pa.table({"id": list(content), "v": list(content.values())}, schema=SCHEMA)


def land(staged: Staged | None) -> TableHandle:
    assert staged is not None
    outcome = tables.commit(staged)
    assert isinstance(outcome, Landed)
    assert outcome.exact
    return outcome.handle


def filled(address: Address) -> TableHandle:
    base = land(row_steps.stage_insert(land(tables.stage_create(address, SCHEMA)), rows(dict.fromkeys(NAMES, 0))))
    return land(tables.stage_index(base, [ID_INDEX]))


def patched(base: TableHandle, patch: Patch, *, in_steps: bool) -> TableHandle:
    first = stage_step(base, "node:X", patch, pin=base.version)
    assert first is not None
    rest = replace_large.spread(first) if in_steps else ()
    handle = land(first)
    for step in rest:
        handle = land(stage_step(handle, "node:X", step, pin=base.version))
    return handle


def lineage(handle: TableHandle, step_of: dict[int, int]) -> dict[str, tuple[int, int, int, int]]:
    """Value, row id and the numbers of the steps that created and wrote each row."""
    found = handle.scan(LINEAGE)
    columns = zip(*(found[name].to_pylist() for name in LINEAGE), strict=True)
    by_id = {key: (value, row, step_of[made], step_of[written]) for key, value, row, made, written in columns}
    assert len(by_id) == found.num_rows
    return by_id


def random_patch(chance: random.Random, number: int, known: list[str]) -> Patch:
    chosen = chance.sample(known, chance.randrange(1, 9))
    fresh = [f"n{number}-{at}" for at in range(chance.randrange(4))]
    gone = [name for name in chance.sample(known, chance.randrange(4)) if name not in chosen]
    written = dict.fromkeys(chance.sample([*chosen, *fresh], len(chosen) + len(fresh)), number)
    return Patch(rows(written), pa.array(gone, pa.utf8()))


@pytest.mark.usefixtures("every_table_is_large")
@pytest.mark.parametrize("seed", range(3))
def test_three_versions_say_the_same_of_every_row_as_one(tmp_path: Path, seed: int) -> None:
    root, chance = normalize_root(tmp_path), random.Random(seed)
    once, thrice = filled(root.table("nodes/once")), filled(root.table("nodes/thrice"))
    versions: tuple[dict[int, int], dict[int, int]] = ({once.version - 1: 0}, {thrice.version - 1: 0})
    for number in range(1, 9):
        patch = random_patch(chance, number, sorted(once.scan(["id"])["id"].to_pylist()))
        once, thrice = patched(once, patch, in_steps=False), patched(thrice, patch, in_steps=True)
        versions[0][once.version], versions[1][thrice.version] = number, number
        assert lineage(thrice, versions[1]) == lineage(once, versions[0])
        some = pa.array(chance.sample(NAMES, 20))
        assert sorted(thrice.take_ids(some, ["id"])["id"].to_pylist()) == sorted(
            once.take_ids(some, ["id"])["id"].to_pylist()
        )
    assert thrice.version - once.version == 2 * 8
    assert lineage(tables.compact(thrice), versions[1]) == lineage(once, versions[0])


@pytest.mark.usefixtures("every_table_is_large")
def test_of_two_replacements_on_one_version_the_second_is_refused_at_its_first_step(tmp_path: Path) -> None:
    base = filled(normalize_root(tmp_path).table("nodes/x"))
    staged = [row_steps.stage_upsert(base, rows({name: 1})) for name in ("k1", "k2")]
    assert all(len(replace_large.spread(each)) == 2 for each in staged)
    assert isinstance(tables.commit(staged[0]), Landed)
    assert isinstance(tables.commit(staged[1]), Refused)


def test_small_tables_and_mere_insertions_stay_one_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = filled(normalize_root(tmp_path).table("nodes/x"))
    assert replace_large.spread(row_steps.stage_upsert(base, rows({"k1": 1}))) == ()
    monkeypatch.setattr(replace_large, "LARGE_TABLE", 1)
    assert replace_large.spread(row_steps.stage_upsert(base, rows({"new": 1}))) == ()


@pytest.mark.usefixtures("every_table_is_large")
def test_a_graph_sees_one_change_where_its_table_has_three_versions(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person")
    graph.load(pa.table({"name": NAMES, "age": pa.array(range(60), pa.int32())}), type="Person", runner="inline")
    graph.load(pa.table({"from": NAMES[1:], "to": NAMES[:-1]}), edge="Knows", runner="inline")
    before = graph.commits.list()[0].graph_commit_id
    friends = "query q($n: String) { match { $p: Person { name: $n } $p knows $f } return { $f.name, $f.age } }"
    assert graph.query(friends, params={"n": "k2"}).rows() == [{"f.name": "k1", "f.age": 1}]
    graph.branches.create("side")
    side = pa.table({"name": ["k1", "new"], "age": pa.array([100, 1], pa.int32())})
    graph.load(side, mode="merge", type="Person", branch="side", runner="inline")
    main = pa.table({"name": ["k5"], "age": pa.array([500], pa.int32())})
    graph.load(main, mode="merge", type="Person", runner="inline")
    graph.branches.merge("side")
    assert graph.query(friends, params={"n": "k2"}).rows() == [{"f.name": "k1", "f.age": 100}]
    stats = graph.diff(before, "main").stats
    assert (stats.inserts, stats.updates, stats.deletes) == (1, 2, 0)


def test_known_row_ids_find_the_same_places_and_unknown_ones_are_looked_up(tmp_path: Path) -> None:
    base = filled(normalize_root(tmp_path).table("nodes/x"))
    change, gone = rows({"k1": 1, "new": 2}), pa.array(["k7"])
    exact = base.take_ids(["k1", "k7"], ["id", "_rowid"])
    stale = pa.table({"id": ["k1", "k7"], "_rowid": pa.array([1, 9_999], pa.uint64())})
    for known in (exact, stale):
        staged = row_steps.stage_upsert(base, change, gone, known)
        assert (staged.inserted, staged.updated, staged.deleted) == (1, 1, 1)
    landed = land(row_steps.stage_upsert(base, change, gone, exact))
    assert landed.count_rows() == 60
    assert landed.take_ids(["k1", "k7", "new"], ["id", "v"]).to_pylist() == [
        {"id": "k1", "v": 1},
        {"id": "new", "v": 2},
    ]


def test_many_new_rows_are_added_behind_a_version_that_claims_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replace_large, "LARGE_ADDITION", 5)
    base = filled(normalize_root(tmp_path).table("nodes/t"))
    texts = tables.write_fragments(base, rows({f"n{number}": number for number in range(5)}), SCHEMA)
    first = tables.stage_append(base, texts)
    rest = replace_large.spread(first)
    rival = row_steps.stage_insert(base, rows({"rival": 1}))
    handle = land(first)
    assert handle.count_rows() == len(NAMES)
    assert isinstance(tables.commit(rival), Refused)
    for step in rest:
        handle = land(stage_step(handle, "node:X", step, pin=base.version))
    found = handle.scan(LINEAGE).sort_by("_rowid")
    assert handle.version == base.version + 2
    assert found["_rowid"].to_pylist() == list(range(len(NAMES) + 5))
    assert found["_row_created_at_version"].to_pylist()[-5:] == [handle.version] * 5
    assert found["_row_last_updated_at_version"].to_pylist()[-5:] == [handle.version] * 5


def test_few_new_rows_are_added_at_once(tmp_path: Path) -> None:
    base = filled(normalize_root(tmp_path).table("nodes/t"))
    assert replace_large.spread(row_steps.stage_insert(base, rows({"new": 1}))) == ()
