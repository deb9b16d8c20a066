"""Which ref of the manifest a branch has: the name is what people use, the ref is one incarnation of it."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.errors import BranchNotFound, ReadSetChanged
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.base.layout import Address, Root, is_public
from omnigraph.storage.base.ref_names import branch_of, epoch_of, forked_at
from omnigraph.storage.lance.refs import Ref, read_ref, ref_names

_ATTEMPTS = 8

_KNOWN: CacheKind[str] = CacheKind("refs of branches", lambda ref: 2 * len(ref), share=1 / 256, entries=4_096)


def live_refs(root: Root) -> dict[str, str]:
    """The ref of every branch by its name, those of transactions and the schema lock included; one listing.

    Two refs of one name are there for a moment when a creator has slept through its claim and has not yet taken back
    what it made; the later epoch is that of the branch.
    """
    found: dict[str, str] = {}
    for ref in sorted(ref_names(root.manifest()), key=epoch_of):
        found[branch_of(ref)] = ref
    return found


def find_ref(root: Root, branch: str) -> Ref | None:
    """The ref of a live branch, read fresh; None when there is no such branch.

    A ref is never made again, so one that is still there is still that of its branch: names are listed only when the
    one that was right before has gone.
    """
    trunk, known = root.manifest(), root.memory.cache(_KNOWN)
    if not is_public(branch):
        return read_ref(trunk, branch)
    if (same := known_ref(root, branch)) is not None:
        return same
    for _ in range(_ATTEMPTS):
        name = live_refs(root).get(branch)
        if name is None:
            return None
        if (ref := read_ref(trunk, name)) is not None:
            known.put(branch, name)
            return ref
    raise ReadSetChanged(f"branch_identifier:{branch}")


def known_ref(root: Root, branch: str) -> Ref | None:
    """The ref that was that of a branch before, read fresh; None when there is more to find out."""
    remembered = root.memory.cache(_KNOWN).get(branch)
    return None if remembered is None else read_ref(root.manifest(), remembered)


def require_ref(root: Root, branch: str) -> Ref:
    """The ref of a live branch; BranchNotFound when there is none."""
    found = find_ref(root, branch)
    if found is None:
        raise BranchNotFound(branch)
    return found


def address_of(root: Root, branch: str | None) -> Address:
    """Where the manifest of a live branch is; None is main."""
    return root.manifest(None if branch is None else require_ref(root, branch).name)


def forks_of(root: Root, parent: str | None) -> Mapping[str, int]:
    """The refs that were forked from a ref (None is main's manifest), each with the version it was forked from.

    Names tell for branches; of the few other refs, those of transactions and of earlier releases, the files are read.
    """
    trunk, found = root.manifest(), dict[str, int]()
    for name in ref_names(trunk):
        version = forked_at(name, parent)
        if version is not None and parent is None:
            found[name] = version
        elif version is not None or not epoch_of(name):
            ref = read_ref(trunk, name)
            if ref is not None and ref.parent == parent:
                found[name] = ref.parent_version
    return found
