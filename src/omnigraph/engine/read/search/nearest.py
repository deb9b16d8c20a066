"""The entities nearest to a vector: exactly over few candidates, through the vector index over many."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.display import counted
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.costs import add_cost, cost_kind, cost_of
from omnigraph.engine.read.columns.coverage import index_on
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.held import ROW_ID, one_chunk
from omnigraph.engine.read.columns.rowindex import row_ids
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.search.distances import closest, distances
from omnigraph.engine.read.search.probes import known_probes, measure_probes
from omnigraph.engine.read.search.relevance import Hits
from omnigraph.engine.read.search.vector_index import INDEX_TYPE, PROBES, REFINE, partitions
from omnigraph.storage.lance.rows.roaring import row_mask
from omnigraph.storage.lance.tables import IndexInfo, NearestRows

# So many candidates are measured one by one; more if the column is, or has come to be worth, in memory.
EXACT_COLD = 1_000
EXACT_HOT = 20_000
_SCAN_SECONDS_PER_BYTE = 2e-9
# Measuring a vector takes as long as looking at so many codes of the index (27 ns each under a mask): one that is
# fetched takes 13 µs, one in memory a fraction of a µs.
_CODES_COLD, _CODES_HOT = 500, 10
# More than this is asked for beyond the limit, so that ties with the last one show.
_SLACK = 6
# Asking the index for more than this share of the candidates is no cheaper than looking at all of them.
_LARGEST_SHARE = 8
_WIDEN = 4

_SEARCHES = cost_kind("vector searches")


@dataclass(frozen=True, slots=True)
class NearestSearch:
    """One search: which entities of a table may be found, and the vector they are compared with."""

    run: Run
    entities: Entities
    rows: Rows
    call: ir.Nearest
    query: Sequence[float]
    probes: int | None = None  # as the caller says

    def every(self) -> Hits:
        """The distance of each candidate that has a vector."""
        self._note(f"exact, {counted(len(self.rows), 'row')}")
        scores = distances(self.entities.values(self.call.name, self.rows), self.query, self.call.metric)
        known = ~np.isnan(scores)
        return Hits(self.rows[known], scores[known])

    def best(self, most: int) -> Hits:
        """The candidates that may be among the nearest `most`, with all that tie with the last of them."""
        self._hold_if_worth_it()
        hot = self.entities.in_memory(self.call.name)
        if len(self.rows) > (EXACT_HOT if hot else EXACT_COLD):
            index = vector_index(self.entities, self.call.name)
            found = None if index is None else self._through_index(index, most)
            if found is not None:
                return found
        self._note(f"exact, {counted(len(self.rows), 'row')}")
        if hot:
            held = self.entities.whole(self.call.name)
            among = held.index.positions(self.rows)
            places, near = closest(held.values, self.query, self.call.metric, most, among)
            return Hits(held.index.rows[places], near)
        vectors = self.entities.values(self.call.name, self.rows)
        places, near = closest(vectors, self.query, self.call.metric, most)
        return Hits(self.rows[places], near)

    def _hold_if_worth_it(self) -> None:
        """Read the column into memory once searches without it have cost as much: more of them are to be expected."""
        size = self.call.dim * 4
        spent = cost_of(self.entities.memory.cache(_SEARCHES), self._key).seconds
        worth = spent > self.entities.row_count * size * _SCAN_SECONDS_PER_BYTE
        if worth and not self.entities.in_memory(self.call.name) and self.entities.would_stay(self.call.name, size):
            self.entities.whole(self.call.name)
            self.entities.memory.cache(_SEARCHES).forget(self._key)
            index = vector_index(self.entities, self.call.name)
            if index is not None and known_probes(self.entities, index) is None:  # built by an earlier release
                measure_probes(self.entities, self.call.name, index, self.call.metric, keep=self.run.keep_derived)

    def _through_index(self, index: IndexInfo, most: int) -> Hits | None:
        """The nearest candidates as the index finds them, measured exactly; None when an exact pass is better.

        The index looks at no other rows. Those that it does not cover are searched as well.
        """
        begin = time.perf_counter()
        among, asked = len(self.rows), most + _SLACK
        probes = self._partitions(index, most)
        if probes is None:
            return None
        mask = None if among == self.entities.row_count else row_mask(self.rows)
        while asked * _LARGEST_SHARE <= among:
            self.run.budget.check()
            hits, seen = self._ask(asked, probes, mask)
            if _is_enough(hits, most, self.call.metric):
                if not self.entities.in_memory(self.call.name):
                    costs = self.entities.memory.cache(_SEARCHES)
                    add_cost(costs, self._key, time.perf_counter() - begin, rows=seen)
                searched = "" if partitions(index.rows) == 1 else f"{counted(probes, 'partition')}, "
                self._note(f"index {index.name}, {searched}{len(hits.rows)} of {among} rows")
                return hits
            if seen < asked:
                return None
            asked *= _WIDEN
        return None

    def _partitions(self, index: IndexInfo, most: int) -> int | None:
        """How many partitions are searched; None when measuring each candidate takes no longer.

        The nearest of few candidates are far away among all rows, and lie in more partitions.
        """
        total, among = self.entities.row_count, len(self.rows)
        if self.probes is not None or partitions(index.rows) == 1:
            return self.probes or PROBES
        known = known_probes(self.entities, index)
        if known is not None:
            every, probes = known.partitions, known.at(-(-most * total // among)) or known.partitions
        else:
            every = partitions(index.rows)
            enough = (most + _SLACK) * total // among * _LARGEST_SHARE <= among
            probes = min(PROBES, every) if enough else every
        codes = _CODES_HOT if self.entities.in_memory(self.call.name) else _CODES_COLD
        return None if among * codes <= total * probes // every else probes

    def _ask(self, count: int, probes: int, mask: bytes | None) -> tuple[Hits, int]:
        """(what the index finds, with exact distances; how many that is)."""
        if self.entities.in_memory(self.call.name):
            return self._ask_and_refine(count, probes, mask)
        wanted = NearestRows(np.asarray(self.query, np.float32), count, self.call.metric, probes, REFINE)
        found = self.entities.nearest(self.call.name, wanted, mask)
        rows = row_ids(found[ROW_ID])
        order = np.argsort(rows)
        vectors = one_chunk(found[self.call.name]).take(pa.array(order))
        return Hits(rows[order], distances(vectors, self.query, self.call.metric)), len(rows)

    def _ask_and_refine(self, count: int, probes: int, mask: bytes | None) -> tuple[Hits, int]:
        """The same with vectors in memory: the index reads none, and those of its best guesses are measured here."""
        target = np.asarray(self.query, np.float32)
        wanted = NearestRows(target, count * REFINE, self.call.metric, probes, None)
        found = self.entities.nearest(self.call.name, wanted, mask)
        rows = np.sort(row_ids(found[ROW_ID]))
        scores = distances(self.entities.values(self.call.name, rows), self.query, self.call.metric)
        if len(rows) > count:
            near = scores <= np.partition(scores, count - 1)[count - 1]
            rows, scores = rows[near], scores[near]
        return Hits(rows, scores), len(rows)

    @property
    def _key(self) -> Hashable:
        return (self.entities.version_key, self.call.name)

    def _note(self, text: str) -> None:
        self.run.profile.note(f"{self.call.name}: {text}")


def vector_index(entities: Entities, name: str) -> IndexInfo | None:
    """The vector index on a column at this version, if there is one."""
    return index_on(entities, name, INDEX_TYPE)


def _is_enough(hits: Hits, most: int, metric: str) -> bool:
    """Whether the nearest are complete: one that is further away than the last of them was seen as well."""
    if len(hits.rows) <= most:
        return False
    ordered = np.sort(hits.scores)
    last = ordered[max(most, 1) - 1]
    # The index leaves vectors without a direction out; they count as orthogonal.
    return bool(ordered[-1] > last) and (metric != "cosine" or last < 1.0)
