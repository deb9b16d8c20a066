"""The changes of one entity, newest first, at the cost of its own changes.

A row knows the table version that wrote it last, and published versions only grow along a branch. Which ones a branch
has published is read once; then every change of the row costs a look at the version before it. Where the table had
another name, the commit is found by halving the list of first parents, and states are read for the commits asked. While
the row is absent nothing tells when it was last there: the commits that deleted entities of its type are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.values.equality import differing_values
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.entity import rows_with_ids
from omnigraph.engine.views.time_travel import find_commit, state_at_commit
from omnigraph.engine.views.view import View
from omnigraph.errors import HistoricalVersionReclaimed, NotFound
from omnigraph.policy.actions import Action
from omnigraph.storage.intent.tally import type_name
from omnigraph.storage.lance.tables import in_list
from omnigraph.storage.lance.version_tree import UPDATED
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.commits import GraphCommit, Lineage
from omnigraph.storage.manifest.note import MAINTENANCE_KINDS
from omnigraph.storage.manifest.published import PublishedVersions, published_versions
from omnigraph.storage.manifest.snapshot import Snapshot, TableIdentity


@dataclass(frozen=True, slots=True)
class Step:
    """A commit that wrote or deleted the row, and the row right after and right before it; None where it is absent.

    `reclaimed` is set where cleanup has removed what was before; it is the last step then.
    """

    commit: GraphCommit
    here: pa.Table | None
    before: pa.Table | None
    reclaimed: HistoricalVersionReclaimed | None = None

    def changed(self, name: str) -> bool:
        """Whether the commit changed a value."""
        return differs(self.here, self.before, name)


class RowWalk:
    """Goes back from a head along first parents; `merged` is where a change of a merge may have come from."""

    def __init__(self, core: Core, accepted: Accepted, info: TableType, entity_id: str, reader: str | None) -> None:
        self.core = core
        self.reader = reader
        self.accepted = accepted
        self.info = info
        self.entity_id = entity_id
        self.published: dict[str | None, PublishedVersions | None] = {}
        # Counts go by the name of a type, and do not tell a node type from an edge type of the same name.
        self._counted = not (info.name in accepted.catalog.nodes and info.name in accepted.catalog.edges)

    def steps(self, branch: str | None, head: str) -> Iterator[Step]:
        """The commits behind a head that wrote or deleted the row, newest first, one by one as they are asked for."""
        lineage, published = self.core.state(branch).lineage, self._published_on(branch)
        commit = lineage.get(head)
        place = -1 if published is None or commit is None else published.shown_at(commit)
        if published is None or place < 0:
            yield from self._steps_by_states(branch, head)
            return
        renamed = published.registered.renamed_from is not None
        here = self._shown(published, place)
        while here is not None or place >= 0:
            if here is None:
                first = self._deleted_in(lineage, published, place)
                if first < 0 and not renamed:
                    return
            else:
                first = min(published.first_with(self._written_in(published, place)), place)
            found = None if first < 0 else self._publisher(lineage, published, first)
            if found is None or (first == 0 and renamed):
                yield from self._steps_by_states(branch, head)
                return
            try:
                before = self._shown(published, first - 1)
            except HistoricalVersionReclaimed as error:
                yield Step(found, here, None, error)
                return
            yield Step(found, here, before)
            head, here, place = str(found.parent_commit_id), before, first - 1

    def merged(self, commit: GraphCommit) -> GraphCommit | None:
        """The head of the branch that a commit merged, where it is still known and the reader sees all of it."""
        if commit.merged_parent_commit_id is None:
            return None
        try:
            found = find_commit(self.core, commit.merged_parent_commit_id, commit.manifest_branch)
        except NotFound:
            return None  # its branch is gone; the merge itself is the best answer left
        # A commit has an actor, a message and counts: only of a branch that the reader sees in full are they shown.
        shown = self.core.visibility_of(self.reader, Action.READ, found.manifest_branch)
        return found if shown is None else None

    def at(self, commit: GraphCommit) -> pa.Table | None:
        """The row as a commit left it."""
        return row_at(self._view(commit), self.info, self.entity_id)

    # --- by what a branch has published ------------------------------------------------------------------------

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

    def _deleted_in(self, lineage: Lineage, published: PublishedVersions, place: int) -> int:
        """The place of the publication that deleted the row, which is absent at a place; -1 when it never was there."""
        places = np.arange(1, place + 1)
        if self._counted:
            told = lineage.may_have_deleted(type_name(published.registered.table_key)).to_numpy()
            places = places[np.isin(published.published_at[1 : place + 1], told)]
        return next((int(at) for at in places[::-1] if self._shown(published, int(at) - 1) is not None), -1)

    def _shown(self, published: PublishedVersions, place: int) -> pa.Table | None:
        return None if place < 0 else row_at(self._view_at(published, place), self.info, self.entity_id)

    def _written_in(self, published: PublishedVersions, place: int) -> int:
        return self._last_written(self._view_at(published, place))

    def _view_at(self, published: PublishedVersions, place: int) -> View:
        entry = published.entry(place)
        snapshot = Snapshot(int(published.published_at[place]), None, {entry.table_key: entry}, {}, None)
        return View(snapshot, self.accepted.catalog, None, self.core.tables)

    # --- by the states of commits, which know the table under every name it had --------------------------------

    def _steps_by_states(self, branch: str | None, head: str) -> Iterator[Step]:
        chain = list(self.core.state(branch).lineage.first_parents(head))
        place, here = 0, self.at(chain[0]) if chain else None
        while place < len(chain):
            place = self._deleter(chain, place) if here is None else self._writer(chain, place)
            if place < 0:
                return
            try:
                before = self.at(chain[place + 1]) if place + 1 < len(chain) else None
            except HistoricalVersionReclaimed as error:
                yield Step(chain[place], here, None, error)
                return
            yield Step(chain[place], here, before)
            place, here = place + 1, before

    def _deleter(self, chain: list[GraphCommit], start: int) -> int:
        """The position of the commit, from `start` back, that deleted the row; -1 when it never was there."""
        for place in range(start, len(chain) - 1):
            if self._may_have_deleted(chain[place]) and self.at(chain[place + 1]) is not None:
                return place
        return -1

    def _may_have_deleted(self, commit: GraphCommit) -> bool:
        """By its counts, under whatever name the type had; a commit that has none is looked at."""
        if commit.kind in MAINTENANCE_KINDS:
            return False
        told = commit.counts.values()
        return not told or not self._counted or any(each.deleted for each in told)

    def _writer(self, chain: list[GraphCommit], start: int) -> int:
        """The position of the oldest commit, from `start` back, that already has the row as it is at `start`."""
        version = self._last_written(self._view(chain[start]))
        low, high = start, len(chain) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self._published(chain[middle]) >= version:
                low = middle
            else:
                high = middle - 1
        return low

    def _last_written(self, view: View) -> int:
        rows = view.table(self.info).scan([UPDATED], in_list("id", [self.entity_id]))
        return int(rows[UPDATED][0].as_py())

    def _published(self, commit: GraphCommit) -> int:
        entry = self._view(commit).find(self.info)
        return 0 if entry is None else entry.version

    def _view(self, commit: GraphCommit) -> View:
        return self.core.view_of(state_at_commit(self.core, commit), self.accepted)


def row_at(view: View, info: TableType, entity_id: str) -> pa.Table | None:
    """The row of an entity; None where it is absent."""
    if view.find(info) is None:
        return None
    rows = rows_with_ids(view, info, [entity_id])
    return rows if rows.num_rows else None


def differs(one: Mapping[str, Any] | pa.Table | None, other: pa.Table | None, name: str) -> bool:
    """Whether two rows have different values; an absent row differs from one that is there."""
    if one is None or other is None:
        return one is not other
    return bool(differing_values(one[name], other[name])[0])
