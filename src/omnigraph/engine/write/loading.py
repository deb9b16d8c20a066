"""One call of `load` in this process, from its input to its commit."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.core import Core
from omnigraph.engine.result import LoadResult
from omnigraph.engine.write.commit import commit
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.engine.write.load import LoadCounts, LoadMode, prepare_load
from omnigraph.engine.write.records import Decoded
from omnigraph.engine.write.sources import Decode
from omnigraph.errors import Conflict
from omnigraph.storage.branches import create_branch, list_branches
from omnigraph.storage.capture import Txn
from omnigraph.storage.writeset import WriteSet


@dataclass(frozen=True, slots=True)
class LoadCall:
    """What the caller asked for; with `base`, a missing branch is created from it first."""

    decode: Decode
    mode: LoadMode
    branch: str | None = None
    base: str | None = None
    actor: str | None = None
    if_commit: str | None = None


def run_load(core: Core, call: LoadCall) -> LoadResult:
    """Decode, validate and commit all of the input at once, or nothing."""
    created = call.base is not None and _create_missing(core, call)
    work = _Work(core, call)
    done = commit(core.store, call.branch, work.prepare, expected_head=call.if_commit)
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
    )


def _create_missing(core: Core, call: LoadCall) -> bool:
    if call.branch is None or call.branch in list_branches(core.store):
        return False
    try:
        create_branch(core.store, call.branch, source=call.base)
    except Conflict:
        if call.branch not in list_branches(core.store):
            raise
        return False  # another writer was faster, and its branch will do
    return True


class _Work:
    """The part of a load that is repeated when the branch has moved; decoding is not, so minted ids stay."""

    def __init__(self, core: Core, call: LoadCall) -> None:
        self.core = core
        self.call = call
        self.counts = LoadCounts({}, {})
        self._decoded: tuple[str, Decoded] | None = None

    def prepare(self, txn: Txn) -> WriteSet:
        view = self.core.view_in(txn)
        decoded = self._decode(view.catalog)
        prepared = prepare_load(decoded, self.call.mode, view.catalog, PinnedRows(view), actor_id=self.call.actor)
        self.counts = prepared.counts
        return prepared.write_set

    def _decode(self, catalog: Catalog) -> Decoded:
        if self._decoded is None or self._decoded[0] != catalog.ir_hash:
            self._decoded = catalog.ir_hash, self.call.decode(catalog)
        return self._decoded[1]
