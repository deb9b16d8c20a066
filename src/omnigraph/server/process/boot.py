"""A deployment from the applied revision of a cluster: tokens, runtime state, policies, opened graphs."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from omnigraph.assembly import open as open_graph
from omnigraph.cluster.boot import AppliedCluster, AppliedGraph, read_applied
from omnigraph.compiler.query.stored import registry
from omnigraph.embeddings import Embedder, cached, make_embedder, resolve_config
from omnigraph.errors import OmnigraphError, StartRefused
from omnigraph.policy.authorize import Refusal, State, classify
from omnigraph.policy.engine import PolicyEngine
from omnigraph.policy.tokens import TokenTable, is_remote, load_tokens, reload_tokens
from omnigraph.server.process.deployment import Deployment, ServedGraph
from omnigraph.server.settings import write_settings
from omnigraph.settings import Settings as WriteSettings

_AT_ONCE = 4
_SECRET_SECONDS = 60.0
_LOG = logging.getLogger("omnigraph.server")


def cluster_deployment(
    root: str,
    environ: Mapping[str, str],
    *,
    unauthenticated: bool = False,
    require_all_graphs: bool = False,
    read_only: bool = False,
) -> Deployment:
    """Everything a server needs, or StartRefused; the state is known before any graph is opened."""
    applied = read_applied(root, environ)
    tokens = load_tokens(environ)
    _LOG.info("tokens", extra={"source": tokens.source, "actors": len(tokens.actors)})
    cluster = _Cluster(root, environ, unauthenticated, require_all_graphs, read_only, write_settings(environ))
    return cluster.deployed(applied, tokens)


@dataclass(slots=True)
class _Cluster:
    """A cluster that is being served, and what of it was applied when it was last looked at."""

    root: str
    environ: Mapping[str, str]
    unauthenticated: bool
    require_all_graphs: bool
    read_only: bool
    settings: WriteSettings
    _seen: _Seen = ("", frozenset())
    _applied: dict[str, AppliedGraph] = field(default_factory=dict)
    _tokens_read: float = field(default_factory=time.monotonic)

    def successor(self, current: Deployment, *, asked: bool = False) -> Deployment | None:
        """The next deployment when anything of it has changed, else None; graphs that stayed are kept open."""
        tokens = self._tokens(current.tokens, asked=asked)
        applied = read_applied(self.root, self.environ)
        if _seen(applied) != self._seen and self._is_settled(applied, current):
            return self.deployed(applied, tokens, current)
        return None if tokens is current.tokens else replace(current, tokens=tokens)

    def deployed(self, applied: AppliedCluster, tokens: TokenTable, current: Deployment | None = None) -> Deployment:
        state = _state(tokens=bool(len(tokens)), policy=applied.has_policy, unauthenticated=self.unauthenticated)
        known = {} if current is None else current.graphs
        with ThreadPoolExecutor(_AT_ONCE, "open") as pool:
            found = list(pool.map(lambda graph: self._served(graph, known.get(graph.id)), applied.graphs))
        graphs = {graph.id: graph for graph in found if graph is not None}
        missing = self._require_served(applied, graphs)
        policy = None if applied.server_policy is None else PolicyEngine(applied.server_policy, None)
        self._seen, self._applied = _seen(applied), {graph.id: graph for graph in applied.graphs}
        return Deployment(
            graphs,
            state,
            tokens,
            policy,
            cluster_backed=True,
            revision=applied.revision,
            quarantined=missing,
            successor=self.successor,
        )

    def _tokens(self, current: TokenTable, *, asked: bool) -> TokenTable:
        """The tokens as they are now; those that cannot be read stay what they were."""
        if not len(current):  # an open server does not begin to ask for tokens while it runs
            return current
        if asked and current.oidc is not None:
            current.oidc.refresh()
        due = time.monotonic() - self._tokens_read >= _SECRET_SECONDS
        if is_remote(self.environ) and not (asked or due):
            return current
        self._tokens_read = time.monotonic()
        try:
            found = reload_tokens(self.environ, current)
        except StartRefused as error:
            _LOG.error("the tokens cannot be read again; the last ones stay", extra={"reason": error.message})
            return current
        if found is None:
            return current
        _LOG.info("tokens", extra={"source": found.source, "actors": len(found.actors)})
        return found

    def _is_settled(self, applied: AppliedCluster, current: Deployment) -> bool:
        """False while an operation on a served graph is under way: the ledger is written before its sidecar goes.

        To take such a revision over would take the graph away for no reason.
        """
        return not any(graph.pending and graph.id in current.graphs for graph in applied.graphs)

    def _served(self, applied: AppliedGraph, current: ServedGraph | None) -> ServedGraph | None:
        """A graph, as it is served already or opened; one that cannot be opened is left out."""
        if current is not None and self._applied.get(applied.id) == applied:
            return current
        if applied.quarantined is not None:
            _LOG.warning("graph quarantined", extra={"graph_id": applied.id, "reason": applied.quarantined})
            return None
        try:
            return _opened(applied, self.settings, read_only=self.read_only)
        except OmnigraphError as error:
            _LOG.error("graph quarantined", extra={"graph_id": applied.id, "reason": error.message})
            return None

    def _require_served(self, applied: AppliedCluster, graphs: Mapping[str, ServedGraph]) -> tuple[str, ...]:
        """The graphs that are left out, if that is allowed."""
        if not graphs:
            raise StartRefused(f"no graph of the cluster '{self.root}' can be served")
        missing = tuple(graph.id for graph in applied.graphs if graph.id not in graphs)
        if missing and self.require_all_graphs:
            named = ", ".join(missing)
            raise StartRefused(f"these graphs cannot be served, and --require-all-graphs was given: {named}")
        return missing


_Seen = tuple[str, frozenset[str]]


def _seen(applied: AppliedCluster) -> _Seen:
    """What distinguishes two states of a cluster: the ledger, and whose operations are under way."""
    return applied.tag, frozenset(graph.id for graph in applied.graphs if graph.pending)


def _opened(applied: AppliedGraph, settings: WriteSettings, *, read_only: bool = False) -> ServedGraph:
    policy = None if applied.policy is None else PolicyEngine(applied.policy, applied.id)
    blobs = applied.external_blobs or ()
    handle = open_graph(applied.uri, settings=settings, policy=policy, read_only=read_only, external_blobs=blobs)
    return ServedGraph(applied.id, handle, registry(applied.queries), _embedder(applied.embedding))


def _embedder(profile: Mapping[str, str] | None) -> Embedder | None:
    """The embedder of an applied provider profile."""
    if profile is None:
        return None
    key = profile.get("api_key", "")
    settings = {
        "OMNIGRAPH_EMBED_PROVIDER": profile["kind"],
        "OMNIGRAPH_EMBED_BASE_URL": profile.get("base_url", ""),
        "OMNIGRAPH_EMBED_MODEL": profile.get("model", ""),
        **dict.fromkeys(("OPENROUTER_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), key),
    }
    return cached(make_embedder(resolve_config(settings)))


def _state(*, tokens: bool, policy: bool, unauthenticated: bool) -> State:
    found = classify(tokens=tokens, policy=policy, unauthenticated=unauthenticated)
    if isinstance(found, Refusal):
        raise StartRefused(found.message)
    if found is State.OPEN:
        _LOG.warning("unauthenticated: everybody who can connect may do everything")
    elif found is State.DEFAULT_DENY:
        _LOG.warning("default-deny: tokens are configured but no policy, so actors can only read")
    return found
