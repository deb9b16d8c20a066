"""The embedding provider of the environment, asked for only when a query really turns text into a vector."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.embeddings import Embedder


class QueryEmbedder:
    """What `nearest($v, "text")` uses; a query without text search needs no key."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    @cached_property
    def _provider(self) -> Embedder:
        from omnigraph.embeddings import make_embedder, resolve_config

        return make_embedder(resolve_config(self._env))

    @property
    def model(self) -> str:
        """The name of the active model."""
        return self._provider.model

    def embed(self, text: str, dim: int) -> list[float]:
        """The vector of a text."""
        return self._provider.embed([text], dim, "query")[0]
