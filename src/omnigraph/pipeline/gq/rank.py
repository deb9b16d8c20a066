"""Ranking on Spark: distances and relevance are computed in the workers, exactly, over the rows that match."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Rank
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import expressions
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.search.ranking import query_vector
from omnigraph.engine.values.arrow import TableType
from omnigraph.pipeline.gq.carry import Batches, from_spark, reporting
from omnigraph.pipeline.gq.frame import Lowering, Rows
from omnigraph.pipeline.gq.scan import Scan, scan_frame
from omnigraph.pipeline.gq.values import Searches, TextStatistics, text_statistics

_SCORE = ir.FLOAT64
_ANSWER = "answer string"


def prepare(low: Lowering, run: Run, plan: ReadPlan, tables: Mapping[str, str]) -> None:
    """Find out what scoring needs: the vectors of texts to look for, and the word statistics of searched columns."""
    calls = [part for part in expressions(plan) if isinstance(part, ir.Nearest | ir.Bm25)]
    vectors = {call: query_vector(run, call) for call in calls if isinstance(call, ir.Nearest)}
    statistics = {
        call: _statistics(low, run.table_type(tables[call.var]), call, run)
        for call in calls
        if isinstance(call, ir.Bm25)
    }
    low.searches = Searches(vectors, statistics)


def fuse(low: Lowering, rows: Rows, calls: Iterable[ir.Rrf], limit: int | None, run: Run) -> Rows:
    """The rows with a column for each fusion that some expression reads."""
    fused = dict(low.searches.fused)
    for call in calls:
        if call not in fused:
            rows, fused[call] = _fused(low, rows, call, limit, run)
    low.searches = replace(low.searches, fused=fused)
    return rows


def ranked(low: Lowering, rows: Rows, op: Rank, run: Run) -> Rows:
    """Rows whose ranked entity has a score, with that score."""
    call = op.call
    if isinstance(call, ir.Rrf):
        rows, column = _fused(low, rows, call, run.fetch_count(op.arm), run)
    else:
        rows, (column,) = low.computed(rows, [call])
    frame = rows.frame.where(F.col(column).isNotNull())
    if isinstance(call, ir.Bm25):
        frame = frame.where(F.col(column) > 0)
    return replace(rows, frame=frame, score=column)


def _fused(low: Lowering, rows: Rows, call: ir.Rrf, limit: int | None, run: Run) -> tuple[Rows, str]:
    """Σ 1 / (k + rank) over the arms in which an entity appears, once per entity; null in neither."""
    k, ids, score = run.constant(call.k), rows.key(call.var), low.names.fresh()
    kinds = {**rows.kinds, score: _SCORE}
    if k is None:
        return replace(rows, frame=rows.frame.withColumn(score, F.lit(None).cast("double")), kinds=kinds), score
    parts = {(call.var, name): column for name, column in rows.parts(call.var).items()}
    entities = replace(rows, frame=rows.frame.select(*parts.values()).dropDuplicates([ids]), columns=parts)
    entities, arms = low.computed(entities, [call.first, call.second])
    frame, places = entities.frame, []
    for arm, column in zip((call.first, call.second), arms, strict=True):
        nearest, ties = isinstance(arm, ir.Nearest), rows.ties(call.var)
        frame, place = _placed(low, frame, ties, column, nearest=nearest, limit=limit)
        places.append(place)
    shares = [F.lit(1.0) / (F.lit(k) + F.col(place)) for place in places]
    total = sum((F.coalesce(share, F.lit(0.0)) for share in shares), F.lit(0.0))
    present = F.coalesce(*(F.col(place) for place in places)).isNotNull()
    key = low.names.fresh()
    scores = frame.select(F.col(ids).alias(key), F.when(present, total).alias(score))
    joined = rows.frame.join(scores, F.col(ids) == F.col(key), "left").drop(key)
    return replace(rows, frame=joined, kinds=kinds), score


def _placed(
    low: Lowering, frame: Any, ties: Iterable[str], column: str, *, nearest: bool, limit: int | None
) -> tuple[Any, str]:
    """The frame with the rank of each entity in one arm, from 1; null when the arm does not have it."""
    place = low.names.fresh()
    score = F.col(column)
    counted = score.isNotNull() if nearest else score > 0
    best_first = score.asc() if nearest else score.desc()
    # Entities without a score are numbered apart, so that they push no other row back.
    number = F.row_number().over(Window.partitionBy(counted).orderBy(best_first, *map(F.col, ties)))
    frame = frame.withColumn(place, number)
    contributes = counted & (F.col(place) <= limit) if nearest and limit is not None else counted
    return frame.withColumn(place, F.when(contributes, F.col(place))), place


def _statistics(low: Lowering, info: TableType, call: ir.Bm25, run: Run) -> TextStatistics | None:
    """One pass over a column: every task counts its texts, the driver adds the counts up."""
    query = run.constant(call.query)
    if query is None:
        return None
    kind, text = info.properties[call.name], str(query)
    frame = scan_frame(low.spark, run.view, low.bindings, Scan(info, "", {call.name: "text"}))

    def count(batches: Batches) -> Batches:
        for batch in batches:
            found = text_statistics(from_spark(batch.column(0), kind), text, call.language)
            yield pa.RecordBatch.from_pydict({"answer": [json.dumps([found.texts, found.words, dict(found.holders)])]})

    answers = [json.loads(row.answer) for row in frame.mapInArrow(reporting(count), _ANSWER).collect()]
    empty = text_statistics(pa.array([], pa.utf8()), text, call.language)
    holders = {word: sum(each[2][word] for each in answers) for word in empty.holders}
    return TextStatistics(sum(each[0] for each in answers), sum(each[1] for each in answers), holders)
