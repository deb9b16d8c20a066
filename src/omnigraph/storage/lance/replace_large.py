"""Replacing rows of a large local table: three versions that cost little instead of one that looks at every row.

To commit rows under row ids that exist already, lance goes through all row ids of the table to learn when the replaced
rows were created: 20 ms for a million. So the old rows are withdrawn first, then their successors are added as they
are, and then the successors are dated. Each of the versions is planned, armed and checked like any other step, and only
the last one is published. On an object store two more commits would cost more than they save.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from omnigraph.storage.lance.fragments import physical_rows
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.lance.row_versions import RowVersions
from omnigraph.storage.lance.staged import Carry, Date, Staged

LARGE_TABLE = 250_000


def spread(staged: Staged) -> tuple[Carry | Date, ...]:
    """Leave only the withdrawal in a staged replacement, where that pays; the steps that then have to follow it."""
    if staged.created is None or not staged.address.root.is_local or physical_rows(staged.target) < LARGE_TABLE:
        return ()
    fragments = tuple(staged.transaction.operation.new_fragments)
    staged.transaction.operation.new_fragments = []
    return Carry(fragments), Date(len(fragments), staged.created)


def dated(base: TableHandle, step: Date) -> list[Any]:
    """The descriptions of the fragments carried last, with the versions that their rows were created and written in."""
    fragments = sorted((each.metadata for each in base.dataset.get_fragments()), key=lambda each: each.id)
    carried = fragments[-step.fragments :]
    sizes = [each.physical_rows for each in carried]
    new = RowVersions.of(np.empty(0, np.uint64))
    for fragment, size, own in zip(carried, sizes, step.created.split(sizes), strict=True):
        sequence = type(fragment.created_at_version_meta)
        created, written = (each.filled(size, base.version + 1) for each in (own, new))
        fragment.created_at_version_meta = sequence.from_json(created.sequence())
        fragment.last_updated_at_version_meta = sequence.from_json(written.sequence())
    return carried
