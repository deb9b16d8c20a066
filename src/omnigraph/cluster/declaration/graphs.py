"""The schema, the queries and the blob rules of one declared graph, read and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from omnigraph.cluster import addresses
from omnigraph.cluster.declaration.config import GraphConfig
from omnigraph.cluster.diagnostics import Diagnostics
from omnigraph.cluster.state.digests import content_digest
from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.decode import to_source
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.parse import SYNTAX, parse_queries
from omnigraph.compiler.query.typecheck import check_query
from omnigraph.compiler.schema.parse import parse_schema
from omnigraph.compiler.source import Source
from omnigraph.errors import BadRequest
from omnigraph.policy.external_blobs import AllowedBase, ExternalBlobPolicy, allow_list, normalize_base


@dataclass(slots=True)
class Sources:
    """The files of a declaration; each is read once, however often it is referred to."""

    directory: Path
    _read: dict[Path, bytes | str] = field(default_factory=dict)

    def resolve(self, path: str) -> Path:
        return self.directory / path

    def read(self, path: str | Path) -> bytes | str:
        """The bytes of a file (as declared, or already resolved), or why it cannot be read."""
        place = path if isinstance(path, Path) else self.resolve(path)
        if place not in self._read:
            try:
                self._read[place] = place.read_bytes()
            except OSError as error:
                self._read[place] = f"'{place}' cannot be read: {error.strerror}"
            except ValueError:
                self._read[place] = "the path contains a character that no path can have"
        return self._read[place]


@dataclass(frozen=True, slots=True)
class QuerySource:
    """The file that declares a query; its digest is the whole file's."""

    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class GraphSources:
    """What a graph consists of, as far as it could be read."""

    schema_path: Path
    schema_digest: str | None
    queries: Mapping[str, QuerySource]
    blobs: ExternalBlobPolicy | None
    catalog: Catalog | None = None


def declare_graph(graph_id: str, config: GraphConfig, sources: Sources, found: Diagnostics) -> GraphSources:
    """Read and check one graph; everything wrong with it is noted."""
    path = f"graphs.{graph_id}"
    data = sources.read(config.schema)
    catalog: Catalog | None = None
    if isinstance(data, str):
        found.error("schema_file_missing", f"{path}.schema", data)
    else:
        catalog = _catalog(data, config.schema, f"{path}.schema", found)
    queries = _Queries(graph_id, f"{path}.queries", sources, found)
    registered = queries.check(queries.register(config), catalog)
    return GraphSources(
        sources.resolve(config.schema),
        None if isinstance(data, str) else content_digest(data),
        registered,
        _blobs(config, f"{path}.external_blobs.allow", found),
        catalog,
    )


def _catalog(data: bytes, name: str, path: str, found: Diagnostics) -> Catalog | None:
    try:
        parse_schema(to_source(data, code="S000", name=name))
    except CompileError as error:
        found.error("schema_parse_error", path, error.summary)
        return None
    try:
        return compile_schema(data, name=name)
    except CompileError as error:
        found.error("schema_catalog_error", path, error.summary)
        return None


@dataclass(frozen=True, slots=True)
class _Declaration:
    path: Path
    digest: str
    query: ast.Query
    source: Source


@dataclass(frozen=True, slots=True)
class _Queries:
    """Registers the queries of one graph."""

    graph_id: str
    path: str
    sources: Sources
    found: Diagnostics

    def register(self, config: GraphConfig) -> dict[str, _Declaration]:
        if isinstance(config.queries, dict):
            return self._by_name(config.queries)
        registered: dict[str, _Declaration] = {}
        paths = [config.queries] if isinstance(config.queries, str) else config.queries
        for file in (file for path in paths for file in self._files(path)):
            for declaration in self._declarations(file):
                name = declaration.query.name
                if name in registered:
                    message = f"query '{name}' is declared in '{registered[name].path}' and in '{declaration.path}'"
                    self.found.error("duplicate_query_name", self.path, message)
                registered.setdefault(name, declaration)
        return registered

    def check(self, registered: Mapping[str, _Declaration], catalog: Catalog | None) -> dict[str, QuerySource]:
        for name, declaration in registered.items():
            path = addresses.query(self.graph_id, name)
            if not addresses.is_id(name):
                self.found.error("invalid_resource_id", path, f"'{name}' cannot name a stored query")
            if catalog is None:
                self.found.warn("query_typecheck_skipped", path, "the schema is not valid, so this was not checked")
                continue
            try:
                check_query(declaration.query, catalog, declaration.source)
            except CompileError as error:
                self.found.error("query_typecheck_error", path, error.summary)
        return {name: QuerySource(each.path, each.digest) for name, each in registered.items()}

    def _by_name(self, named: Mapping[str, str]) -> dict[str, _Declaration]:
        registered: dict[str, _Declaration] = {}
        for name, file in named.items():
            declared = {each.query.name: each for each in self._declarations(self.sources.resolve(file))}
            if name in declared:
                registered[name] = declared[name]
            elif declared:
                message = f"'{file}' declares {', '.join(sorted(declared))}, not '{name}'"
                self.found.error("query_key_mismatch", f"{self.path}.{name}", message)
        return registered

    def _files(self, path: str) -> list[Path]:
        place = self.sources.resolve(path)
        if not place.is_dir():
            return [place]
        try:
            files = sorted(item for item in place.iterdir() if item.suffix == ".gq" and item.is_file())
        except OSError as error:
            self.found.error("query_dir_unreadable", self.path, f"'{path}': {error.strerror}")
            return []
        if not files:
            self.found.warn("query_dir_empty", self.path, f"'{path}' contains no .gq file")
        return files

    def _declarations(self, file: Path) -> Iterator[_Declaration]:
        data = self.sources.read(file)
        if isinstance(data, str):
            self.found.error("query_file_missing", self.path, data)
            return
        try:
            source = to_source(data, code=SYNTAX, name=str(file))
            queries = parse_queries(source).queries
        except CompileError as error:
            self.found.error("query_parse_error", self.path, f"'{file}': {error.summary}")
            return
        digest = content_digest(data)
        seen: set[str] = set()
        for query in queries:
            if query.name in seen:
                self.found.error("duplicate_query_name", self.path, f"'{file}' declares '{query.name}' twice")
                continue
            seen.add(query.name)
            yield _Declaration(file, digest, query, source)


def _blobs(config: GraphConfig, path: str, found: Diagnostics) -> ExternalBlobPolicy | None:
    bases: list[AllowedBase] = []
    for index, (base, scope) in enumerate(config.allow or ()):
        try:
            bases.append(normalize_base(base, "server_safe" if scope == "server_safe" else "embedded_only"))
        except BadRequest as error:
            found.error("invalid_external_blob_base", f"{path}[{index}].base", error.message)
    try:
        return allow_list(bases)
    except BadRequest as error:
        found.error("invalid_external_blob_policy", path, error.message)
        return None
