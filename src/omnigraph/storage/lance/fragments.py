"""Facts about a dataset's fragments: their files, their rows, and which are too large to rewrite often."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def dominant_fragments(dataset: Any) -> list[int]:
    """The ids of fragments that each hold more than twice the rows of all smaller ones together."""
    sizes = ((fragment.physical_rows, fragment.fragment_id) for fragment in dataset.get_fragments())
    by_size = sorted(sizes, reverse=True)
    rest = sum(rows for rows, _ in by_size)
    dominant = []
    for rows, fragment_id in by_size:
        rest -= rows
        if rows <= 2 * rest:
            break
        dominant.append(fragment_id)
    return dominant


def same_content(before: Any, after: Any) -> bool:
    """Whether two versions have the same fragments, down to every file of them, and the same schema."""
    described = ([fragment.metadata for fragment in dataset.get_fragments()] for dataset in (before, after))
    return next(described) == next(described) and before.schema.equals(after.schema, check_metadata=True)


def smallest_fragment(dataset: Any) -> Any:
    """The description of the fragment with the fewest rows (the lowest id among equals), None in an empty dataset.

    A description lists the row ids and row versions of its fragment, so the smallest one is the cheapest to carry.
    """
    found = min(dataset.get_fragments(), key=lambda each: (each.physical_rows, each.fragment_id), default=None)
    return None if found is None else found.metadata  # describing all of them costs more than the rest


def physical_rows(dataset: Any) -> int:
    """How many rows the fragments of a version hold, deleted ones included."""
    return sum(fragment.physical_rows for fragment in dataset.get_fragments())


def row_total(fragments: Iterable[Any]) -> int:
    """How many rows fragments hold together."""
    return sum(fragment.num_rows for fragment in fragments)


def path_of(file: Any) -> str:
    """The path of a data file; asked as a property, lance (14) defines a class for the answer each time."""
    return str(file._path)
