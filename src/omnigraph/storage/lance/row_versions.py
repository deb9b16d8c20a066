"""In which versions rows were created or written: runs of consecutive rows, as Lance keeps them for each fragment."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from omnigraph.storage.lance.wire import pb_field


@dataclass(frozen=True, slots=True)
class RowVersions:
    """The version of each of some consecutive rows: how many rows a run has, and their version."""

    lengths: np.ndarray = field(repr=False)
    versions: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, versions: np.ndarray) -> RowVersions:
        """From the version of each row."""
        starts = np.flatnonzero(np.diff(versions, prepend=versions[:1] + np.uint64(1)))
        return cls(np.diff(starts, append=len(versions)), versions[starts])

    @classmethod
    def joined(cls, parts: Iterable[RowVersions]) -> RowVersions:
        """Those of several rows one after the other."""
        found = list(parts)
        lengths = [each.lengths for each in found] or [np.zeros(0, np.int64)]
        versions = [each.versions for each in found] or [np.zeros(0, np.uint64)]
        return cls(np.concatenate(lengths), np.concatenate(versions))

    def __len__(self) -> int:
        return int(self.lengths.sum())

    def split(self, sizes: Iterable[int]) -> list[RowVersions]:
        """The rows of parts with so many rows each; a part that begins behind the last row has none."""
        ends = np.cumsum(self.lengths)
        begins = ends - self.lengths
        found, start = [], 0
        for size in sizes:
            stop = start + size
            first, last = np.searchsorted(ends, start, side="right"), np.searchsorted(begins, stop)
            last = max(last, first) if size else first
            cut = np.minimum(ends[first:last], stop) - np.maximum(begins[first:last], start)
            found.append(RowVersions(cut, self.versions[first:last]))
            start = stop
        return found

    def filled(self, size: int, version: int) -> RowVersions:
        """With rows of another version behind it, up to so many in all."""
        missing = size - len(self)
        if not missing:
            return self
        return RowVersions(np.append(self.lengths, missing), np.append(self.versions, np.uint64(version)))

    def sequence(self) -> str:
        """The RowDatasetVersionSequence of a fragment's rows, as JSON."""
        ends = np.cumsum(self.lengths).tolist()
        spans = zip([0, *ends[:-1]], ends, self.versions.tolist(), strict=True)
        rows = ((pb_field(1, pb_field(1, start) + pb_field(2, end)), made) for start, end, made in spans)
        runs = (pb_field(1, span) + pb_field(2, made) for span, made in rows)
        return json.dumps({"inline": list(b"".join(pb_field(1, run) for run in runs))})
