"""Addresses of resources: `graph.kb`, `schema.kb`, `query.kb.find`, `policy.base`, `pipeline.nightly`, and
`provider.embedding.default`."""

from __future__ import annotations

import re

CLUSTER = "cluster"
_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SERVABLE = re.compile(r"[A-Za-z0-9-]{1,64}")
_RESERVED = frozenset({"policies", "healthz", "openapi", "graphs"})
_PROVIDER = "provider.embedding."


def graph(graph_id: str) -> str:
    return f"graph.{graph_id}"


def schema(graph_id: str) -> str:
    return f"schema.{graph_id}"


def query(graph_id: str, name: str) -> str:
    return f"query.{graph_id}.{name}"


def policy(name: str) -> str:
    return f"policy.{name}"


def provider(name: str) -> str:
    return _PROVIDER + name


def pipeline(name: str) -> str:
    return f"pipeline.{name}"


def kind_of(address: str) -> str:
    """`graph`, `schema`, `query`, `policy`, `pipeline`, `embedding_provider` or `unknown`."""
    head, _, rest = address.partition(".")
    if address.startswith(_PROVIDER):
        return "embedding_provider"
    parts = 2 if head == "query" else 1
    known = head in ("graph", "schema", "query", "policy", "pipeline") and rest.count(".") == parts - 1
    return head if known else "unknown"


def graph_of(address: str) -> str | None:
    """The graph that a graph, schema or query belongs to."""
    return address.split(".")[1] if kind_of(address) in ("graph", "schema", "query") else None


def name_of(address: str) -> str:
    """The last part: the name of a query, policy or provider, the id of a graph."""
    return address.rpartition(".")[2]


def is_id(text: str) -> bool:
    """Whether text can name a resource."""
    return _ID.fullmatch(text) is not None


def is_servable(graph_id: str) -> bool:
    """Whether a graph of this id can have a place in a URL."""
    return _SERVABLE.fullmatch(graph_id) is not None and graph_id not in _RESERVED
