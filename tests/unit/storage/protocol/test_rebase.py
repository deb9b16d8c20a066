"""Rebasing: a prepared write is kept where nothing published since can affect it, and computed again anywhere else."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.errors import KeyConflict
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.recent_writes import RecentWrites
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import (
    Delete,
    Footprint,
    KnownUpdate,
    Patch,
    Step,
    StrictInsert,
    TableWrite,
    Upsert,
    WriteSet,
)
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest import manifest
from omnigraph.storage.protocol.commit import Committed, commit
from omnigraph.storage.protocol.rebase import Interference, interference
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.graphs.tiny import (
    A,
    B,
    contents,
    create_tiny,
    deleting,
    inserting,
    rows_of,
    updating,
    upserting,
    write,
)

SEEDS = [f"s{number}" for number in range(6)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = create_tiny(tmp_path / "graph", Settings(table_compact_fragments=0))
    write(made, inserting(SEEDS, A, B))
    return made


def stranger(store: Store) -> Store:
    """The same graph as another process sees it, which does not know what this one has committed."""
    return replace(store, recent=RecentWrites())


class Counted:
    """A write whose computations are counted; others come between the first one and its turn."""

    def __init__(self, steps: Sequence[Step], reads: Footprint | None, key: str = A) -> None:
        self.computed = 0
        self._write = WriteSet(writer_kind="Mutation", tables=(TableWrite(key, tuple(steps)),), reads=reads)

    def prepare(self, _txn: Txn) -> WriteSet:
        self.computed += 1
        return self._write

    def run(self, store: Store, *others: Callable[[], object]) -> Committed:
        pending = [list(others)]

        def between() -> None:
            for act in pending.pop() if pending else ():  # the others pass the same hook
                act()

        with failpoints.armed({"mutation.post_stage_pre_gate": between}):
            return commit(store, None, self.prepare)


def update(name: str, value: int = 9) -> KnownUpdate:
    return KnownUpdate(rows_of([name], value=value))


def test_a_commit_to_another_table_costs_nothing(store: Store) -> None:
    mine = Counted([update("s0")], {})
    mine.run(store, lambda: write(store, inserting(["x"], B)), lambda: write(store, updating(["s0"], B, value=1)))
    assert mine.computed == 1
    assert contents(store, A)["s0"] == ("", 9)
    assert "x" in contents(store, B)
    assert violations(store) == []


@pytest.mark.parametrize("other", ["this process", "another process"])
@pytest.mark.parametrize(
    "step",
    [
        pytest.param(update("s0"), id="update"),
        pytest.param(StrictInsert(rows_of(["new"], value=9)), id="insert"),
        pytest.param(Upsert(rows_of(["s0", "new"], value=9)), id="upsert"),
        pytest.param(Patch(rows_of(["new", "s0"], value=9), pa.array(["s1"])), id="patch"),
        pytest.param(Delete(pa.array(["s0", "s1"])), id="delete"),
    ],
)
def test_other_rows_of_the_table_cost_nothing(store: Store, step: Step, other: str) -> None:
    elsewhere = store if other == "this process" else stranger(store)
    mine = Counted([step], {})
    mine.run(
        store,
        lambda: write(elsewhere, updating(["s2"], A, value=1)),
        lambda: write(elsewhere, inserting(["other"], A)),
        lambda: write(elsewhere, deleting(["s3"], A)),
    )
    assert mine.computed == 1
    found = contents(store, A)
    assert (found["s2"], found["other"], "s3" in found) == (("", 1), ("", 0), False)
    alone = Counted([step], {})
    expected = create_tiny(Path(store.root.uri).parent / "alone")
    write(expected, inserting(SEEDS, A, B))
    for act in (updating(["s2"], A, value=1), inserting(["other"], A), deleting(["s3"], A)):
        write(expected, act)
    alone.run(expected)
    assert found == contents(expected, A)
    assert violations(store) == []


@pytest.mark.parametrize("other", ["this process", "another process"])
def test_the_same_row_is_computed_again(store: Store, other: str) -> None:
    elsewhere = store if other == "this process" else stranger(store)
    mine = Counted([update("s0")], {})
    mine.run(store, lambda: write(elsewhere, updating(["s0"], A, value=1)))
    assert mine.computed == 2


def test_a_row_that_was_only_read_is_computed_again(store: Store) -> None:
    mine = Counted([update("s0")], {B: frozenset({"s5"})})
    mine.run(store, lambda: write(store, updating(["s5"], B, value=1)))
    assert mine.computed == 2


def test_a_row_that_was_looked_for_and_absent_is_computed_again_once_it_is_there(store: Store) -> None:
    mine = Counted([update("s0")], {B: frozenset({"absent"})})
    mine.run(store, lambda: write(stranger(store), inserting(["absent"], B)))
    assert mine.computed == 2


def test_a_table_that_was_read_as_a_whole_is_computed_again_for_any_row(store: Store) -> None:
    mine = Counted([update("s0")], {B: None})
    mine.run(store, lambda: write(store, updating(["s5"], B, value=1)))
    assert mine.computed == 2


def test_a_write_that_does_not_say_what_it_read_is_computed_again(store: Store) -> None:
    mine = Counted([update("s0")], None)
    mine.run(store, lambda: write(store, inserting(["x"], B)))
    assert mine.computed == 2


def test_an_inserted_id_that_was_taken_meanwhile_is_refused(store: Store) -> None:
    mine = Counted([StrictInsert(rows_of(["new"]))], {})
    with pytest.raises(KeyConflict):
        mine.run(store, lambda: write(store, inserting(["new"], A, value=1)))
    assert contents(store, A)["new"] == ("", 1)


def test_rows_that_compaction_moved_are_found_again(store: Store) -> None:
    for number in range(3):
        write(store, upserting([f"s{number}"], A, value=number))
    mine = Counted([update("s1"), Delete(pa.array(["s4"]))], {})

    def compact() -> None:
        entry = manifest.load(store.root).state.snapshot.entry(A)
        tables.compact(tables.open_table(entry.address(store.root)))

    mine.run(store, lambda: write(store, updating(["s5"], A, value=5)), compact)
    assert mine.computed == 1
    found = contents(store, A)
    assert (found["s1"], "s4" in found, found["s5"]) == (("", 9), False, ("", 5))
    assert violations(store) == []


def test_interference_names_the_table_and_the_rows(store: Store) -> None:
    then = manifest.load(store.root).state
    write(store, updating(["s1", "s2", "s3"], A, value=1))
    now = manifest.load(store.root).state
    wanted = {A: frozenset({"s3", "s2", "s9"}), B: None}
    assert interference(store, wanted, then, now) == Interference(A, ("s2", "s3"))
    assert interference(stranger(store), wanted, then, now) == Interference(A, ("s2", "s3"))
    assert interference(store, {A: frozenset({"s9"}), B: None}, then, now) is None
    assert interference(store, {A: None}, then, now) == Interference(A)
    assert interference(store, None, then, now) == Interference(A)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_in_between_the_rows_are_those_of_one_write_after_the_other(store: Store, seed: int) -> None:
    """A random write with a random footprint, random others before its turn; replayed alone in the order of commits."""
    rng = random.Random(seed)
    names = [*SEEDS, "n1", "n2"]
    plain = dict.fromkeys(SEEDS, ("", 0))

    def step(value: int) -> tuple[Step, Callable[[dict[str, tuple[str, int]]], None]]:
        chosen = rng.sample(names, 2)
        if rng.random() < 0.3:
            return Delete(pa.array(chosen)), lambda rows: [rows.pop(name, None) for name in chosen] and None
        return Upsert(rows_of(chosen, value=value)), lambda rows: rows.update(dict.fromkeys(chosen, ("", value)))

    for turn in range(4):
        first, then = step(100 + turn), [step(10 * turn + number) for number in range(2)]
        mine = Counted([first[0]], {})
        others = [Counted([each[0]], {}) for each in then]
        elsewhere = rng.choice([store, stranger(store)])
        mine.run(store, *(partial(commit, elsewhere, None, each.prepare) for each in others))
        for _, apply in (*then, first):
            apply(plain)
        assert contents(store, A) == plain
    assert violations(store) == []
