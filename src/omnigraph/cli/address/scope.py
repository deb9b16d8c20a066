"""Which graph a command touches: explicit addressing first, then profiles, then defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.cli.address.config import Profile
from omnigraph.cli.call import Call
from omnigraph.cli.table.globals import ADDRESSING
from omnigraph.cli.table.model import Capability, Command
from omnigraph.cli.table.place import names_a_graph
from omnigraph.errors import BadRequest


@dataclass(frozen=True, slots=True)
class StoreScope:
    """One graph in storage."""

    uri: str


@dataclass(frozen=True, slots=True)
class ServerScope:
    """A server by name or URL, and a graph on it."""

    server: str
    graph: str | None


@dataclass(frozen=True, slots=True)
class ClusterScope:
    """A cluster's storage root, and a graph in it."""

    root: str
    graph: str | None


Scope: TypeAlias = StoreScope | ServerScope | ClusterScope

_MAINTENANCE = frozenset({"optimize", "repair", "cleanup"})
# How directories of graphs are called by custom.
_GRAPH_ENDING = ".omni"


def guard(call: Call) -> None:
    """Refuse an addressing option that the command cannot consume; reads nothing, so it works with a broken config."""
    command = call.command
    for name in ADDRESSING:
        if call.given(name) and name not in command.accepts:
            remedy = _remedy(command, name)
            raise BadRequest(
                f"`{command.addressed_as}` is a {command.capability.value} command; "
                f"`{name}` does not apply.{' ' + remedy if remedy else ''}"
            )
    graph = command.graph
    if (
        graph is not None
        and graph.required
        and call.given("--store")
        and call.argument(graph.name) != call.text("--store")
    ):
        raise BadRequest(
            f"`{command.addressed_as}` is a {command.capability.value} command; `--store` does not apply when "
            f"{graph.name} is given as an argument. Pass a storage URI once."
        )


def _remedy(command: Command, option: str) -> str:
    match command.capability:
        case Capability.DIRECT if command.path[0] in _MAINTENANCE:
            return "Pass a storage URI, or --cluster <dir> --graph <id>."
        case Capability.DIRECT:
            return "Pass a storage URI."
        case Capability.CONTROL if command.path[0] == "cluster":
            return "Say which cluster with --config <dir>."
        case Capability.CONTROL:
            return "Say which cluster: pass --cluster <dir|uri>."
        case Capability.DATA if option == "--server":
            return "A server has no route for it; pass a URI or --store."
        case Capability.SERVED:
            return "Use --server <name|url> or --profile <name>."
        case _:
            return ""


def is_addressed(call: Call) -> bool:
    """Whether anything says which graph is meant."""
    return _found(call) is not None


def resolve_scope(call: Call) -> Scope:
    """The scope of a data, direct or served command, checked against what the command can work on."""
    assert call.config is not None  # read first, so that a broken config is reported before anything is done
    scope = _found(call)
    if scope is None:
        if call.command.capability is Capability.SERVED:
            raise BadRequest(f"`{call.command.name}` needs a server scope: use --server <name|url> or --profile <name>")
        raise BadRequest("\n".join([f"no graph addressed: pass {_ways(call.command)}", *_misplaced(call)]))
    _require_fit(call, scope)
    return scope


def _ways(command: Command) -> str:
    """How this command takes its graph."""
    ways = ["its URI as the last argument"] if command.graph is not None else []
    forms = {"--store": "<URI>", "--server": "<name|url>", "--cluster": "<dir|uri>", "--profile": "<name>"}
    ways += [f"{name} {form}" for name, form in forms.items() if name in command.accepts]
    return f"{', '.join(ways)}, or set a default in the operator config"


def _misplaced(call: Call) -> list[str]:
    """A graph that was given, in a place where it means something else."""
    if call.given("--graph"):
        return ["= help: --graph selects one graph of a server or cluster; a path or URI goes to --store"]
    for name, values in call.parsed.arguments.items():
        for value in values:
            if names_a_graph(value):
                return [f"= help: '{value}' was taken as {name}; say which graph with --store {value}"]
            if value.endswith(_GRAPH_ENDING):
                return [f"= help: there is no graph at '{value}', so it was taken as {name}"]
    return []


def cluster_scope(call: Call) -> ClusterScope:
    """The cluster that a control command addresses, by --cluster or a profile that binds one."""
    scope = _explicit(call) or _of_profile(call)
    if not isinstance(scope, ClusterScope):
        raise BadRequest(
            f"`{call.command.name}` needs a cluster: pass --cluster <dir|uri>, or a --profile that binds one"
        )
    return scope


def _found(call: Call) -> Scope | None:
    return _explicit(call) or _of_profile(call) or _of_defaults(call)


def _explicit(call: Call) -> Scope | None:
    uri = call.argument("URI") if "URI" in call.parsed.arguments else call.text("--uri")
    given = [("the URI argument" if call.argument("URI") else "--uri", uri)]
    given += [(name, call.text(name)) for name in ("--store", "--server", "--cluster")]
    named = [(name, value) for name, value in given if value is not None]
    if len(named) > 1:
        raise BadRequest(f"{' and '.join(name for name, _ in named)} are mutually exclusive; give one of them")
    if not named:
        return None
    name, value = named[0]
    graph = call.text("--graph")
    if name == "--cluster":
        return ClusterScope(call.config.clusters.get(value, value), graph)
    if name == "--server":
        return ServerScope(value, graph)
    if graph is not None:
        raise BadRequest(f"`--graph` cannot be used here: '{value}' is already a single graph")
    return StoreScope(value)


def _of_profile(call: Call) -> Scope | None:
    name = call.text("--profile") or call.env.get("OMNIGRAPH_PROFILE") or None
    if name is None:
        return None
    profile = call.config.profiles.get(name)
    if profile is None:
        known = ", ".join(sorted(call.config.profiles)) or "none"
        raise BadRequest(f"unknown profile '{name}' (defined: {known})")
    return profile_scope(call, name, profile)


def profile_scope(call: Call, name: str, profile: Profile) -> Scope:
    """What a profile binds."""
    problem = profile.problem()
    if problem is not None:
        raise BadRequest(f"profile '{name}' {problem}")
    kind, value = profile.bindings()[0]
    graph = call.text("--graph") or profile.default_graph
    if kind == "server":
        return ServerScope(value, graph)
    if kind == "cluster":
        return ClusterScope(call.config.clusters.get(value, value), graph)
    return _store(value, graph, f"profile '{name}'")


def _of_defaults(call: Call) -> Scope | None:
    defaults = call.config.defaults
    if defaults.server is not None:
        return ServerScope(defaults.server, call.text("--graph") or defaults.default_graph)
    if defaults.store is not None:
        return _store(defaults.store, call.text("--graph"), "defaults.store")
    return None


def _store(uri: str, graph: str | None, origin: str) -> StoreScope:
    if graph is not None:
        raise BadRequest(f"a graph (`{graph}`) does not apply to a store scope: {origin} names one graph, '{uri}'")
    return StoreScope(uri)


def _require_fit(call: Call, scope: Scope) -> None:
    command = call.command
    match command.capability, scope:
        case Capability.DATA, ClusterScope():
            raise BadRequest("a cluster scope is not valid for graph data commands; use --server or --store")
        case Capability.DATA, StoreScope(uri) if _is_url(uri):
            raise BadRequest(f"'{uri}' is a server and must be addressed with `--server <url>`")
        case Capability.DIRECT, StoreScope(uri) if _is_url(uri):
            raise BadRequest(_needs_storage(command, f"'{uri}' is a remote server"))
        case Capability.DIRECT, ServerScope(server) if "--server" not in command.accepts:
            raise BadRequest(_needs_storage(command, f"the scope resolves to the remote server '{server}'"))
        case Capability.SERVED, StoreScope():
            raise BadRequest(f"`{command.name}` requires a server, but the configuration resolves a store scope")
        case Capability.SERVED, ClusterScope():
            raise BadRequest(
                f"`{command.name}` requires a server, but the configuration resolves a cluster scope; "
                "`omnigraph cluster status` shows a cluster"
            )


def _needs_storage(command: Command, but: str) -> str:
    name = command.name
    return f"`{name}` is a {Capability.DIRECT.value} command and needs direct storage access, but {but}"


def _is_url(uri: str) -> bool:
    return uri.lower().startswith(("http://", "https://"))
