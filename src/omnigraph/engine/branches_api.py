"""`graph.branches`: create, list and delete branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from omnigraph.engine.core import Core
from omnigraph.storage import branches

Names: TypeAlias = list[str]  # the method `list` hides the builtin inside the class


class Branches:
    """The branches of a graph; a new one starts at the bound branch unless told otherwise."""

    def __init__(self, core: Core, bound: Callable[[], str | None]) -> None:
        self._core = core
        self._bound = bound

    def create(self, name: str, from_: str | None = None) -> None:
        """Create a branch; it shares every table with its source until it writes to it."""
        self._core.require_writable()
        branches.create_branch(self._core.store, name, source=from_ if from_ is not None else self._bound())
        self._core.tables.clear()

    def list(self) -> Names:
        """Names of all branches, `main` first."""
        self._core.require_open()
        return branches.list_branches(self._core.store)

    def delete(self, name: str) -> None:
        """Delete a branch that nothing depends on; its commits become unreachable."""
        self._core.require_writable()
        branches.delete_branch(self._core.store, name, bound=self._bound())
        self._core.tables.clear()
