"""Where a changed row came from, for messages."""

from __future__ import annotations

from typing import TypeAlias

from omnigraph.engine.intake.records import FILE, LINE
from omnigraph.engine.write.change_set import TableChange

Place: TypeAlias = tuple[int | None, str | None]
NOWHERE: Place = (None, None)


def place_of(change: TableChange, position: int) -> Place:
    """Line and file of a row of `change.rows`, when the input had lines."""
    if change.places is None:
        return NOWHERE
    return change.places[LINE][position].as_py(), change.places[FILE][position].as_py()
