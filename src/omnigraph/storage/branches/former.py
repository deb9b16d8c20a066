"""Former names: the refs of branches that were renamed, closed and kept for what was written under them."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.ref_names import branch_of, renames_parent
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.retire import is_sealed
from omnigraph.storage.lance.refs import Ref, read_ref

# A seal is never taken back, and a ref never gets another parent: what was found once stays true.
_REPLACED: CacheKind[str] = CacheKind("former names", lambda ref: 2 * len(ref), share=1 / 256, entries=4_096)


def former_names(store: Store, live: Mapping[str, str]) -> dict[str, str]:
    """What branches were called before, each with the name that took its place; `live` are refs by their names.

    Only the refs that were made by a rename are looked at. Until the parent of such a ref is sealed, both are branches.
    """
    found: dict[str, str] = {}
    for name, ref in live.items():
        if renames_parent(ref) and (former := _replaced(store, ref)) is not None:
            found[branch_of(former)] = name
    return found


def former_refs(store: Store, ref: Ref) -> list[Ref]:
    """The refs that a branch had under its former names, the newest first."""
    found: list[Ref] = []
    while renames_parent(ref.name) and (former := _replaced(store, ref.name)) is not None:
        parent = read_ref(store.root.manifest(), former)
        if parent is None:
            break
        found.append(parent)
        ref = parent
    return found


def _replaced(store: Store, name: str) -> str | None:
    """The ref whose place another has taken; None while it is a branch of its own."""
    known = store.root.memory.cache(_REPLACED)
    former = known.get(name)
    if former is not None:
        return former
    ref = read_ref(store.root.manifest(), name)
    if ref is None or ref.parent is None or not is_sealed(store, ref.parent):
        return None
    known.put(name, ref.parent)
    return ref.parent
