"""Checks that need many rows at once, as Spark tasks: repeated ids and tuples, endpoints, edges per source.

Workers read key columns straight from the scratch parts and from the pinned tables, so neither the JVM nor the driver
touches them. A set that is too large for one task is cut into buckets by a hash of its values; inside a bucket the
engine's own validator compares real values, which keeps every check exact whatever the hash does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Card, Catalog, EdgeType, NodeType
from omnigraph.engine.intake.records import FILE, LINE
from omnigraph.engine.intake.violations import Violation
from omnigraph.engine.values.arrow import TableType, empty_rows, table_types
from omnigraph.engine.values.result import LoadMode
from omnigraph.engine.values.rowset import last_positions, one_array
from omnigraph.engine.views.view import OpenTables, View
from omnigraph.engine.write.change_set import EdgeColumn, TableChange
from omnigraph.engine.write.edge_checks import (
    broken_sources,
    card_violation,
    dangling_edges,
    edges_to_check,
    missing_ends,
    most_edges,
)
from omnigraph.engine.write.unique_checks import unique_violations
from omnigraph.pipeline.tasks.buckets import bucket_mask
from omnigraph.pipeline.tasks.committed import BucketRows
from omnigraph.pipeline.tasks.stage import Part
from omnigraph.storage.base.layout import Root
from omnigraph.storage.lance import parts as scratch
from omnigraph.storage.manifest.snapshot import Snapshot

Phase: TypeAlias = Literal["ids", "unique", "endpoints", "dangling", "cardinality"]

# A row's place in the input as one number, while a check runs: split, then position among its table's rows.
_SPLIT_SHIFT = 40


@dataclass(frozen=True, slots=True)
class CheckJob:
    """What every check knows: the parts by table, the pinned tables, and how many findings to name."""

    root: Root
    catalog: Catalog
    snapshot: Snapshot
    mode: LoadMode
    parts: Mapping[str, tuple[Part, ...]]
    limit: int | None

    @property
    def view(self) -> View:
        return View(self.snapshot, self.catalog, None, OpenTables(self.root))

    @property
    def replaces(self) -> bool:
        return self.mode == "overwrite"


@dataclass(frozen=True, slots=True)
class Check:
    """One task: a phase on one table, on one bucket of its values, for edges on some of the parts."""

    phase: Phase
    table_key: str
    group: tuple[str, ...] = ()
    bucket: int = 0
    buckets: int = 1
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What one check found; lines of violations are row codes until `place_of_code` undoes them.

    `violations` are as many as the job wants to name, `refused` the codes of all rows that have to go, by what is wrong
    with them; `superseded` are codes of rows that a later row of the same id replaces, `matched_parts` the parts with
    existing ids.
    """

    check: Check
    violations: tuple[Violation, ...] = ()
    refused: tuple[tuple[str, np.ndarray], ...] = ()
    superseded: tuple[int, ...] = ()
    matched_parts: frozenset[str] = field(default_factory=frozenset)


def place_of_code(code: int) -> tuple[int, int]:
    """(split, position) of a row."""
    return code >> _SPLIT_SHIFT, code & ((1 << _SPLIT_SHIFT) - 1)


class _Known(TableChange):
    """A change whose ids are known to be distinct, so that the last of each need not be looked for."""

    @cached_property
    def final_positions(self) -> np.ndarray:
        return np.arange(self.rows.num_rows)

    @cached_property
    def final(self) -> pa.Table:
        return self.rows


# --- planning ------------------------------------------------------------------------------------------


def plan_checks(job: CheckJob, phases: Sequence[Phase], *, bucket_rows: int, task_rows: int) -> list[Check]:
    """The tasks that prove a load sound, in the order in which the validator would look."""
    found: list[Check] = []
    for phase in phases:
        match phase:
            case "ids":
                for key, mine in sorted(job.parts.items()):
                    found += _bucketed(Check("ids", key), _explicit(mine), bucket_rows)
            case "unique":
                for key, mine in sorted(job.parts.items()):
                    for group in _groups(table_types(job.catalog)[key]):
                        found += _bucketed(Check("unique", key, group), mine, bucket_rows)
            case "endpoints" | "dangling" | "cardinality":
                found += _edge_checks(job, phase, bucket_rows, task_rows)
    return found


def _explicit(mine: Sequence[Part]) -> list[Part]:
    """The parts whose ids may clash: generated ones are new by construction."""
    return [part for part in mine if not part.fresh]


def _groups(info: TableType) -> list[tuple[str, ...]]:
    key = set(info.key or ()) if isinstance(info, NodeType) else set()
    return [group for group in info.unique if set(group) != key]


def _bucketed(check: Check, mine: Sequence[Part], bucket_rows: int) -> Iterator[Check]:
    rows = sum(part.rows for part in mine)
    buckets = -(-rows // bucket_rows)
    for bucket in range(buckets):
        yield replace(check, bucket=bucket, buckets=buckets, parts=tuple(mine))


def _edge_checks(job: CheckJob, phase: Phase, bucket_rows: int, task_rows: int) -> Iterator[Check]:
    touched = {key: TableChange(table_types(job.catalog)[key], replaced=job.replaces) for key in job.parts}
    for edge in edges_to_check(job.catalog, touched):
        mine = job.parts.get(edge.table_key, ())
        match phase:
            case "endpoints":
                for group in _task_groups(mine, task_rows):
                    yield from _endpoint_checks(job, edge, group, bucket_rows)
            case "dangling" if job.replaces and not mine:
                yield Check("dangling", edge.table_key)
            case "cardinality" if mine and edge.card != Card():
                yield from _bucketed(Check("cardinality", edge.table_key), mine, bucket_rows)


def _endpoint_checks(job: CheckJob, edge: EdgeType, group: tuple[Part, ...], bucket_rows: int) -> Iterator[Check]:
    nodes = max(sum(part.rows for part in job.parts.get(f"node:{name}", ())) for name in (edge.from_type, edge.to_type))
    buckets = max(1, -(-nodes // bucket_rows))
    for bucket in range(buckets):
        yield Check("endpoints", edge.table_key, bucket=bucket, buckets=buckets, parts=group)


def _task_groups(mine: Sequence[Part], task_rows: int) -> Iterator[tuple[Part, ...]]:
    group: list[Part] = []
    for part in mine:
        if group and sum(each.rows for each in group) + part.rows > task_rows:
            yield tuple(group)
            group = []
        group.append(part)
    if group:
        yield tuple(group)


# --- inside a worker -----------------------------------------------------------------------------------


def run_check(job: CheckJob, check: Check) -> Found:
    """Run one check."""
    info = table_types(job.catalog)[check.table_key]
    match check.phase:
        case "ids":
            return _check_ids(job, check, info)
        case "unique":
            return _check_unique(job, check, info)
        case "endpoints":
            assert isinstance(info, EdgeType)
            return _found(job, check, _check_endpoints(job, check, info))
        case "dangling":
            assert isinstance(info, EdgeType)
            return _found(job, check, dangling_edges(info, _nodes(job, info), BucketRows(job.view), job.limit))
        case "cardinality":
            assert isinstance(info, EdgeType)
            return _check_cardinality(job, check, info)


def _found(job: CheckJob, check: Check, violations: Sequence[Violation]) -> Found:
    """All findings of a check as an answer: some named, all counted by row, in the order in which codes appear."""
    rows: dict[str, list[int]] = {}
    for violation in violations:
        if violation.line is not None:
            rows.setdefault(violation.code, []).append(violation.line)
    refused = tuple((code, np.unique(np.array(found, np.int64))) for code, found in rows.items())
    return Found(check, tuple(violations[: job.limit]), refused)


def _check_ids(job: CheckJob, check: Check, info: TableType) -> Found:
    key = info.key if isinstance(info, NodeType) else None
    rows, codes = _rows(job, check, ["id", *(key or ())], ["id"])
    view = BucketRows(job.view)
    change = _change(replace(info, unique=()), rows, codes, job)
    found = _found(job, check, unique_violations(change, view, None))
    if job.mode != "merge":
        return found
    ids = one_array(rows["id"])
    last = last_positions(ids)
    superseded = np.delete(codes, last) if key is None else np.zeros(0, np.int64)
    present = view.present(info.table_key, ids.take(pa.array(last)))
    hit = codes[pc.is_in(ids, value_set=present).to_numpy(zero_copy_only=False)] if len(present) else codes[:0]
    return replace(found, superseded=tuple(superseded.tolist()), matched_parts=_locations(check.parts, hit))


def _locations(mine: Sequence[Part], codes: np.ndarray) -> frozenset[str]:
    ranges = ((part, (part.split << _SPLIT_SHIFT) + part.start) for part in mine)
    return frozenset(p.location for p, low in ranges if ((codes >= low) & (codes < low + p.rows)).any())


def _check_unique(job: CheckJob, check: Check, info: TableType) -> Found:
    rows, codes = _rows(job, check, ["id", *check.group], check.group)
    alone = replace(info, unique=(check.group,))
    if isinstance(alone, NodeType):
        alone = replace(alone, key=None)
    view = BucketRows(job.view)
    change = replace(_change(alone, rows, codes, job), new=False, distinct=False)
    found = unique_violations(change, view, None)
    if check.buckets > 1 and found:
        found = _confirmed(job, check, change, view, found)
    return _found(job, check, found)


def _confirmed(
    job: CheckJob, check: Check, change: TableChange, view: BucketRows, found: Sequence[Violation]
) -> list[Violation]:
    """Findings of one bucket that hold when the other buckets are known.

    A committed holder that the load rewrites does not count, and neither does a row whose id comes again further down;
    rows that repeat a tuple inside the input break the rule in any case.
    """
    every, codes = _rows(job, replace(check, buckets=1), ["id"], ["id"])
    ids = one_array(every["id"])
    holders = pa.array(sorted({violation.ids[1] for violation in found}), pa.utf8())
    last = codes[last_positions(ids)]
    assert change.places is not None
    mask = pa.array(np.isin(change.places[LINE].to_numpy(), last))
    remaining = replace(
        change,
        batches=(change.rows.filter(mask),),
        places=change.places.filter(mask),
        deleted=holders.filter(pc.is_in(holders, value_set=ids)),
    )
    repeated = unique_violations(replace(change, replaced=True), view, None)
    held = [each for each in unique_violations(remaining, view, None) if each not in repeated]
    return sorted([*repeated, *held], key=lambda violation: (violation.ids[0], violation.property_name or ""))


def _among_input(job: CheckJob, check: Check, ids: pa.Array) -> pa.Array:
    every, _ = _rows(job, replace(check, buckets=1), ["id"], ["id"])
    return ids.filter(pc.is_in(ids, value_set=one_array(every["id"])))


def _check_endpoints(job: CheckJob, check: Check, edge: EdgeType) -> list[Violation]:
    nodes = _nodes(job, edge, check.bucket, check.buckets)
    view = BucketRows(job.view)
    found: list[Violation] = []
    ends: tuple[EdgeColumn, ...] = ("src", "dst")
    for column in ends:
        rows, codes = _rows(job, check, ["id", column], [column])
        changes = {**nodes, edge.table_key: _distinct(edge, rows, codes, job)}
        found += missing_ends(edge, column, changes, view, None)
    return found


def _check_cardinality(job: CheckJob, check: Check, edge: EdgeType) -> Found:
    rows, codes = _rows(job, check, ["id", "src"], ["src"])
    change = _distinct(edge, rows, codes, job)
    view = BucketRows(job.view, check.bucket, check.buckets)
    if job.mode == "merge" and check.buckets > 1:
        change = replace(change, deleted=_rewritten_elsewhere(job, check, change, view))
    changes = {**(_nodes(job, edge, check.bucket, check.buckets) if job.replaces else {}), edge.table_key: change}
    sources, counts = broken_sources(edge, changes, view)
    if not len(sources):
        return Found(check)
    of = pc.index_in(one_array(rows["src"]), value_set=sources).fill_null(-1).to_numpy(zero_copy_only=False)
    gone = np.flatnonzero(_surplus(of, counts, most_edges(edge)))
    named = list(zip(of[gone].tolist(), codes[gone].tolist(), strict=True))
    # A source that only loses edges has no row here that could go.
    named += [(int(at), None) for at in np.setdiff1d(np.arange(len(sources)), of[gone])]
    ids = sources.to_pylist()
    named.sort(key=lambda each: (ids[each[0]], each[1] or 0))
    told = [replace(card_violation(edge, ids[at], int(counts[at])), line=code) for at, code in named[: job.limit]]
    return Found(check, tuple(told), (("W014", np.sort(codes[gone])),))


def _surplus(of: np.ndarray, counts: np.ndarray, most: int) -> np.ndarray:
    """Which rows have to go, given each row's source (-1: none that is broken) and how many edges that would have.

    Of a source with too many edges those stay that are committed, then the first of the input, up to the bound; a
    source with too few keeps none of its rows.

    >>> _surplus(np.array([0, -1, 0, 1, 0]), np.array([3, 1]), 2).tolist()
    [False, False, False, True, True]
    """
    order = np.argsort(of, kind="stable")
    grouped = of[order]
    starts = np.searchsorted(grouped, grouped)
    rank = np.empty(len(of), np.int64)
    rank[order] = np.arange(len(of)) - starts
    mine = np.bincount(of[of >= 0], minlength=len(counts))
    allowed = np.where(counts > most, np.maximum(most - (counts - mine), 0), 0)
    surplus: np.ndarray = (of >= 0) & (rank >= allowed[of])
    return surplus


def _rewritten_elsewhere(job: CheckJob, check: Check, change: TableChange, view: BucketRows) -> pa.Array:
    """Committed edges of this bucket that the load gives a source in another bucket."""
    committed = one_array(view.all_edges(check.table_key)["id"])
    touched = _among_input(job, check, committed)
    return touched.filter(pc.invert(pc.is_in(touched, value_set=change.ids)))


def _nodes(job: CheckJob, edge: EdgeType, bucket: int = 0, buckets: int = 1) -> dict[str, TableChange]:
    """The loaded nodes at both ends of an edge type, ids only."""
    found: dict[str, TableChange] = {}
    for name in {edge.from_type, edge.to_type}:
        info = job.catalog.nodes[name]
        mine = job.parts.get(info.table_key)
        if mine is not None:
            # No edge of the input can name an id that was generated.
            check = Check("ids", info.table_key, bucket=bucket, buckets=buckets, parts=tuple(_explicit(mine)))
            rows, codes = _rows(job, check, ["id"], ["id"])
            found[info.table_key] = _distinct(info, rows, codes, job)
    return found


def _change(info: TableType, rows: pa.Table, codes: np.ndarray, job: CheckJob) -> TableChange:
    places = pa.table({LINE: pa.array(codes), FILE: pa.nulls(len(codes), pa.utf8())})
    return TableChange(
        info,
        (rows,),
        replaced=job.replaces,
        new=job.mode == "append",
        distinct=job.mode != "merge",
        places=places,
    )


def _distinct(info: TableType, rows: pa.Table, codes: np.ndarray, job: CheckJob) -> TableChange:
    places = pa.table({LINE: pa.array(codes), FILE: pa.nulls(len(codes), pa.utf8())})
    return _Known(info, (rows,), replaced=job.replaces, places=places)


def _rows(job: CheckJob, check: Check, columns: Sequence[str], spread: Sequence[str]) -> tuple[pa.Table, np.ndarray]:
    """Some columns of the rows of a bucket, with the code of each row."""
    tables: list[pa.Table] = []
    codes: list[np.ndarray] = []
    for part in check.parts:
        rows = scratch.open_part(job.root, part.location).scan(list(dict.fromkeys(columns)))
        places = (part.split << _SPLIT_SHIFT) + part.start + np.arange(part.rows, dtype=np.int64)
        if check.buckets > 1:
            mask = bucket_mask([one_array(rows[name]) for name in spread], check.bucket, check.buckets)
            rows, places = rows.filter(pa.array(mask)), places[mask]
        tables.append(rows)
        codes.append(places)
    if not tables:
        info = table_types(job.catalog)[check.table_key]
        return empty_rows(info).select(list(dict.fromkeys(columns))), np.zeros(0, np.int64)
    return pa.concat_tables(tables), np.concatenate(codes)
