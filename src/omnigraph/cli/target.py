"""What a command works on: a graph opened in this process or one behind a server, told apart here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.cli.call import Call
from omnigraph.cli.credentials import token_for
from omnigraph.cli.scope import ClusterScope, ServerScope, StoreScope, resolve_scope
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.engine.graph import Graph


@dataclass(frozen=True, slots=True)
class Target:
    """One graph, not opened yet; `uri` is spelled as the user spelled it."""

    uri: str
    actor: str | None = None

    @property
    def is_local(self) -> bool:
        return "://" not in self.uri or self.uri.startswith("file://")

    @property
    def access(self) -> str:
        """How the graph is reached, in the words of the write echo."""
        return "direct, local" if self.is_local else "direct, remote"

    def reader(self) -> Graph:
        """The graph for reading; interrupted writes of others are left alone."""
        import omnigraph as og

        return og.open(self.uri, actor=self.actor, read_only=True)

    def writer(self) -> Graph:
        """The graph for writing; interrupted writes are resolved first."""
        import omnigraph as og

        return og.open(self.uri, actor=self.actor)


def read_target(call: Call) -> Target:
    """The graph that a reading command addresses."""
    return _target(call, write=False)


def write_target(call: Call) -> Target:
    """The graph that a writing command addresses, with the actor its commits will carry."""
    return _target(call, write=True)


def is_served(call: Call) -> bool:
    """Whether the command addresses a server; resolves nothing beyond that."""
    return isinstance(resolve_scope(call), ServerScope)


def _target(call: Call, *, write: bool) -> Target:
    match resolve_scope(call):
        case StoreScope(uri):
            return Target(uri, (call.text("--as") or call.config.actor) if write else None)
        case ServerScope() as scope:
            raise served(call, scope, write=write)
        case ClusterScope(root, graph):
            from omnigraph.cluster.boot import applied_graph_uri

            return Target(applied_graph_uri(root, graph), (call.text("--as") or call.config.actor) if write else None)


def served(call: Call, scope: ServerScope, *, write: bool) -> BadRequest:
    """Why a served graph cannot be used; everything that is wrong before a request is noticed first."""
    if write and call.given("--as"):
        return BadRequest("`--as` is not allowed on a served write: the server takes the actor from the token")
    url = server_url(call, scope)
    token_for(url, call.config.servers, call.config.directory, call.env)
    return BadRequest(f"'{url}' is a server, and this release reaches graphs in storage only; use --store")


def server_url(call: Call, scope: ServerScope) -> str:
    """The base URL of a scope, with its graph when one is selected."""
    base = scope.server if "://" in scope.server else call.config.servers.get(scope.server)
    if base is None:
        known = ", ".join(sorted(call.config.servers)) or "none"
        raise BadRequest(f"unknown server '{scope.server}' (defined: {known})")
    base = base.rstrip("/")
    return base if scope.graph is None else f"{base}/graphs/{scope.graph}"
