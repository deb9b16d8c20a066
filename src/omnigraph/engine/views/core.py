"""What every handle of one opened graph shares: its store, its accepted schemas, its open tables."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.views.restrict import restricted, visible_under, without_loose_edges
from omnigraph.engine.views.schemas import Schemas
from omnigraph.engine.views.view import OpenTables, View
from omnigraph.errors import BadRequest, BranchNotFound, PermissionDenied
from omnigraph.policy.actions import Action
from omnigraph.policy.engine import PolicyEngine, PolicyRequest
from omnigraph.policy.external_blobs import ExternalBlobPolicy
from omnigraph.policy.gate import require_allowed
from omnigraph.policy.visibility import NOTHING, Visibility
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.branches import lineage
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.protocol.budget import Budget


@dataclass(slots=True)
class Core:
    """One opened graph; safe to share between threads."""

    store: Store
    schemas: Schemas
    tables: OpenTables
    read_only: bool
    policy: PolicyEngine | None = None
    external_blobs: ExternalBlobPolicy | None = None
    visibility: Visibility | None = None
    # Asked before a merge gives main another schema; it raises where that would break something.
    schema_check: Callable[[Catalog], None] | None = None
    closed: threading.Event = field(default_factory=threading.Event)
    # Private branches of running transactions → the branch whose rights decide about writing to them.
    policy_branch: dict[str, str] = field(default_factory=dict)

    def state(self, branch: str | None) -> ManifestState:
        """The newest state of a branch; storage is asked every time, decoding is remembered."""
        self.require_open()
        return manifest.load(self.store.root, branch).state

    def known_view(self, branch: str | None) -> tuple[ManifestState, View] | None:
        """The newest state of a branch and its view if they were read before; None when files have to be read."""
        self.require_open()
        state = manifest.load_known(self.store.root, branch) if self.visibility is None else None
        if state is None or state.schema is None or self.schemas.known(state.schema) is None:
            return None
        return state, self.view_of(state)

    def view(self, branch: str | None) -> View:
        """The newest view of a branch."""
        return self.view_of(self.state(branch))

    def view_of(self, state: ManifestState, accepted: Accepted | None = None) -> View:
        """A view of one state; with `accepted`, read under another schema than the one it was written under."""
        schema = accepted if accepted is not None else self.schemas.of(state)
        view = View(state.snapshot, schema.catalog, state.effective_head, self.tables)
        if self.visibility is None:
            return view
        now = self.schemas.of(self.state(None)).catalog  # what the rules were written for
        return restricted(view, visible_under(self.visibility, now, view.catalog))

    def with_visibility(self, visibility: Visibility | None) -> Core:
        """The same graph for a reader who may not see all of it."""
        return self if visibility == self.visibility else replace(self, visibility=visibility)

    def require_everything_visible(self, what: str) -> None:
        """Refuse what could only be answered from everything that is stored."""
        if self.visibility is not None:
            raise PermissionDenied(f"{what} needs the right to read every type and property of this graph")

    def view_in(self, txn: Txn) -> View:
        """The view that a write attempt has captured."""
        return self.view_of(txn.state)

    def with_schema_check(self, check: Callable[[Catalog], None]) -> Core:
        """The same graph for a caller whose merges may not give main a schema that the check refuses."""
        return replace(self, schema_check=check)

    def with_patience(self, seconds: float | None, attempts: int | None = None) -> Core:
        """The same graph for a caller with tighter limits on the time and attempts of writes, within the settings."""
        settings = self.store.settings
        tighter = replace(
            settings,
            reprepare_seconds=min(settings.reprepare_seconds, math.inf if seconds is None else seconds),
            reprepare_budget=min(settings.reprepare_budget, Budget.of(settings, attempts).attempts),
        )
        return self if tighter == settings else replace(self, store=replace(self.store, settings=tighter))

    def budget(self, attempts: int | None = None) -> Budget:
        """What a write may spend on a branch that moves, with what its caller asked for."""
        return Budget.of(self.store.settings, attempts)

    @property
    def keeps_derived(self) -> bool:
        """Whether reads may keep what they derive: beside the graph, or of one on an object store on this machine."""
        return not self.read_only or self.store.root.is_remote

    def close(self) -> None:
        """Refuse everything from now on, and let go of all memory."""
        self.closed.set()
        self.store.memory.close()

    def require_open(self) -> None:
        if self.closed.is_set():
            raise BadRequest("this graph handle is closed; open the graph again")

    def require_writable(self) -> None:
        self.require_open()
        if self.read_only:
            raise BadRequest("this graph was opened read-only; open it without read_only to write")

    def require_allowed(
        self, actor: str | None, action: Action, branch: str | None = None, target: str | None = None
    ) -> None:
        """Ask the policy of this graph, if it has one, before anything is read or written."""
        if self.policy is None:
            return
        judged = branch if branch is None else self.policy_branch.get(branch, branch)
        require_allowed(self.policy, actor, PolicyRequest(action, judged, target))

    def visibility_of(self, actor: str | None, action: Action, branch: str | None) -> Visibility | None:
        """What the policy shows an actor of a branch (None is main); None is everything."""
        if self.policy is None or actor is None:
            return None
        if not self.policy.decide(actor, PolicyRequest(action, branch or "main")).allowed:
            return NOTHING
        if not self.policy.restricts:
            return None
        try:
            ancestors = lineage(self.store, branch)
        except BranchNotFound:  # for the read to say, which comes next
            ancestors = [branch or "main", "main"]
        shown = self.policy.visibility_along(actor, action, ancestors)
        return None if shown is None else without_loose_edges(shown, self.schemas.latest)

    def require_change(self, actor: str | None, branch: str | None) -> None:
        """Ask whether this actor may write rows to a branch (None is main)."""
        self.require_writable()
        self.require_allowed(actor, Action.CHANGE, branch or "main")

    def require_admin(self, actor: str | None) -> None:
        """Ask whether this actor may maintain the graph."""
        self.require_writable()
        self.require_allowed(actor, Action.ADMIN)
