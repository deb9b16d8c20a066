"""Capture: the state a write is prepared on, and the token that must still hold when it is published."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.errors import BranchNotFound, Conflict, PreconditionFailed, ReadSetChanged
from omnigraph.ids import now_micros
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.lease import Lease, held
from omnigraph.storage.base.ref_names import branch_of
from omnigraph.storage.base.store import Store
from omnigraph.storage.base.waiting import looks
from omnigraph.storage.intent.sidecar import Token
from omnigraph.storage.lance.refs import Ref
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.branch_refs import find_ref
from omnigraph.storage.manifest.manifest import Loaded, ManifestState
from omnigraph.storage.manifest.rows import BranchRow, ControlHolder
from omnigraph.storage.manifest.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Txn:
    """One coherent view of a branch: everything a write reads comes from here."""

    token: Token
    loaded: Loaded
    expected_head: str | None = None

    @property
    def branch(self) -> str | None:
        return self.token.branch

    @property
    def ref(self) -> str | None:
        """The ref of the branch's manifest; its tables' refs are called after it."""
        return self.loaded.handle.address.ref

    @property
    def state(self) -> ManifestState:
        return self.loaded.state

    @property
    def snapshot(self) -> Snapshot:
        return self.loaded.state.snapshot

    @property
    def effective_head(self) -> str | None:
        return self.loaded.state.effective_head

    @property
    def manifest_version(self) -> int:
        return self.loaded.state.version


def capture(
    store: Store,
    branch: str | None,
    *,
    expected_head: str | None = None,
    control_operation: str | None = None,
    patient: bool = True,
) -> Txn:
    """Read a branch fresh, as it is once no other process changes the schema; refused when the caller's head has moved.

    A schema change is waited for up to `writer_wait_ms`, then Conflict. `control_operation` is the change that may
    capture under its own lock; `patient=False` is for those whom the change itself would have to wait for.
    """
    loaded = _after_schema_change(store, branch, control_operation, patient=patient)
    if expected_head is not None and expected_head != loaded.state.effective_head:
        raise PreconditionFailed(branch or "main", expected=expected_head, actual=loaded.state.effective_head)
    return Txn(token_of(loaded.state), loaded, expected_head)


def token_of(state: ManifestState) -> Token:
    """The authority this state grants."""
    schema = state.schema
    return Token(
        branch=state.branch,
        branch_identifier=state.identifier,
        graph_head=state.graph_head,
        schema_ir_hash=None if schema is None else schema.schema_ir_hash,
        schema_identity_version=None if schema is None else schema.schema_identity_version,
        schema_identity_domain=None if schema is None else schema.schema_identity_domain,
    )


def require_token(state: ManifestState, token: Token) -> None:
    """Raise ReadSetChanged, naming the first member that moved, unless the state still grants the token."""
    actual, name = token_of(state), token.branch or "main"
    members = (
        (f"branch_identifier:{name}", token.branch_identifier, actual.branch_identifier),
        (f"graph_head:{name}", token.graph_head, actual.graph_head),
        ("schema_ir_hash", token.schema_ir_hash, actual.schema_ir_hash),
        ("schema_identity_domain", token.schema_identity_domain, actual.schema_identity_domain),
    )
    for member, expected, found in members:
        if expected != found:
            raise ReadSetChanged(member, expected=expected, actual=found)


def branch_row_of(store: Store, state: ManifestState, of: Ref | None = None) -> BranchRow | None:
    """The row that every publish on a named branch rewrites; made up when the creator died before writing it.

    `of` is the ref whose state it is, where that need not be the one that the branch's name stands for.
    """
    if state.branch is None or state.branch_row is not None:
        return state.branch_row
    ref = of or find_ref(store.root, state.branch)
    if ref is None or ref.identifier != state.identifier:
        raise BranchNotFound(state.branch)
    return BranchRow(state.branch, state.identifier, parent_branch(ref), ref.parent_version, now_micros())


def parent_branch(ref: Ref) -> str | None:
    """The branch that a ref of the manifest was forked from; None is main."""
    return None if ref.parent is None else branch_of(ref.parent)


def control_is_held(store: Store, holder: ControlHolder) -> bool:
    """Whether graph control has to be waited for, because its holder may be at work."""
    lease = Lease(holder.owner, holder.heartbeat_seq, holder.heartbeat_at, holder.ttl_ms)
    return held(lease, holder.operation_id, skew_ms=store.settings.lease_skew_ms)


def _after_schema_change(store: Store, branch: str | None, own: str | None, *, patient: bool) -> Loaded:
    """The newest state of a branch that no schema change is about to replace."""
    for more in looks(store.settings.writer_wait_ms / 1_000 if patient else 0.0):
        loaded = manifest.load(store.root, branch)
        if not _schema_is_changing(store, loaded.state, own):
            return loaded
        if patient:
            hit("capture.awaits_schema_change")
        if not more:
            raise Conflict("writes are unavailable while schema apply is in progress; retry when it has finished")
    raise AssertionError("the last look returns or raises")


def _schema_is_changing(store: Store, state: ManifestState, own: str | None) -> bool:
    # Control is a row of main; what another branch says about it was copied when it was made.
    holder = state.control.holder if state.control is not None and state.branch is None else None
    if holder is None or holder.kind != "schema_apply" or holder.operation_id == own or holder.target is not None:
        return False
    return control_is_held(store, holder)
