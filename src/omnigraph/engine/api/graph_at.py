"""`graph.at(…)`: a read-only view of a graph as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.api.reader import Reader
from omnigraph.engine.api.runners import Runners
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.view import View
from omnigraph.storage.manifest.manifest import ManifestState

if TYPE_CHECKING:
    from omnigraph.engine.api.schema import SchemaAt


@checked_methods
class GraphAt(Reader):
    """One moment of a graph, read with the schema of that moment; it never changes, whatever is committed later."""

    def __init__(self, core: Core, runners: Runners, state: ManifestState) -> None:
        super().__init__(core, runners)
        self._state = state
        self._view = core.view_of(state)

    def view(self) -> View:
        self._core.require_open()
        return self._view

    def _current(self) -> ManifestState:
        self._core.require_open()
        return self._state

    @property
    def schema(self) -> SchemaAt:
        """The schema that the graph accepted at this moment; queries and exports of it use this one."""
        from omnigraph.engine.api.schema import SchemaAt

        return SchemaAt(self._core, lambda: self._state)

    @property
    def commit_id(self) -> str | None:
        """The commit that was the head at this moment."""
        return self._view.head

    @property
    def version(self) -> int:
        """The manifest version of this moment."""
        return self._view.version

    @property
    def branch_name(self) -> str:
        return self._view.branch or "main"

    def __repr__(self) -> str:
        return f"<GraphAt of '{self._core.store.root.uri}' at {self.commit_id}>"
