"""`graph.at(…)`: a read-only view of a graph as it was."""

from __future__ import annotations

from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.api.reader import Reader
from omnigraph.engine.api.runners import Runners
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.view import View


@checked_methods
class Past(Reader):
    """One moment of a graph; it never changes, whatever is committed afterwards."""

    def __init__(self, core: Core, runners: Runners, view: View) -> None:
        super().__init__(core, runners)
        self._view = view

    def view(self) -> View:
        self._core.require_open()
        return self._view

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
        return f"<Past of '{self._core.store.root.uri}' at {self.commit_id}>"
