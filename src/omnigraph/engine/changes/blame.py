"""Who set each property of one entity, and in which commit.

A row knows the table version that wrote it last, and published versions only grow along a branch. Which ones a branch
has published is read once; then every change of the row costs a look at the version before it. Where the table had
another name, the commit is found by halving the list of first parents, and states are read for the commits asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.display import Displayed
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.values.equality import differing_values
from omnigraph.engine.values.json_values import json_rows
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.entity import rows_with_ids, type_named
from omnigraph.engine.views.time_travel import find_commit, state_at_commit
from omnigraph.engine.views.view import View
from omnigraph.errors import NotFound
from omnigraph.policy.actions import Action
from omnigraph.storage.lance.tables import in_list
from omnigraph.storage.lance.version_tree import UPDATED
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.commits import GraphCommit, Lineage
from omnigraph.storage.manifest.published import PublishedVersions, published_versions
from omnigraph.storage.manifest.snapshot import Snapshot, TableIdentity


@dataclass(frozen=True, slots=True)
class BlamedProperty:
    """A value and the commit that set it."""

    name: str
    value: Any
    commit: GraphCommit


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
        return "\n".join(
            f"{item.commit.graph_commit_id}  {item.commit.actor_id or '-'}  {item.name.ljust(width)}  {item.value!r}"
            for item in self.properties
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
    row = _row(view, info, entity_id)
    if row is None:
        where = f"on branch '{branch or 'main'}'" if at is None else f"at commit {at.graph_commit_id}"
        raise NotFound(f"{info.name} '{entity_id}' does not exist {where}")
    search = _Search(core, core.schemas.of(state), info, entity_id, reader)
    search.follow(state.branch, str(view.head), set(row.column_names) - {"id"})
    values = json_rows(row)[0]
    named = [BlamedProperty(name, values[name], search.found[name]) for name in row.column_names if name != "id"]
    return Blame(info.name, entity_id, search.created or search.found_first(), tuple(named))


class _Search:
    """Goes back from a head, and into merged branches where a value came from there."""

    def __init__(
        self, core: Core, accepted: Accepted, info: TableType, entity_id: str, reader: str | None = None
    ) -> None:
        self.core = core
        self.reader = reader
        self.accepted = accepted
        self.info = info
        self.entity_id = entity_id
        self.found: dict[str, GraphCommit] = {}
        self.created: GraphCommit | None = None
        self.published: dict[str | None, PublishedVersions | None] = {}

    def found_first(self) -> GraphCommit:
        return min(self.found.values(), key=lambda commit: commit.created_at)

    def follow(self, branch: str | None, head: str, wanted: set[str]) -> None:
        """Find the commits that gave the wanted columns the values they have at a head."""
        lineage, published = self.core.state(branch).lineage, self._published_on(branch)
        commit = lineage.get(head)
        if published is None or commit is None:
            self._follow_states(branch, head, wanted)
            return
        place = published.shown_at(commit)
        here = self._shown(published, place)
        while wanted:
            first = -1 if here is None else min(published.first_with(self._written_in(published, place)), place)
            found = None if first < 0 else self._publisher(lineage, published, first)
            if here is None or found is None or (first == 0 and published.registered.renamed_from is not None):
                self._follow_states(branch, head, wanted)
                return
            before = self._shown(published, first - 1)
            changed = {name for name in wanted if before is None or _differs(here, before, name)}
            wanted = wanted - changed
            self._attribute(found, here, changed, born=before is None)
            head, here, place = str(found.parent_commit_id), before, first - 1

    def _publisher(self, lineage: Lineage, published: PublishedVersions, place: int) -> GraphCommit | None:
        key, version = published.registered.table_key, int(published.versions[place])
        return lineage.publisher(int(published.published_at[place]), key, version)

    def _published_on(self, branch: str | None) -> PublishedVersions | None:
        """What a branch has published of the table under the name it has now; None when that is another table's."""
        if branch not in self.published:
            loaded = manifest.load(self.core.store.root, branch)
            registered = loaded.state.registrations.get(self.info.table_key)
            identity = TableIdentity(self.info.type_id, self.info.incarnation_id)
            known = registered is not None and registered.identity == identity
            self.published[branch] = published_versions(loaded.handle, registered) if known and registered else None
        return self.published[branch]

    def _shown(self, published: PublishedVersions, place: int) -> pa.Table | None:
        return None if place < 0 else _row(self._view_at(published, place), self.info, self.entity_id)

    def _written_in(self, published: PublishedVersions, place: int) -> int:
        return self._last_written(self._view_at(published, place))

    def _view_at(self, published: PublishedVersions, place: int) -> View:
        entry = published.entry(place)
        snapshot = Snapshot(int(published.published_at[place]), None, {entry.table_key: entry}, {}, None)
        return View(snapshot, self.accepted.catalog, None, self.core.tables)

    def _follow_states(self, branch: str | None, head: str, wanted: set[str]) -> None:
        """The same by the states of commits, which know the table under every name it had."""
        chain = list(self.core.state(branch).lineage.first_parents(head))
        at = 0
        while wanted:
            at = self._writer(chain, at)
            commit = chain[at]
            here = self._at(commit)
            assert here is not None
            before = self._at(chain[at + 1]) if at + 1 < len(chain) else None
            changed = {name for name in wanted if before is None or _differs(here, before, name)}
            wanted = wanted - changed
            self._attribute(commit, here, changed, born=before is None)
            at += 1

    def _attribute(self, commit: GraphCommit, here: pa.Table, changed: set[str], *, born: bool) -> None:
        merged = self._merged(commit)
        theirs = self._at(merged) if merged is not None else None
        foreign = {name for name in changed if theirs is not None and not _differs(here, theirs, name)}
        if merged is not None and foreign:
            self.follow(merged.manifest_branch, merged.graph_commit_id, foreign)
        elif born and self.created is None:
            self.created = commit
        for name in changed - foreign:
            self.found[name] = commit

    def _merged(self, commit: GraphCommit) -> GraphCommit | None:
        if commit.merged_parent_commit_id is None:
            return None
        try:
            found = find_commit(self.core, commit.merged_parent_commit_id, commit.manifest_branch)
        except NotFound:
            return None  # its branch is gone; the merge itself is the best answer left
        # A commit has an actor, a message and counts: only of a branch that the reader sees in full are they shown.
        shown = self.core.visibility_of(self.reader, Action.READ, found.manifest_branch)
        return found if shown is None else None

    def _writer(self, chain: list[GraphCommit], start: int) -> int:
        """The position of the oldest commit, from `start` back, that already has the row as it is at `start`."""
        version = self._written(chain[start])
        low, high = start, len(chain) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self._published(chain[middle]) >= version:
                low = middle
            else:
                high = middle - 1
        return low

    def _written(self, commit: GraphCommit) -> int:
        return self._last_written(self._view(commit))

    def _last_written(self, view: View) -> int:
        rows = view.table(self.info).scan([UPDATED], in_list("id", [self.entity_id]))
        return int(rows[UPDATED][0].as_py())

    def _published(self, commit: GraphCommit) -> int:
        entry = self._view(commit).find(self.info)
        return 0 if entry is None else entry.version

    def _at(self, commit: GraphCommit) -> pa.Table | None:
        return _row(self._view(commit), self.info, self.entity_id)

    def _view(self, commit: GraphCommit) -> View:
        return self.core.view_of(state_at_commit(self.core, commit), self.accepted)


def _row(view: View, info: TableType, entity_id: str) -> pa.Table | None:
    if view.find(info) is None:
        return None
    rows = rows_with_ids(view, info, [entity_id])
    return rows if rows.num_rows else None


def _differs(one: Mapping[str, Any] | pa.Table, other: pa.Table, name: str) -> bool:
    return bool(differing_values(one[name], other[name])[0])
