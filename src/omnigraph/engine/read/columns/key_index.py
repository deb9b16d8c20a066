"""From ids to row ids without asking storage: the ids of one table version in order of their hashes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.read.columns.arrays import Mask, Rows, narrow_type, spread
from omnigraph.engine.values.text_hashes import Bits, text_hash, text_hashes, text_parts

RowsWith: TypeAlias = Callable[[bytes], list[int]]
"""Gives the row id of the node with one id, if there is one."""

KEY_ARRAYS = ("hashes", "rows", "offsets", "data")
# So few texts are compared faster one by one.
_FEW = 16


@dataclass(frozen=True, slots=True)
class KeyPart:
    """Some ids: hashes in ascending order and, beside each, the row and the text; arrays may be mapped from disk."""

    hashes: Bits
    rows: npt.NDArray[Any]
    offsets: npt.NDArray[Any]
    data: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, ids: pa.Array, rows: Rows, hashes: Bits | None = None) -> KeyPart:
        """The part that holds these ids; their hashes are computed unless they are known."""
        hashes = text_hashes(ids) if hashes is None else hashes
        order = np.argsort(hashes)
        texts = ids.cast(pa.large_utf8()).take(pa.array(order))
        offsets, data = text_parts(texts)
        first, last = int(offsets[0]), int(offsets[-1])
        kept = rows[order].astype(narrow_type(int(rows.max(initial=0))), copy=False)
        offsets = (offsets - first).astype(narrow_type(last - first))
        return cls(hashes[order], kept, offsets, data[first:last].copy())

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def nbytes(self) -> int:
        return int(sum(values.nbytes for values in self.arrays().values()))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Every array by its name."""
        return {name: getattr(self, name) for name in KEY_ARRAYS}

    def find(self, ids: Sequence[str], hashes: Bits) -> Rows:
        """Row ids of those ids that are here, in no particular order."""
        low = np.searchsorted(self.hashes, hashes, side="left")
        high = np.searchsorted(self.hashes, hashes, side="right")
        owner, place = spread(low, high)
        # A hash says where to look; only the text says that it is there.
        if len(place) <= _FEW:
            pairs = zip(place.tolist(), owner.tolist(), strict=True)
            same = np.array([self._text(at) == ids[of].encode() for at, of in pairs], np.bool_)
        else:
            same = self._same(place, pa.array(ids, pa.utf8()).take(pa.array(owner)))
        return self.rows[place[same]].astype(np.int64)

    def rows_of(self, ids: pa.Array) -> Rows:
        """The row id of each of many ids, -1 for those that are not here."""
        hashes = text_hashes(ids)
        # In the order of the index: what is mapped from disk is then read from front to back.
        order = np.argsort(hashes)
        low = np.searchsorted(self.hashes, hashes[order], side="left")
        high = np.searchsorted(self.hashes, hashes[order], side="right")
        owner, place = spread(low, high)
        owner = order[owner]
        same = self._same(place, ids.take(pa.array(owner)))
        found = np.full(len(ids), -1, np.int64)
        found[owner[same]] = self.rows[place[same]]
        return found

    def rows_of_known(self) -> Callable[[pa.Array], Rows]:
        """A function that gives the row id of each of many ids that are all here; -1, should one not be.

        Unless two ids share a hash, that alone tells which it is: less than half of the time of `rows_of`.
        """
        hashes = self.hashes
        if not len(hashes) or bool((hashes[1:] == hashes[:-1]).any()):
            return self.rows_of

        def found(ids: pa.Array) -> Rows:
            wanted = text_hashes(ids)
            order = np.argsort(wanted)
            wanted = wanted[order]
            place = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
            rows = np.empty(len(ids), np.int64)
            rows[order] = np.where(hashes[place] == wanted, self.rows[place], -1)
            return rows

        return found

    def finder(self, bits: int) -> Callable[[bytes, int], int | None]:
        """A function that gives the row id of one id, if it is here, from its text and hash.

        It looks up where hashes with the same first `bits` begin and end, and searches between them, in views of the
        memory: 0.7 µs among a hundred thousand, where NumPy takes 2.
        """
        hashes: memoryview[int] = self.hashes.data
        rows: memoryview[int] = self.rows.data
        offsets: memoryview[int] = self.offsets.data
        data: memoryview[int] = self.data.data
        end, shift = len(hashes), 64 - bits
        starts = np.arange(1, 1 << bits, dtype=np.uint64) << np.uint64(shift & 63)
        begins = [0, *self.hashes.searchsorted(starts).tolist(), end]

        def find_one(text: bytes, number: int) -> int | None:
            bucket = number >> shift
            place = bisect_left(hashes, number, begins[bucket], begins[bucket + 1])
            while place < end and hashes[place] == number:
                if data[offsets[place] : offsets[place + 1]] == text:
                    return rows[place]
                place += 1
            return None

        return find_one

    def _text(self, place: int) -> bytes:
        return self.data[int(self.offsets[place]) : int(self.offsets[place + 1])].tobytes()

    def _same(self, place: Rows, texts: pa.Array) -> Mask:
        kind = pa.large_utf8() if self.offsets.dtype == np.int64 else pa.utf8()
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        held = pa.Array.from_buffers(kind, len(self), buffers).take(pa.array(place))
        same: Mask = pc.equal(held, texts.cast(kind)).to_numpy(zero_copy_only=False)
        return same


@dataclass(frozen=True, slots=True)
class KeyIndex:
    """All ids of one table version: a large part, the ids that came since it was made, and which rows are left."""

    base: KeyPart
    later: KeyPart | None = None
    alive: Mask | None = field(default=None, repr=False)  # by row id; None: every row of the parts

    @property
    def nbytes(self) -> int:
        parts = [part.nbytes for part in (self.base, self.later) if part is not None]
        return sum(parts) + (0 if self.alive is None else self.alive.nbytes)

    def find(self, ids: Sequence[str]) -> Rows:
        """Ascending row ids of the nodes with these ids; unknown ids are left out."""
        if len(ids) == 1:
            return np.array(sorted(self.finder()(ids[0].encode())), np.int64)
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return np.empty(0, np.int64)
        hashes = text_hashes(pa.array(wanted, pa.utf8()))
        rows = self.base.find(wanted, hashes)
        if self.later is not None:
            rows = np.concatenate([rows, self.later.find(wanted, hashes)])
        if self.alive is not None:
            rows = rows[rows < len(self.alive)]
            rows = rows[self.alive[rows]]
        return np.sort(rows)

    def finder(self, bits: int = 0) -> RowsWith:
        """A function that gives the row id of the node with one id, if there is one; `bits` make it quicker."""
        parts = [part.finder(bits) for part in (self.base, self.later) if part is not None]
        alive = self.alive

        def rows_with(text: bytes) -> list[int]:
            number = text_hash(text)
            found = [row for find_one in parts if (row := find_one(text, number)) is not None]
            return found if alive is None else [row for row in found if row < len(alive) and alive[row]]

        return rows_with
