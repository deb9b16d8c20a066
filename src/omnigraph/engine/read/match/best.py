"""The least cost so far of packed (start, node) pairs, kept as ascending arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from omnigraph.engine.read.columns.arrays import Rows

Costs = npt.NDArray[np.float64]


class Best:
    """Costs by key, with the hop at which each was found."""

    def __init__(self) -> None:
        self._keys: Rows = np.empty(0, np.int64)
        self._costs: Costs = np.empty(0)
        self._hops: Rows = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._keys)

    def improve(self, keys: Rows, costs: Costs, hop: int = 0) -> tuple[Rows, Costs]:
        """The keys, ascending and each once, whose cost has become less, with that cost."""
        order = np.lexsort((costs, keys))
        keys, costs = keys[order], costs[order]
        first = np.ones(len(keys), np.bool_)
        first[1:] = keys[1:] != keys[:-1]
        keys, costs = keys[first], costs[first]
        at, known = self._places(keys)
        better = ~known
        better[known] = costs[known] < self._costs[at[known]]
        update = known & better
        self._costs[at[update]] = costs[update]
        self._hops[at[update]] = hop
        new = ~known
        if new.any():
            merged = np.concatenate([self._keys, keys[new]])
            place = np.argsort(merged, kind="stable")
            self._keys = merged[place]
            self._costs = np.concatenate([self._costs, costs[new]])[place]
            self._hops = np.concatenate([self._hops, np.full(int(new.sum()), hop)])[place]
        return keys[better], costs[better]

    def of(self, keys: Rows) -> tuple[Costs, Rows]:
        """Cost and hop of each key; infinite, and more hops than there are, for an unknown one."""
        at, known = self._places(keys)
        costs, hops = np.full(len(keys), np.inf), np.full(len(keys), np.iinfo(np.int64).max)
        costs[known], hops[known] = self._costs[at[known]], self._hops[at[known]]
        return costs, hops

    def _places(self, keys: Rows) -> tuple[Rows, npt.NDArray[np.bool_]]:
        if not len(self._keys):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.bool_)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return at, self._keys[at] == keys
