"""Text to vectors: providers, their configuration, and an offline stand-in that needs no key."""

from omnigraph.embeddings.cache import cached, shared
from omnigraph.embeddings.config import EmbeddingConfig, Limits, is_configured, resolve_config
from omnigraph.embeddings.provider import Embedder, make_embedder
from omnigraph.embeddings.wire import Role

__all__ = [
    "Embedder",
    "EmbeddingConfig",
    "Limits",
    "Role",
    "cached",
    "is_configured",
    "make_embedder",
    "resolve_config",
    "shared",
]
