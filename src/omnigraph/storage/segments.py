"""Segments of indexes: built over some fragments by any process, taken over by the one that commits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnigraph.storage.staged import IndexSpec

# Segments of these become one. Of vectors, only segments with common partitions can be joined, and each has its own.
_JOINED = frozenset({"BTREE", "INVERTED"})


def built(dataset: Any, spec: IndexSpec) -> list[Any]:
    """The segments of one index: those that others have built on this very version, or one that is built now."""
    segments = _ready(dataset, spec.segments) or [built_here(dataset, spec)]
    # An inverted segment is unreadable until it has passed through a merge, even of itself alone.
    if spec.index_type == "INVERTED" or (spec.index_type in _JOINED and len(segments) > 1):
        return [dataset.merge_existing_index_segments(segments)]
    return segments


def built_here(dataset: Any, spec: IndexSpec) -> Any:
    """One segment over the fragments of a spec."""
    return dataset.create_index_uncommitted(
        spec.column,
        spec.index_type,
        spec.name,
        metric=spec.metric,
        replace=True,
        fragment_ids=list(dataset.fragment_ids() if spec.fragments is None else spec.fragments),
        **spec.parameters,
    )


def _ready(dataset: Any, segments: Sequence[Any]) -> list[Any]:
    """Segments built elsewhere; none of them if the table has moved on since, because its fragments may be others."""
    return list(segments) if all(segment.dataset_version == dataset.version for segment in segments) else []
