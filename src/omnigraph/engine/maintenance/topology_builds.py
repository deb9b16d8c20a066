"""Keeping the topologies of large edge tables beside the graph: who builds them, in one piece or in many tasks."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from omnigraph.engine.maintenance.index_builds import spreads, workshop
from omnigraph.engine.maintenance.key_builds import keep_key_indexes
from omnigraph.engine.read.columns.artifacts import least_rows
from omnigraph.engine.read.topology.edge_lookup import ends_of
from omnigraph.engine.read.topology.files import WORTH_KEEPING, load_lists, save_lists
from omnigraph.engine.read.topology.spread_lists import build_spread
from omnigraph.engine.read.topology.store import kept_place, topology
from omnigraph.engine.read.topology.topology import Ends, Topology, build_both, build_topology
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.table_tasks import SparkPlace


def keep_topologies(
    core: Core,
    branch: str | None,
    only: Collection[str] | None = None,
    runner: str = "auto",
    spark: SparkPlace = None,
) -> None:
    """Make what traversals of large edge tables will ask for, unless it is kept already.

    An older topology is brought up to date where there is one. From `Settings.distribute_rows` edges on a new one is
    built piece by piece, by Spark where a session runs (`auto`) or is asked for.
    """
    view = core.view(branch)
    for info in view.catalog.edges.values():
        ends = ends_of(view, info, keep=True)
        if ends is None or (only is not None and info.table_key not in only):
            continue
        rows, limit = ends.edges.row_count, core.tables.distribute_rows
        if not _is_kept(ends) or load_lists(ends.place, "out") is not None:
            continue
        on_spark = spreads(core.tables, runner, rows, spark)
        if on_spark or (limit is not None and rows >= limit):
            keep_key_indexes(core, branch, {f"node:{info.from_type}", f"node:{info.to_type}"}, runner, spark)
            topology(ends, partial(_in_pieces, core, spark=spark, on_spark=on_spark))
        else:
            topology(ends, build_both).lists("in")  # removing a node looks for the edges that lead to it


def keep_lists(core: Core, branch: str | None, only: Collection[str], spark: SparkPlace = None) -> None:
    """The same for some edge tables, and both directions whole in files: tasks in other processes map nothing else."""
    view = core.view(branch)
    found = {info.table_key: ends_of(view, info, keep=True) for info in view.catalog.edges.values()}
    missing = {
        key: ends
        for key, ends in found.items()
        if key in only and ends is not None and _is_kept(ends) and kept_place(ends) is None
    }
    keep_topologies(core, branch, missing, "auto", spark)
    for ends in missing.values():
        for direction in ("out", "in"):
            if load_lists(ends.place, direction) is None:
                save_lists(ends.place, direction, topology(ends).lists(direction), ends.artifact.marks)


def _is_kept(ends: Ends) -> bool:
    """Whether lists of so many edges are worth keeping."""
    return ends.edges.row_count >= least_rows(ends.edges.root, WORTH_KEEPING)


def _in_pieces(core: Core, ends: Ends, *, spark: SparkPlace, on_spark: bool) -> Topology:
    with workshop(core, "topology", spark, on_spark=on_spark) as (run, scratch):
        build_spread(ends, run, scratch)
    kept = load_lists(ends.place, "out")
    # A place that cannot be written to is not an error; then everything happens in memory, as it would for a query.
    return build_topology(ends) if kept is None else ends.topology(kept)
