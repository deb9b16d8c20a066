"""Which commits of a history are wanted: by actor, kind, time, type and message."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from omnigraph.engine.values.arrow import table_types
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.time_travel import instant
from omnigraph.errors import BadRequest
from omnigraph.policy.visibility import Visibility
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.note import KINDS, MAINTENANCE_KINDS
from omnigraph.storage.protocol import audit
from omnigraph.storage.protocol.recovery import RECOVERY_ACTOR

_DAY = 24 * 60 * 60 * 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFilter:
    """What a commit must match; None matches everything.

    `actor` also finds the commits that it finished for others; `type` those that changed rows of it; `message` is a
    part of the message in either case. Commits of maintenance are left out unless `maintenance` or their `kind` asks.
    """

    actor: str | None = None
    kind: str | None = None
    since: str | datetime | None = None
    until: str | datetime | None = None
    type: str | None = None
    message: str | None = None
    maintenance: bool = False

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in KINDS:
            raise BadRequest(f"unknown kind of commit '{self.kind}' (expected {', '.join(KINDS)})")
        for name in ("actor", "type", "message"):
            if getattr(self, name) == "":
                raise BadRequest(f"the filter '{name}' is empty; leave it out to get every commit")
        bounds = self._bounds()
        if bounds[0] is not None and bounds[1] is not None and bounds[0] > bounds[1]:
            raise BadRequest(f"nothing lies between since={self.since} and until={self.until}: since is later")

    def _bounds(self) -> tuple[int | None, int | None]:
        since = None if self.since is None else instant(self.since, end=False)
        until = None if self.until is None else instant(self.until)
        if until is not None and isinstance(self.until, str) and len(self.until) == len("YYYY-MM-DD"):
            until += _DAY - 1_000  # the whole of that day
        return since, until

    def test(self, core: Core) -> Callable[[GraphCommit], bool]:
        """The filter as a function; what it needs to know of the graph is asked once."""
        resolved: Collection[str] = ()
        if self.actor == RECOVERY_ACTOR:
            resolved = {record.graph_commit_id for record in audit.records(core.store.root)}
        return partial(self._matches, resolved, self._bounds())

    def _matches(self, resolved: Collection[str], bounds: tuple[int | None, int | None], commit: GraphCommit) -> bool:
        since, until = bounds
        return (
            (self.maintenance or self.kind is not None or commit.kind not in MAINTENANCE_KINDS)
            and (self.kind is None or commit.kind == self.kind)
            and (since is None or commit.created_at >= since)
            and (until is None or commit.created_at <= until)
            and (self.actor is None or self._is_by(commit, resolved))
            and (self.type is None or self.type in commit.counts)
            and (self.message is None or self.message.casefold() in (commit.message or "").casefold())
        )

    def _is_by(self, commit: GraphCommit, resolved: Collection[str]) -> bool:
        return self.actor in (commit.actor_id, commit.recovered_by) or commit.graph_commit_id in resolved


def require_type(core: Core, branch: str | None, name: str, commits: Iterable[GraphCommit]) -> None:
    """Refuse a type that the schema does not have and that none of the commits has changed."""
    known = {info.name for info in table_types(core.view(branch).catalog).values()}
    if name not in known and not any(name in commit.counts for commit in commits):
        raise BadRequest(f"unknown type '{name}' (expected {', '.join(sorted(known))})")


def visible(commits: Iterable[GraphCommit], visibility: Visibility | None) -> Iterator[GraphCommit]:
    """The commits as a reader may see them: without counts of hidden types, and what was said of their changes."""
    for commit in commits:
        if visibility is None or all(visibility.shows(name) for name in commit.counts):
            yield commit
            continue
        counts = {name: each for name, each in commit.counts.items() if visibility.shows(name)}
        yield replace(commit, counts=counts, query=None, message=None)
