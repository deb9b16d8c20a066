"""A load on Spark, from its input to its commit: stage, check, and hand one write set to the ordinary protocol."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from omnigraph.engine.arrow import stored_schema, table_types
from omnigraph.engine.core import Core
from omnigraph.engine.result import LoadResult
from omnigraph.engine.runners import LoadRequest
from omnigraph.engine.view import View
from omnigraph.engine.write.commit import commit
from omnigraph.engine.write.loading import create_missing, rehearse
from omnigraph.engine.write.violations import Violation
from omnigraph.ids import new_ulid, reserve_ulids
from omnigraph.pipeline.checks import Check, CheckJob, Found, Phase, plan_checks, run_check
from omnigraph.pipeline.jobs import Progress, run_tasks
from omnigraph.pipeline.refusal import Refusals
from omnigraph.pipeline.session import parallelism, spark_session
from omnigraph.pipeline.sources import SPLIT_BYTES, SPLIT_ROWS, Split, cut, plan_sources
from omnigraph.pipeline.stage import Part, Staged, StageJob, stage_split
from omnigraph.storage import failpoints, parts
from omnigraph.storage.capture import Txn
from omnigraph.storage.writeset import AppendParts, OverwriteParts, Step, TableWrite, Upsert, WriteSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Sizes: how input is cut, and how many rows one check may hold in memory."""

    split_bytes: int = SPLIT_BYTES
    split_rows: int = SPLIT_ROWS
    bucket_rows: int = 8 << 20
    task_rows: int = 8 << 20
    samples: int = 20


def load(core: Core, request: LoadRequest, tuning: Tuning | None = None) -> LoadResult:
    """Load all of the input in one commit, or nothing; scratch files are gone afterwards in either case."""
    session = request.spark if request.spark is not None and not isinstance(request.spark, str) else None
    spark = session or spark_session(request.spark)
    created = False
    if request.base is not None and not request.dry_run:
        created = create_missing(core, request.branch, request.base)
    work = _Load(core, request, spark, tuning or Tuning())
    try:
        if request.dry_run:
            done = rehearse(core, request.branch, request.base, work.prepare, expected_head=request.if_commit)
        else:
            done = commit(core.store, request.branch, work.prepare, expected_head=request.if_commit)
    finally:
        failpoints.hit("load.pre_discard")
        parts.discard_load(core.store.objects, work.load_id)
    nodes, edges = work.counts()
    return LoadResult(
        branch=request.branch or "main",
        base_branch=request.base,
        branch_created=created,
        mode=request.mode,
        nodes=nodes,
        edges=edges,
        actor_id=request.actor,
        commit=done.commit,
        runner="spark",
        rejected=dict(work.refusals.counts),
        dry_run=request.dry_run,
    )
