"""What happened to one entity, commit by commit.

The walk is that of `blame`. Where a merge took a value as the merged branch had it, the commits of that branch are part
of the history, and the merge only as far as it decided otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, dropwhile, islice
from typing import Any

import pyarrow as pa

from omnigraph.display import Displayed
from omnigraph.engine.changes.diff import PropertyChange
from omnigraph.engine.changes.row_walk import RowWalk, Step, differs
from omnigraph.engine.values.json_values import json_rows
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.entity import type_named
from omnigraph.engine.views.time_travel import state_at_commit
from omnigraph.errors import BadRequest, HistoricalVersionReclaimed, NotFound
from omnigraph.storage.manifest.commits import GraphCommit

DEFAULT_EVENTS = 100
MAX_EVENTS = 1_000


@dataclass(frozen=True, slots=True, repr=False)
class EntityEvent(Displayed):
    """A commit that inserted, updated or deleted the entity, and the values it changed.

    `op` is None, and `changed` empty, where cleanup has removed what was before the commit.
    """

    commit: GraphCommit
    op: str | None
    changed: tuple[PropertyChange, ...]

    def _displayed(self) -> list[tuple[str, Any]]:
        return [
            ("commit", self.commit.graph_commit_id),
            ("created_at", self.commit.created_at),
            ("actor", self.commit.actor_id),
            ("operation", self.op or "change"),
            ("changed", ", ".join(f"{name}: {before!r} -> {after!r}" for name, before, after in self.changed)),
            ("message", self.commit.message),
        ]

    def document(self) -> dict[str, Any]:
        """The same as JSON."""
        changed = [each._asdict() for each in self.changed]
        return {"op": self.op, "commit": self.commit.document(), "changed": changed}


@dataclass(frozen=True, slots=True, repr=False)
class EntityHistory(Displayed):
    """The commits that changed an entity, newest first; endpoints of an edge are `src` and `dst`.

    `after` continues with the next page, and is None on the last one. `complete` is False where cleanup has removed
    older changes.
    """

    type_name: str
    id: str
    events: tuple[EntityEvent, ...]
    after: str | None = None
    complete: bool = True

    def document(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "type": self.type_name,
            "id": self.id,
            "events": [each.document() for each in self.events],
            "after": self.after,
            "complete": self.complete,
        }

    def __str__(self) -> str:
        """A line per commit: what it did, its actor, and the values it changed."""
        return "\n".join(
            f"{each.commit.graph_commit_id}  {each.commit.actor_id or '-'}  {each.op or 'change'}  "
            + ", ".join(f"{name}: {before!r} -> {after!r}" for name, before, after in each.changed)
            for each in self.events
        )


def entity_history(
    core: Core,
    branch: str | None,
    type_name: str,
    entity_id: str,
    *,
    at: GraphCommit | None = None,
    limit: int = DEFAULT_EVENTS,
    after: str | None = None,
    reader: str | None = None,
) -> EntityHistory:
    """One page of what happened to an entity up to now or to a commit; NotFound when it never was there.

    The type and the names of properties are those of that moment; further back they are found by identity. What
    came from a branch that a policy does not show the reader in full is a change of the merge that brought it.
    """
    core.require_everything_visible("the history of an entity")
    if not 1 <= limit <= MAX_EVENTS:
        raise BadRequest(f"limit must be between 1 and {MAX_EVENTS}, not {limit}")
    state = core.state(branch) if at is None else state_at_commit(core, at)
    view = core.view_of(state)
    info = type_named(view, type_name)
    past = _Past(RowWalk(core, core.schemas.of(state), info, entity_id, reader))
    events = past.events(state.branch, str(view.head))
    if after is not None:
        events = dropwhile(lambda each: each.commit.graph_commit_id != after, events)
        if next(events, None) is None:
            raise BadRequest(
                f"commit {after} is not in the history of {info.name} '{entity_id}'; start without 'after'"
            )
    page = list(islice(events, limit + 1))
    if not page and after is None and past.complete:
        where = f"on branch '{branch or 'main'}'" if at is None else f"at commit {at.graph_commit_id}"
        raise NotFound(f"{info.name} '{entity_id}' does not exist {where}, nor did it before")
    more = len(page) > limit
    shown = tuple(page[:limit])
    return EntityHistory(info.name, entity_id, shown, shown[-1].commit.graph_commit_id if more else None, past.complete)


class _Past:
    """Follows a branch, and the branches that were merged where a change came from there, by time."""

    def __init__(self, walk: RowWalk) -> None:
        self.walk = walk
        self.complete = True
        self._waiting: list[tuple[int, int, Step, Iterator[Step]]] = []
        self._order = count()

    def events(self, branch: str | None, head: str) -> Iterator[EntityEvent]:
        """What happened, newest first, one by one as they are asked for."""
        seen: set[str] = set()
        self._wait(self.walk.steps(branch, head))
        while self._waiting:
            _, _, step, rest = heappop(self._waiting)
            if step.commit.graph_commit_id in seen:
                continue  # where branches meet, they have the same past
            seen.add(step.commit.graph_commit_id)
            event = self._event(step)
            self._wait(rest)
            if event is not None:
                yield event

    def _wait(self, steps: Iterator[Step]) -> None:
        try:
            step = next(steps, None)
        except HistoricalVersionReclaimed:
            self.complete = False
            return
        if step is not None:
            heappush(self._waiting, (-step.commit.created_at, next(self._order), step, steps))

    def _event(self, step: Step) -> EntityEvent | None:
        """What the commit itself did; None for one that changed nothing, or only brought what a branch had."""
        if step.reclaimed is not None:
            self.complete = False
            return EntityEvent(step.commit, None, ())
        before, here = step.before, step.here
        known = before if here is None else here
        assert known is not None
        names = [name for name in known.column_names if name != "id" and step.changed(name)]
        merged = self.walk.merged(step.commit)
        if merged is not None:
            theirs = self.walk.at(merged)
            own = [name for name in names if differs(here, theirs, name)]
            if len(own) < len(names):
                self._wait(self.walk.steps(merged.manifest_branch, merged.graph_commit_id))
                names, before = own, theirs if before is None else before
        if not names:
            return None
        old, new = _values(before), _values(here)
        pairs = (PropertyChange(name, old.get(name), new.get(name)) for name in names)
        op = "insert" if before is None else "delete" if here is None else "update"
        return EntityEvent(
            step.commit, op, tuple(each for each in pairs if each.before is not None or each.after is not None)
        )


def _values(row: pa.Table | None) -> dict[str, Any]:
    return {} if row is None else json_rows(row)[0]
