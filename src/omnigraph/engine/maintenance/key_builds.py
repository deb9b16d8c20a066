"""Keeping the key indexes of large node tables beside the graph: who builds them, in one piece or in many tasks."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from omnigraph.engine.maintenance.index_builds import spreads, workshop
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.key_index import KeyIndex
from omnigraph.engine.read.columns.key_index_store import build_keys, keep_keys, kept_keys, key_artifact
from omnigraph.engine.read.columns.spread_keys import build_spread_keys
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.table_tasks import SparkPlace


def keep_key_indexes(
    core: Core,
    branch: str | None,
    only: Collection[str] | None = None,
    runner: str = "auto",
    spark: SparkPlace = None,
) -> None:
    """Index the ids of the large node tables, or of some of them, now, so that no look-up has to.

    From `Settings.distribute_rows` rows on fragments are indexed one by one, by Spark where a session runs (`auto`) or
    is asked for.
    """
    view, limit = core.view(branch), core.tables.distribute_rows
    for info in view.catalog.nodes.values():
        if view.find(info) is None or (only is not None and info.table_key not in only):
            continue
        table = Entities(view, info)
        on_spark = spreads(core.tables, runner, table.row_count, spark)
        in_pieces = on_spark or (limit is not None and table.row_count >= limit)
        keep_keys(table, partial(_in_pieces, core, spark=spark, on_spark=on_spark) if in_pieces else None)


def _in_pieces(core: Core, table: Entities, *, spark: SparkPlace, on_spark: bool) -> KeyIndex:
    with workshop(core, "key index", spark, on_spark=on_spark) as (run, scratch):
        build_spread_keys(table, run, scratch)
    kept = kept_keys(key_artifact(table).place)
    if kept is None:  # a place that cannot be written to is not an error; then everything happens in memory
        return build_keys(table)
    key_artifact(table).remember()
    return KeyIndex(kept)
