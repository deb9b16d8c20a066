"""Indexes: which ones a schema asks for, which exist, what they cover, and building those that are missing."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import NodeType
from omnigraph.display import Displayed
from omnigraph.engine.maintenance.corpus_builds import keep_corpora
from omnigraph.engine.maintenance.declared import IndexKind, declared_indexes
from omnigraph.engine.maintenance.index_builds import index_builder
from omnigraph.engine.maintenance.key_builds import keep_key_indexes
from omnigraph.engine.maintenance.topology_builds import keep_topologies
from omnigraph.engine.read.plan.statistics import keep_statistics
from omnigraph.engine.read.search.probes import keep_probes
from omnigraph.engine.read.search.vector_index import INDEX_TYPE, partitions
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.values.load_profile import LoadClock, Report, reported
from omnigraph.engine.values.pushdown import column_name
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.table_tasks import SparkPlace
from omnigraph.engine.views.view import View
from omnigraph.errors import OmnigraphError
from omnigraph.memory.heap import give_back
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import BuildIndexes, TableWrite, WriteSet
from omnigraph.storage.lance.tables import IndexInfo, IndexSpec, TableHandle
from omnigraph.storage.maintenance.drift import refuse_drift
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.protocol.commit import commit

_LOG = logging.getLogger("omnigraph")

UNTRAINED = "property has no non-null vectors to train on yet"

_TREE, _ZONES, _WORDS = "BTREE", "ZONEMAP", "INVERTED"
# kind → (lance type, suffix of the index name); texts also get an ordered index, for equality and prefixes.
_BUILT_AS: dict[IndexKind, tuple[tuple[str, str], ...]] = {
    "ordered": ((_TREE, "idx"),),
    "fulltext": ((_TREE, "idx"), (_WORDS, "fts")),
    "vector": ((INDEX_TYPE, "vec"),),
}
# An index is built anew, rather than extended, once this share of its rows, or this many pieces, have piled up.
_REBUILD_SHARE = 4
_MOST_SEGMENTS = 8
# A load of so many rows of one type leaves its indexes built: look-ups would scan them otherwise.
LARGE_LOAD = 100_000
# One of so many gives back first what it no longer needs: a load of ten million edges took 1.4 GiB at most instead of
# 1.8, and no more processor time. It does so afterwards as well, for what the process does next.
_HUGE_LOAD = 1_000_000
_SAMPLED_IDS = 64


@dataclass(frozen=True, slots=True, repr=False)
class PendingIndex(Displayed):
    """A declared index that cannot be built yet."""

    type_key: str
    property: str
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class IndexReport(Displayed):
    """One declared index of one table: what it is built as, and how many rows it covers."""

    type_key: str
    column: str
    kind: IndexKind
    index_type: str
    name: str | None
    rows: int
    covered_rows: int
    pending: str | None = None

    @property
    def coverage(self) -> float:
        """The covered share of the rows; an empty table is covered."""
        return self.covered_rows / self.rows if self.rows else 1.0

    def to_json(self) -> dict[str, Any]:
        """Every field, and the coverage."""
        return {**asdict(self), "coverage": self.coverage}


# --- what a table lacks -----------------------------------------------------------------------------------


def missing_indexes(info: TableType, table: TableHandle, *, extend: bool) -> list[IndexSpec]:
    """What has to be built on a table version; with `extend`, indexes also grow over fragments they do not cover."""
    if not table.count_rows():
        return []
    existing = _existing(table)
    found = (_lacking(info, table, spec, _answering(spec, existing), extend=extend) for spec in _specs(info))
    return [spec for spec in found if spec is not None]


def pending_indexes(info: TableType, table: TableHandle) -> list[PendingIndex]:
    """Declared indexes that no build could make now."""
    if not table.count_rows():
        return []
    vectors = [spec for spec in _specs(info) if spec.index_type == INDEX_TYPE]
    return [
        PendingIndex(info.table_key, spec.column, UNTRAINED) for spec in vectors if _trained(info, table, spec) is None
    ]


def _specs(info: TableType) -> Iterator[IndexSpec]:
    for column, kind in declared_indexes(info).items():
        for index_type, suffix in _BUILT_AS[kind]:
            if kind == "vector" and isinstance(info, NodeType):
                yield IndexSpec(column, index_type, f"{column}_{suffix}", info.metrics[column])
            else:
                yield IndexSpec(column, index_type, f"{column}_{suffix}")


def _existing(table: TableHandle) -> dict[tuple[str, str], IndexInfo]:
    """The indexes of single columns, by column and type."""
    return {(each.columns[0], each.index_type.upper()): each for each in table.indices() if len(each.columns) == 1}


def _answering(spec: IndexSpec, existing: Mapping[tuple[str, str], IndexInfo]) -> IndexInfo | None:
    """The index that exists for what is asked for; ranges of zones do for an ordered one."""
    found = existing.get((spec.column, spec.index_type))
    return existing.get((spec.column, _ZONES)) if found is None and spec.index_type == _TREE else found


def _fitting(info: TableType, table: TableHandle, spec: IndexSpec) -> IndexSpec:
    """The cheapest index that finds ids of edges as well: where they ascend through the table, as generated ones do,
    the range of each zone of 8,192 rows is enough. A thousandth of the bytes, a sixth of the time to build."""
    if isinstance(info, NodeType) or spec.column != "id" or not _ascends(table):
        return spec
    return replace(spec, index_type=_ZONES)


def _ascends(table: TableHandle) -> bool:
    """Whether ids that are sampled through a large table are in order; a wrong answer costs look-ups time only."""
    rows = table.count_rows()
    if rows < LARGE_LOAD:
        return False
    places = pa.array(range(0, rows, max(1, rows // _SAMPLED_IDS)))
    ids = table.take_positions(places, ["id"])["id"].to_pylist()
    return all(before < after for before, after in pairwise(ids))


def _lacking(
    info: TableType, table: TableHandle, spec: IndexSpec, found: IndexInfo | None, *, extend: bool
) -> IndexSpec | None:
    """The index, or the part of it, that has to be built on a table."""
    if found is None:
        return _trained(info, table, _fitting(info, table, spec))
    open_fragments = table.fragment_ids() - found.fragments
    if not extend or not open_fragments:
        return None
    behind = table.count_rows(fragments=open_fragments)
    anew = behind * _REBUILD_SHARE >= table.count_rows() or found.segments >= _MOST_SEGMENTS
    if anew:
        named = replace(_fitting(info, table, spec), name=found.name)
    else:
        kind, behind_it = found.index_type.upper(), tuple(sorted(open_fragments))
        named = replace(spec, index_type=kind, name=found.name, fragments=behind_it)
    # A part without vectors has nothing to build from, even if the whole has.
    return (
        _trained(info, table, named) if _trained(info, table, replace(named, fragments=tuple(open_fragments))) else None
    )


def _trained(info: TableType, table: TableHandle, spec: IndexSpec) -> IndexSpec | None:
    """The index with its parameters; None for a vector index without a vector to learn from."""
    if spec.column not in info.properties or info.properties[spec.column].dim is None:
        return spec
    vectors = table.count_rows(f"{column_name(spec.column)} IS NOT NULL", fragments=spec.fragments)
    if not vectors or (spec.metric == "cosine" and not _has_direction(table, spec)):
        return None
    return replace(spec, parameters={"num_partitions": partitions(vectors)})


def part_of(info: TableType, table: TableHandle, spec: IndexSpec, fragments: tuple[int, ...]) -> IndexSpec | None:
    """The same index over some fragments only; None where there is nothing to learn from."""
    return _trained(info, table, replace(spec, fragments=fragments))


def _has_direction(table: TableHandle, spec: IndexSpec) -> bool:
    """Whether there is a vector other than zero; the cosine of a zero vector is not defined and trains nothing."""
    batches = table.batches([spec.column], f"{column_name(spec.column)} IS NOT NULL", fragments=spec.fragments)
    return any(pc.any(pc.not_equal(batch[spec.column].flatten(), 0)).as_py() for batch in batches)


# --- verbs ------------------------------------------------------------------------------------------------


def report_indexes(view: View) -> list[IndexReport]:
    """Every declared index of every table that the view shows, with its coverage; not those of masked properties.

    Whether a vector index can be trained would tell whether there are values.
    """
    shown = (info for info in table_types(view.catalog).values() if view.find(info) is not None)
    return [
        report for info in shown for report in _reports(info, view.table(info)) if report.column not in view.masks(info)
    ]


def _reports(info: TableType, table: TableHandle) -> Iterator[IndexReport]:
    rows = table.count_rows()
    existing = _existing(table)
    pending = {each.property: each.reason for each in pending_indexes(info, table)}
    kinds = declared_indexes(info)
    for spec in _specs(info):
        found = _answering(spec, existing)
        covered = 0 if found is None else table.count_rows(fragments=found.fragments & table.fragment_ids())
        built_as = spec.index_type if found is None else found.index_type.upper()
        name, reason = (None, pending.get(spec.column)) if found is None else (found.name, None)
        yield IndexReport(info.table_key, spec.column, kinds[spec.column], built_as, name, rows, covered, reason)


def ensure_indices(
    core: Core,
    branch: str | None,
    *,
    only: Collection[str] | None = None,
    extend: bool = False,
    runner: str = "auto",
    spark: SparkPlace = None,
    actor: str | None = None,
    message: str | None = None,
) -> list[PendingIndex]:
    """Build the declared indexes that are missing, all in one commit, and say which cannot be built yet.

    Tables that a branch still shares with main are main's business. `only` names the tables to look at; with `extend`
    indexes that lag behind are brought up to date as well. `runner` and `spark` say where large ones are built.
    """
    pending = _build_indexes(
        core, branch, only=only, extend=extend, runner=runner, spark=spark, actor=actor, message=message
    )
    keep_corpora(core, branch, only, runner, spark)
    keep_key_indexes(core, branch, only, runner, spark)
    keep_topologies(core, branch, only, runner, spark)
    keep_statistics(core.view(branch), only)
    keep_probes(core.view(branch), only)
    return pending


def _build_indexes(
    core: Core,
    branch: str | None,
    *,
    only: Collection[str] | None,
    extend: bool,
    runner: str = "auto",
    spark: SparkPlace = None,
    actor: str | None = None,
    message: str | None = None,
    unread: bool = True,
) -> list[PendingIndex]:
    """The commit of `ensure_indices`; without `unread` those are left out that only other readers of the tables use."""
    pending: list[PendingIndex] = []
    counts = [entry.row_count for entry in core.view(branch).snapshot.entries.values()]
    build = index_builder(core.tables, runner, counts, spark)

    def prepare(txn: Txn) -> WriteSet:
        view = core.view_in(txn)
        pending.clear()
        writes = []
        for info in table_types(view.catalog).values():
            entry = view.entry(info)
            if (branch is not None and entry.ref is None) or (only is not None and info.table_key not in only):
                continue
            owned = branch is None or entry.owner == branch
            if owned:
                refuse_drift(core.store, entry)
            table = view.tables.get(entry)
            pending.extend(pending_indexes(info, table))
            specs = missing_indexes(info, table, extend=extend)
            specs = [spec for spec in specs if unread or spec.index_type != _WORDS]
            if specs:
                # What has still to be forked is another dataset than the one that tasks would see.
                specs = build(info, table, specs) if owned else specs
                writes.append(TableWrite(info.table_key, (BuildIndexes(tuple(specs)),)))
        return WriteSet(writer_kind="EnsureIndices", tables=tuple(writes), actor_id=actor, message=message)

    commit(core.store, branch, prepare)
    return pending


def build_after(
    core: Core,
    done: GraphCommit | None,
    spark: SparkPlace = None,
    clock: LoadClock | None = None,
    report: Report | None = None,
) -> None:
    """Index the tables that a large commit on main has filled; the commit stands whatever becomes of this."""
    rows = {} if done is None else {name: each.inserted + each.updated for name, each in done.counts.items()}
    if done is None or max(rows.values(), default=0) < LARGE_LOAD:
        return
    types = table_types(core.view(None).catalog).items()
    large = [key for key, info in types if rows.get(info.name, 0) >= LARGE_LOAD]
    clock, is_huge = clock or LoadClock(), sum(rows.values()) >= _HUGE_LOAD
    if is_huge:
        give_back()
    try:
        with clock.stage("index"), reported("index", report), ThreadPoolExecutor(1, "omnigraph-derived") as beside:
            # What is kept beside the graph needs no index, so neither waits for the other. Afterwards it is found to be
            # of a version with the same rows, and stays.
            lists = beside.submit(_keep_lists, core, large, spark)
            # Searches go through corpora: Lance's own index of words took 3 s of processor time for a million keys.
            _build_indexes(core, None, only=large, extend=True, spark=spark, actor=done.actor_id, unread=False)
            keep_corpora(core, None, large, "auto", spark)
            keep_probes(core.view(None), large)
            keep_statistics(core.view(None), large, lists.result)
            lists.result()
    except OmnigraphError as error:
        _LOG.warning("the rows are committed, but their indexes are not built: %s; `optimize` builds them", error)
    if is_huge:
        give_back()


def _keep_lists(core: Core, only: Collection[str], spark: SparkPlace) -> None:
    keep_key_indexes(core, None, only, "auto", spark)
    keep_topologies(core, None, only, "auto", spark)
