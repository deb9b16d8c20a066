"""Maintenance of one table: fewer fragments and complete indexes, rows unchanged.

Everything here preserves content, so it needs no sidecar: a version that is never published does no harm, and the next
writer builds on it. Each run ends with a version that carries a mark, because lance compacts without leaving one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from omnigraph.errors import ReadSetChanged
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.checksums import Checksums, checksums_of
from omnigraph.storage.lance.fragments import path_of
from omnigraph.storage.lance.tables import IndexSpec, Landed, TableHandle
from omnigraph.storage.lance.transaction_log import EFFECT, MAINTAIN

Missing = Callable[[TableHandle], Sequence[IndexSpec]]
"""The indexes, or parts of them, that a version of a table lacks."""

_ROUNDS = 4


def tidy(handle: TableHandle, missing: Missing) -> TableHandle:
    """The newest version after compacting and indexing; the same handle when there was nothing to do.

    Lance merges only fragments that the same indexes cover, so indexing can make further compaction possible.
    """
    for _ in range(_ROUNDS):
        compacted = tables.compact(handle) if tables.can_compact(handle) else handle
        if compacted.version != handle.version:
            compacted = mark(compacted, since=handle)  # at once, because indexes may take long
        specs = missing(compacted)
        if specs:
            compacted = mark(compacted, specs)
        if compacted.version == handle.version:
            return handle
        handle = compacted
    return handle


def mark(handle: TableHandle, specs: Sequence[IndexSpec] = (), *, since: TableHandle | None = None) -> TableHandle:
    """Commit indexes, or nothing at all, as a version that this software answers for.

    With `since`, it also keeps the checksums of the files that a compaction has made of that version.
    """
    staged = tables.stage_index(handle, specs)
    staged.properties = {EFFECT: MAINTAIN}
    if since is not None:
        staged.checksums = _rewritten(since, handle)
    outcome = tables.commit(staged)
    if isinstance(outcome, Landed) and outcome.exact:
        return outcome.handle
    # A mark without indexes lands wherever it can and answers for what is below; its caller has to look again.
    raise ReadSetChanged(f"table:{handle.address.path}", expected=staged.slot, actual="another writer was faster")


def _rewritten(before: TableHandle, after: TableHandle) -> Checksums:
    known = {path_of(file) for fragment in before.dataset.get_fragments() for file in fragment.metadata.files}
    made = (fragment.metadata for fragment in after.dataset.get_fragments())
    fresh = [each for each in made if not all(path_of(file) in known for file in each.files)]
    return checksums_of(after.address, fresh)
