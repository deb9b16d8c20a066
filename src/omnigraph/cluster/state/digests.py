"""Digests of resources; they are compared with ledgers that other releases wrote, so every byte counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from omnigraph.policy.external_blobs import ExternalBlobPolicy


def content_digest(data: bytes) -> str:
    """Of a schema, query or policy: of the file's bytes.

    >>> content_digest(b"abc")[:8]
    'ba7816bf'
    """
    return hashlib.sha256(data).hexdigest()


def provider_digest(profile: Mapping[str, str]) -> str:
    """Of an embedding profile whose members stand in their order."""
    return content_digest(b"embedding-provider\0" + compact(profile))


def pipeline_digest(declared: Mapping[str, Any], files: Iterable[bytes]) -> str:
    """Of a pipeline as it is declared, with its mapping and its checks."""
    told = json.dumps(declared, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return content_digest(b"\0".join([b"pipeline", told, *(content_digest(data).encode() for data in files)]))


def graph_digest(
    graph_id: str,
    schema: str,
    queries: Mapping[str, str],
    provider: tuple[str, str] | None = None,
    blobs: ExternalBlobPolicy | None = None,
) -> str:
    """The composite of a graph: what it consists of, by digest; `provider` is its address and digest."""
    parts = ["graph", graph_id, "schema", schema]
    for name in sorted(queries):
        parts += ["query", name, queries[name]]
    if provider is not None:
        parts += ["embedding_provider", *provider]
    data = b"".join(part.encode() + b"\0" for part in parts)
    if blobs is not None:
        data += b"external_blob_policy\0" + compact(blobs.to_json()) + b"\0"
    return content_digest(data)


def config_digest(document: Mapping[str, Any], resources: Mapping[str, str]) -> str:
    """Of a whole declaration: the parsed document, then every resource in the order of addresses."""
    data = b"cluster-config\0" + compact(document) + b"\0"
    for address in sorted(resources):
        data += f"{address}\0{resources[address]}\0".encode()
    return content_digest(data)


def compact(value: Any) -> bytes:
    """JSON without spaces, characters as they are."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
