"""Facts about a dataset's fragments: their files, their rows, and which are too large to rewrite often."""

from __future__ import annotations

import json
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


def fragment_files(dataset: Any) -> list[str]:
    """The complete description of every fragment; equal lists mean equal rows."""
    fragments = dataset.get_fragments()
    return [json.dumps(fragment.metadata.to_json(), sort_keys=True, default=str) for fragment in fragments]


def row_total(fragments: Iterable[Any]) -> int:
    """How many rows fragments hold together."""
    return sum(fragment.num_rows for fragment in fragments)
