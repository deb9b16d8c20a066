"""A declaration with everything it refers to: read, checked as a whole, and turned into resources with digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.cluster import addresses
from omnigraph.cluster.declaration.config import ClusterConfig
from omnigraph.cluster.declaration.document import FILE_NAME, load_config, storage_root
from omnigraph.cluster.declaration.graphs import GraphSources, Sources, declare_graph
from omnigraph.cluster.declaration.policies import declare_policies
from omnigraph.cluster.declaration.providers import check_providers, provider_address
from omnigraph.cluster.diagnostics import Diagnostics, Stopped
from omnigraph.cluster.state.digests import config_digest, graph_digest, pipeline_digest, provider_digest
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.errors import BadRequest, OmnigraphError
from omnigraph.policy.external_blobs import ExternalBlobPolicy

if TYPE_CHECKING:
    from omnigraph.pipeline.runs.declared import Pipeline


@dataclass(frozen=True, slots=True)
class Resource:
    """One declared thing; `path` is its source file, the other members belong to one kind each."""

    address: str
    digest: str
    path: Path | None = None
    provider: str | None = None
    blobs: ExternalBlobPolicy | None = None
    applies_to: tuple[str, ...] | None = None
    profile: Mapping[str, str] | None = None

    @property
    def kind(self) -> str:
        return addresses.kind_of(self.address)

    def to_json(self) -> dict[str, Any]:
        result = {"address": self.address, "kind": self.kind, "digest": self.digest}
        return result if self.path is None else {**result, "path": str(self.path)}


@dataclass(slots=True)
class Declared:
    """What a directory declares; without `config` it has no shape at all, and `found` says why."""

    directory: Path
    found: Diagnostics = field(default_factory=Diagnostics)
    config: ClusterConfig | None = None
    root: str | None = None
    resources: dict[str, Resource] = field(default_factory=dict)
    dependencies: list[tuple[str, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return self.config is not None and self.root is not None and self.found.ok

    @property
    def digests(self) -> dict[str, str]:
        return {address: self.resources[address].digest for address in sorted(self.resources)}

    @property
    def digest(self) -> str | None:
        """The config digest; None while anything is wrong."""
        return config_digest(self.config.to_json(), self.digests) if self.ok and self.config else None

    def of_kind(self, kind: str) -> list[Resource]:
        return [self.resources[address] for address in sorted(self.resources) if self.resources[address].kind == kind]


def load_declared(directory: Path) -> Declared:
    """Everything a directory declares; all checks run, and what they find is in `found`."""
    declared = load_storage_only(directory)
    if declared.config is not None:
        _Assembly(declared, declared.config).run()
        declared.dependencies.sort()
    return declared


def load_storage_only(directory: Path) -> Declared:
    """`cluster.yaml` alone: enough to find what is stored."""
    declared = Declared(directory)
    try:
        declared.config = load_config(directory, declared.found)
        declared.root = storage_root(declared.config, directory, declared.found)
    except Stopped:
        return declared
    return declared


@dataclass(slots=True)
class _Assembly:
    """One pass over a declaration."""

    declared: Declared
    config: ClusterConfig

    def run(self) -> None:
        found, config = self.declared.found, self.config
        self._check_ids()
        check_providers(config.providers, found)
        for name, profile in config.providers.items():
            self._add(Resource(addresses.provider(name), provider_digest(profile), profile=profile))
        sources = Sources(self.declared.directory)
        catalogs: dict[str, Catalog] = {}
        for graph_id in sorted(config.graphs):
            graph = declare_graph(graph_id, config.graphs[graph_id], sources, found)
            if graph.catalog is not None:
                catalogs[addresses.graph(graph_id)] = graph.catalog
            self._add_graph(graph_id, graph, provider_address(graph_id, config, found))
        for policy in declare_policies(config, sources, catalogs, found):
            address = addresses.policy(policy.name)
            if policy.digest is not None:
                self._add(Resource(address, policy.digest, policy.path, applies_to=policy.applies_to))
            bound = [scope for scope in policy.applies_to if scope != addresses.CLUSTER]
            self.declared.dependencies += [(address, scope) for scope in bound]
        self._check_pipelines()

    def _add(self, resource: Resource) -> None:
        self.declared.resources[resource.address] = resource

    def _add_graph(self, graph_id: str, graph: GraphSources, provider: str | None) -> None:
        address, schema = addresses.graph(graph_id), addresses.schema(graph_id)
        known = self.declared.resources.get(provider or "")
        bound = None if provider is None else (provider, known.digest if known else "")
        queries = {name: source.digest for name, source in graph.queries.items()}
        digest = graph_digest(graph_id, graph.schema_digest or "", queries, bound, graph.blobs)
        self._add(Resource(address, digest, provider=provider, blobs=graph.blobs))
        if graph.schema_digest is not None:
            self._add(Resource(schema, graph.schema_digest, graph.schema_path))
        self.declared.dependencies.append((schema, address))
        for name, source in graph.queries.items():
            self._add(Resource(addresses.query(graph_id, name), source.digest, source.path))
            self.declared.dependencies += [(addresses.query(graph_id, name), to) for to in (address, schema)]
        if provider is not None:
            self.declared.dependencies.append((address, provider))

    def _check_ids(self) -> None:
        places = (
            ("graphs", self.config.graphs),
            ("policies", self.config.policies),
            ("providers.embedding", self.config.providers),
        )
        for place, named in places:
            for name in named:
                if not addresses.is_id(name):
                    message = f"'{name}' is not a name: letters, digits, '_' and '-', not starting with a digit or '-'"
                    self.declared.found.error("invalid_resource_id", f"{place}.{name}", message)
        for graph_id in self.config.graphs:
            if addresses.is_id(graph_id) and not addresses.is_servable(graph_id):
                message = f"'{graph_id}' cannot be part of a URL; a server will not serve this graph"
                self.declared.found.warn("graph_id_not_servable", f"graphs.{graph_id}", message)

    def _check_pipelines(self) -> None:
        if self.config.pipelines is None:
            return
        try:
            found = _checked_pipelines(self.config.pipelines, self.declared.directory, frozenset(self.config.graphs))
        except OmnigraphError as error:
            self.declared.found.error("invalid_pipeline", "pipelines", f"{error.message} ({FILE_NAME})")
            return
        for name, pipeline in found.items():
            address = addresses.pipeline(name)
            files = [path.read_bytes() for path in (pipeline.mapping, *pipeline.checks)]
            digest = pipeline_digest(self.config.pipelines[name], files)
            self._add(Resource(address, digest, pipeline.mapping))
            self.declared.dependencies.append((address, addresses.graph(pipeline.graph)))
            self.declared.dependencies += [(address, addresses.pipeline(other)) for other in pipeline.after]


def _checked_pipelines(declared: Mapping[str, Any], directory: Path, graphs: frozenset[str]) -> dict[str, Pipeline]:
    """The pipelines; one that cannot run is refused: of the wrong shape, or for a graph that is not declared."""
    from omnigraph.pipeline.runs.declared import parse_pipelines

    found = parse_pipelines(declared, directory)
    for name, pipeline in found.items():
        if pipeline.graph not in graphs:
            raise BadRequest(f"pipelines.{name}.graph: no graph '{pipeline.graph}' is declared in '{directory}'")
    return found
