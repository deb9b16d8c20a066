"""The driver's side of staging: the splits of one load, what became of each, and where a refused row stands."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any, Literal

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.embeddings.cache import shared
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.intake.embedding import FillPlan, plan_filling
from omnigraph.engine.intake.sources import is_paths
from omnigraph.engine.intake.violations import Violation
from omnigraph.engine.values.load_profile import Progress
from omnigraph.engine.values.result import EmbedCounts
from omnigraph.ids import reserve_ulids
from omnigraph.pipeline.tasks.buckets import partitions_for
from omnigraph.pipeline.tasks.jobs import Counts, Tasks
from omnigraph.pipeline.tasks.key_rows import place_of_code
from omnigraph.pipeline.tasks.key_sets import Part
from omnigraph.pipeline.tasks.left_out import NOWHERE, Findings, Joined, join_findings, shares
from omnigraph.pipeline.tasks.refusal import first_lines, row_refusals
from omnigraph.pipeline.tasks.rejects import join_rejects, reject_split
from omnigraph.pipeline.tasks.resume import Resumed, adopted, plan_of, write_plan
from omnigraph.pipeline.tasks.shared import Shared
from omnigraph.pipeline.tasks.splits import (
    SPLIT_BYTES,
    SPLIT_ROWS,
    Source,
    Split,
    Unpacked,
    about_rows,
    cut,
    in_tasks,
    plan_sources,
    task_rows,
)
from omnigraph.pipeline.tasks.stage import Staged, StageJob, decoded_places, stage_splits
from omnigraph.pipeline.tasks.unpack import unpack, wants_unpacking
from omnigraph.policy.external_blobs import ExternalBlobPolicy
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import Root
from omnigraph.storage.base.objects import open_objects
from omnigraph.storage.lance import parts
from omnigraph.storage.manifest.snapshot import Snapshot

_log = logging.getLogger(__name__)
# What a row of key columns takes in a check, with the tables that compare it.
_ROW_BYTES = 128


def _sum_of(name: str) -> Callable[[Sequence[Staged]], int]:
    return lambda found: sum(getattr(staged, name) for staged in found)


# What Spark shows of the tasks that stage: what they keep, what they refuse, and what they have read.
_STAGED: Counts = {name: _sum_of(name) for name in ("rows", "rejects", "bytes")}
_EMBEDDED: Counts = {"vectors": _sum_of("vectors")}
_UNPACKED: Counts = {"bytes": lambda pieces: sum(piece.size for piece in pieces)}
_STAGED_AGAIN: Counts = {"rows staged again": _sum_of("rows")}
# Used as the number of rows where it is unknown: enough partitions for a load of any size that is usual.
MANY_ROWS = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Sizes: how input is cut, how many rows one check may hold in memory, and how finely keys are partitioned.

    A part with fewer than `keyed_rows` rows for each partition is partitioned later, where that turns out to be needed.
    """

    split_bytes: int = SPLIT_BYTES
    split_rows: int = SPLIT_ROWS
    bucket_rows: int = 8 << 20
    partition_rows: int = 1 << 18
    keyed_rows: int = 64
    part_bytes: int = 512 << 20
    samples: int = 20

    @classmethod
    def within(cls, memory: int) -> Tuning:
        """Sizes for tasks that may use about so many bytes each."""
        return cls(bucket_rows=max(1, memory // _ROW_BYTES), part_bytes=memory // 2)

    @property
    def smallest(self) -> int:
        """So many rows are checked in one piece, without partitions."""
        return min(self.bucket_rows, self.partition_rows)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a load keeps its scratch files: a graph, and an id of its own; and what its rows may refer to."""

    root: Root
    load_id: str
    external: ExternalBlobPolicy | None = None
    resumed: Resumed | None = None
    stored: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Prestaged:
    """What the tasks of a job that is not ours have staged: all of its splits, numbered from zero."""

    job: StageJob
    splits: tuple[Split, ...]
    staged: tuple[Staged, ...]


def stage_job(
    place: Place,
    catalog: Catalog,
    request: LoadRequest,
    tuning: Tuning,
    *,
    cores: int,
    elsewhere: bool,
    rows: int = MANY_ROWS,
) -> StageJob:
    """What the tasks of a load of about so many rows have to know; those that run elsewhere are armed by it."""
    return StageJob(
        root=place.root,
        load_id=place.load_id,
        catalog=catalog,
        first_id=reserve_ulids(1),
        samples=tuning.samples,
        mode=request.mode,
        partitions=partitions_for(rows, tuning.smallest),
        keyed_rows=tuning.keyed_rows,
        part_bytes=tuning.part_bytes,
        skip=request.on_error == "skip",
        max_errors=request.max_errors,
        failpoints=os.environ.get(failpoints.ENVIRONMENT, "") if elsewhere else "",
        fill=_fill_plan(catalog, request, cores),
        external=place.external,
        stored=place.stored,
        order_by=request.order_by,
    )


class Staging:
    """The staged rows of one load under one schema; rows may be dropped, which stages their splits again."""

    def __init__(
        self, job: StageJob, request: LoadRequest, tasks: Tasks, splits: Sequence[Split], task_rows: int = 1
    ) -> None:
        self.job = job
        self.request = request
        self.tasks = tasks
        self.splits = splits
        self._task_rows = task_rows
        self._groups = in_tasks(splits, lambda split: split, task_rows)  # those of each have their parts in common
        self._staged: dict[int, Staged] = {}
        self._left_out: dict[int, str] = {}  # files of the rows that checks of sets have refused, by split
        self._told: set[int] = set()  # those of which the rejects have something to say

    @classmethod
    def of(cls, place: Place, catalog: Catalog, request: LoadRequest, tasks: Tasks, tuning: Tuning) -> Staging:
        """Cut the input and stage every split of it that an interrupted load has not staged before."""
        sources = plan_sources(request, f"{place.root.uri}/{parts.load_directory(place.load_id)}")
        before = place.resumed
        cores = tasks.cores if before is None else before.plan.cores  # so that the input is cut as it was
        sizes = {"split_bytes": tuning.split_bytes, "split_rows": tuning.split_rows}
        splits = cut(sources, cores=cores, unpacked=_unpacked(place, sources, request, tasks, tuning), **sizes)
        elsewhere = tasks.name == "spark"
        rows = about_rows(splits)
        job = stage_job(place, catalog, request, tuning, cores=tasks.cores, elsewhere=elsewhere, rows=rows)
        if before is not None:
            job = replace(job, first_id=before.plan.first_id)
        # Who computes vectors is waited for, so small splits are worth a task as soon as a core is idle.
        fewest = {} if job.fill.embedder is None else {"fewest": 1}
        together = task_rows(splits, cores=cores, **sizes, **fewest)
        made = cls(replace(job, records=_may_resume(request, rows, tuning)), request, tasks, splits, together)
        if before is not None and sum(before.plan.groups) == len(splits):
            rest = iter(splits)
            made._groups = [tuple(islice(rest, size)) for size in before.plan.groups]
        if made.job.records:
            made._plan(sources, cores, before)
        if request.resume and not request.dry_run:
            made._tell_resumed()
        made._stage({split.index for split in splits} - made._staged.keys())
        made._report()
        return made

    def _plan(self, sources: Sequence[Source], cores: int, before: Resumed | None) -> None:
        """Leave word for a load that goes on after this one, and take what one before it has left."""
        objects, plan = open_objects(self.job.root), plan_of(self.job, self.request, sources, cores, self._groups)
        if before is not None:
            self._staged = {each.split: each for each in adopted(objects, before, plan, self._groups)}
        write_plan(objects, self.job.load_id, plan)

    def _tell_resumed(self) -> None:
        """Say whether resuming was of use: a file that was touched, or another mode, makes it stage everything."""
        taken, every = len(self._staged), len(self.splits)
        self.request.clock.resumed = taken, every
        if taken:
            _log.info("%d of %d splits were taken over from the interrupted load", taken, every)
        else:
            _log.info("nothing that an interrupted load has left can be used: all of the input is staged")

    @classmethod
    def taken_over(cls, done: Prestaged, request: LoadRequest, tasks: Tasks) -> Staging:
        """Go on with what others have staged."""
        made = cls(done.job, request, tasks, done.splits)
        made._staged = {each.split: each for each in done.staged}
        return made

    @property
    def parts(self) -> dict[str, tuple[Part, ...]]:
        """Every part, by table, in input order."""
        found: dict[str, list[Part]] = {}
        for index in sorted(self._staged):
            for part in self._staged[index].parts:
                found.setdefault(part.table_key, []).append(part)
        return {key: tuple(found[key]) for key in sorted(found)}

    def put_parts(self, changed: Sequence[Part]) -> None:
        """Take parts of which more is known now than when they were staged."""
        by_place = {part.location: part for part in changed}
        for staged in self._staged.values():
            staged.parts = [by_place.get(part.location, part) for part in staged.parts]

    @property
    def refused(self) -> Counter[str]:
        """How many rows were refused by themselves, by code."""
        return sum((staged.refused for staged in self._staged.values()), Counter[str]())

    @property
    def late(self) -> Counter[str]:
        """How many rows were left out because stored ones are newer, by type."""
        return sum((staged.late for staged in self._staged.values()), Counter[str]())

    @property
    def bytes(self) -> int:
        """How many bytes of input were decoded."""
        return sum(staged.bytes for staged in self._staged.values())

    @property
    def referred(self) -> list[str]:
        """The URIs of objects outside the graph that staged rows refer to."""
        return [uri for index in sorted(self._staged) for uri in self._staged[index].referred]

    @property
    def embeddings(self) -> EmbedCounts:
        """What became of `@embed` targets in all splits."""
        every = [self._staged[index].embeddings for index in sorted(self._staged)]
        filled = sum((Counter(each.filled) for each in every), Counter[str]())
        left = sum((Counter(each.left) for each in every), Counter[str]())
        why = next((each.why for each in every if each.why is not None), None)
        return EmbedCounts(dict(sorted(filled.items())), dict(sorted(left.items())), why)

    def samples(self) -> list[Violation]:
        """The first refusals of rows by themselves, with file and line."""
        return row_refusals(self.splits, self._staged)

    def joined(
        self, files: Sequence[Findings], as_: Literal["rejects", "left out"] = "left out", *, in_words: bool = False
    ) -> Joined:
        """What checks have found about rows of the parts as they are, joined by split; Spark shows how many rows that
        is, as refused ones or as others."""
        count, place = len(self.splits), self._place("left-out")
        shared = Shared(tuple(files), place)
        work = list(shares(count, 2 * self.tasks.cores, self._left_out))
        answers = self._run(
            "join",
            lambda share: join_findings(place, shared.value, share, in_words=in_words),
            work,
            {as_: attrgetter("total")},
        )
        return sum(answers, Joined())

    def leave_out(self, joined: Joined, *, told: bool = False) -> None:
        """Leave rows out from now on; if they are to be told, `write_rejects` says why."""
        self._left_out |= joined.files
        self._told |= joined.files.keys() if told else set()

    def stage_again(self, joined: Joined) -> None:
        """Stage the splits that have lost rows."""
        self._stage(joined.files, again=True)

    def take_back(self) -> None:
        """Stage again what was left out."""
        splits = set(self._left_out)
        self._left_out, self._told = {}, set()
        self._stage(splits, again=True)

    def placed(self, found: Sequence[Violation]) -> list[Violation]:
        """Findings whose lines are row codes, with file and physical line; their splits are decoded once more."""
        wanted: dict[int, dict[str, list[int]]] = {}
        for violation in found:
            for code in (violation.line, violation.earlier[0]):
                if code is not None:
                    split, position = place_of_code(code)
                    wanted.setdefault(split, {}).setdefault(violation.table_key or "", []).append(position)
        job = replace(self.job, max_errors=None)
        items = [(split, self._left_out.get(split.index, ""), wanted[split.index]) for split in self._located(wanted)]
        answers = self._run_each("locate", lambda item: decoded_places(job, *item), items)
        lines = {split.index: answer for (split, *_), answer in zip(items, answers, strict=True)}
        return [self._at(violation, lines) for violation in found]

    def write_rejects(self) -> None:
        """Write every refused row to the place that the caller named, if there is one."""
        wanted = self.request.rejects
        if wanted is None:
            return
        job, count, place = self.job, len(self.splits), self._place("rejects")
        bad = self._told | {split.index for split in self.splits if self._staged[split.index].refused}
        items: list[tuple[Split | None, str, str]] = []
        for split in self._located(bad):
            told = self._left_out[split.index] if split.index in self._told else ""
            items.append((split, told, f"{place}/{split.index:06d}.jsonl"))
        if NOWHERE in self._told:
            items.append((None, self._left_out[NOWHERE], f"{place}/others.jsonl"))
        self._run_each("rejects", lambda item: reject_split(job, *item, splits=count), items)
        join_rejects(wanted, [path for _, _, path in items])

    def _stage(self, wanted: Collection[int], *, again: bool = False) -> None:
        """Stage some splits, and those that have their parts in common with them."""
        job = self.job
        groups = [[split.index for split in group] for group in self._groups]
        mine = [group for group in groups if not set(wanted).isdisjoint(group)]
        located = {split.index: split for split in (self._located(set().union(*mine)) if again else self.splits)}
        items = [[(located[at], self._left_out.get(at, "")) for at in group] for group in mine]
        counts = _STAGED_AGAIN if again else {**_STAGED, **(_EMBEDDED if job.fill.embedder is not None else {})}
        for found in self._run("stage", lambda item: stage_splits(job, item), items, counts):
            self._staged |= {staged.split: staged for staged in found}

    def _located(self, splits: Collection[int]) -> list[Split]:
        """Some splits in their order, with the numbers of their first lines as far as they are known by now."""
        firsts = first_lines(self.splits, self._staged)
        return [replace(self.splits[at], first=firsts[at]) for at in sorted(splits) if at != NOWHERE]

    def _place(self, name: str) -> str:
        return f"{self.job.root.uri}/{parts.load_directory(self.job.load_id)}/{name}"

    def _report(self) -> None:
        if self.request.progress is not None:
            every = self._staged.values()
            rows, size = sum(each.rows for each in every), sum(each.bytes for each in every)
            self.request.progress(Progress("stage", len(self._groups), len(self._groups), rows, size))

    def _at(self, violation: Violation, lines: Mapping[int, Mapping[tuple[str, int], int]]) -> Violation:
        def place(code: int | None) -> tuple[int | None, str | None]:
            if code is None:
                return None, None
            split, position = place_of_code(code)
            return lines[split][violation.table_key or "", position], self.splits[split].source.shown

        line, file = place(violation.line)
        return (
            violation if line is None else replace(violation, line=line, file=file, earlier=place(violation.earlier[0]))
        )

    def _run_each(self, stage: str, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """The answer for each item, whose first member is a split; a task has several of small ones."""
        groups = in_tasks(items, itemgetter(0), self._task_rows)
        answers = self._run(stage, lambda group: [work(item) for item in group], groups)
        return [answer for mine in answers for answer in mine]

    def _run(
        self, stage: str, work: Callable[[Any], Any], items: Sequence[Any], counts: Counts | None = None
    ) -> list[Any]:
        return self.tasks.run(work, items, stage=stage, report=self.request.progress, counts=counts)


def _unpacked(
    place: Place, sources: Sequence[Source], request: LoadRequest, tasks: Tasks, tuning: Tuning
) -> dict[Source, Sequence[Unpacked]]:
    """The pieces of sources that would otherwise be one task each."""
    wanted = [source for source in sources if wants_unpacking(source, tuning.split_bytes)]
    scratch, size = f"{place.root.uri}/{parts.load_directory(place.load_id)}", tuning.split_bytes
    found = tasks.run(
        lambda each: unpack(each, scratch, size), wanted, stage="unpack", report=request.progress, counts=_UNPACKED
    )
    return dict(zip(wanted, found, strict=True))


def _may_resume(request: LoadRequest, rows: int, tuning: Tuning) -> bool:
    """Whether another load could go on with what this one stages: it reads files, and enough to be worth it."""
    return rows > tuning.smallest and (request.mapping is not None or is_paths(request.data)) and not request.dry_run


def _fill_plan(catalog: Catalog, request: LoadRequest, processes: int) -> FillPlan:
    """Who embeds in the workers; together they keep to the provider's rate."""
    plan = plan_filling(catalog, request.embedder, no_embed=request.no_embed)
    if plan.embedder is not None:
        plan = replace(plan, embedder=shared(plan.embedder, processes))
    return plan.as_dry_run() if request.dry_run else plan
