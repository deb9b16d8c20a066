"""One page of one commit's changes, and the token that continues it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnigraph.display import Displayed
from omnigraph.engine.changes.block import Block, Budget, Cause, Change, CommitChanges
from omnigraph.engine.changes.scope import ChangeScope
from omnigraph.engine.changes.token import decode_position, decode_token, encode_token, hashed
from omnigraph.engine.views.core import Core
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState


@dataclass(frozen=True, slots=True, repr=False)
class ChangesPage(Displayed):
    """A block and, unless it completes the commit, the token for the next page."""

    block: Block
    next_page_token: str | None = None

    def _displayed(self) -> list[tuple[str, Any]]:
        return [*self.block._displayed(), ("next_page_token", self.next_page_token)]

    @property
    def cause(self) -> Cause:
        return self.block.cause

    @property
    def changes(self) -> list[Change]:
        return self.block.changes


def commit_changes_page(
    core: Core, commit: GraphCommit, scope: ChangeScope, budget: Budget, page_token: str | None = None
) -> ChangesPage:
    """The changes of a commit against its first parent, from the start or from where the last page ended."""
    bound = {
        "graph_identity": graph_identity(core.state(None)),
        "commit_id": commit.graph_commit_id,
        "filter_digest": scope.digest,
    }
    after = None if page_token is None else decode_position(decode_token(page_token, "commit-page", bound))
    source = CommitChanges(core, commit, scope)
    block = Block(source.cause)
    stopped = source.fill(block, budget, after)
    if stopped is None:
        return ChangesPage(block)
    return ChangesPage(block, encode_token("commit-page", bound | stopped.fields))


def graph_identity(state: ManifestState) -> str:
    """Distinguishes this graph from every other one, also from a later one at the same place."""
    return hashed(state.schema.schema_identity_domain if state.schema is not None else "")
