"""The price of a commit in storage requests: a regression here is a regression of every write."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from omnigraph.storage.base.objects import Objects
from omnigraph.storage.base.store import Store
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.datasets import is_current
from omnigraph.storage.manifest import manifest
from omnigraph.storage.protocol import drafts
from omnigraph.testing.graphs.tiny import A, B, inserting, write


class CountingObjects:
    """Passes everything on and counts it."""

    def __init__(self, inner: Objects) -> None:
        self._inner = inner
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            self.calls[name] += 1
            return method(*arguments, **options)

        return counted


@pytest.mark.parametrize("keys", [(A,), (A, B)], ids=["one-table", "two-tables"])
def test_an_undisturbed_commit_makes_few_requests(
    store: Store, keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    counting = CountingObjects(store.objects)
    opened: Counter[str] = Counter()
    real = tables.open_table

    def open_table(address: Any, *arguments: Any, **options: Any) -> Any:
        opened[address.location] += 1
        return real(address, *arguments, **options)

    monkeypatch.setattr(tables, "open_table", open_table)
    scans: Counter[str] = Counter()
    decode = manifest.decode_state
    monkeypatch.setattr(manifest, "decode_state", lambda *a, **k: (scans.update(["scan"]), decode(*a, **k))[1])
    write(replace(store, objects=counting), inserting(["x"], *keys))  # type: ignore[arg-type]
    assert counting.calls == {"list_dir": 2, "write_if_absent": 1, "stat": len(keys), "delete": 1}
    assert scans == {}
    assert not opened  # this process has made the newest version of everything itself


def test_what_was_opened_before_caches_were_dropped_does_not_keep_them(store: Store) -> None:
    write(store, inserting(["x"], A))
    tables.forget_cached(store.root)
    for row in ("y", "z"):  # the first one still begins with what is open
        write(store, inserting([row], A))
    loaded = manifest.load(store.root)
    entry = loaded.state.snapshot.entry(A)
    assert is_current(loaded.handle)
    assert is_current(drafts._base_of(entry.address(store.root), entry.version)[0])
