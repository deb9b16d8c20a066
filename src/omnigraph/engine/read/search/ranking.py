"""Ranking: `nearest`, `bm25` and their fusion `rrf` over the entities that satisfy the whole match."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Fetch, Rank
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.rowindex import RowIndex, distinct
from omnigraph.engine.read.frames.frame import Bound, Frame
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.search.corpus import Hits, Scores
from omnigraph.engine.read.search.corpus_store import TextColumn, corpus_of
from omnigraph.engine.read.search.nearest import NearestSearch
from omnigraph.engine.read.shape.order import id_ranks
from omnigraph.errors import BadRequest, EmbedderMissing, EmbeddingMismatch

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder

_NONE = Hits(np.empty(0, np.int64), np.empty(0))


def rank(run: Run, frame: Frame, op: Rank) -> Frame:
    """Give every row the score of its ranked entity and drop the rows that have none."""
    if not frame.length:
        return replace(frame, score=np.empty(0))
    bound = frame.bound[op.call.var]
    hits = _hits(run, bound, op.call, run.fetch_count(op.fetch), op.arm)
    kept, scores = _placed(hits, bound.rows)
    return replace(frame.take(kept), score=scores)


def score_column(run: Run, frame: Frame, call: ir.RankCall) -> pa.Array:
    """The score as a value: a text that does not match has 0, a missing vector has no distance."""
    bound = frame.bound[call.var]
    scores = _hits(run, bound, call, None, None).at(bound.rows)
    if isinstance(call, ir.Nearest):
        return pa.array(scores, pa.float64(), from_pandas=True)
    return pa.array(np.nan_to_num(scores, nan=0.0))


def _hits(run: Run, bound: Bound, call: ir.RankCall, most: int | None, arm: Fetch | None) -> Hits:
    """The scores of at least the entities in these rows that have one; with `most`, of the best so many and ties."""
    entities = run.entities(bound.table_key)
    match call:
        case ir.Bm25():
            return _bm25(run, entities, call)
        case ir.Nearest():
            return _nearest(run, entities, distinct(bound.rows)[0], call, most)
        case ir.Rrf():
            return _fuse(run, entities, distinct(bound.rows)[0], call, run.fetch_count(arm))


def _placed(hits: Hits, rows: Rows) -> tuple[Rows, Scores]:
    """(positions of the rows that were hit, ascending; their scores)."""
    if len(hits.rows) < len(rows) and bool((rows[1:] > rows[:-1]).all()):
        # One row per entity, in order: looking up the few among the many is all there is to do.
        place = np.minimum(np.searchsorted(rows, hits.rows), len(rows) - 1)
        found = rows[place] == hits.rows
        return place[found], hits.scores[found]
    scores = hits.at(rows)
    kept = np.flatnonzero(~np.isnan(scores))
    return kept, scores[kept]


# --- one ranking ------------------------------------------------------------------------------------------


def _bm25(run: Run, entities: Entities, call: ir.Bm25) -> Hits:
    text = run.constant(call.query)
    if text is None:
        return _NONE
    corpus = corpus_of(TextColumn(entities, call.name, run.keep_derived, run.budget.check))
    hits = corpus.bm25(str(text), run.budget.check)
    run.profile.note(f"{call.name}: corpus of {corpus.count} texts, {len(hits.rows)} match")
    return hits


def _nearest(run: Run, entities: Entities, rows: Rows, call: ir.Nearest, most: int | None) -> Hits:
    query = query_vector(run, call)
    if query is None:
        return _NONE
    search = NearestSearch(run, entities, rows, call, query)
    return search.every() if most is None else search.best(most)


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


def _fuse(run: Run, entities: Entities, rows: Rows, call: ir.Rrf, limit: int | None) -> Hits:
    """Σ 1 / (k + rank) over the arms an entity appears in; a nearest arm contributes its best `limit` only."""
    k = cast("int | None", run.constant(call.k))
    if k is None:
        return _NONE
    ranked: list[Rows] = []
    for arm in (call.first, call.second):
        if isinstance(arm, ir.Nearest):
            hits = _nearest(run, entities, rows, arm, limit)
            ranked.append(hits.rows[_best_first(entities, hits.rows, hits.scores)[:limit]])
        else:
            hits = _bm25(run, entities, arm)
            inside = RowIndex(rows).contains(hits.rows)
            matching = hits.rows[inside]
            ranked.append(matching[_best_first(entities, matching, -hits.scores[inside])])
    found, place = distinct(np.concatenate(ranked))
    shares = np.concatenate([1.0 / (k + 1 + np.arange(len(part))) for part in ranked])
    total: Scores = np.bincount(place, weights=shares, minlength=len(found)).astype(np.float64)
    return Hits(found, total)


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
