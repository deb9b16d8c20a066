"""Declared embedding providers, and which of them a graph uses."""

from __future__ import annotations

import re
from collections.abc import Mapping

from omnigraph.cluster import addresses
from omnigraph.cluster.declaration.config import ClusterConfig
from omnigraph.cluster.diagnostics import Diagnostics

KINDS = ("openai-compatible", "openai", "gemini", "mock")
_SECRET = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


def check_providers(providers: Mapping[str, Mapping[str, str]], found: Diagnostics) -> None:
    """A known kind, and a secret by name only: what is declared ends up in version control."""
    for name, profile in providers.items():
        path, kind, key = f"providers.embedding.{name}", profile["kind"], profile.get("api_key")
        if kind not in KINDS:
            found.error("invalid_embedding_provider", f"{path}.kind", f"'{kind}' is none of {', '.join(KINDS)}")
        if key is not None and not _SECRET.fullmatch(key):
            message = "write the name of an environment variable, ${NAME}; secrets do not belong here"
            found.error("embedding_api_key_inline", f"{path}.api_key", message)
        if key is None and kind != "mock":
            found.error("embedding_api_key_required", f"{path}.api_key", f"the kind '{kind}' needs one: ${{NAME}}")


def provider_address(graph_id: str, config: ClusterConfig, found: Diagnostics) -> str | None:
    """The provider that a graph refers to, by bare name or by address."""
    reference = config.graphs[graph_id].embedding_provider
    if reference is None:
        return None
    path = f"graphs.{graph_id}.embedding_provider"
    name = reference.removeprefix(addresses.provider(""))
    if "." in name:
        found.error("wrong_kind_reference", path, f"'{reference}' is not an embedding provider")
        return None
    if name not in config.providers:
        found.error("dangling_embedding_provider_reference", path, f"no embedding provider '{name}' is declared")
        return None
    return addresses.provider(name)
