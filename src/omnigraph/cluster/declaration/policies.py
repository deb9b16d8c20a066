"""Declared policy bundles: what they are bound to, and whether their files can be enforced there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from omnigraph.cluster import addresses
from omnigraph.cluster.declaration.config import ClusterConfig, PolicyConfig
from omnigraph.cluster.declaration.graphs import Sources
from omnigraph.cluster.diagnostics import Diagnostics
from omnigraph.cluster.state.digests import content_digest
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.engine.views.restrict import masks_of
from omnigraph.errors import PolicyFailed, PolicyInvalid
from omnigraph.policy.bundle import Bundle, check_kind, parse_bundle
from omnigraph.policy.visibility import visibility_of


@dataclass(frozen=True, slots=True)
class DeclaredPolicy:
    """One bundle with its bindings as addresses; without a digest its file could not be read."""

    name: str
    path: Path
    digest: str | None
    applies_to: tuple[str, ...]


def declare_policies(
    config: ClusterConfig, sources: Sources, catalogs: Mapping[str, Catalog], found: Diagnostics
) -> Iterator[DeclaredPolicy]:
    """Every bundle, checked against the schemas of its graphs; two for one scope are an error of the later one."""
    owners: dict[str, str] = {}
    for name in sorted(config.policies):
        policy = config.policies[name]
        scopes = _scopes(name, policy, config, found)
        for scope in scopes:
            if scope in owners:
                message = f"'{owners[scope]}' and '{name}' are both bound to '{scope}'; one bundle decides for a scope"
                found.error("duplicate_policy_binding", f"policies.{name}.applies_to", message)
            owners.setdefault(scope, name)
        bound = {scope: catalogs.get(scope) for scope in scopes}
        digest = _digest(name, policy, bound, sources, found)
        yield DeclaredPolicy(name, sources.resolve(policy.file), digest, scopes)


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
    name: str, policy: PolicyConfig, scopes: Mapping[str, Catalog | None], sources: Sources, found: Diagnostics
) -> str | None:
    path = f"policies.{name}.file"
    data = sources.read(policy.file)
    if isinstance(data, str):
        found.error("policy_file_missing", path, data)
        return None
    try:
        bundle = parse_bundle(_text(data, name), name)
        for scope, catalog in scopes.items():
            check_kind(bundle, "server" if scope == addresses.CLUSTER else "graph")
            if catalog is not None:
                _check_reading(bundle, catalog, scope)
    except (PolicyInvalid, PolicyFailed) as error:
        found.error("policy_invalid", path, error.message)
    return content_digest(data)


def _check_reading(bundle: Bundle, catalog: Catalog, scope: str) -> None:
    """A rule that shows or masks what the schema does not have is a mistake, and would show nothing at all."""
    for rule in bundle.rules:
        visibility = visibility_of([rule])
        if visibility is None:
            continue
        masks_of(catalog, visibility)
        for name in sorted(visibility.types or ()):
            if name not in catalog.nodes and name not in catalog.edges:
                raise PolicyInvalid(bundle.name, f"rule '{rule.id}'", f"shows '{name}', which {scope} does not have")


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise PolicyInvalid(name, "", "the file is not UTF-8 text") from error
