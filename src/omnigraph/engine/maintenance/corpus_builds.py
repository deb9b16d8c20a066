"""Keeping the corpora of large text columns beside the graph: who builds them, in one piece or in many tasks."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from omnigraph.engine.maintenance.declared import declared_indexes
from omnigraph.engine.maintenance.index_builds import spreads, workshop
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.search.corpus import Corpus
from omnigraph.engine.read.search.corpus_store import TextColumn, built_corpus, corpus_of, kept_corpus
from omnigraph.engine.read.search.spread_corpus import build_spread_corpus
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.table_tasks import SparkPlace


def keep_corpora(
    core: Core,
    branch: str | None,
    only: Collection[str] | None = None,
    runner: str = "auto",
    spark: SparkPlace = None,
) -> None:
    """Analyse the indexed texts of large tables now, so that no search has to; keys are rarely searched by word.

    From `Settings.distribute_rows` rows on fragments are analysed one by one, by Spark where a session runs (`auto`)
    or is asked for.
    """
    view, limit = core.view(branch), core.tables.distribute_rows
    for info in view.catalog.nodes.values():
        if view.find(info) is None or (only is not None and info.table_key not in only):
            continue
        for column, kind in declared_indexes(info).items():
            text = TextColumn(Entities(view, info), column, keep=True)
            if kind != "fulltext" or (column,) == info.key or not text.is_large:
                continue
            rows = text.table.row_count
            on_spark = spreads(core.tables, runner, rows, spark)
            in_pieces = on_spark or (limit is not None and rows >= limit)
            corpus_of(text, partial(_in_pieces, core, spark=spark, on_spark=on_spark) if in_pieces else built_corpus)


def _in_pieces(core: Core, column: TextColumn, *, spark: SparkPlace, on_spark: bool) -> Corpus:
    with workshop(core, "texts", spark, on_spark=on_spark) as (run, scratch):
        build_spread_corpus(column, run, scratch)
    kept = kept_corpus(column)
    if kept is None:  # a place that cannot be written to is not an error; then everything happens in memory
        return built_corpus(column)
    column.artifact.remember()
    return kept
