"""Who set each property of one entity, and in which commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.display import Displayed
from omnigraph.engine.changes.row_walk import RowWalk, Step, differs, row_at
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.values.json_values import json_rows
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.entity import type_named
from omnigraph.engine.views.time_travel import state_at_commit
from omnigraph.errors import NotFound
from omnigraph.storage.manifest.commits import GraphCommit


@dataclass(frozen=True, slots=True, repr=False)
class BlamedProperty(Displayed):
    """A value and the commit that set it."""

    name: str
    value: Any
    commit: GraphCommit

    def _displayed(self) -> list[tuple[str, Any]]:
        return [
            ("property", self.name),
            ("value", repr(self.value)),
            ("commit", self.commit.graph_commit_id),
            ("actor", self.commit.actor_id),
            ("created_at", self.commit.created_at),
            ("message", self.commit.message),
        ]


@dataclass(frozen=True, slots=True, repr=False)
class Blame(Displayed):
    """An entity with the origin of each of its properties; endpoints of an edge are `src` and `dst`."""

    type_name: str
    id: str
    created: GraphCommit
    properties: tuple[BlamedProperty, ...]

    def __getitem__(self, name: str) -> BlamedProperty:
        return next(item for item in self.properties if item.name == name)

    def document(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "type": self.type_name,
            "id": self.id,
            "created": self.created.document(),
            "properties": [
                {"name": each.name, "value": each.value, "commit": each.commit.document()} for each in self.properties
            ],
        }

    def __str__(self) -> str:
        """A line per property: its value, and the commit and actor behind it."""
        width = max((len(item.name) for item in self.properties), default=0)
        actors = [item.commit.actor_id or "-" for item in self.properties]
        widest = max(map(len, actors), default=0)
        return "\n".join(
            f"{item.commit.graph_commit_id}  {who.ljust(widest)}  {item.name.ljust(width)}  {item.value!r}"
            for item, who in zip(self.properties, actors, strict=True)
        )


def blame(
    core: Core,
    branch: str | None,
    type_name: str,
    entity_id: str,
    *,
    at: GraphCommit | None = None,
    reader: str | None = None,
) -> Blame:
    """The origin of every value that an entity has on a branch now, or had at a commit; NotFound when there is none.

    Types and properties are those of that moment; further back they are found by identity. What came from a branch
    that a policy does not show the reader in full has the merge that brought it as its origin.
    """
    core.require_everything_visible("blame")
    state = core.state(branch) if at is None else state_at_commit(core, at)
    view = core.view_of(state)
    info = type_named(view, type_name)
    row = row_at(view, info, entity_id)
    if row is None:
        where = f"on branch '{branch or 'main'}'" if at is None else f"at commit {at.graph_commit_id}"
        raise NotFound(f"{info.name} '{entity_id}' does not exist {where}")
    search = _Search(core, core.schemas.of(state), info, entity_id, reader)
    search.follow(state.branch, str(view.head), set(row.column_names) - {"id"})
    values = json_rows(row)[0]
    named = [BlamedProperty(name, values[name], search.found[name]) for name in row.column_names if name != "id"]
    return Blame(info.name, entity_id, search.created or search.found_first(), tuple(named))


class _Search(RowWalk):
    """Finds who set which value, also in merged branches where it came from there."""

    def __init__(self, core: Core, accepted: Accepted, info: TableType, entity_id: str, reader: str | None) -> None:
        super().__init__(core, accepted, info, entity_id, reader)
        self.found: dict[str, GraphCommit] = {}
        self.created: GraphCommit | None = None

    def found_first(self) -> GraphCommit:
        return min(self.found.values(), key=lambda commit: commit.created_at)

    def follow(self, branch: str | None, head: str, wanted: set[str]) -> None:
        """Find the commits that gave the wanted columns the values they have at a head."""
        for step in self.steps(branch, head):
            if step.reclaimed is not None:
                raise step.reclaimed
            changed = {name for name in wanted if step.changed(name)}
            wanted = wanted - changed
            self._attribute(step, changed)
            if not wanted:
                return

    def _attribute(self, step: Step, changed: set[str]) -> None:
        merged = self.merged(step.commit)
        theirs = self.at(merged) if merged is not None else None
        foreign = {name for name in changed if theirs is not None and not differs(step.here, theirs, name)}
        if merged is not None and foreign:
            self.follow(merged.manifest_branch, merged.graph_commit_id, foreign)
        elif step.before is None and self.created is None:
            self.created = step.commit
        for name in changed - foreign:
            self.found[name] = step.commit
