"""One call of `load` in this process, from its input to its commit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.intake.embedding import plan_filling
from omnigraph.engine.intake.external_blobs import new_references, require_reachable
from omnigraph.engine.intake.records import Decoded, Intake
from omnigraph.engine.intake.sources import Decode
from omnigraph.engine.values.load_profile import LoadClock
from omnigraph.engine.values.result import EmbedCounts, LoadMode, LoadResult
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.export_lock import export_lock_of
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.engine.write.load_rows import LoadCounts, prepare_load
from omnigraph.engine.write.reads import Reads
from omnigraph.errors import Conflict
from omnigraph.storage.base.layout import normalize_branch
from omnigraph.storage.branches.branches import branch_exists, create_branch
from omnigraph.storage.intent.capture import Txn, capture
from omnigraph.storage.intent.writeset import WriteSet
from omnigraph.storage.protocol.budget import Budget
from omnigraph.storage.protocol.commit import Committed, Prepare, commit

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder


@dataclass(frozen=True, slots=True)
class LoadCall:
    """What the caller asked for; with `base`, a missing branch is created from it first."""

    decode: Decode
    mode: LoadMode
    branch: str | None = None
    base: str | None = None
    actor: str | None = None
    if_commit: str | None = None
    embedder: Embedder | None = None
    no_embed: bool = False
    budget: Budget | None = None
    message: str | None = None
    clock: LoadClock = field(default_factory=LoadClock)


def run_load(core: Core, call: LoadCall, *, dry_run: bool = False) -> LoadResult:
    """Decode, validate and commit all of the input at once, or nothing; a dry run stops before the commit."""
    created = not dry_run and call.base is not None and create_missing(core, call.branch, call.base)
    work = _Work(core, call, dry_run=dry_run)
    if dry_run:
        done = dry_run_load(core, call.branch, call.base, work.prepare, expected_head=call.if_commit)
    else:
        with call.clock.stage("commit"):
            done = commit(core.store, call.branch, work.prepare, expected_head=call.if_commit, budget=call.budget)
    return LoadResult(
        branch=call.branch or "main",
        base_branch=call.base,
        branch_created=created,
        mode=call.mode,
        nodes=dict(work.counts.nodes),
        edges=dict(work.counts.edges),
        actor_id=call.actor,
        commit=done.commit,
        runner="inline",
        dry_run=dry_run,
        embeddings=work.embeddings,
    )


def create_missing(core: Core, branch: str | None, base: str) -> bool:
    """Create the branch of a load unless it exists; whether it had to be."""
    if branch is None or branch_exists(core.store, branch):
        return False
    export_lock_of(core.store).require_free()
    try:
        create_branch(core.store, branch, source=base)
    except Conflict:
        if not branch_exists(core.store, branch):
            raise
        return False  # another writer was faster, and its branch will do
    return True


def dry_run_load(
    core: Core, branch: str | None, base: str | None, prepare: Prepare, *, expected_head: str | None
) -> Committed:
    """Prepare a write on the newest state of its branch (of the base, while the branch is missing) and leave it."""
    missing = base is not None and not branch_exists(core.store, branch)
    txn = capture(
        core.store, normalize_branch(base) if missing and base is not None else branch, expected_head=expected_head
    )
    prepare(txn)
    return Committed(None, txn.state)


class _Work:
    """The part of a load that is repeated when the branch has moved; decoding is not, so minted ids stay."""

    def __init__(self, core: Core, call: LoadCall, *, dry_run: bool) -> None:
        self.core = core
        self.call = call
        self.dry_run = dry_run
        self.counts = LoadCounts({}, {})
        self.embeddings = EmbedCounts()
        self._decoded: tuple[str, Decoded] | None = None

    def prepare(self, txn: Txn) -> WriteSet:
        view = self.core.view_in(txn)
        reads, actor = Reads(), self.call.actor
        rows = PinnedRows(view, reads)
        if self.call.mode == "patch":
            self._decoded = None  # what rows leave out comes from the state that they are written on
        with self.call.clock.stage("read"):
            decoded = self._decode(view.catalog, rows)
        prepared = prepare_load(decoded, self.call.mode, view.catalog, rows, actor_id=actor, reads=reads)
        require_reachable(new_references(decoded.types.values()))
        self.counts = prepared.counts
        return replace(prepared.write_set, message=self.call.message)

    def _decode(self, catalog: Catalog, rows: PinnedRows) -> Decoded:
        if self._decoded is None or self._decoded[0] != catalog.ir_hash:
            plan = plan_filling(catalog, self.call.embedder, no_embed=self.call.no_embed)
            filling = (plan.as_dry_run() if self.dry_run else plan).filling()
            existing = rows.rows_of if self.call.mode == "patch" else None
            intake = Intake(filling, self.core.external_blobs, existing)
            self._decoded = catalog.ir_hash, self.call.decode(catalog, intake)
            self.embeddings = filling.counts()
        return self._decoded[1]
