"""What Lance remembers for an opened graph."""

from __future__ import annotations

from omnigraph.storage.base.store import Store
from omnigraph.testing.graphs.tiny import A, inserting, write

_COMMITS = 60


def _remembered(store: Store) -> int:
    return sum(size for name, size in store.memory.usage().items() if name.startswith("lance"))


def test_versions_of_a_manifest_that_commits_have_left_are_forgotten(store: Store) -> None:
    """Of each commit some 15 KiB of the written table stay for a while; of its manifest it would be another 60."""
    for turn in range(_COMMITS):
        write(store, inserting([f"first {turn}"], A))
    before = _remembered(store)
    for turn in range(_COMMITS):
        write(store, inserting([f"second {turn}"], A))
    assert (_remembered(store) - before) / _COMMITS < 30 << 10
    assert store.memory.usage()["lance, manifests"] <= 4 << 20
