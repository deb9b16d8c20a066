"""What writes are asked for in a word, and what they give back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from omnigraph.display import Displayed
from omnigraph.engine.values.load_profile import LoadProfile
from omnigraph.errors import BadRequest
from omnigraph.storage.manifest.commits import GraphCommit

LoadMode = Literal["append", "merge", "overwrite", "patch"]
OnError = Literal["stop", "skip"]


@dataclass(frozen=True, slots=True, repr=False)
class EmbedCounts(Displayed):
    """`@embed` targets (`Type.property`) of a write: vectors computed, and rows left without one of their text.

    `why` says what kept the latter from being filled. A row without any text counts in neither.
    """

    filled: Mapping[str, int] = field(default_factory=dict)
    left: Mapping[str, int] = field(default_factory=dict)
    why: str | None = None

    def __bool__(self) -> bool:
        return bool(self.filled or self.left)


@dataclass(frozen=True, slots=True, repr=False)
class MutationResult(Displayed):
    """How many entities a mutation touched, and the commit it became (None when it touched none)."""

    branch: str
    query_name: str
    affected_nodes: int
    affected_edges: int
    actor_id: str | None
    commit: GraphCommit | None
    embeddings: EmbedCounts = EmbedCounts()

    @property
    def commit_id(self) -> str | None:
        """The id of the commit."""
        return None if self.commit is None else self.commit.graph_commit_id


@dataclass(frozen=True, slots=True, repr=False)
class BatchResult(Displayed):
    """How many mutations a batch had, how many entities they touched, and the one commit they became.

    An entity counts each time a mutation touches it; the counts of the commit have each entity once.
    """

    branch: str
    mutations: int
    affected_nodes: int
    affected_edges: int
    actor_id: str | None
    commit: GraphCommit | None
    embeddings: EmbedCounts = EmbedCounts()

    @property
    def commit_id(self) -> str | None:
        """The id of the commit."""
        return None if self.commit is None else self.commit.graph_commit_id


@dataclass(frozen=True, slots=True, repr=False)
class LoadResult(Displayed):
    """How many entities a load wrote, by type, and the commit it became."""

    branch: str
    base_branch: str | None
    branch_created: bool
    mode: str
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    actor_id: str | None
    commit: GraphCommit | None
    runner: str
    rejected: Mapping[str, int] = field(default_factory=dict)  # by error code, when the load skips bad rows
    dry_run: bool = False
    embeddings: EmbedCounts = EmbedCounts()
    # Edges to nodes that are not there, by type, where the mapping says `missing: skip`.
    skipped: Mapping[str, int] = field(default_factory=dict)
    # Of a dry run that skips: the first of each kind of problem, by code.
    examples: Mapping[str, str] = field(default_factory=dict)
    profile: LoadProfile | None = None  # where the time went; None when a server did the work

    @property
    def total_entities(self) -> int:
        """Nodes and edges together."""
        return sum(self.nodes.values()) + sum(self.edges.values())

    @property
    def commit_id(self) -> str | None:
        """The id of the commit."""
        return None if self.commit is None else self.commit.graph_commit_id


def parse_mode(mode: str) -> LoadMode:
    """The load mode a caller named."""
    for known in get_args(LoadMode):
        if mode == known:
            return known  # type: ignore[no-any-return]
    raise BadRequest(f"unknown load mode '{mode}' (expected {', '.join(get_args(LoadMode))})")
