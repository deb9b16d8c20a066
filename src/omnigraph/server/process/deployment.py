"""What a server serves: its graphs, who may ask, and who decides; replaced as a whole, never changed in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.query.stored import StoredQuery
from omnigraph.embeddings.provider import Embedder
from omnigraph.engine.api.graph import Graph
from omnigraph.errors import BadRequest
from omnigraph.policy.authorize import State
from omnigraph.policy.engine import PolicyEngine
from omnigraph.policy.tokens import ResolvedActor, TokenTable
from omnigraph.policy.visibility import Visibility
from omnigraph.server.studio.sign_in import OneTimeCode


@dataclass(frozen=True, slots=True)
class ServedGraph:
    """One opened graph, bound to main, with its stored queries and the policy that guards it."""

    id: str
    handle: Graph
    queries: Mapping[str, StoredQuery] = field(default_factory=dict)
    embedder: Embedder | None = None

    @property
    def uri(self) -> str:
        return self.handle.uri

    @property
    def policy(self) -> PolicyEngine | None:
        """What decides at the boundary is the same object that decides again inside the engine."""
        return self.handle.policy

    def with_visibility(self, visibility: Visibility | None) -> ServedGraph:
        """The same graph for a reader who may not see all of it."""
        return replace(self, handle=self.handle.with_visibility(visibility))

    def for_actor(self, sender: ResolvedActor | None) -> ServedGraph:
        """The same graph under the policy as it is for this sender, here and inside the engine."""
        policy = claimed(self.policy, sender)
        return self if policy is self.policy else replace(self, handle=self.handle.with_policy(policy))

    def with_patience(self, seconds: float | None, attempts: int | None = None) -> ServedGraph:
        """The same graph for a sender whose writes are tried for at most this long and this often."""
        return replace(self, handle=self.handle.with_patience(seconds, attempts))

    def require_queries_fit(self, catalog: Catalog) -> None:
        """Refuse a schema that would break a stored query; stored queries are written for main."""
        for query in self.queries.values():
            try:
                compile_query(query.source, catalog, query.name)
            except CompileError as error:
                raise BadRequest(f"the stored query '{query.name}' would no longer compile: {error.summary}") from error

    def acting(self, actor: str | None) -> Graph:
        """A handle for the sender of a request."""
        return self.handle.with_actor(actor)


class Successor(Protocol):
    """Looks whether what is served has moved on, and gives the next deployment then.

    `asked` is for an operator who wants everything looked at now, also what is expensive to look at.
    """

    def __call__(self, current: Deployment, *, asked: bool = False) -> Deployment | None: ...


@dataclass(frozen=True, slots=True)
class Deployment:
    """Everything that a reload replaces; `revision` and `quarantined` are those of the cluster it comes from."""

    graphs: Mapping[str, ServedGraph]
    state: State
    tokens: TokenTable
    server_policy: PolicyEngine | None = None
    cluster_backed: bool = False
    revision: int | None = None
    quarantined: tuple[str, ...] = ()
    sign_in: OneTimeCode | None = field(default=None, compare=False)  # of `omnigraph studio`
    successor: Successor | None = field(default=None, compare=False)

    @property
    def requires_authentication(self) -> bool:
        has_policy = self.server_policy is not None or any(graph.policy for graph in self.graphs.values())
        return bool(len(self.tokens)) or has_policy


def claimed(policy: PolicyEngine | None, sender: ResolvedActor | None) -> PolicyEngine | None:
    """A policy with the groups that the sender's token claims."""
    if policy is None or sender is None or not sender.groups:
        return policy
    return policy.claiming(sender.actor_id, sender.groups)
