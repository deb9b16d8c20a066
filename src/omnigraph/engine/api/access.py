"""What the packages above the engine need of an opened graph beyond its public verbs: one small, typed interface.

The pipeline loads in bulk, streams keep marks, declared pipelines keep records, and tests look at storage. All of them
come through here; nothing outside the engine touches the private parts of a handle. It is not part of the SDK.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from omnigraph.engine.views.core import Core
from omnigraph.engine.views.table_tasks import SparkPlace
from omnigraph.engine.views.view import View
from omnigraph.policy.external_blobs import ExternalBlobPolicy
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.capture import Txn

if TYPE_CHECKING:
    from omnigraph.engine.api.graph import Graph
    from omnigraph.engine.changes.poll import Feed
    from omnigraph.engine.changes.scope import ChangeScope
    from omnigraph.storage.protocol.commit import Committed, Prepare


def access(graph: Graph) -> Access:
    """The interface to the graph behind a handle."""
    return Access(graph._core, graph._branch, graph.actor)


class Access:
    """One opened graph, the branch (None is main) a handle on it is bound to, and who acts."""

    def __init__(self, core: Core, branch: str | None, actor: str | None) -> None:
        self._core = core
        self.branch = branch
        self.actor = actor

    @property
    def store(self) -> Store:
        """Where the graph is, for the protocols of the storage package."""
        return self._core.store

    @property
    def external_blobs(self) -> ExternalBlobPolicy | None:
        """What new blobs may refer to."""
        return self._core.external_blobs

    def require_change(self, branch: str | None) -> None:
        """Refuse unless the graph is open for writing and this actor may write rows to a branch."""
        self._core.require_change(self.actor, branch)

    def view_in(self, txn: Txn) -> View:
        """The view that a write attempt has captured."""
        return self._core.view_in(txn)

    def create_missing(self, branch: str | None, base: str) -> bool:
        """Create the branch of a load unless it exists; whether it had to be."""
        from omnigraph.engine.write.load import create_missing

        return create_missing(self._core, branch, base)

    def dry_run(
        self, branch: str | None, base: str | None, prepare: Prepare, *, expected_head: str | None
    ) -> Committed:
        """Prepare a write on the newest state of its branch (of the base, while the branch is missing) and leave it."""
        from omnigraph.engine.write.load import dry_run_load

        return dry_run_load(self._core, branch, base, prepare, expected_head=expected_head)

    def feed(self, scope: ChangeScope) -> Feed:
        """The change feed of the bound branch as it is now: its head, its cursors, the commits between two of them."""
        from omnigraph.engine.changes.poll import Feed

        return Feed(self._core, self.branch, scope)

    def keep_lists(self, edges: Collection[str], spark: SparkPlace) -> None:
        """Keep the neighbour lists of large edge tables beside the graph, for tasks that map them."""
        from omnigraph.engine.maintenance.topology_builds import keep_lists

        keep_lists(self._core, self.branch, edges, spark)
