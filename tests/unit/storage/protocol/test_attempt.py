"""Attempts: what lance says about a commit is compared with what is there, before a write is tried once more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from omnigraph import host
from omnigraph.storage.base.gates import Gates
from omnigraph.storage.base.layout import MANIFEST
from omnigraph.storage.base.store import Store
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.tables import CommitOutcome, Landed, Refused, Staged
from omnigraph.storage.manifest import manifest
from omnigraph.storage.protocol import recovery
from omnigraph.testing.tiny import A, B, contents, end_lease, inserting, write


class Elsewhere(host.Host):
    """Another machine."""

    def owner(self) -> str:
        return "elsewhere/1/x"


@pytest.mark.parametrize("recovered", [False, True])
def test_a_refused_commit_that_has_landed_counts_once(
    store: Store, monkeypatch: pytest.MonkeyPatch, recovered: bool
) -> None:
    """A client repeats a put whose answer was lost and is refused by its own version; meanwhile others may finish it."""
    real, asked = tables.commit, list[str]()

    def refused_by_itself(staged: Staged) -> CommitOutcome:
        outcome = real(staged)
        if staged.address.location == MANIFEST or asked:
            return outcome
        assert isinstance(outcome, Landed)
        asked.append(staged.uuid)
        if recovered:
            end_lease(store)
            with host.running_on(Elsewhere()):
                recovery.sweep(replace(store, gates=Gates()))
        return Refused("Commit conflict for version 3")

    before = len(manifest.load(store.root).state.lineage)
    with monkeypatch.context() as patched:
        patched.setattr(tables, "commit", refused_by_itself)
        done = write(store, inserting(["mine"], A))
    assert asked
    assert done.commit is not None
    state = manifest.load(store.root).state
    assert state.graph_head == done.commit.graph_commit_id
    assert len(state.lineage) == before + 1
    assert contents(store, A).keys() == {"seed", "mine"}


def test_a_commit_that_was_really_refused_is_tried_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = tables.commit, list[str]()

    def refused_once(staged: Staged) -> CommitOutcome:
        if asked or staged.address.location == MANIFEST:
            return real(staged)
        asked.append(staged.uuid)
        return Refused("Commit conflict for version 3")

    with monkeypatch.context() as patched:
        patched.setattr(tables, "commit", refused_once)
        write(store, inserting(["mine"], A, B))
    assert asked
    assert contents(store, A).keys() == contents(store, B).keys() == {"seed", "mine"}
