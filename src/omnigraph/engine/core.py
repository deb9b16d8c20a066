"""What every handle of one opened graph shares: its store, its accepted schemas, its open tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.engine.schemas import Schemas
from omnigraph.engine.view import OpenTables, View
from omnigraph.errors import BadRequest
from omnigraph.storage import manifest
from omnigraph.storage.capture import Txn
from omnigraph.storage.manifest import ManifestState
from omnigraph.storage.store import Store


@dataclass(slots=True)
class Core:
    """One opened graph; safe to share between threads."""

    store: Store
    schemas: Schemas
    tables: OpenTables
    read_only: bool
    closed: bool = field(default=False)

    def state(self, branch: str | None) -> ManifestState:
        """The newest state of a branch; storage is asked every time, decoding is remembered."""
        self.require_open()
        return manifest.load(self.store.root, branch).state

    def view(self, branch: str | None) -> View:
        """The newest view of a branch."""
        return self.view_of(self.state(branch))

    def view_of(self, state: ManifestState, accepted: Accepted | None = None) -> View:
        """A view of one state; with `accepted`, read under another schema than the one it was written under."""
        schema = accepted if accepted is not None else self.schemas.of(state)
        return View(state.snapshot, schema.catalog, state.effective_head, self.tables)

    def view_in(self, txn: Txn) -> View:
        """The view that a write attempt has captured."""
        return self.view_of(txn.state)

    def require_open(self) -> None:
        if self.closed:
            raise BadRequest("this graph handle is closed; open the graph again")

    def require_writable(self) -> None:
        self.require_open()
        if self.read_only:
            raise BadRequest("this graph was opened read-only; open it without read_only to write")
