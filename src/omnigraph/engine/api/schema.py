"""`graph.schema`: the accepted schema of a branch, and its successor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from omnigraph.compiler.catalog.migrate import Plan
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.display import counted
from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.schema.apply import SchemaApplied, SchemaCall, apply_schema, plan_schema
from omnigraph.engine.values.message import commit_message
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.export_lock import export_lock_of
from omnigraph.engine.views.lifecycle import Text, read_source
from omnigraph.engine.views.targets import commit_named
from omnigraph.engine.views.time_travel import state_at_commit
from omnigraph.policy.actions import Action
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState

if TYPE_CHECKING:
    from omnigraph.render.drawing import Drawing


@checked_methods
class SchemaAt:
    """The schema that a state of the graph accepts."""

    def __init__(self, core: Core, state: Callable[[], ManifestState]) -> None:
        self._core = core
        self._state = state

    @property
    def source(self) -> str:
        """The text, exactly as it was accepted."""
        self._core.require_everything_visible("the schema text")
        return self._core.schemas.of(self._state()).source

    @property
    def catalog(self) -> Catalog:
        """The compiled types."""
        return self._core.view_of(self._state()).catalog

    def draw(self) -> Drawing:
        """Types, properties and edges as SVG, which notebooks show."""
        from omnigraph.render.drawing import Drawing
        from omnigraph.render.types import draw_schema

        return Drawing.of(draw_schema(self.catalog, self._visible_source()))

    def _visible_source(self) -> str | None:
        """The text, for its order of declaration; None for a reader who may not see all of it."""
        return None if self._core.visibility is not None else self.source

    def __repr__(self) -> str:
        found = self.catalog
        nodes, edges = counted(len(found.nodes), "node type"), counted(len(found.edges), "edge type")
        return f"<{type(self).__name__}: {nodes}, {edges}>"

    def _repr_svg_(self) -> str:
        return str(self.draw())

    @property
    def hash(self) -> str:
        """Identifies the accepted schema, identities included."""
        return self.catalog.ir_hash


@checked_methods
class Schema(SchemaAt):
    """The schema that a branch accepts right now."""

    def __init__(self, core: Core, branch: str | None, actor: str | None = None) -> None:
        super().__init__(core, lambda: core.state(branch))
        self._branch = branch
        self._actor = actor

    def at(self, commit: str | GraphCommit) -> SchemaAt:
        """The schema that a commit was written under: its id, a tag, `HEAD~1`, … or an instant."""
        state = state_at_commit(self._core, commit_named(self._core, commit, self._branch))
        return SchemaAt(self._core, lambda: state)

    def plan(self, desired: Text, *, allow_data_loss: bool = False) -> Plan:
        """The steps from the accepted schema to a desired one (text, or the path of a `.pg` file); changes nothing.

        `print(plan)` is for people, `plan.to_json()` for programs.
        """
        self._core.require_everything_visible("a schema plan")
        return plan_schema(self._core, SchemaCall(read_source(desired), self._branch, allow_data_loss))

    def apply(self, desired: Text, *, allow_data_loss: bool = False, message: str | None = None) -> SchemaApplied:
        """Change the schema of this branch in one commit, or not at all; other branches keep theirs until a merge.

        What the new schema leaves out stays readable in older commits, unless `allow_data_loss` reclaims it at once.
        """
        self._core.require_writable()
        self._core.require_allowed(self._actor, Action.SCHEMA_APPLY, target=self._judged_branch())
        export_lock_of(self._core.store).require_free()
        call = SchemaCall(read_source(desired), self._branch, allow_data_loss, self._actor, commit_message(message))
        return apply_schema(self._core, call)

    def _judged_branch(self) -> str:
        branch = self._branch or "main"
        return self._core.policy_branch.get(branch, branch)
