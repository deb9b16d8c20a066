"""What a command works on: a graph opened in this process or one behind a server, told apart here and nowhere else."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

from omnigraph.cli.address.credentials import token_for
from omnigraph.cli.address.scope import ClusterScope, ServerScope, StoreScope, resolve_scope
from omnigraph.cli.call import Call
from omnigraph.display import counted
from omnigraph.errors import BadRequest, OmnigraphError

if TYPE_CHECKING:
    from omnigraph.client.graph import RemoteGraph
    from omnigraph.engine.api.graph import Graph


AnyGraph: TypeAlias = "Graph | RemoteGraph"


def in_storage(graph: AnyGraph) -> Graph | None:
    """The graph if it was opened here; asking does not import the client, which takes its time."""
    client = sys.modules.get("omnigraph.client.graph")
    return None if client is not None and isinstance(graph, client.RemoteGraph) else cast("Graph", graph)


def refuse_served(call: Call, *options: str) -> None:
    """Refuse options that a served graph does not have, unless they ask for what happens anyway."""
    for name in options:
        declared = call.command.option(name)
        usual = declared is not None and call.many(name) and call.text(name) == declared.default
        if call.given(name) and not usual:
            raise BadRequest(f"`{name}` works on a graph in storage only; a server has no such option")


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

    def reader(self) -> AnyGraph:
        """The graph for reading, wherever it is; interrupted writes of others are left alone."""
        return self.storage_reader()

    def writer(self) -> AnyGraph:
        """The graph for writing, wherever it is; interrupted writes are resolved first."""
        return self.storage_writer()

    def storage_reader(self) -> Graph:
        """The graph for commands that read what no server tells."""
        import omnigraph as og

        return og.open(self.uri, actor=self.actor, read_only=True)

    def storage_writer(self) -> Graph:
        """The graph for commands that no server has a route for."""
        import omnigraph as og

        return og.open(self.uri, actor=self.actor)


@dataclass(frozen=True, slots=True)
class ServedTarget(Target):
    """One graph behind a server; the server knows who acts from the token."""

    token: str | None = field(default=None, repr=False)

    @property
    def is_local(self) -> bool:
        return False

    @property
    def access(self) -> str:
        return "served"

    def remote(self) -> RemoteGraph:
        """The graph with the verbs that a server has."""
        from omnigraph.client.graph import RemoteGraph
        from omnigraph.client.transport import Transport

        return RemoteGraph(Transport(self.uri, self.token))

    def reader(self) -> AnyGraph:
        return self.remote()

    def writer(self) -> AnyGraph:
        return self.remote()

    def storage_reader(self) -> Graph:
        raise BadRequest("this command needs the storage of a graph: use --store, or give its URI")

    def storage_writer(self) -> Graph:
        return self.storage_reader()


def read_target(call: Call) -> Target:
    """The graph that a reading command addresses."""
    return _target(call, write=False)


def write_target(call: Call) -> Target:
    """The graph that a writing command addresses, with the actor its commits will carry."""
    return _target(call, write=True)


def _target(call: Call, *, write: bool) -> Target:
    match resolve_scope(call):
        case StoreScope(uri):
            return Target(uri, (call.text("--as") or call.config.actor) if write else None)
        case ServerScope() as scope:
            return served_target(call, scope, write=write)
        case ClusterScope(root, graph):
            from omnigraph.cluster.boot import applied_graph_uri

            return Target(applied_graph_uri(root, graph), (call.text("--as") or call.config.actor) if write else None)


def served_target(call: Call, scope: ServerScope, *, write: bool) -> ServedTarget:
    """The graph of a server scope; when none is named, the server is asked which there are to choose from."""
    if write and call.given("--as"):
        raise BadRequest("`--as` is not allowed on a served write: the server takes the actor from the token")
    found = server_base(call, scope)
    if scope.graph is None:
        known = _graph_ids(found)
        if known:
            raise BadRequest(
                f"the server has {counted(len(known), 'graph')}: {', '.join(known)}; choose one with --graph <id>"
            )
    return found


def server_base(call: Call, scope: ServerScope) -> ServedTarget:
    """A server, with the graph when one is selected, and the token that belongs to it."""
    url = server_url(call, scope)
    return ServedTarget(url, token=token_for(url, call.config.servers, call.config.directory, call.env))


def _graph_ids(server: ServedTarget) -> list[str]:
    """What the server lists; a server that does not tell is asked for its only graph."""
    try:
        with server.remote() as graph:
            return sorted(each["graph_id"] for each in graph.server_graphs())
    except OmnigraphError:
        return []


def server_url(call: Call, scope: ServerScope) -> str:
    """The base URL of a scope, with its graph when one is selected."""
    from omnigraph.client.request import segment
    from omnigraph.client.transport import server_address

    base = scope.server if "://" in scope.server else call.config.servers.get(scope.server)
    if base is None:
        known = ", ".join(sorted(call.config.servers)) or "none"
        hint = "= help: a server that the operator config does not name is given by its URL: http://host:port"
        raise BadRequest(f"unknown server '{scope.server}' (defined: {known})\n{hint}")
    base = server_address(base)
    return base if scope.graph is None else f"{base}/graphs/{segment(scope.graph)}"
