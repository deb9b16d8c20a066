"""What writes give back."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.storage.commits import GraphCommit


@dataclass(frozen=True, slots=True)
class MutationResult:
    """How many entities a mutation touched, and the commit it became (None when it touched none)."""

    branch: str
    query_name: str
    affected_nodes: int
    affected_edges: int
    actor_id: str | None
    commit: GraphCommit | None

    @property
    def commit_id(self) -> str | None:
        """The id of the commit."""
        return None if self.commit is None else self.commit.graph_commit_id
