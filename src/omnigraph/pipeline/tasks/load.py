"""A load as tasks, from its input to its commit: stage, check, and hand one write set to the ordinary protocol."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from omnigraph.engine.api.access import Access
from omnigraph.engine.api.runners import LoadRequest
from omnigraph.engine.intake.external_blobs import require_reachable
from omnigraph.engine.intake.mapping import described
from omnigraph.engine.intake.mapping_check import check_mapping
from omnigraph.engine.intake.violations import Violation
from omnigraph.engine.values.arrow import stored_schema, table_types
from omnigraph.engine.values.load_profile import Progress
from omnigraph.engine.values.result import LoadResult
from omnigraph.engine.views.view import View
from omnigraph.ids import new_ulid
from omnigraph.pipeline.spark.session import is_local, is_started, require_place, spark_session
from omnigraph.pipeline.tasks.answers import Answer, Phase
from omnigraph.pipeline.tasks.checks import plan_checks, run_check
from omnigraph.pipeline.tasks.jobs import ClockedTasks, LocalTasks, SparkTasks, Tasks
from omnigraph.pipeline.tasks.key_rows import CheckJob
from omnigraph.pipeline.tasks.key_stage import KeyStage, check_rows
from omnigraph.pipeline.tasks.left_out import Joined
from omnigraph.pipeline.tasks.refusal import SetRefusals, raise_refusals
from omnigraph.pipeline.tasks.replace import Arranged, arrange
from omnigraph.pipeline.tasks.resume import Resumed, take_over
from omnigraph.pipeline.tasks.samples import about_sources
from omnigraph.pipeline.tasks.shared import Shared
from omnigraph.pipeline.tasks.stage_driver import Place, Prestaged, Staging, Tuning
from omnigraph.pipeline.tasks.starting import StartingTasks
from omnigraph.storage.base import failpoints
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import AppendParts, OverwriteParts, ReplaceParts, Step, TableWrite, WriteSet
from omnigraph.storage.lance.parts import load_directory
from omnigraph.storage.maintenance.load_claims import claimed, discard_abandoned, require_part
from omnigraph.storage.manifest.epochs import require_next
from omnigraph.storage.manifest.snapshot import Snapshot
from omnigraph.storage.protocol.attempt import Hooks
from omnigraph.storage.protocol.commit import commit

_IDENTITY: tuple[Phase, ...] = ("ids", "unique")
_EDGES: tuple[Phase, ...] = ("endpoints", "dangling", "cardinality")


def load_on_spark(graph: Access, request: LoadRequest) -> LoadResult:
    """Run a load in the session the caller gave, or in this process's own."""
    given = request.spark
    if given is not None and not isinstance(given, str):
        return load(graph, request, SparkTasks(given))
    if not is_started() and not os.environ.get(failpoints.ENVIRONMENT):
        require_place(given)
        return load(graph, request, StartingTasks(given, here=is_local(given)))
    with request.clock.stage("start"):
        session = spark_session(given)
    return load(graph, request, SparkTasks(session))


def load_here(graph: Access, request: LoadRequest) -> LoadResult:
    """Run the same load in this process, task by task."""
    return load(graph, request, LocalTasks())


def load(
    graph: Access, request: LoadRequest, tasks: Tasks, tuning: Tuning | None = None, done: Prestaged | None = None
) -> LoadResult:
    """Load all of the input in one commit, or nothing; scratch files are gone afterwards in either case.

    `done` is what others have staged of the same input, in the scratch directory that the load takes over from them.
    """
    created = False
    if request.base is not None and not request.dry_run:
        created = graph.create_missing(request.branch, request.base)
    clock = request.clock
    resumed = take_over(graph.store, request) if request.resume and not request.dry_run else None
    tuning = tuning or Tuning.within(graph.store.settings.task_bytes)
    work = _Load(graph, request, ClockedTasks(tasks, clock), tuning, resumed if done is None else done)
    with claimed(graph.store, work.load_id):
        discard_abandoned(graph.store)
        if request.dry_run:
            result = graph.dry_run(request.branch, request.base, work.prepare, expected_head=request.if_commit)
        else:
            hooks = Hooks(after_arm=work.require_parts)
            with clock.stage("commit"):
                result = commit(
                    graph.store,
                    request.branch,
                    work.prepare,
                    expected_head=request.if_commit,
                    hooks=hooks,
                    budget=request.budget,
                )
        if request.progress is not None and not request.dry_run:
            request.progress(Progress("commit", 1, 1))
        clock.bytes = work.staging.bytes
        failpoints.hit("load.pre_discard")
    return LoadResult(
        branch=request.branch or "main",
        base_branch=request.base,
        branch_created=created,
        mode=request.mode,
        nodes=work.counts("node"),
        edges=work.counts("edge"),
        actor_id=request.actor,
        commit=result.commit,
        runner=tasks.name,
        rejected=dict(sorted(work.refused.items())) if request.on_error == "skip" else {},
        dry_run=request.dry_run,
        embeddings=work.staging.embeddings,
        skipped=dict(sorted(work.left_out.items())),
        examples=work.examples() if request.dry_run else {},
    )


def _skipping(request: LoadRequest) -> frozenset[str]:
    """The edge tables whose edges to nodes that are not there are left out."""
    if request.mapping is None:
        return frozenset()
    return frozenset(f"edge:{name}" for name in described(request.mapping).skips_missing)


def _travelling(snapshot: Snapshot) -> Snapshot:
    """A snapshot that can be sent to a worker; a mapping proxy cannot."""
    return replace(snapshot, entries=dict(snapshot.entries), heads={})


class _Load:
    """The work of one call; preparing again after a lost race checks again, but stages only under a new schema."""

    def __init__(
        self,
        graph: Access,
        request: LoadRequest,
        tasks: Tasks,
        tuning: Tuning,
        before: Prestaged | Resumed | None = None,
    ) -> None:
        self.graph = graph
        self.request = request
        self.tasks = tasks
        self.tuning = tuning
        self.done = before if isinstance(before, Prestaged) else None
        self.resumed = before if isinstance(before, Resumed) else None
        self.load_id = _load_id(before)
        self._staging: Staging | None = None
        self._staged_on: str | None = None
        self._refused_in_sets: Counter[str] = Counter()
        self._found_in_sets: list[Violation] = []
        self._keys = KeyStage(self.load_id, tasks, tuning, request.progress)
        self._skips = _skipping(request)
        self.skipped: Counter[str] = Counter()

    @property
    def staging(self) -> Staging:
        assert self._staging is not None
        return self._staging

    @property
    def _reads_rows(self) -> bool:
        """Whether what is staged depends on the rows of the state that the load is made on."""
        return self.request.mode == "patch" or self.request.order_by is not None

    @property
    def left_out(self) -> Counter[str]:
        """How many rows were left out although nothing is wrong with them, by type."""
        return self.skipped + self.staging.late

    @property
    def refused(self) -> Counter[str]:
        """How many rows were refused, by code."""
        return self.staging.refused + self._refused_in_sets

    def examples(self) -> dict[str, str]:
        """The first problem of each kind, in words."""
        found: dict[str, str] = {}
        for each in (*self.staging.samples(), *self._found_in_sets):
            found.setdefault(each.code, each.text())
        return dict(sorted(found.items()))

    def counts(self, kind: str) -> dict[str, int]:
        """Rows by the name of their node or edge type."""
        mine = {key: sum(part.rows for part in found) for key, found in self.staging.parts.items()}
        return {key.removeprefix(f"{kind}:"): rows for key, rows in mine.items() if key.startswith(f"{kind}:")}

    def prepare(self, txn: Txn) -> WriteSet | None:
        """Stage and check on one captured state; a load that does not skip raises the first violation, with what else
        it would have left out.

        There is nothing to commit when every row was left out, but a batch of a stream is put on record all the same.
        """
        if self.request.epoch is not None:
            require_next(txn.state.lineage, self.request.epoch)
        with self.request.clock.stage("read"):  # what is neither a task nor the commit
            return self._prepare(txn)

    def _prepare(self, txn: Txn) -> WriteSet | None:
        view = self.graph.view_in(txn)
        head = txn.state.effective_head
        stale = self._reads_rows and self._staged_on != head
        if self._staging is None or stale or self._staging.job.catalog.ir_hash != view.catalog.ir_hash:
            self._stage(view)
            self._staged_on = head
            failpoints.hit("load.post_stage")
        elif self._refused_in_sets or self.skipped:
            self._take_back()
        matched = None
        while matched is None:
            matched = self._check(view)
        if self.refused and self.request.on_error == "stop":
            self._give_up()
        self.staging.write_rejects()
        require_reachable(self.staging.referred)
        failpoints.hit("load.post_checks")
        job = self._job(view)
        share = check_rows(job.parts, self.tasks, self.tuning)
        arranged = arrange(job, matched, self.tasks, self.request.progress, share)
        tables = tuple(TableWrite(key, (self._step(view, mine),)) for key, mine in arranged.items())
        if self.request.progress is not None and not self.request.dry_run:
            self.request.progress(Progress("commit", 0, 1))
        if not tables and self.request.epoch is None and (self.refused or self.left_out):
            return None
        return WriteSet(
            writer_kind="Load",
            tables=tables,
            actor_id=self.request.actor,
            lineage_only=not tables,
            message=self.request.message,
            epoch=self.request.epoch,
        )

    def require_parts(self) -> None:
        """Once armed: who takes this load for dead leaves tables alone from now on, or has removed parts before."""
        first = next((part.location for mine in self.staging.parts.values() for part in mine), None)
        if first is not None:
            require_part(self.graph.store, self.load_id, first)

    def _stage(self, view: View) -> None:
        self._refused_in_sets, self._found_in_sets, self.skipped = Counter(), [], Counter()
        if self.request.mapping is not None:
            check_mapping(described(self.request.mapping), view.catalog)
        if self.done is not None and self.done.job.catalog.ir_hash == view.catalog.ir_hash:
            self._staging = Staging.taken_over(self.done, self.request, self.tasks)
        else:
            stored = _travelling(view.snapshot) if self._reads_rows else None
            place = Place(self.graph.store.root, self.load_id, self.graph.external_blobs, self.resumed, stored)
            self._staging = Staging.of(place, view.catalog, self.request, self.tasks, self.tuning)
        if self._too_many():
            self._give_up()

    def _take_back(self) -> None:
        """Forget what was left out because of a state that is no longer the newest: it may be right on this one."""
        self._refused_in_sets, self._found_in_sets, self.skipped = Counter(), [], Counter()
        self.staging.take_back()

    def _too_many(self) -> bool:
        most = self.request.max_errors
        return most is not None and self.refused.total() > most

    def _give_up(self) -> None:
        """Raise the first of everything that was refused, with the counts of all."""
        self.staging.write_rejects()
        samples = [*self.staging.samples(), *self._found_in_sets]
        raise_refusals(
            samples[: self.tuning.samples], self.refused, self.request.max_errors if self._too_many() else None
        )

    # --- checks of sets ------------------------------------------------------------------------

    def _check(self, view: View) -> frozenset[str] | None:
        """The parts that hold rows of existing ids; None when rows had to go and all must be checked again."""
        job = self._keys.partitioned(self._job(view))
        self.staging.put_parts([part for mine in job.parts.values() for part in mine])
        if self.request.mode not in ("merge", "patch"):
            return None if self._refuse(self._run_checks(job, _IDENTITY + _EDGES)) else frozenset()
        found = self._run_checks(job, _IDENTITY)
        if self._refuse(found):
            return None
        superseded = [answer.superseded for answer in found if answer.superseded is not None]
        if superseded:
            # The last row of an id wins; which rows remain decides what the edges are checked against.
            self._drop(self.staging.joined(superseded))
            return None
        if self._refuse(self._run_checks(replace(job, moved=_moved(found)), _EDGES)):
            return None
        return frozenset(job.parts[each.check.table_key][at].location for each in found for at in each.matched)

    def _drop(self, joined: Joined) -> None:
        self.staging.leave_out(joined)
        self.staging.stage_again(joined)

    def _run_checks(self, job: CheckJob, phases: Sequence[Phase]) -> list[Answer]:
        checks = plan_checks(job, phases, task_rows=check_rows(job.parts, self.tasks, self.tuning))
        about = f"{', '.join(dict.fromkeys(check.table_key for check in checks))}: {self._staged()}"
        report, shared = self.request.progress, Shared(job, self.graph.store.root.child(job.scratch))
        return self.tasks.run(
            lambda check: run_check(shared.value, check), checks, stage="check", report=report, about=about
        )

    def _staged(self) -> str:
        """How much was staged, for people who look at the list of jobs, or use Connect."""
        rows = sum(part.rows for mine in self.staging.parts.values() for part in mine)
        return f"{rows:,} rows staged, {self.refused.total():,} refused, {self.staging.bytes:,} bytes"

    def _job(self, view: View) -> CheckJob:
        return CheckJob(
            self.graph.store.root,
            view.catalog,
            _travelling(view.snapshot),
            self.request.mode,
            self.staging.parts,
            load_directory(self.load_id),
            self.tuning.samples,
            in_words=self.request.rejects is not None,
            splits=len(self.staging.splits),
        )

    def _leave_out(self, found: Sequence[Answer]) -> bool:
        """Drop edges to nodes that are not there, of the types whose mapping says so."""
        mine = [each for each in found if each.check.phase == "endpoints" and each.check.table_key in self._skips]
        files = [each.refused for each in mine if each.refused is not None]
        if not files:
            return False
        joined = self.staging.joined(files)
        for (key, _), count in joined.counts.items():
            self.skipped[key.removeprefix("edge:")] += count
        self._drop(joined)
        return True

    def _refuse(self, found: Sequence[Answer]) -> bool:
        """Drop the rows that the checks refuse and say that there were some; raise when that cannot help, or helps no
        more."""
        named = SetRefusals.of(found)
        if named is None:
            return False
        if self._skips and named.rank == 1 and self._leave_out(found):
            return True
        told = self.request.rejects is not None
        joined = self.staging.joined(named.files, "rejects", in_words=told)
        for (_, code), count in joined.counts.items():
            self._refused_in_sets[code] += count
        self._name(named)
        self.staging.leave_out(joined, told=told)
        if not named.drops or self._too_many():
            self._give_up()
        self.staging.stage_again(joined)
        return True

    def _name(self, refused: SetRefusals) -> None:
        """Keep some findings with their lines, where somebody is going to be told."""
        wanted = self.tuning.samples - len(self._found_in_sets)
        told = self.request.on_error == "stop" or self.request.max_errors is not None or self.request.dry_run
        if wanted > 0 and (told or not refused.drops):
            self._found_in_sets += self.staging.placed(about_sources(refused.violations)[:wanted])

    # --- the write set -------------------------------------------------------------------------

    def _step(self, view: View, mine: Arranged) -> Step:
        """How a table takes over its parts: one transaction, whatever the mode."""
        rows = sum(part.rows for part in self.staging.parts[mine.table_key])
        if self.request.mode == "overwrite":
            return OverwriteParts(stored_schema(table_types(view.catalog)[mine.table_key]), mine.fresh, rows)
        if mine.replacing:
            version = view.table(table_types(view.catalog)[mine.table_key]).version
            known = mine.replaced, mine.numbers, mine.withdrawn
            return ReplaceParts(mine.replacing, mine.fresh, rows, *known, version)
        return AppendParts(mine.fresh, rows)


def _load_id(before: Prestaged | Resumed | None) -> str:
    match before:
        case Prestaged(job=job):
            return job.load_id
        case Resumed(load_id=load_id):
            return load_id
        case None:
            return new_ulid()


def _moved(found: Sequence[Answer]) -> dict[str, tuple[str, ...]]:
    """Where the edges are listed that get another source, by table."""
    places: dict[str, tuple[str, ...]] = {}
    for result in found:
        if result.moved:
            places[result.check.table_key] = places.get(result.check.table_key, ()) + result.moved
    return places
