"""`cluster.yaml` as a value: read strictly, with nothing looked up outside the document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from omnigraph.policy.fields import FieldRejected, Fields, expect

RESERVED = ("apply", "env_file", "embeddings", "ui", "aliases", "bindings")
_TOP = ("version", "metadata", "storage", "state", "providers", "graphs", "policies", "pipelines")
_PROFILE = ("kind", "provider", "base_url", "model", "api_key")

QueryPaths: TypeAlias = str | list[str] | dict[str, str]
"""How a graph declares its queries: a path, several, or names with their files."""


@dataclass(frozen=True, slots=True)
class GraphConfig:
    """One declared graph, paths as written."""

    schema: str
    queries: QueryPaths
    embedding_provider: str | None = None
    allow: tuple[tuple[str, str], ...] | None = None

    def to_json(self) -> dict[str, Any]:
        match self.queries:
            case dict() as named:
                queries: Any = {name: {"file": named[name]} for name in sorted(named)}
            case paths:
                queries = paths
        result: dict[str, Any] = {
            "schema": self.schema,
            "queries": queries,
            "embedding_provider": self.embedding_provider,
        }
        if self.allow is not None:
            result["external_blobs"] = {"allow": [{"base": base, "scope": scope} for base, scope in self.allow]}
        return result


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """One declared bundle and what it is bound to, as written."""

    file: str
    applies_to: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"file": self.file, "applies_to": list(self.applies_to)}


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """A whole declaration."""

    version: int
    name: str | None = None
    storage: str | None = None
    backend: str | None = None
    lock: bool = True
    providers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    graphs: Mapping[str, GraphConfig] = field(default_factory=dict)
    policies: Mapping[str, PolicyConfig] = field(default_factory=dict)
    pipelines: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """The document in the one form that its digest is taken of."""
        result: dict[str, Any] = {
            "version": self.version,
            "metadata": {"name": self.name},
            "storage": self.storage,
            "state": {"backend": self.backend, "lock": self.lock},
            "providers": {"embedding": {name: dict(self.providers[name]) for name in sorted(self.providers)}},
            "graphs": {name: self.graphs[name].to_json() for name in sorted(self.graphs)},
            "policies": {name: self.policies[name].to_json() for name in sorted(self.policies)},
        }
        if self.pipelines:
            result["pipelines"] = _sorted(self.pipelines)
        return result


def read_config(document: Any) -> ClusterConfig:
    """The declaration in a parsed document; FieldRejected names the first place that has the wrong shape."""
    top = Fields({} if document is None else document, "", _TOP)
    metadata = Fields(_or_empty(top, "metadata"), "metadata", ("name",))
    state = Fields(_or_empty(top, "state"), "state", ("backend", "lock"))
    providers = Fields(_or_empty(top, "providers"), "providers", ("embedding",))
    return ClusterConfig(
        version=top.number("version"),
        name=metadata.optional_text("name"),
        storage=top.optional_text("storage"),
        backend=state.optional_text("backend"),
        lock=state.flag("lock", default=True),
        providers={name: _profile(value, path) for name, value, path in providers.members("embedding")},
        graphs={name: _graph(value, path) for name, value, path in top.members("graphs")},
        policies={name: _policy(value, path) for name, value, path in top.members("policies")},
        pipelines={name: value for name, value, _ in top.members("pipelines")} if top.declares("pipelines") else None,
    )


def _or_empty(top: Fields, key: str) -> Any:
    return top.required(key) if top.has(key) else {}


def _profile(value: Any, path: str) -> dict[str, str]:
    fields = Fields(value, path, _PROFILE)
    if fields.has("kind") and fields.has("provider"):
        raise FieldRejected(fields.at("provider"), "is another name for 'kind'; keep one of them")
    kind = fields.optional_text("kind") or fields.optional_text("provider") or "openai-compatible"
    rest = {key: fields.optional_text(key) for key in ("base_url", "model", "api_key")}
    return {"kind": kind, **{key: text for key, text in rest.items() if text is not None}}


def _graph(value: Any, path: str) -> GraphConfig:
    fields = Fields(value, path, ("schema", "queries", "embedding_provider", "external_blobs"))
    allow = None
    if fields.has("external_blobs"):
        blobs = Fields(fields.required("external_blobs"), fields.at("external_blobs"), ("allow",))
        allow = tuple(_base(item, where) for item, where in blobs.items("allow"))
    return GraphConfig(fields.text("schema"), _queries(fields), fields.optional_text("embedding_provider"), allow)


def _queries(fields: Fields) -> QueryPaths:
    if not fields.has("queries"):
        return {}
    value, path = fields.required("queries"), fields.at("queries")
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return fields.texts("queries")
    expect(value, dict, path)
    return {name: Fields(item, where, ("file",)).text("file") for name, item, where in fields.members("queries")}


def _base(value: Any, path: str) -> tuple[str, str]:
    fields = Fields(value, path, ("base", "scope"))
    scope = fields.text("scope")
    if scope not in ("server_safe", "embedded_only"):
        raise FieldRejected(fields.at("scope"), f"'{scope}' is neither server_safe nor embedded_only")
    return fields.text("base"), scope


def _policy(value: Any, path: str) -> PolicyConfig:
    fields = Fields(value, path, ("file", "applies_to"))
    return PolicyConfig(fields.text("file"), tuple(fields.texts("applies_to")))


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
