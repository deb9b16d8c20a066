"""One call of a mutation, from its text to its commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.compile import CompiledQuery, compile_query
from omnigraph.compiler.diagnostics import TypeCheckError
from omnigraph.compiler.ir.plan import MutationPlan
from omnigraph.compiler.ir.write_ops import InsertEdge, InsertNode
from omnigraph.compiler.source import Source
from omnigraph.engine.intake.embedding import plan_filling
from omnigraph.engine.intake.external_blobs import require_reachable
from omnigraph.engine.values.result import EmbedCounts, MutationResult
from omnigraph.engine.views.core import Core
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.engine.write.reads import Reads
from omnigraph.engine.write.statements import Effects, Request, execute
from omnigraph.engine.write.validate import validate
from omnigraph.policy.actions import Action
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import TableWrite, WriteSet
from omnigraph.storage.protocol.budget import Budget
from omnigraph.storage.protocol.commit import commit

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder


@dataclass(frozen=True, slots=True)
class MutationCall:
    """What the caller asked for."""

    source: Source
    name: str | None = None
    params: Mapping[str, Any] | None = None
    branch: str | None = None
    actor: str | None = None
    if_commit: str | None = None
    embedder: Embedder | None = None
    no_embed: bool = False
    budget: Budget | None = None
    message: str | None = None


def run_mutation(core: Core, call: MutationCall) -> MutationResult:
    """Compile, prepare, validate and commit; a moved branch only repeats what reads from it."""
    catalog, compiled = _compile_first(core, call)
    require_readable(core, call.actor, call.branch, compiled)
    work = _Work(core, call, catalog, compiled)
    done = commit(core.store, call.branch, work.prepare, expected_head=call.if_commit, budget=call.budget)
    return MutationResult(
        branch=call.branch or "main",
        query_name=compiled.name,
        affected_nodes=work.effects.nodes,
        affected_edges=work.effects.edges,
        actor_id=call.actor,
        commit=done.commit,
        embeddings=work.embeddings,
    )


def require_readable(core: Core, actor: str | None, branch: str | None, compiled: CompiledQuery) -> None:
    """Refuse a mutation that looks at stored rows to an actor who may not read them: what it does would tell."""
    assert isinstance(compiled.plan, MutationPlan)
    if not all(isinstance(op, InsertNode | InsertEdge) for op in compiled.plan.ops):
        core.require_allowed(actor, Action.READ, branch or "main")


def _compile_first(core: Core, call: MutationCall) -> tuple[Catalog, CompiledQuery]:
    """Compile before touching storage; only a mismatch with the schema known so far asks for the newest one."""
    known = core.schemas.latest
    try:
        return known, _compile(core, call, known)
    except TypeCheckError as error:
        newest = core.schemas.newest(core.state(call.branch)).catalog if error.code != "T28" else known
        if newest.ir_hash == known.ir_hash:
            raise
        return newest, _compile(core, call, newest)


def _compile(core: Core, call: MutationCall, catalog: Catalog) -> CompiledQuery:
    return compile_query(call.source, catalog, call.name, mutation=True, memory=core.store.memory)


class _Work:
    """The part of a call that is repeated when the branch has moved."""

    def __init__(self, core: Core, call: MutationCall, catalog: Catalog, compiled: CompiledQuery) -> None:
        self.core = core
        self.call = call
        self.request = Request(compiled.bind(call.params), core.external_blobs)
        self.effects = Effects((), 0, 0)
        self.embeddings = EmbedCounts()
        self._catalog = catalog
        self._compiled = compiled

    def prepare(self, txn: Txn) -> WriteSet:
        """What to write on top of this state; raises the first violation."""
        view = self.core.view_in(txn)
        plan = self._plan(view.catalog)
        filling = plan_filling(view.catalog, self.call.embedder, no_embed=self.call.no_embed).filling()
        reads = Reads()
        self.effects = execute(plan, view, self.request, filling, reads)
        self.embeddings = filling.counts()
        validate(self.effects.changes, view.catalog, PinnedRows(view, reads))
        require_reachable(self.effects.referred)
        return WriteSet(
            writer_kind="Mutation",
            tables=tuple(TableWrite(table.info.table_key, table.steps()) for table in self.effects.tables),
            actor_id=self.call.actor,
            reads=reads.footprint(),
            message=self.call.message,
            query=self._compiled.name,
        )

    def _plan(self, catalog: Catalog) -> MutationPlan:
        if catalog.ir_hash != self._catalog.ir_hash:
            self._catalog, self._compiled = catalog, _compile(self.core, self.call, catalog)
        plan = self._compiled.plan
        assert isinstance(plan, MutationPlan)
        return plan
