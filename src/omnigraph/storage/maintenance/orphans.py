"""Orphans: refs and trees that deleted branches left on tables."""

from __future__ import annotations

import re

from omnigraph.ids import now_micros
from omnigraph.storage.base.layout import normalize_branch
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import readable_branches
from omnigraph.storage.branches.retire import forget_refs, reclaim
from omnigraph.storage.intent.control import Control
from omnigraph.storage.lance import tables
from omnigraph.storage.manifest import manifest

_SUFFIX = re.compile(r"--\d+\Z")


def reclaim_orphans(store: Store, control: Control) -> list[str]:
    """Take the refs of deleted branches away, then their files once the grace is over; returns what was removed.

    A ref that a live branch's snapshot still names is kept, whichever branch it belonged to.
    """
    live = set(readable_branches(store))
    used = {
        (entry.location, entry.ref)
        for name in live
        for entry in manifest.load(store.root, normalize_branch(name)).state.snapshot
    }
    removed = []
    for location in sorted({row.location for row in manifest.load(store.root).state.registrations.values()}):
        refs = tables.list_refs(tables.open_table(store.root.table(location), control=True))
        parents = {ref.parent for ref in refs.values()}
        for name in sorted(refs, key=lambda name: (-len(name), name)):
            if branch_of(name) in live or (location, name) in used or name in parents:
                continue
            control.retired.setdefault(branch_of(name), now_micros())
            forget_refs(store, location, [name], control)
            removed.append(f"{location}/{name}")
    _reclaim_trees(store, control)
    return removed


def branch_of(ref: str) -> str:
    """The branch that a table ref was made for.

    >>> branch_of("review/x--2")
    'review/x'
    """
    return _SUFFIX.sub("", ref)


def _reclaim_trees(store: Store, control: Control) -> None:
    grace = store.settings.retire_grace_ms * 1_000
    live = manifest.refs(store.root)
    for branch, retired_at in sorted(control.retired.items(), key=lambda item: -len(item[0])):
        if branch not in live and now_micros() - retired_at >= grace:
            reclaim(store, branch, control)
            control.retired.pop(branch)
