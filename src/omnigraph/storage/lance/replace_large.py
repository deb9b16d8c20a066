"""Changing very many rows: two or three versions that cost little instead of one that looks at every row.

To commit rows under row ids that exist already, lance goes through all row ids of the table to learn when the replaced
rows were created: 20 ms for a million. So the old rows are withdrawn first, then their successors are added as they
are, and then the successors are dated. In the operation that changes rows it also goes through all new ones, 100 ms for
a million; that which only adds rows does not. So they follow a version that changes nothing but claims its number.

Each of the versions is planned, armed and checked like any other step, and only the last one is published. On an object
store further commits cost more than they save, unless they save a second.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from omnigraph.storage.lance.fragments import physical_rows
from omnigraph.storage.lance.handle import TableHandle
from omnigraph.storage.lance.row_versions import RowVersions
from omnigraph.storage.lance.staged import Carry, Date, Staged

LARGE_TABLE = 250_000
LARGE_ADDITION = 250_000
_MANY_MORE = 40  # so many times as many rows elsewhere


def spread(staged: Staged) -> tuple[Carry | Date, ...]:
    """Leave only the withdrawal in a staged change, where that pays; the steps that then have to follow it."""
    operation, is_local = staged.transaction.operation, staged.address.root.is_local
    fragments = tuple(getattr(operation, "new_fragments", ()))  # only an operation that changes rows has them
    if not fragments:
        return ()
    if staged.created is None:
        added = sum(fragment.physical_rows for fragment in fragments)
        large = added >= LARGE_ADDITION * (1 if is_local else _MANY_MORE)
    else:
        large = is_local and physical_rows(staged.target) >= LARGE_TABLE
    if not large:
        return ()
    operation.new_fragments = []
    return (Carry(fragments),) if staged.created is None else (Carry(fragments), Date(len(fragments), staged.created))


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
