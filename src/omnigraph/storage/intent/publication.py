"""A graph commit as a value: what is to be published under which conditions, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.storage.intent.sidecar import Token
from omnigraph.storage.intent.writeset import ManifestDelta
from omnigraph.storage.lance.refs import Identifier
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.note import Note
from omnigraph.storage.manifest.rows import VersionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """One graph commit: its rows and everything that must still hold for it to become visible.

    `token` is None only for recovery's rollback commit, which goes on top of whatever is there, in the incarnation of
    the branch that `identifier` names. `replayed_by` is the operation that publishes a commit of a clone; every other
    commit has the id of its operation.
    """

    branch: str | None
    commit_id: str
    created_at: int
    token: Token | None
    identifier: Identifier | None = None
    expected: Mapping[str, int] = field(default_factory=dict)
    versions: tuple[VersionRow, ...] = ()
    delta: ManifestDelta = field(default_factory=ManifestDelta)
    actor_id: str | None = None
    merged_parent: str | None = None
    note: Note = field(default_factory=Note)
    replayed_by: str | None = None

    @property
    def operation_id(self) -> str:
        """What is decided by this publication."""
        return self.replayed_by or self.commit_id


@dataclass(frozen=True, slots=True)
class Published:
    """The commit, the branch's state right after it, and how many fragments its manifest then had (0: unknown)."""

    commit: GraphCommit
    state: ManifestState
    fragments: int = 0
