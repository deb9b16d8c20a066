"""Checks that need many rows at once, as tasks: repeated ids and tuples, endpoints, edges per source.

Key columns are partitioned once by a hash of their values, so that everything a check has to compare is in one
partition, and a task reads its partitions and nothing else (decision 0041). Inside a partition the engine's own
validator compares real values, which keeps every check exact whatever the hash does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.engine.intake.records import FILE, LINE
from omnigraph.engine.intake.violations import Violation
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.values.rowset import last_positions, one_array
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
from omnigraph.ids import new_ulid
from omnigraph.pipeline.tasks.answers import Answer, Check, Found, Phase, answer, found_in
from omnigraph.pipeline.tasks.committed import PartitionRows
from omnigraph.pipeline.tasks.key_files import key_path, write_key_file
from omnigraph.pipeline.tasks.key_rows import CheckJob, Coded, KeyRows, code_of, explicit
from omnigraph.pipeline.tasks.key_sets import Part, has_bounds, unique_groups
from omnigraph.pipeline.tasks.left_out import NOWHERE


class _Known(TableChange):
    """A change whose ids are known to be distinct, so that the last of each need not be looked for."""

    @cached_property
    def final_positions(self) -> np.ndarray:
        return np.arange(self.rows.num_rows)

    @cached_property
    def final(self) -> pa.Table:
        return self.rows


# --- planning ------------------------------------------------------------------------------------------


def plan_checks(job: CheckJob, phases: Sequence[Phase], *, task_rows: int) -> list[Check]:
    """The tasks that prove a load sound, in the order in which the validator would look; each of about so many rows."""
    found: list[Check] = []
    for phase in phases:
        match phase:
            case "ids":
                for key, mine in sorted(job.parts.items()):
                    found += _ranges(job, Check("ids", key), task_rows) if explicit(mine) else ()
            case "unique":
                for key in sorted(job.parts):
                    for group in unique_groups(table_types(job.catalog)[key]):
                        found += _ranges(job, Check("unique", key, group), task_rows)
            case "endpoints" | "dangling" | "cardinality":
                found += _edge_checks(job, phase, task_rows)
    return found


def _edge_checks(job: CheckJob, phase: Phase, task_rows: int) -> Iterator[Check]:
    for edge in touched_edges(job):
        mine = job.parts.get(edge.table_key, ())
        check, nodes = Check(phase, edge.table_key), [f"node:{name}" for name in (edge.from_type, edge.to_type)]
        match phase:
            case "endpoints":
                yield from _ranges(job, check, task_rows, nodes) if mine else ()
            case "dangling" if job.replaces and not mine:
                yield from _ranges(job, check, task_rows, nodes)
            case "cardinality" if mine and has_bounds(edge):
                yield from _ranges(job, check, task_rows)


def touched_edges(job: CheckJob) -> list[EdgeType]:
    """The edge types that have to be looked at."""
    touched = {key: TableChange(table_types(job.catalog)[key], replaced=job.replaces) for key in job.parts}
    return list(edges_to_check(job.catalog, touched))


def _ranges(job: CheckJob, check: Check, task_rows: int, others: Sequence[str] = ()) -> Iterator[Check]:
    """The same check on ranges of partitions of about so many rows of its table, or of another that it reads."""
    rows = max(largest(job, key) for key in (check.table_key, *others))
    tasks = max(1, min(job.partitions, -(-rows // task_rows)))
    for at in range(tasks):
        low, high = at * job.partitions // tasks, (at + 1) * job.partitions // tasks
        yield replace(check, low=low, high=high)


def largest(job: CheckJob, table_key: str) -> int:
    """How many rows of a table a check may meet: those of the load, or the committed ones."""
    entry = job.view.find(table_types(job.catalog)[table_key])
    staged = sum(part.rows for part in job.parts.get(table_key, ()))
    return max(staged, 0 if entry is None else entry.row_count)


# --- inside a worker -----------------------------------------------------------------------------------


def run_check(job: CheckJob, check: Check) -> Answer:
    """Run one check, partition by partition."""
    info = table_types(job.catalog)[check.table_key]
    rows = KeyRows(job, check.low, check.high)
    if check.phase == "endpoints":
        assert isinstance(info, EdgeType)
        return answer(job, check, found_in(job, _check_endpoints(rows, info)))
    found = Found()
    for number in range(check.low, check.high):
        found += _check_partition(rows, check, info, number)
    return answer(job, check, found)


def _check_partition(rows: KeyRows, check: Check, info: TableType, number: int) -> Found:
    match check.phase:
        case "ids":
            return _check_ids(rows, check, info, number)
        case "unique":
            return _check_unique(rows, check, info, number)
        case "dangling":
            assert isinstance(info, EdgeType)
            view = PartitionRows(rows, number)
            return found_in(rows.job, dangling_edges(info, _nodes(rows, info, number), view, rows.job.limit))
        case "cardinality":
            assert isinstance(info, EdgeType)
            return _check_cardinality(rows, check, info, number)
        case "endpoints":
            raise AssertionError("endpoints are checked in chunks")


def _check_ids(rows: KeyRows, check: Check, info: TableType, number: int) -> Found:
    job = rows.job
    key = info.key if isinstance(info, NodeType) else None
    along = job.key_set(info.table_key, ["id"]).along
    held, codes = rows.staged(info.table_key, ["id", *along], ["id"], number)
    if not held.num_rows:
        return Found()
    if key is not None and not along:
        held = held.append_column(key[0], held["id"])  # a key of one text is the id
    view = PartitionRows(rows, number)
    found = found_in(job, unique_violations(_change(replace(info, unique=()), held, codes, job), view, None))
    if not job.merges:
        return found
    ids = one_array(held["id"])
    last = last_positions(ids)
    superseded = np.delete(codes, last) if key is None else np.zeros(0, np.int64)
    present = view.present(info.table_key, ids.take(pa.array(last)))
    hit = codes[pc.is_in(ids, value_set=present).to_numpy(zero_copy_only=False)] if len(present) else codes[:0]
    return replace(
        found,
        superseded=(superseded,),
        matched=_part_numbers(job.parts[info.table_key], hit),
        moved=_moved(rows, info, held, number) if len(present) else (),
    )


def _part_numbers(mine: Sequence[Part], codes: np.ndarray) -> frozenset[int]:
    """Which parts have rows with these codes; parts are in the order of the input, and so are codes."""
    starts = np.array([code_of(part) for part in mine])
    return frozenset(np.flatnonzero(np.bincount(np.searchsorted(starts, codes, side="right") - 1)).tolist())


def _moved(rows: KeyRows, info: TableType, held: pa.Table, number: int) -> tuple[str, ...]:
    """Write down the committed edges that the load gives another source, by the source they have."""
    if rows.is_whole or "src" not in held.column_names or not isinstance(info, EdgeType) or not has_bounds(info):
        return ()
    committed = pa.concat_tables(rows.committed(info.table_key, ["id"], number)).select(["id", "src"])
    committed = committed.filter(pc.is_in(committed["id"], value_set=one_array(held["id"])))
    at = pc.index_in(one_array(committed["id"]), value_set=one_array(held["id"]))
    elsewhere = committed.filter(pc.not_equal(one_array(held["src"]).take(at), one_array(committed["src"])))
    if not elsewhere.num_rows:
        return ()
    place = f"{rows.job.scratch}/moved-{new_ulid()}"
    write_key_file(key_path(rows.job.root, place, 0), elsewhere, ["src"], rows.job.partitions)
    return (place,)


def _check_unique(rows: KeyRows, check: Check, info: TableType, number: int) -> Found:
    job = rows.job
    held, codes = rows.staged(info.table_key, ["id", *check.group], check.group, number)
    alone = replace(info, unique=(check.group,))
    if isinstance(alone, NodeType):
        alone = replace(alone, key=None)
    view = PartitionRows(rows, number)
    change = replace(_change(alone, held, codes, job), new=False, distinct=False)
    found = unique_violations(change, view, None)
    if found and not rows.is_whole:
        found = _confirmed(rows, change, view, found)
    return found_in(job, found)


def _confirmed(rows: KeyRows, change: TableChange, view: PartitionRows, found: Sequence[Violation]) -> list[Violation]:
    """Findings of one partition that hold when the others are known.

    A committed holder that the load rewrites does not count, and neither does a row whose id comes again further down;
    rows that repeat a tuple inside the input break the rule in any case.
    """
    concerned = pa.array(sorted({entity for violation in found for entity in violation.ids}), pa.utf8())
    staged, codes = rows.with_ids(change.info.table_key, concerned)
    order = np.argsort(codes)
    ids, codes = one_array(staged["id"]).take(pa.array(order)), codes[order]
    superseded = np.delete(codes, last_positions(ids))
    holders = pc.unique(pa.array([violation.ids[1] for violation in found], pa.utf8()))
    assert change.places is not None
    mask = pa.array(~np.isin(change.places[LINE].to_numpy(), superseded))
    remaining = replace(
        change,
        batches=(change.rows.filter(mask),),
        places=change.places.filter(mask),
        deleted=holders.filter(pc.is_in(holders, value_set=ids)),
    )
    repeated = unique_violations(replace(change, replaced=True), view, None)
    held = [each for each in unique_violations(remaining, view, None) if each not in repeated]
    return sorted([*repeated, *held], key=lambda violation: (violation.ids[0], violation.property_name or ""))


def _check_endpoints(rows: KeyRows, edge: EdgeType) -> list[Violation]:
    """Ends are tested by value alone; the edges are read only when something is missing."""
    nodes = {number: _nodes(rows, edge, number) for number in range(rows.low, rows.high)}
    found: list[Violation] = []
    ends: tuple[EdgeColumn, ...] = ("src", "dst")
    for column in ends:
        for chunk in rows.chunks(edge.table_key, [column]):
            for number, coded in chunk.items():
                found += _missing_ends(PartitionRows(rows, number), edge, column, nodes[number], coded)
    return sorted(found, key=lambda violation: (violation.ids[0], violation.property_name != "src"))


def _missing_ends(
    view: PartitionRows, edge: EdgeType, column: EdgeColumn, nodes: dict[str, TableChange], coded: Coded
) -> list[Violation]:
    values, codes = one_array(coded[0][column]), coded[1]
    node_key = f"node:{edge.from_type if column == 'src' else edge.to_type}"
    loaded = nodes.get(node_key)
    if loaded is not None:
        unknown = pc.invert(pc.is_in(values, value_set=loaded.ids))
        values, codes = values.filter(unknown), codes[unknown.to_numpy(zero_copy_only=False)]
    if len(values) and not (loaded is not None and loaded.replaced):
        present = view.present(node_key, pc.unique(values))
        codes = codes[pc.invert(pc.is_in(values, value_set=present)).to_numpy(zero_copy_only=False)]
    if not len(codes):
        return []
    job = view.rows.job
    bad, codes = view.rows.rows_at(edge.table_key, ["id", column], codes)
    changes = {**nodes, edge.table_key: _distinct(edge, bad, codes, job)}
    return missing_ends(edge, column, changes, view, None)


def _check_cardinality(rows: KeyRows, check: Check, edge: EdgeType, number: int) -> Found:
    job = rows.job
    held, codes = rows.staged(edge.table_key, ["id", "src"], ["src"], number)
    change = _distinct(edge, held, codes, job)
    view = PartitionRows(rows, number)
    if job.merges:
        change = replace(change, deleted=rows.moved(edge.table_key, number))
    changes = {**(_nodes(rows, edge, number) if job.replaces else {}), edge.table_key: change}
    sources, counts = broken_sources(edge, changes, view)
    if not len(sources):
        return Found()
    of = pc.index_in(one_array(held["src"]), value_set=sources).fill_null(-1).to_numpy(zero_copy_only=False)
    gone = np.flatnonzero(_surplus(of, counts, most_edges(edge)))
    # A source that only loses edges has no row here that could go.
    rowless = np.setdiff1d(np.arange(len(sources)), of[gone])
    refused = np.concatenate([codes[gone], np.full(len(rowless), NOWHERE, np.int64)])
    named = zip([*of[gone].tolist(), *rowless.tolist()], refused.tolist(), strict=True)
    if not job.in_words:
        # Errors name a source once, however many of its rows have to go.
        named = zip(pc.sort_indices(sources)[: job.samples].to_pylist(), repeat(NOWHERE), strict=False)
    told = [_at_row(card_violation(edge, sources[at].as_py(), int(counts[at])), code) for at, code in named]
    return Found(tuple(told), (("W014", refused),))


def _at_row(violation: Violation, code: int) -> Violation:
    return violation if code == NOWHERE else replace(violation, line=code)


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


def _nodes(rows: KeyRows, edge: EdgeType, number: int) -> dict[str, TableChange]:
    """The loaded nodes at both ends of an edge type, ids only."""
    found: dict[str, TableChange] = {}
    for name in {edge.from_type, edge.to_type}:
        info = rows.job.catalog.nodes[name]
        if info.table_key in rows.job.parts:
            # No edge of the input can name an id that was generated.
            held, codes = rows.staged(info.table_key, ["id"], ["id"], number)
            found[info.table_key] = _distinct(info, held, codes, rows.job)
    return found


def _change(info: TableType, rows: pa.Table, codes: np.ndarray, job: CheckJob) -> TableChange:
    places = pa.table({LINE: pa.array(codes), FILE: pa.nulls(len(codes), pa.utf8())})
    return TableChange(
        info,
        (rows,),
        replaced=job.replaces,
        new=job.mode == "append",
        distinct=not job.merges,
        places=places,
    )


def _distinct(info: TableType, rows: pa.Table, codes: np.ndarray, job: CheckJob) -> TableChange:
    places = pa.table({LINE: pa.array(codes), FILE: pa.nulls(len(codes), pa.utf8())})
    return _Known(info, (rows,), replaced=job.replaces, places=places)
