"""`graph.branches`: create, list, rename, merge and delete branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from omnigraph.display import ShownList
from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.api.noun import Noun
from omnigraph.engine.merge.merge import MergeCall, merge_branches, preview_merge
from omnigraph.engine.merge.outcome import MergeOptions, MergeResult, PropertyMode, Resolution, Strategy
from omnigraph.engine.values.message import commit_message
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.export_lock import export_lock_of
from omnigraph.engine.views.targets import branch_named, require_branch
from omnigraph.policy.actions import Action
from omnigraph.storage.branches import branches
from omnigraph.storage.branches.names import branch_name, new_name

Names: TypeAlias = ShownList[str]  # the method `list` hides the builtin inside the class


@checked_methods
class Branches(Noun):
    """The branches of a graph; a new one starts at the bound branch unless told otherwise."""

    def __init__(self, core: Core, bound: Callable[[], str | None], actor: str | None = None) -> None:
        self._core = core
        self._bound = bound
        self._actor = actor

    def create(self, name: str, from_: str | None = None) -> None:
        """Create a branch; it shares every table with its source until it writes to it."""
        self._core.require_writable()
        origin = (self._bound() if from_ is None else self._branch(from_)) or "main"
        self._core.require_allowed(self._actor, Action.BRANCH_CREATE, origin, new_name(name, "branch"))
        export_lock_of(self._core.store).require_free()
        branches.create_branch(self._core.store, name, source=origin)
        self._core.tables.clear()

    def list(self) -> Names:
        """Names of all branches, `main` first."""
        self._core.require_open()
        return ShownList(branches.list_branches(self._core.store))

    def rename(self, name: str, to: str) -> None:
        """Give a branch another name; its commits, and the branches that were made from it, stay what they are.

        Whoever still uses the former name is told that there is no such branch. It needs the rights to create the new
        name from the branch and to delete the former one, which stays taken for as long as the branch is there.
        """
        self._core.require_writable()
        former = branch_name(name) or "main"
        self._core.require_allowed(self._actor, Action.BRANCH_CREATE, former, new_name(to, "branch"))
        self._core.require_allowed(self._actor, Action.BRANCH_DELETE, target=former)
        export_lock_of(self._core.store).require_free()
        branches.rename_branch(self._core.store, name, to, bound=self._bound())
        self._core.tables.clear()

    def delete(self, name: str) -> None:
        """Delete a branch that nothing depends on; its commits become unreachable."""
        self._core.require_writable()
        self._core.require_allowed(self._actor, Action.BRANCH_DELETE, target=branch_name(name) or "main")
        export_lock_of(self._core.store).require_free()
        branches.delete_branch(self._core.store, name, bound=self._bound())
        self._core.tables.clear()

    def merge(
        self,
        source: str,
        into: str = "main",
        delete: bool = False,
        *,
        preview: bool = False,
        resolve: Mapping[str, Resolution] | None = None,
        strategy: Strategy = "fail",
        properties: PropertyMode = "whole",
        attempts: int | None = None,
        message: str | None = None,
    ) -> MergeResult:
        """Merge a branch into another as one commit with two parents; contradictions raise MergeConflicts.

        `preview` writes nothing and lists conflicts in the result. `resolve` decides entities by name:
        `{"Person/alice": "ours"}`, `"theirs"`, or values to set. `strategy` settles every other contradiction between
        two rows; `properties="disjoint"` joins updates of different properties of one row. `delete` removes the source
        afterwards; when something still depends on it, the result says so and the merge stands. A target that moves
        meanwhile is merged with again, `attempts` times in all at most. Without a `message` the commit says what was
        merged into what. As after a load, tables of main that get many rows have their indexes built.
        """
        options = MergeOptions(strategy, properties, resolve or {})
        budget, text = self._core.budget(attempts), commit_message(message)
        call = MergeCall(self._branch(source), self._branch(into), options, self._actor, delete, budget, text)
        if preview:
            self._core.require_open()
        else:
            self._core.require_writable()
            self._core.require_allowed(self._actor, Action.BRANCH_MERGE, call.source or "main", call.target or "main")
        for branch in (call.source, call.target):
            require_branch(self._core, branch)
        if preview:
            return preview_merge(self._core, call)
        done = merge_branches(self._core, call)
        if call.target is None:
            from omnigraph.engine.maintenance.indexes import build_after

            build_after(self._core, done.commit)
        return done

    def _branch(self, name: str) -> str | None:
        return branch_named(name, self._bound())
