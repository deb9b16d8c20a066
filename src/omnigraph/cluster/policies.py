"""Applied policy bundles by name and scope, for the tools that try them out."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.cluster import addresses
from omnigraph.cluster.boot import open_cluster, read_ledger
from omnigraph.cluster.diagnostics import Diagnostics, Stopped
from omnigraph.cluster.state.digests import content_digest
from omnigraph.cluster.state.stored import STATE, Stored, policy_blob
from omnigraph.errors import BadRequest, BootRefused, Corrupt, StorageError
from omnigraph.policy.bundle import parse_bundle
from omnigraph.policy.engine import PolicyEngine


@dataclass(frozen=True, slots=True)
class AppliedPolicy:
    """An applied bundle, not read yet."""

    name: str
    digest: str
    applies_to: tuple[str, ...]


def compile_applied(root: str, graph_id: str | None = None, *, server: bool = False) -> PolicyEngine:
    """The selected bundle of a cluster, compiled for its scope: that of a graph, of the server, or the only one."""
    found = Diagnostics()
    try:
        place = open_cluster(root, found)
        policies = _applied(place, found)
        chosen = _chosen(policies, graph_id, server=server)
        text = _content(place, chosen, found)
    except Stopped:
        raise BootRefused(root, found.found) from None
    return PolicyEngine(parse_bundle(text, chosen.name), _graph_of(chosen, graph_id))


def _applied(place: Stored, found: Diagnostics) -> list[AppliedPolicy]:
    read = read_ledger(place, found)
    if read is None:
        raise found.stop(
            "cluster_state_missing", place.shown(STATE), "no state; run `cluster import` and `cluster apply`"
        )
    policies = []
    for address, entry in sorted(read[0].resources.items()):
        if addresses.kind_of(address) != "policy":
            continue
        if entry.applies_to is None:
            raise found.stop("policy_bindings_missing", address, "no bindings are recorded; apply again")
        policies.append(AppliedPolicy(addresses.name_of(address), entry.digest, entry.applies_to))
    return policies


def _chosen(policies: list[AppliedPolicy], graph_id: str | None, *, server: bool) -> AppliedPolicy:
    scope = addresses.CLUSTER if server else None if graph_id is None else addresses.graph(graph_id)
    fitting = [policy for policy in policies if scope is None or scope in policy.applies_to]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(f"{policy.name} ({', '.join(policy.applies_to)})" for policy in policies) or "none"
    if not fitting:
        raise BadRequest(f"no policy is bound to {scope or 'anything'} (applied: {names})")
    raise BadRequest(f"several policies are applied: {names}; pick one with --graph <id> or --scope cluster")


def _content(place: Stored, policy: AppliedPolicy, found: Diagnostics) -> str:
    address, name = addresses.policy(policy.name), policy_blob(policy.name, policy.digest)
    try:
        text = place.objects.read_if_exists(name)
    except Corrupt as error:
        raise found.stop("catalog_payload_digest_mismatch", address, error.message) from error
    except StorageError as error:
        raise found.stop("catalog_payload_read_error", address, error.message) from error
    if text is None:
        raise found.stop("catalog_payload_missing", address, f"'{place.shown(name)}' is gone")
    if content_digest(text.encode()) != policy.digest:
        message = f"'{place.shown(name)}' is not what was applied"
        raise found.stop("catalog_payload_digest_mismatch", address, message)
    return text


def _graph_of(policy: AppliedPolicy, graph_id: str | None) -> str | None:
    """The graph to compile for; a bundle that several graphs share decides alike for each of them."""
    if addresses.CLUSTER in policy.applies_to:
        return None
    return graph_id or addresses.name_of(policy.applies_to[0])
