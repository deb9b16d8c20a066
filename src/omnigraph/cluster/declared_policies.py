"""Declared policy bundles: what they are bound to, and whether their files can be enforced there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from omnigraph.cluster import addresses
from omnigraph.cluster.config import ClusterConfig, PolicyConfig
from omnigraph.cluster.declared_graphs import Sources
from omnigraph.cluster.diagnostics import Diagnostics
from omnigraph.cluster.digests import content_digest
from omnigraph.errors import PolicyInvalid
from omnigraph.policy.bundle import check_kind, parse_bundle


@dataclass(frozen=True, slots=True)
class DeclaredPolicy:
    """One bundle with its bindings as addresses; without a digest its file could not be read."""

    name: str
    path: Path
    digest: str | None
    applies_to: tuple[str, ...]


def declare_policies(config: ClusterConfig, sources: Sources, found: Diagnostics) -> Iterator[DeclaredPolicy]:
    """Every bundle; a scope that two of them are bound to is an error of the later one."""
    owners: dict[str, str] = {}
    for name in sorted(config.policies):
        policy = config.policies[name]
        scopes = _scopes(name, policy, config, found)
        for scope in scopes:
            if scope in owners:
                message = f"'{owners[scope]}' and '{name}' are both bound to '{scope}'; one bundle decides for a scope"
                found.error("duplicate_policy_binding", f"policies.{name}.applies_to", message)
            owners.setdefault(scope, name)
        yield DeclaredPolicy(name, sources.resolve(policy.file), _digest(name, policy, scopes, sources, found), scopes)


def _scopes(name: str, policy: PolicyConfig, config: ClusterConfig, found: Diagnostics) -> tuple[str, ...]:
    path = f"policies.{name}.applies_to"
    if not policy.applies_to:
        found.error("policy_missing_applies_to", path, "say what the bundle is for: cluster, or graphs")
    scopes: set[str] = set()
    for reference in policy.applies_to:
        graph = reference.removeprefix("graph.")
        if reference == addresses.CLUSTER:
            scopes.add(addresses.CLUSTER)
        elif "." in graph:
            found.error("wrong_kind_reference", path, f"'{reference}' is neither 'cluster' nor a graph")
        elif graph not in config.graphs:
            found.error("dangling_graph_reference", path, f"no graph '{graph}' is declared")
        else:
            scopes.add(addresses.graph(graph))
    if addresses.CLUSTER in scopes and len(scopes) > 1:
        found.error("policy_mixed_binding_kinds", path, "one bundle cannot be for the cluster and for graphs; split it")
    return tuple(sorted(scopes))


def _digest(
    name: str, policy: PolicyConfig, scopes: tuple[str, ...], sources: Sources, found: Diagnostics
) -> str | None:
    path = f"policies.{name}.file"
    data = sources.read(policy.file)
    if isinstance(data, str):
        found.error("policy_file_missing", path, data)
        return None
    try:
        bundle = parse_bundle(_text(data, name), name)
        for scope in scopes:
            check_kind(bundle, "server" if scope == addresses.CLUSTER else "graph")
    except PolicyInvalid as error:
        found.error("policy_invalid", path, error.message)
    return content_digest(data)


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise PolicyInvalid(name, "", "the file is not UTF-8 text") from error
