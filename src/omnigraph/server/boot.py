"""A deployment from the applied revision of a cluster: tokens, runtime state, policies, opened graphs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from omnigraph.cluster.boot import AppliedGraph, read_applied
from omnigraph.engine.lifecycle import open_graph
from omnigraph.errors import OmnigraphError, StartRefused
from omnigraph.policy.authorize import Refusal, State, classify
from omnigraph.policy.engine import PolicyEngine
from omnigraph.policy.tokens import load_tokens
from omnigraph.server.deployment import Deployment, ServedGraph
from omnigraph.server.stored import registry

_AT_ONCE = 4
_LOG = logging.getLogger("omnigraph.server")


def cluster_deployment(
    root: str, environ: Mapping[str, str], *, unauthenticated: bool = False, require_all_graphs: bool = False
) -> Deployment:
    """Everything a server needs, or StartRefused; the state is known before any graph is opened."""
    applied = read_applied(root, environ)
    tokens = load_tokens(environ)
    _LOG.info("tokens", extra={"source": tokens.source, "actors": len(tokens)})
    state = _state(tokens=bool(len(tokens)), policy=applied.has_policy, unauthenticated=unauthenticated)
    with ThreadPoolExecutor(_AT_ONCE, "open") as pool:
        opened = [found for found in pool.map(_opened, applied.graphs) if found is not None]
    if require_all_graphs and len(opened) != len(applied.graphs):
        served = {graph.id for graph in opened}
        missing = ", ".join(graph.id for graph in applied.graphs if graph.id not in served)
        raise StartRefused(f"these graphs cannot be served, and --require-all-graphs was given: {missing}")
    if not opened:
        raise StartRefused(f"no graph of the cluster '{root}' can be served")
    server_policy = None if applied.server_policy is None else PolicyEngine(applied.server_policy, None)
    graphs = {graph.id: graph for graph in opened}
    return Deployment(graphs, state, tokens, server_policy, cluster_backed=True)


def _state(*, tokens: bool, policy: bool, unauthenticated: bool) -> State:
    found = classify(tokens=tokens, policy=policy, unauthenticated=unauthenticated)
    if isinstance(found, Refusal):
        raise StartRefused(found.message)
    if found is State.OPEN:
        _LOG.warning("unauthenticated: everybody who can connect may do everything")
    elif found is State.DEFAULT_DENY:
        _LOG.warning("default-deny: tokens are configured but no policy, so actors can only read")
    return found


def _opened(applied: AppliedGraph) -> ServedGraph | None:
    """A served graph; one that cannot be opened is left out, and the others are served."""
    if applied.quarantine is not None:
        _LOG.warning("graph quarantined", extra={"graph_id": applied.id, "reason": applied.quarantine})
        return None
    try:
        policy = None if applied.policy is None else PolicyEngine(applied.policy, applied.id)
        return ServedGraph(applied.id, open_graph(applied.uri, policy=policy), registry(applied.queries))
    except OmnigraphError as error:
        _LOG.error("graph quarantined", extra={"graph_id": applied.id, "reason": error.message})
        return None
