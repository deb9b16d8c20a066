"""Staging: a worker decodes its split, checks every row, and writes the good ones as scratch parts of their tables."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.intake.embedding import FillPlan
from omnigraph.engine.intake.external_blobs import new_references, require_few
from omnigraph.engine.intake.inputs.files import require_unchanged
from omnigraph.engine.intake.records import LINE, Fill, Intake, TypeRows, concat_rows
from omnigraph.engine.intake.value_checks import value_findings
from omnigraph.engine.intake.violations import Violation
from omnigraph.engine.values.arrow import to_stored
from omnigraph.engine.values.result import EmbedCounts, LoadMode
from omnigraph.engine.values.rowset import one_array
from omnigraph.engine.views.view import OpenTables, View
from omnigraph.engine.write.change_set import TableChange
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.engine.write.validate import value_violations
from omnigraph.ids import minting_from, new_ulid
from omnigraph.pipeline.tasks.decode import decode_split
from omnigraph.pipeline.tasks.key_sets import Part, sets_of_part, write_keys
from omnigraph.pipeline.tasks.left_out import Reasons, positions_left_out
from omnigraph.pipeline.tasks.splits import Split, require_here
from omnigraph.policy.external_blobs import ExternalBlobPolicy
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import Root
from omnigraph.storage.base.objects import open_objects
from omnigraph.storage.lance import parts
from omnigraph.storage.manifest.snapshot import Snapshot

PART_ROWS = 1 << 20
_FAILPOINTS = ("load.split_begun_at_first", "load.split_staged_at_first", "load.split_staged")
# Room for the ids one split may generate; splits follow each other, so generated ids ascend through the input.
_IDS_PER_SPLIT = 1 << 40


@dataclass(frozen=True, slots=True)
class StageJob:
    """What every staging task knows.

    `failpoints` arms workers that were started before the driver was. Key columns are partitioned while they are in
    memory, in parts that have at least `keyed_rows` rows for each of the `partitions`. With `records` a task leaves
    word of what it staged. `stored` is the state whose rows complete those of a patch, and which rows are compared
    with that have an `order_by`.
    """

    root: Root
    load_id: str
    catalog: Catalog
    first_id: int
    samples: int | None
    mode: LoadMode = "append"
    partitions: int = 1
    keyed_rows: int = 64
    part_bytes: int = 512 << 20
    records: bool = False
    skip: bool = False
    write: bool = True
    max_errors: int | None = None
    failpoints: str = ""
    fill: FillPlan = field(default_factory=FillPlan)
    external: ExternalBlobPolicy | None = None
    stored: Snapshot | None = None
    order_by: str | None = None

    def intake(self, filling: Fill) -> Intake:
        """What a task does for its values; rows of a patch are completed from the state that it is made on."""
        return Intake(filling, self.external, self.stored_rows().rows_of if self.mode == "patch" else None)

    def stored_rows(self) -> PinnedRows:
        """The rows of the state that this load is made on."""
        assert self.stored is not None
        return PinnedRows(View(self.stored, self.catalog, None, OpenTables(self.root)))

    def again(self) -> StageJob:
        """The job for decoding a split that was staged already: no provider is asked for a vector twice."""
        return replace(self, fill=self.fill.as_dry_run())


@dataclass(slots=True)
class Staged:
    """What became of one split. Violations are samples in the order of the phases; `refused` counts rows by code."""

    split: int
    counted_from: int = 1  # the number given to the first line while its real one was unknown
    lines: int = 0
    bytes: int = 0
    parts: list[Part] = field(default_factory=list)
    misread: list[Violation] = field(default_factory=list)
    misvalued: list[Violation] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    late: Counter[str] = field(default_factory=Counter)  # rows that are older than stored ones, by type
    embeddings: EmbedCounts = field(default_factory=EmbedCounts)
    referred: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def rejects(self) -> int:
        return self.refused.total()

    @property
    def vectors(self) -> int:
        """How many vectors were computed."""
        return sum(self.embeddings.filled.values())


def stage_split(job: StageJob, split: Split) -> Staged:
    """Decode, check and write one split."""
    return stage_splits(job, [(split, "")])[0]


def stage_splits(job: StageJob, items: Sequence[tuple[Split, str]]) -> list[Staged]:
    """Decode, check and write consecutive splits, but for the rows that a file of each names; the same call gives the
    same rows and ids again. Their rows share parts, which the first of them answers for."""
    with ExitStack() as held:
        if job.failpoints:
            # Each task is armed by itself, and `@n` means the n-th split nevertheless.
            held.enter_context(failpoints.armed(job.failpoints, dict.fromkeys(_FAILPOINTS, items[0][0].index)))
        found = _staged(job, items)
    if job.records and not any(staged.refused for staged in found) and not any(left_out for _, left_out in items):
        splits = [split for split, _ in items]
        open_objects(job.root).write(record_name(job.load_id, splits[0].index), _record(splits, found), durable=False)
    return found


def _staged(job: StageJob, items: Sequence[tuple[Split, str]]) -> list[Staged]:
    found: list[Staged] = []
    written = _Parts(job, items[0][0].index)
    for split, left_out in items:
        if first_try():
            failpoints.hit("load.split_begun_at_first")
        require_here(split)
        with minting_from(job.first_id + split.index * _IDS_PER_SPLIT):
            found.append(_Stager(job, split, left_out).run(written))
        _require_read_as_listed(split)
    found[0].parts, found[0].referred = written.all(), written.referred
    for _ in items:
        if first_try():
            failpoints.hit("load.split_staged_at_first")
        failpoints.hit("load.split_staged")
    return found


def record_name(load_id: str, split: int) -> str:
    """Where a task says what became of its splits, by its first, for a load that may go on without this driver."""
    return f"{parts.load_directory(load_id)}/staged/{split:06d}.json"


def _record(splits: Sequence[Split], found: Sequence[Staged]) -> str:
    told = {
        "splits": [
            {
                "place": [split.source.file.path, split.start, split.stop],
                "counted_from": staged.counted_from,
                "lines": staged.lines,
                "bytes": staged.bytes,
                "embeddings": asdict(staged.embeddings),
            }
            for split, staged in zip(splits, found, strict=True)
        ],
        "parts": [asdict(part) for part in found[0].parts],
        "referred": found[0].referred,
    }
    return json.dumps(told)


def decoded_places(
    job: StageJob, split: Split, left_out: str, wanted: Mapping[str, Sequence[int]]
) -> dict[tuple[str, int], int]:
    """The lines of some rows of a split, by table and position among the rows that were staged."""
    with minting_from(job.first_id + split.index * _IDS_PER_SPLIT):
        found = _Stager(job.again(), split, left_out).places(wanted)
    _require_read_as_listed(split)
    return found


def refused_lines(job: StageJob, split: Split, reasons: Reasons) -> dict[int, list[Violation]]:
    """Decode a split once more: what is wrong with each of its refused rows, by line.

    `reasons` are those that checks of sets have found, table → position among the rows that pass their own checks.
    """
    with minting_from(job.first_id + split.index * _IDS_PER_SPLIT):
        alone = replace(job.again(), samples=None, write=False)
        found = _Stager(alone, split).refused_lines(reasons)
    _require_read_as_listed(split)
    return found


def _require_read_as_listed(split: Split) -> None:
    """Every split of a file looks at the end whether it is still the one that was listed, so all have read the same."""
    if split.piece is None:  # that of a file was written by this load, which has looked then
        require_unchanged(split.source.file, split.source.shown)


def generated_ids(job: StageJob, splits: int) -> range:
    """The ids that decoding gives to rows without one, as numbers."""
    return range(job.first_id, job.first_id + splits * _IDS_PER_SPLIT)


class _Stager:
    """One task's work on one of its splits."""

    def __init__(self, job: StageJob, split: Split, left_out: str = "") -> None:
        self.job = job
        self.split = split
        self._left_out = positions_left_out(left_out)
        self.staged = Staged(split.index)
        self._filling = job.fill.filling()

    def run(self, written: _Parts) -> Staged:
        """Hand on the good rows and say what was refused."""
        for key, rows in self._good_rows():
            if self.job.write:
                written.add(key, self.split.index, rows)
        self.staged.embeddings = self._filling.counts()
        return self.staged

    def places(self, wanted: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], int]:
        """Lines of rows by table and position."""
        lines: dict[str, list[np.ndarray]] = {}
        for key, rows in self._good_rows():
            lines.setdefault(key, []).append(rows.places[LINE].to_numpy())
        joined = {key: np.concatenate(found) for key, found in lines.items()}
        return {(key, at): int(joined[key][at]) for key, positions in wanted.items() for at in positions}

    def refused_lines(self, reasons: Reasons) -> dict[int, list[Violation]]:
        """What is wrong with each refused row, by line."""
        found: dict[int, list[Violation]] = {}
        seen: Counter[str] = Counter()
        for key, rows in self._good_rows():
            lines = rows.places[LINE].to_numpy()
            for position, mine in reasons.get(key, {}).items():
                if seen[key] <= position < seen[key] + len(lines):
                    found.setdefault(int(lines[position - seen[key]]), []).extend(mine)
            seen[key] += len(lines)
        for violation in (*self.staged.misread, *self.staged.misvalued):
            if violation.line is not None:
                found.setdefault(violation.line, []).append(violation)
        return found

    @property
    def _paying(self) -> bool:
        """Whether rows may still be kept: vectors for rows that cannot be are not paid for."""
        return self.job.write and (self.job.skip or not self.staged.refused)

    def _good_rows(self) -> Iterator[tuple[str, TypeRows]]:
        job, staged = self.job, self.staged
        seen: Counter[str] = Counter()
        first = staged.counted_from = self.split.first or 1
        for piece in decode_split(self.split, job.catalog, first, job.intake(self._filling)):
            staged.lines += piece.lines
            staged.bytes += piece.bytes
            self._refuse(piece.decoded.violations, staged.misread)
            if not self._paying:
                self._filling.plan = job.fill.as_dry_run()  # nothing will be kept, so nothing is paid for
            for key, decoded in piece.decoded.types.items():
                rows = self._in_order(self._valued(decoded))
                kept = self._without_dropped(key, rows, seen[key])
                seen[key] += rows.rows.num_rows
                if kept.rows.num_rows:
                    yield key, kept
            if job.max_errors is not None and staged.refused.total() >= job.max_errors:
                return

    def _valued(self, rows: TypeRows) -> TypeRows:
        """The rows that keep every rule that a row can break by itself."""
        findings = value_findings(rows.info, rows.rows)
        if not findings:
            return rows
        change = TableChange(rows.info, (rows.rows,), places=rows.places)
        found = value_violations(change, self.job.samples)
        keep = np.ones(rows.rows.num_rows, bool)
        total: Counter[str] = Counter()
        for finding in sorted(findings, key=lambda each: each.property_name):
            total[finding.code] += int(keep[finding.rows].sum())  # a row counts once, under its first finding
            keep[finding.rows] = False
        self._refuse(found, self.staged.misvalued, total)
        return _filtered(rows, keep)

    def _in_order(self, rows: TypeRows) -> TypeRows:
        """The rows that are not older than the stored ones of their ids; one without a value is older than any."""
        name = self.job.order_by
        if name is None or rows.fresh or not rows.rows.num_rows:
            return rows
        ids = one_array(rows.rows["id"])
        stored = self.job.stored_rows().rows_of(rows.info, pc.unique(ids))
        found = one_array(stored[name]).take(pc.index_in(ids, one_array(stored["id"])))
        late = pc.fill_null(pc.less(one_array(rows.rows[name]), found), found.is_valid())
        kept = _filtered(rows, pc.invert(late).to_numpy(zero_copy_only=False))
        self.staged.late[rows.info.name] += rows.rows.num_rows - kept.rows.num_rows
        return kept

    def _refuse(
        self, found: Sequence[Violation], samples: list[Violation], counted: Counter[str] | None = None
    ) -> None:
        self.staged.refused += _rows_by_code(found) if counted is None else counted
        samples += found
        if samples is self.staged.misvalued:
            samples.sort(key=value_order)
        if self.job.samples is not None:
            del samples[self.job.samples :]

    def _without_dropped(self, key: str, rows: TypeRows, before: int) -> TypeRows:
        """Leave out what earlier rounds of set checks have refused."""
        dropped = self._left_out.get(key)
        if dropped is None:
            return rows
        keep = np.ones(rows.rows.num_rows, bool)
        keep[dropped[(dropped >= before) & (dropped < before + len(keep))] - before] = False
        return _filtered(rows, keep)


class _Parts:
    """The good rows of one task on their way into parts."""

    def __init__(self, job: StageJob, split: int) -> None:
        self.job = job
        self.referred: list[str] = []
        self._found: list[Part] = []
        self._held: dict[str, list[tuple[int, TypeRows]]] = {}
        self._written: Counter[tuple[str, int]] = Counter()
        # Its own directory per attempt: a repeated task never meets files of an earlier try.
        self._place = f"{parts.load_directory(job.load_id)}/{split:06d}-{new_ulid()}"

    def add(self, key: str, split: int, rows: TypeRows) -> None:
        """Take rows of a split, which follow those that it has brought before."""
        held = self._held.setdefault(key, [])
        held.append((split, rows))
        if self._is_large(held):
            self._flush(key)

    def all(self) -> list[Part]:
        """Every part, when all rows are there."""
        for key in sorted(self._held):
            self._flush(key)
        return self._found

    def _flush(self, key: str) -> None:
        held = self._held[key]
        if not held:
            return
        rows = concat_rows([mine for _, mine in held])
        location = f"{self._place}/{key.replace(':', '-')}-{len(self._found)}"
        stored = to_stored(rows.info, rows.rows)
        parts.write_part(self.job.root, location, stored)
        self._found.append(self._keyed(self._part(key, location, rows), stored))
        self.referred += new_references([rows])
        require_few(self.referred)
        held.clear()

    def _part(self, key: str, location: str, rows: TypeRows) -> Part:
        """The part of all rows that are held, and where those of each split begin in it."""
        held, at = self._held[key], 0
        begins: dict[int, int] = {}
        start = self._written[key, held[0][0]]
        for split, mine in held:
            begins.setdefault(split, at)
            at += mine.rows.num_rows
            self._written[key, split] += mine.rows.num_rows
        (first, _), *further = begins.items()
        return Part(key, location, first, start, at, rows.fresh, further=tuple((at, split) for split, at in further))

    def _keyed(self, part: Part, stored: pa.Table) -> Part:
        """The part with its key columns partitioned, where there is enough for every partition."""
        job = self.job
        if job.partitions == 1 or part.rows < job.partitions * job.keyed_rows:
            return part
        sets = sets_of_part(job.catalog, job.mode, part.table_key, fresh=part.fresh)
        place = write_keys(job.root, part.location, stored, sets, job.partitions)
        return replace(part, keys=place, partitions=job.partitions)

    def _is_large(self, held: Sequence[tuple[int, TypeRows]]) -> bool:
        rows = sum(mine.rows.num_rows for _, mine in held)
        return rows >= PART_ROWS or bool(sum(mine.rows.nbytes for _, mine in held) >= self.job.part_bytes)


def _rows_by_code(found: Sequence[Violation]) -> Counter[str]:
    """How many rows have findings: each counts once, under the first."""
    first: dict[int | None, str] = {}
    for violation in found:
        first.setdefault(violation.line, violation.code)
    return Counter(first.values())


def value_order(violation: Violation) -> tuple[str, str, str]:
    """The order in which the validator reports values."""
    return (violation.table_key or "", violation.ids[0], violation.property_name or "")


def first_try() -> bool:
    """Whether Spark has not tried this task before."""
    # Another thread may be importing it: then this is not a task of Spark.
    contexts: Any = getattr(sys.modules.get("pyspark"), "TaskContext", None)
    context = None if contexts is None else contexts.get()
    return bool(context is None or context.attemptNumber() == 0)


def _filtered(rows: TypeRows, keep: np.ndarray) -> TypeRows:
    if keep.all():
        return rows
    mask = pa.array(keep)
    return TypeRows(rows.info, rows.rows.filter(mask), rows.places.filter(mask), rows.fresh)
