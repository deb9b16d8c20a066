"""Rows that a load leaves out, in files: a check writes what it finds by split, and tasks join that for each split.

So neither the rows nor what is wrong with them passes through the driver: it is told how many there are, and where.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.intake.inputs.files import open_input, open_output
from omnigraph.engine.intake.inputs.partitioned import PartitionedFile, write_partitioned
from omnigraph.engine.intake.violations import Violation
from omnigraph.ids import new_ulid
from omnigraph.pipeline.tasks.key_rows import place_of_codes

NOWHERE = -1
"""The split of findings that are about no row of the input, and the code that they have instead of a row's."""
_MOST_PARTITIONS = 1 << 10
_WORDS = [(name, pa.utf8()) for name in ("entity", "property", "message")]
# `kind` is the code of what is wrong, or empty; words are there when they are wanted for a report.
_FOUND = pa.schema([("row", pa.int64()), ("kind", pa.utf8()), *_WORDS])
# Here `row` is the position among all rows of the table that pass their own checks.
_LEFT = pa.schema([("table", pa.utf8()), *_FOUND])

Reasons = Mapping[str, Mapping[int, Sequence[Violation]]]
"""What sets have against rows of one split: table → position → findings."""


@dataclass(frozen=True, slots=True)
class Findings:
    """A file of rows of one table that have to go, in the order in which they were found within each split."""

    table_key: str
    path: str


@dataclass(frozen=True, slots=True)
class Share:
    """Splits whose findings one task joins: a range of partitions; and the files of those that have some already."""

    low: int
    high: int
    before: Mapping[int, str]


@dataclass(slots=True)
class Joined:
    """The new file of each split that loses rows, and how many rows these are, by table and by what is wrong first."""

    files: dict[int, str] = field(default_factory=dict)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __add__(self, other: Joined) -> Joined:
        return Joined(self.files | other.files, self.counts + other.counts)

    @property
    def total(self) -> int:
        """How many rows these are."""
        return self.counts.total()


# --- while checking ------------------------------------------------------------------------------------


def write_codes(path: str, kinds: Sequence[tuple[str, np.ndarray]], splits: int) -> None:
    """Note rows by their codes, with what is wrong with them."""
    codes = np.concatenate([codes for _, codes in kinds])
    named = [pa.repeat(pa.scalar(kind, pa.utf8()), len(codes)) for kind, codes in kinds]
    nothing = pa.nulls(len(codes), pa.utf8())
    _write(
        path, pa.table([pa.array(codes), pa.concat_arrays(named), *([nothing] * len(_WORDS))], schema=_FOUND), splits
    )


def write_violations(path: str, found: Sequence[Violation], splits: int) -> None:
    """Note findings in words; their lines are row codes."""
    rows = [
        (NOWHERE if each.line is None else each.line, each.code, each.entity_id, each.property_name, each.message)
        for each in found
    ]
    _write(path, pa.table([list(column) for column in zip(*rows, strict=True)], schema=_FOUND), splits)


def partitions_of(splits: int) -> int:
    """How many partitions the findings of so many splits have, besides the last one for those about no row."""
    return max(1, min(splits, _MOST_PARTITIONS))


def _partition(split: int, splits: int) -> int:
    return partitions_of(splits) if split == NOWHERE else split * partitions_of(splits) // splits


def _write(path: str, rows: pa.Table, splits: int) -> None:
    partitions = partitions_of(splits)
    mine, _ = place_of_codes(rows["row"].to_numpy())
    numbers = np.where(mine == NOWHERE, partitions, mine * partitions // splits)
    write_partitioned(path, rows, numbers, partitions + 1)


# --- joining -------------------------------------------------------------------------------------------


def shares(splits: int, tasks: int, before: Mapping[int, str]) -> Iterator[Share]:
    """The work of joining findings, for so many tasks."""
    partitions = partitions_of(splits)
    tasks = max(1, min(tasks, partitions))
    for at in range(tasks):
        low, high = at * partitions // tasks, (at + 1) * partitions // tasks
        if at == tasks - 1:
            high += 1
        yield Share(low, high, {key: path for key, path in before.items() if low <= _partition(key, splits) < high})


def join_findings(place: str, files: Sequence[Findings], share: Share, *, in_words: bool) -> Joined:
    """Add what was found about rows of some splits to their files, which are written anew below `place`.

    A row counts once, under the first that was found about it; files come in the order of the checks.
    """
    found = [(each.table_key, batch) for each in files for batch in _batches(each, share)]
    if not found:
        return Joined()
    tables = pa.concat_arrays([pa.repeat(pa.scalar(key, pa.utf8()), len(batch)) for key, batch in found])
    rows = pa.Table.from_batches([batch for _, batch in found]).add_column(0, "table", tables)
    splits, positions = place_of_codes(rows["row"].to_numpy())
    rows = rows.set_column(1, "row", pa.array(positions))
    order = np.argsort(splits, kind="stable")
    bounds = [*np.flatnonzero(np.diff(splits[order], prepend=-2)).tolist(), len(order)]
    place, joined = f"{place}/{new_ulid()}", Joined()
    for start, end in pairwise(bounds):
        split = int(splits[order[start]])
        mine = rows.take(pa.array(order[start:end]))
        joined.counts += _counts(mine, rowless=split == NOWHERE)
        before = share.before.get(split)
        joined.files[split] = f"{place}/{split}.arrow"
        _write_left(joined.files[split], _added(None if before is None else _read(before), mine, in_words=in_words))
    return joined


def _batches(findings: Findings, share: Share) -> Iterator[pa.RecordBatch]:
    yield from PartitionedFile.open(findings.path).read(share.low, share.high).values()


def _counts(rows: pa.Table, *, rowless: bool) -> Counter[tuple[str, str]]:
    pairs = rows.select(["table", "kind"])
    if not rowless:
        first = rows.select(["table", "row"]).append_column("at", pa.array(range(rows.num_rows)))
        pairs = pairs.take(first.group_by(["table", "row"]).aggregate([("at", "min")])["at_min"])
    return Counter(zip(*(column.to_pylist() for column in pairs.columns), strict=True))


def _added(before: pa.Table | None, rows: pa.Table, *, in_words: bool) -> pa.Table:
    """The rows of a split that were left out before, and those that have to go as well."""
    if in_words:
        rows = _in_order(rows)
    else:
        nothing = pa.nulls(rows.num_rows, pa.utf8())
        rows = pa.table([rows["table"], rows["row"], rows["kind"], *([nothing] * len(_WORDS))], schema=_LEFT)
    if before is None:
        return rows
    gone, positions = positions_in(before), rows["row"].to_numpy().copy()
    for key in pc.unique(rows["table"]).to_pylist():
        mine = pc.equal(rows["table"], key).to_numpy()
        positions[mine] = original_positions(positions[mine], gone.get(key, np.zeros(0, np.int64)))
    return pa.concat_tables([before, rows.set_column(1, "row", pa.array(positions))])


def _in_order(rows: pa.Table) -> pa.Table:
    """Findings as the validator orders them: by table, by id, and of an edge its source first."""
    last = pc.fill_null(rows["property"], "")
    last = pc.if_else(pc.equal(rows["kind"], "W013"), pc.if_else(pc.equal(last, "src"), "0", "1"), last)
    keys = [(name, "ascending") for name in ("table", "entity", "last", "row")]
    return rows.append_column("last", last).sort_by(keys).drop_columns(["last"])


def original_positions(positions: np.ndarray, dropped: np.ndarray) -> np.ndarray:
    """Positions among all rows of rows that are counted after some were dropped.

    >>> original_positions(np.array([0, 1, 2]), np.array([1, 2])).tolist()
    [0, 3, 4]
    """
    kept_before = dropped - np.arange(len(dropped))
    found: np.ndarray = positions + np.searchsorted(kept_before, positions, side="right")
    return found


# --- what was joined -----------------------------------------------------------------------------------


def positions_left_out(path: str) -> dict[str, np.ndarray]:
    """Ascending positions of the rows of a split that are left out, by table; empty without a file."""
    return positions_in(_read(path)) if path else {}


def positions_in(rows: pa.Table) -> dict[str, np.ndarray]:
    """Ascending positions by table."""
    found = {}
    for key in pc.unique(rows["table"]).to_pylist():
        found[key] = np.unique(rows["row"].filter(pc.equal(rows["table"], key)).to_numpy())
    return found


def reasons_in(path: str) -> Reasons:
    """What was said about rows of a split that are left out; nothing without a file."""
    found: dict[str, dict[int, list[Violation]]] = {}
    for position, violation in _said(path) if path else ():
        found.setdefault(violation.table_key or "", {}).setdefault(position, []).append(violation)
    return found


def said_of_no_row(path: str) -> list[Violation]:
    """Findings that are about no row of the input."""
    return [violation for _, violation in _said(path)]


def _said(path: str) -> Iterator[tuple[int, Violation]]:
    rows = _read(path)
    for each in rows.filter(pc.is_valid(rows["message"])).to_pylist():
        ids = () if each["entity"] is None else (each["entity"],)
        yield each["row"], Violation(each["kind"], each["message"], each["table"], each["property"], ids)


def _write_left(path: str, rows: pa.Table) -> None:
    with open_output(path) as file, pa.ipc.new_file(file, _LEFT) as writer:
        writer.write_table(rows)


def _read(path: str) -> pa.Table:
    with open_input(path) as file:
        return pa.ipc.open_file(file).read_all()
