"""Ranking: `nearest`, `bm25` and their fusion `rrf`, exact over the entities that satisfy the whole match."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Fetch, Rank
from omnigraph.engine.read.adjacency import Rows
from omnigraph.engine.read.corpus import corpus_of
from omnigraph.engine.read.entities import Entities
from omnigraph.engine.read.frame import Frame
from omnigraph.engine.read.order import id_ranks
from omnigraph.engine.read.rowindex import distinct
from omnigraph.engine.read.run import Run
from omnigraph.engine.read.vectors import distances
from omnigraph.errors import BadRequest, EmbedderMissing, EmbeddingMismatch

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder

Scores = npt.NDArray[np.float64]


def rank(run: Run, frame: Frame, op: Rank) -> Frame:
    """Give every row the score of its ranked entity and drop the rows that have none."""
    if not frame.length:
        return replace(frame, score=np.empty(0))
    scores = _row_scores(run, frame, op.call, op.arm)
    kept = np.flatnonzero(~np.isnan(scores))
    return replace(frame.take(kept), score=scores[kept])


def score_column(run: Run, frame: Frame, call: ir.RankCall) -> pa.Array:
    """The score as a value: a text that does not match has 0, a missing vector has no distance."""
    scores = _row_scores(run, frame, call, None)
    if isinstance(call, ir.Nearest):
        return pa.array(scores, pa.float64(), from_pandas=True)
    return pa.array(np.nan_to_num(scores, nan=0.0))


def _row_scores(run: Run, frame: Frame, call: ir.RankCall, arm: Fetch | None) -> Scores:
    """NaN where the row's entity is not ranked; each distinct entity is scored once."""
    bound = frame.bound[call.var]
    entities = run.entities(bound.table_key)
    wanted, inverse = distinct(bound.rows)
    if isinstance(call, ir.Rrf):
        return _fuse(run, entities, wanted, call, run.fetch_count(arm))[inverse]
    return _scores(run, entities, wanted, call)[inverse]


def _scores(run: Run, entities: Entities, rows: Rows, call: ir.Nearest | ir.Bm25) -> Scores:
    if isinstance(call, ir.Nearest):
        query = _query_vector(run, call)
        if query is None:
            return np.full(len(rows), np.nan)
        return distances(entities.values(call.name, rows), query, call.metric)
    text = run.constant(call.query)
    if text is None:
        return np.full(len(rows), np.nan)
    corpus = corpus_of(entities, call.name)
    return corpus.scores(corpus.corpus.bm25(str(text)), rows)


def _query_vector(run: Run, call: ir.Nearest) -> Sequence[float] | None:
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
        raise EmbedderMissing(call.name) from error


def _fuse(run: Run, entities: Entities, rows: Rows, call: ir.Rrf, limit: int | None) -> Scores:
    """Σ 1 / (k + rank) over the arms an entity appears in; NaN in neither."""
    k = cast("int | None", run.constant(call.k))
    if k is None:
        return np.full(len(rows), np.nan)
    total, present = np.zeros(len(rows)), np.zeros(len(rows), np.bool_)
    ids = id_ranks(entities, rows)
    for arm in (call.first, call.second):
        scores = _scores(run, entities, rows, arm)
        ranked = np.flatnonzero(~np.isnan(scores))
        best_first = scores if isinstance(arm, ir.Nearest) else -scores
        ranked = ranked[np.lexsort((ids[ranked], best_first[ranked]))]
        if isinstance(arm, ir.Nearest):
            ranked = ranked[:limit]
        total[ranked] += 1.0 / (k + 1 + np.arange(len(ranked)))
        present[ranked] = True
    return np.where(present, total, np.nan)
