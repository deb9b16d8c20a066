"""Segments of indexes: built over some fragments by any process, joined and taken over by the one that commits."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.objects import open_objects
from omnigraph.storage.lance.staged import IndexSpec

# Segments of these become one. Those of vectors would need common partitions, and each is trained by itself.
_JOINED = frozenset({"BTREE", "INVERTED"})
# Below this a thread costs more than it saves.
_LARGE = 100_000


def all_built(dataset: Any, specs: Sequence[IndexSpec], copy: Callable[[], Any]) -> list[Any]:
    """The segments of several indexes; those of a large table are built side by side, for lance sorts on one core.

    Each thread gets a `copy` of the dataset: lance changes the object that it builds an index with.
    """
    if len(specs) < 2 or dataset.count_rows() < _LARGE:
        return [segment for spec in specs for segment in built(dataset, spec)]
    with ThreadPoolExecutor(min(len(specs), os.cpu_count() or 1), "omnigraph-index") as pool:
        pairs = [(copy(), spec) for spec in specs]
        return [segment for found in pool.map(lambda pair: built(*pair), pairs) for segment in found]


def built(dataset: Any, spec: IndexSpec) -> list[Any]:
    """The segments of one index: those that others have built on this very version, or one that is built now."""
    # Fragments of another version may be others.
    if spec.segments and all(segment.dataset_version == dataset.version for segment in spec.segments):
        return list(spec.segments)
    segment = built_here(dataset, spec)
    # An inverted segment is unreadable until it has passed through a merge, even of itself alone.
    return [dataset.merge_existing_index_segments([segment]) if spec.index_type == "INVERTED" else segment]


def built_here(dataset: Any, spec: IndexSpec) -> Any:
    """One segment over the fragments of a spec, as lance leaves it."""
    return dataset.create_index_uncommitted(
        spec.column,
        spec.index_type,
        spec.name,
        metric=spec.metric,
        replace=True,
        fragment_ids=list(dataset.fragment_ids() if spec.fragments is None else spec.fragments),
        **spec.parameters,
    )


def joined(address: Address, dataset: Any, spec: IndexSpec, segments: Sequence[Any]) -> tuple[Any, ...]:
    """Segments over different fragments as `IndexSpec.segments` takes them; files that are not needed any more go.

    What a crash leaves of them is unreferenced, and lance removes such files with old versions after a week.
    """
    if spec.index_type not in _JOINED or not segments:
        return tuple(segments)
    whole = dataset.merge_existing_index_segments(list(segments))
    objects = open_objects(address.root)
    for segment in segments:
        if segment.uuid != whole.uuid:
            objects.delete_prefix(f"{address.path}/_indices/{segment.uuid}")
    return (whole,)
