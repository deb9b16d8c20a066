"""One call of `mutate_many`: a batch of mutations, from their texts to one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.compile import CompiledQuery, compile_query
from omnigraph.compiler.source import Source
from omnigraph.engine.intake.embedding import plan_filling
from omnigraph.engine.intake.external_blobs import require_reachable
from omnigraph.engine.values.result import BatchResult, EmbedCounts
from omnigraph.engine.views.core import Core
from omnigraph.engine.write.batch_run import BatchItem, BatchRun, Writers
from omnigraph.engine.write.change_set import ChangeSet
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.engine.write.mutate import require_readable
from omnigraph.engine.write.reads import Reads
from omnigraph.engine.write.statements import Request
from omnigraph.engine.write.validate import find_violations
from omnigraph.errors import BadRequest, OmnigraphError
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import TableWrite, WriteSet
from omnigraph.storage.protocol.budget import Budget
from omnigraph.storage.protocol.commit import commit

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder


@dataclass(frozen=True, slots=True)
class Mutation:
    """One mutation of a batch: a text, which query of it, and its parameters; `place` is how messages call it."""

    source: Source
    name: str | None
    params: Mapping[str, Any] | None
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCall:
    """What the caller asked for."""

    mutations: Sequence[Mutation]
    branch: str | None = None
    actor: str | None = None
    if_commit: str | None = None
    embedder: Embedder | None = None
    no_embed: bool = False
    budget: Budget | None = None
    message: str | None = None


def run_batch(core: Core, call: BatchCall) -> BatchResult:
    """Prepare, validate and commit all of them at once, or none; a moved branch only repeats what reads from it."""
    if not call.mutations:
        raise BadRequest("the batch has no mutation")
    work = _Work(core, call)
    done = commit(core.store, call.branch, work.prepare, expected_head=call.if_commit, budget=call.budget)
    return BatchResult(
        branch=call.branch or "main",
        mutations=len(call.mutations),
        affected_nodes=work.nodes,
        affected_edges=work.edges,
        actor_id=call.actor,
        commit=done.commit,
        embeddings=work.embeddings,
    )


class _Work:
    """The part of a batch that is repeated when the branch has moved; ids of new entities stay."""

    def __init__(self, core: Core, call: BatchCall) -> None:
        self.core = core
        self.call = call
        self.request = Request({}, core.external_blobs)
        self.nodes = self.edges = 0
        self.embeddings = EmbedCounts()
        self._items: tuple[str, list[BatchItem]] | None = None

    def prepare(self, txn: Txn) -> WriteSet:
        """What to write on top of this state; raises the first error, with the mutation it comes from."""
        view = self.core.view_in(txn)
        items = self._compiled(view.catalog)
        filling = plan_filling(view.catalog, self.call.embedder, no_embed=self.call.no_embed).filling()
        reads = Reads()
        run = BatchRun(view, self.request, filling, reads)
        run.run(items)
        self.nodes, self.edges, self.embeddings = run.nodes, run.edges, filling.counts()
        tables = [table for table in run.staging if not table.is_untouched]
        changes = {table.info.table_key: table.change() for table in tables}
        _validate(changes, view.catalog, PinnedRows(view, reads), run.writers)
        require_reachable(run.referred)
        names = {item.compiled.name for item in items}
        return WriteSet(
            writer_kind="Mutation",
            tables=tuple(TableWrite(table.info.table_key, table.steps()) for table in tables),
            actor_id=self.call.actor,
            reads=reads.footprint(),
            message=self.call.message,
            query=names.pop() if len(names) == 1 else None,
        )

    def _compiled(self, catalog: Catalog) -> list[BatchItem]:
        if self._items is None or self._items[0] != catalog.ir_hash:
            self._items = catalog.ir_hash, list(self._items_of(catalog))
        return self._items[1]

    def _items_of(self, catalog: Catalog) -> list[BatchItem]:
        compiled: dict[tuple[str, str | None], CompiledQuery] = {}
        items, first = [], 0
        for each in self.call.mutations:
            try:
                known = compiled.get((each.source.text, each.name))
                if known is None:
                    memory = self.core.store.memory
                    known = compile_query(each.source, catalog, each.name, mutation=True, memory=memory)
                    require_readable(self.core, self.call.actor, self.call.branch, known)
                    compiled[each.source.text, each.name] = known
                item = BatchItem(known, known.bind(each.params), each.place, first)
            except OmnigraphError as error:
                raise error.at(each.place) from None
            items.append(item)
            first += len(item.plan.ops)
        return items


def _validate(changes: ChangeSet, catalog: Catalog, committed: PinnedRows, writers: Writers) -> None:
    """The one validator, on what all of them leave behind; the mutation that wrote the offending entity is named."""
    for violation in find_violations(changes, catalog, committed, limit=1):
        place = writers.place_of(violation.table_key, violation.ids)
        error = replace(violation, line=None).error()
        raise error if place is None else error.at(place)
