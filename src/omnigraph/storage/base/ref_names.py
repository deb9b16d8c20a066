"""Names of refs: every incarnation of a branch has a ref of its own, whose name says what it was forked from.

`review/x--b7.0.42` is the ref of a branch `review/x` that was made under epoch 7 of graph control from version 42 of
main; in the middle stands a hash of the parent's ref if that is not main. `--r7.….42` is that of a branch that took the
place of its parent, under another name. No two holders of control have one epoch, so
no ref comes twice, and a listing of names tells who descends from whom without reading a file. Branches that earlier
releases made have refs of their own name. A table's ref is called like that of its branch's manifest, with `--2`, `--3`
and so on when that name is taken.
"""

from __future__ import annotations

import re

from omnigraph.ids import fnv1a64

_INCARNATION = re.compile(r"--[br]([0-9]+)\.([0-9a-f]+)\.([0-9]+)\Z")
_TABLE_SUFFIX = re.compile(r"--[0-9]+\Z")
_MAIN = "0"

# What lance has in a directory of a lineage. Below that of an earlier release's branch there may be other branches'.
LANCE_ENTRIES = frozenset({"data", "_versions", "_transactions", "_deletions", "_indices", "_refs"})


def new_ref(branch: str, *, epoch: int, parent: str | None, version: int, renames: bool = False) -> str:
    """The ref of a branch that is made now, under this epoch of graph control; one that `renames` replaces its parent.

    >>> new_ref("review/x", epoch=7, parent=None, version=42)
    'review/x--b7.0.42'
    """
    return f"{branch}--{'r' if renames else 'b'}{epoch}.{_mark(parent)}.{version}"


def renames_parent(ref: str) -> bool:
    """Whether a ref was made to take the place of its parent.

    >>> renames_parent("x--r7.1f00ab12.42"), renames_parent("x--b7.0.42")
    (True, False)
    """
    found = _INCARNATION.search(ref)
    return found is not None and found[0].startswith("--r")


def branch_of(ref: str) -> str:
    """The branch that a ref of the manifest was made for.

    >>> branch_of("review/x--b7.0.42"), branch_of("review/x")
    ('review/x', 'review/x')
    """
    return _INCARNATION.sub("", ref)


def epoch_of(ref: str) -> int:
    """The epoch under which a ref was made; 0 if that was not noted.

    >>> epoch_of("x--b7.0.42"), epoch_of("x")
    (7, 0)
    """
    found = _INCARNATION.search(ref)
    return 0 if found is None else int(found[1])


def forked_at(ref: str, parent: str | None) -> int | None:
    """The version of `parent` that a ref was forked from by its name; None when that is another parent's.

    Two parents can have the same mark, so what must not be wrong is looked up in the ref. A name without an epoch tells
    nothing.

    >>> forked_at("x--b7.0.42", None), forked_at("x--b7.0.42", "y--b5.0.3")
    (42, None)
    """
    found = _INCARNATION.search(ref)
    return int(found[3]) if found is not None and found[2] == _mark(parent) else None


def owner_of(table_ref: str) -> str:
    """The ref of the manifest that a table's ref belongs to.

    >>> owner_of("x--b7.0.42--2"), owner_of("x--2"), owner_of("x--b7.0.42")
    ('x--b7.0.42', 'x', 'x--b7.0.42')
    """
    return _TABLE_SUFFIX.sub("", table_ref)


def ref_of_file(path: str) -> str | None:
    """The ref in whose tree a file is, by its path below `tree`; None when it is not a file of lance.

    >>> ref_of_file("review/x--b7.0.42/_versions/1.manifest")
    'review/x--b7.0.42'
    """
    parts = path.split("/")
    at = next((place for place, part in enumerate(parts) if place and part in LANCE_ENTRIES), None)
    return None if at is None else "/".join(parts[:at])


def is_ref_like(segment: str) -> bool:
    """Whether the last part of a name looks like that of a ref, so that no branch may be called so.

    >>> is_ref_like("x--2"), is_ref_like("x--b7.0.42"), is_ref_like("x--two")
    (True, True, False)
    """
    return _TABLE_SUFFIX.search(segment) is not None or _INCARNATION.search(segment) is not None


def _mark(parent: str | None) -> str:
    return _MAIN if parent is None else f"{fnv1a64(parent):016x}"[:8]
