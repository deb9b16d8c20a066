"""The texts that fit some words best, answered in one go (decision 0058): `direct.py` for searches by words.

It answers from the corpus of a column, and from whole columns of what is returned. What it does not have in memory, and
words that a great many texts have, are left to the executor.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import expr as ir
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.few import numbers, take, widest
from omnigraph.engine.read.columns.held import Held
from omnigraph.engine.read.direct_parts import IN_EARNEST, MOST_BYTES, DirectForm, column_of, hold_columns
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.plan.plans import Planned
from omnigraph.engine.read.plan.search_route import Asked, Search
from omnigraph.engine.values.arrow import arrow_type, shown_type
from omnigraph.storage.lance.id_columns import ascend

if TYPE_CHECKING:
    from omnigraph.engine.read.search.corpus import Corpus
    from omnigraph.engine.read.search.corpus_store import TextColumn
    from omnigraph.engine.read.search.relevance import Scores

# More entries in the lists of its words take a millisecond, and more rows are the executor's as well.
_MOST_ENTRIES = 1 << 18
_MOST_ROWS = 1 << 10


class WordSearch(DirectForm):
    """What one search by words needs at one view."""

    __slots__ = ("_columns", "_corpus", "_ids", "_index", "_kept", "_most", "_rows", "_schema", "_sorted")

    def __init__(self, corpus: Corpus, column: TextColumn, found: _Columns, planned: Planned, run: Run) -> None:
        from omnigraph.engine.read.search.corpus_store import kept_words

        super().__init__(run, planned, (partial(_touch_all, column, found.names),))
        self._corpus, self._kept = corpus, kept_words(column, corpus)
        self._columns, self._schema = found.columns, found.schema
        self._ids, self._index, self._rows = found.ids.values, found.ids.index, column.table.row_count
        width = sum(8 if each is None else widest(each) for each in found.columns)
        self._most = min(_MOST_ROWS, MOST_BYTES // max(width, 1))
        self._sorted = ascend(found.ids.values)

    def answer(self, asked: Asked) -> tuple[pa.RecordBatch, tuple[int, ...], None] | None:
        """The rows, and how many there were after each operator; None when memory does not tell."""
        self._called()
        if not 0 < asked.end <= self._most:
            return None
        relevance = self._corpus.relevance(asked.words, kept=self._kept)
        if relevance.entries > _MOST_ENTRIES:
            return None
        hits = relevance.best(asked.end)
        if not len(hits.rows):
            return None
        places = self._index.positions(hits.rows)
        best = self._best_first(places, hits.scores)[: asked.end]
        counts = (self._rows, len(places), len(best), len(best))
        chosen = best[asked.begin :]
        return self._taken(numbers(places[chosen]), hits.scores[chosen]), counts, None

    def _best_first(self, places: Rows, scores: Scores) -> Rows:
        """The positions by descending score, then by id; places ascend."""
        if self._sorted:
            return (-scores).argsort(kind="stable")
        order: Rows = pc.array_sort_indices(take(self._ids, numbers(places))).to_numpy().astype(np.int64)
        return order[(-scores[order]).argsort(kind="stable")]

    def _taken(self, places: pa.Array, scores: Scores) -> pa.RecordBatch:
        columns = [pa.array(scores) if column is None else take(column, places) for column in self._columns]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


class _Columns:
    """What is returned of every node of the type, None for its score; and the ids of the nodes."""

    def __init__(self, held: list[Held | None], ids: Held, names: list[str], read: list[str]) -> None:
        self.columns = tuple(None if each is None else each.values for each in held)
        kinds = [pa.float64() if column is None else column.type for column in self.columns]
        self.schema = pa.schema(list(zip(names, kinds, strict=True)))
        self.ids, self.names = ids, read


def word_search(run: Run, planned: Planned, route: Search, tries: int) -> WordSearch | None:
    """The direct form of a search, if what it needs is in memory; after a few tries columns are read for it."""
    from omnigraph.engine.read.search.corpus_store import TextColumn, held_corpus

    table = run.entities(route.table_key)
    column = TextColumn(table, route.call.name)
    corpus = held_corpus(column)
    if corpus is None or not table.as_named:
        return None
    if tries >= IN_EARNEST:
        hold_columns(table, _names(route))
    found = _columns(table, route)
    return None if found is None else WordSearch(corpus, column, found, planned, run)


def _columns(table: Entities, route: Search) -> _Columns | None:
    ids = column_of(table, "id")
    if ids is None:
        return None
    held: list[Held | None] = []
    for _, expr in route.outputs:
        if isinstance(expr, ir.Score):
            held.append(None)
            continue
        column, kind = column_of(table, expr.name), arrow_type(expr.type)
        if column is None or not column.index.is_like(ids.index) or shown_type(kind) != kind:
            return None
        if kind != column.values.type:
            return None
        held.append(column)
    return _Columns(held, ids, [name for name, _ in route.outputs], _names(route))


def _names(route: Search) -> list[str]:
    """The columns that are read of the nodes that are found."""
    return [*(expr.name for _, expr in route.outputs if isinstance(expr, ir.Property)), "id"]


def _touch_all(column: TextColumn, names: list[str]) -> None:
    """What is used has to be asked for now and then, so that it does not count as unused."""
    from omnigraph.engine.read.search.corpus_store import held_corpus

    held_corpus(column)
    for name in names:
        column.table.held_whole(name)
