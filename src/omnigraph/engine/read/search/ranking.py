"""Ranking: `nearest`, `bm25` and their fusion `rrf` over the entities that satisfy the whole match."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Fetch, Rank
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.rowindex import RowIndex, distinct, distinct_rows
from omnigraph.engine.read.frames.frame import Bound, Frame
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.search.corpus_store import TextColumn, relevance_of
from omnigraph.engine.read.search.nearest import NearestSearch
from omnigraph.engine.read.search.relevance import Hits, Relevance, Scores
from omnigraph.engine.read.shape.order import id_ranks
from omnigraph.errors import BadRequest, EmbedderMissing, EmbeddingMismatch, ParameterError

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder

_NONE = Hits(np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True)
class _Candidates:
    """The entities of one table that are ranked, in the rows of a frame."""

    entities: Entities
    bound: Bound

    @classmethod
    def of(cls, run: Run, bound: Bound) -> _Candidates:
        return cls(run.entities(bound.table_key), bound)

    @cached_property
    def whole(self) -> RowIndex | None:
        """All rows of the table, if these are they: then nothing has to be looked for among them."""
        return self.entities.index_of_all(self.bound.rows)

    @cached_property
    def rows(self) -> Rows:
        """Ascending, each once."""
        return self.bound.rows if self.whole is not None else distinct_rows(self.bound.rows)

    def placed(self, hits: Hits) -> tuple[Rows, Scores]:
        """(positions in the frame that were hit, ascending; their scores)."""
        rows = self.bound.rows
        if self.whole is not None:
            return self.whole.positions(hits.rows), hits.scores
        if len(hits.rows) < len(rows) and bool((rows[1:] > rows[:-1]).all()):
            # One row per entity, in order: looking up the few among the many is all there is to do.
            place = np.minimum(np.searchsorted(rows, hits.rows), len(rows) - 1)
            found = rows[place] == hits.rows
            return place[found], hits.scores[found]
        scores = hits.at(rows)
        kept = np.flatnonzero(~np.isnan(scores))
        return kept, scores[kept]


def rank(run: Run, frame: Frame, op: Rank) -> Frame:
    """Give every row the score of its ranked entity and drop the rows that have none."""
    if not frame.length:
        return replace(frame, score=np.empty(0))
    among = _Candidates.of(run, frame.bound[op.call.var])
    kept, scores = among.placed(_hits(run, among, op.call, run.fetch_count(op.fetch), op.arm))
    return replace(frame.take(kept), score=scores)


def score_column(run: Run, frame: Frame, call: ir.RankCall) -> pa.Array:
    """The score as a value: a text that does not match has 0, a missing vector has no distance."""
    among = _Candidates.of(run, frame.bound[call.var])
    scores = _hits(run, among, call, None, None).at(among.bound.rows)
    if isinstance(call, ir.Nearest):
        return pa.array(scores, pa.float64(), from_pandas=True)
    return pa.array(np.nan_to_num(scores, nan=0.0))


def _hits(run: Run, among: _Candidates, call: ir.RankCall, most: int | None, arm: Fetch | None) -> Hits:
    """The scores of at least the candidates that have one; with `most`, of the best so many and ties."""
    match call:
        case ir.Bm25():
            return _bm25(run, among, call, most)
        case ir.Nearest():
            return _nearest(run, among, call, most)
        case ir.Rrf():
            return _fuse(run, among, call, run.fetch_count(arm), most)


# --- one ranking ------------------------------------------------------------------------------------------


def _relevance(run: Run, entities: Entities, call: ir.Bm25) -> Relevance:
    text = run.constant(call.query)
    if text is None:
        return Relevance(())
    corpus, found = relevance_of(TextColumn(entities, call.name, run.keep_derived, run.budget.check), str(text))
    run.profile.note(f"{call.name}: corpus of {corpus.count} texts, up to {found.entries} match")
    return found


def _bm25(run: Run, among: _Candidates, call: ir.Bm25, most: int | None) -> Hits:
    return _most_relevant(_relevance(run, among.entities, call), among, most)


def _most_relevant(relevance: Relevance, among: _Candidates, most: int | None) -> Hits:
    """Those of the candidates that match; with `most`, the best so many and ties."""
    if among.whole is not None:
        return relevance.every() if most is None else relevance.best(most)
    if most is None:
        return relevance.every_of(among.rows)
    return relevance.best_of(among.rows, most, among.entities.row_count)


def _nearest(run: Run, among: _Candidates, call: ir.Nearest, most: int | None) -> Hits:
    query = query_vector(run, call)
    if query is None:
        return _NONE
    search = NearestSearch(run, among.entities, among.rows, call, query, _probes(run, call))
    return search.every() if most is None else search.best(most)


def _probes(run: Run, call: ir.Nearest) -> int | None:
    """How many partitions of the index are to be searched; with a null parameter as many as without one."""
    value = None if call.probes is None else cast("int | None", run.constant(call.probes))
    if value is not None and value < 1:
        name = call.probes.name if isinstance(call.probes, ir.Param) else None
        message = f"the number of partitions that nearest(…) searches must be at least 1, got {value}"
        raise ParameterError("P004", message, parameter=name)
    return value


def query_vector(run: Run, call: ir.Nearest) -> Sequence[float] | None:
    """The vector to look for, a text embedded; None for a null query."""
    value = run.constant(call.query)
    if value is None or not call.embeds:
        return cast("Sequence[float] | None", value)
    embedder = run.embedder if run.embedder is not None else _configured_embedder(call)
    if call.model is not None and call.model != embedder.model:
        raise EmbeddingMismatch(call.name, recorded=call.model, active=embedder.model)
    return embedder.embed([str(value)], call.dim, "query")[0]


def _configured_embedder(call: ir.Nearest) -> Embedder:
    """The provider that the environment names; only text queries need one, so only they load the package."""
    from omnigraph.embeddings.config import resolve_config
    from omnigraph.embeddings.provider import make_embedder

    try:
        return make_embedder(resolve_config(os.environ))
    except BadRequest as error:
        if os.environ.get("OMNIGRAPH_EMBED_PROVIDER", "").strip():
            raise  # one was chosen, and what is wrong with it is the better answer
        raise EmbedderMissing(call.name) from error


# --- fusion -----------------------------------------------------------------------------------------------


def _fuse(run: Run, among: _Candidates, call: ir.Rrf, limit: int | None, most: int | None) -> Hits:
    """Σ 1 / (k + rank) over the arms an entity appears in; a nearest arm contributes its best `limit` only."""
    k = cast("int | None", run.constant(call.k))
    if k is None:
        return _NONE
    arms = (call.first, call.second)
    # Of two arms of words every text counts, and so it does when a later place is not worth less.
    fewest = most if k >= 0 and any(isinstance(arm, ir.Nearest) for arm in arms) else None
    near = {arm: _nearest_order(run, among, arm, limit) for arm in arms if isinstance(arm, ir.Nearest)}
    others = np.concatenate([*near.values(), _NONE.rows])
    rows, shares = [], []
    for arm in arms:
        if isinstance(arm, ir.Nearest):
            found, place = near[arm], np.arange(len(near[arm]))
        else:
            found, place = _words_order(among, _relevance(run, among.entities, arm), fewest, others)
        rows.append(found)
        shares.append(1.0 / (k + 1 + place))
    found, place = distinct(np.concatenate(rows))
    total: Scores = np.bincount(place, weights=np.concatenate(shares), minlength=len(found)).astype(np.float64)
    return Hits(found, total)


def _nearest_order(run: Run, among: _Candidates, arm: ir.Nearest, limit: int | None) -> Rows:
    hits = _nearest(run, among, arm, limit)
    return hits.rows[_best_first(among.entities, hits.rows, hits.scores)[:limit]]


def _words_order(among: _Candidates, relevance: Relevance, most: int | None, others: Rows) -> tuple[Rows, Rows]:
    """(rows that match, how many are before each in the order of relevance).

    With `most`, these are the first so many and those of the others that match. What comes later and is in no other arm
    has a smaller sum than each of the first, so it cannot be among so many of the fusion.
    """
    hits = _most_relevant(relevance, among, most)
    first = hits.rows[_best_first(among.entities, hits.rows, -hits.scores)]
    later = _NONE if most is None else relevance.of(np.setdiff1d(others, first))
    if not len(later.rows):
        return first, np.arange(len(first))
    hits = _most_relevant(relevance, among, None)
    places = [_place(among.entities, hits, row, score) for row, score in zip(later.rows, later.scores, strict=True)]
    return np.append(first, later.rows), np.append(np.arange(len(first)), places)


def _place(entities: Entities, hits: Hits, row: int, score: float) -> int:
    """How many hits are before the one of this row, by score, then by id."""
    tied = hits.rows[hits.scores == score]
    before = int(np.count_nonzero(hits.scores > score))
    return before if len(tied) == 1 else before + int(id_ranks(entities, tied)[np.searchsorted(tied, row)])


def _best_first(entities: Entities, rows: Rows, scores: Scores) -> Rows:
    """The positions by ascending score, then by id; ids are read for ties only."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    same = np.append(ordered[1:] == ordered[:-1], False)
    tied = np.flatnonzero(same | np.roll(same, 1))
    if len(tied):
        ids = id_ranks(entities, rows[order[tied]])
        order[tied] = order[tied][np.lexsort((ids, ordered[tied]))]
    return order
