"""`@embed` targets on their way into tables: what is absent is computed from its text, or counted as left out."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, Embed, NodeType
from omnigraph.engine.values.result import EmbedCounts

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder

_TURNED_OFF = "embedding was turned off"
_NOBODY = "no embedding provider is configured"


@dataclass(frozen=True, slots=True)
class FillPlan:
    """Who embeds, decided before any row is read; fit to be sent to workers.

    `dry_run` fills in vectors that mean nothing and asks no provider: for a dry run, and to decode an input once more.
    """

    embedder: Embedder | None = None
    why: str | None = _NOBODY
    dry_run: bool = False

    def filling(self) -> Filling:
        """The work of one decoding."""
        return Filling(self)

    def as_dry_run(self) -> FillPlan:
        """The same decisions without the cost."""
        return replace(self, dry_run=True)


def plan_filling(catalog: Catalog, embedder: Embedder | None = None, *, no_embed: bool = False) -> FillPlan:
    """The embedder a caller gave, else the one that the environment names; looked for only when the schema needs it."""
    if no_embed:
        return FillPlan(why=_TURNED_OFF)
    if embedder is not None or not any(info.embeds for info in catalog.nodes.values()):
        return FillPlan(embedder, None if embedder is not None else _NOBODY)
    from omnigraph.embeddings import cached, is_configured, make_embedder, resolve_config

    if not is_configured(os.environ):
        return FillPlan()
    return FillPlan(cached(make_embedder(resolve_config(os.environ))), None)


class Filling:
    """Fills columns and keeps count; a target whose text is missing or blank stays as it is."""

    def __init__(self, plan: FillPlan) -> None:
        self.plan = plan
        self.filled: Counter[str] = Counter()
        self.left: Counter[str] = Counter()
        self.why: str | None = None

    def __call__(self, info: NodeType, columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """The columns of new rows with their absent targets filled."""
        for target, embed in info.embeds.items():
            absent = pc.and_(columns[target].is_null(), _has_text(columns[embed.source]))
            columns = {**columns, target: self._filled(info, target, columns, absent)}
        return columns

    def renewed(self, info: NodeType, target: str, columns: dict[str, pa.Array]) -> pa.Array:
        """A target whose text was changed: the vector of the new text, or the old vector without a provider."""
        return self._filled(info, target, columns, _has_text(columns[info.embeds[target].source]))

    def counts(self) -> EmbedCounts:
        """What was done so far."""
        return EmbedCounts(dict(sorted(self.filled.items())), dict(sorted(self.left.items())), self.why)

    def _filled(self, info: NodeType, target: str, columns: dict[str, pa.Array], wanted: pa.Array) -> pa.Array:
        rows = np.flatnonzero(wanted.to_numpy(zero_copy_only=False))
        if not len(rows):
            return columns[target]
        embed, name = info.embeds[target], f"{info.name}.{target}"
        embedder = self.plan.embedder
        refusal = self._refusal(embed, embedder)
        if refusal is not None or embedder is None:
            self.left[name] += len(rows)
            self.why = self.why or refusal
            return columns[target]
        dim = info.properties[target].dim
        assert dim is not None
        vectors = self._vectors(embedder, columns[embed.source].take(pa.array(rows)), dim)
        self.filled[name] += len(rows)
        return with_vectors(columns[target], rows, vectors)

    def _refusal(self, embed: Embed, embedder: Embedder | None) -> str | None:
        if embedder is None:
            return self.plan.why
        if embed.model is not None and embed.model != embedder.model:
            # A vector of another model would be comparable to nothing, so none is better.
            return f"the schema records the model '{embed.model}', and '{embedder.model}' is the active one"
        return None

    def _vectors(self, embedder: Embedder, texts: pa.Array, dim: int) -> np.ndarray:
        """A vector per text; equal texts are asked about once."""
        if self.plan.dry_run:
            return np.eye(1, dim, dtype=np.float32).repeat(len(texts), axis=0)
        encoded = texts.dictionary_encode()
        found = np.asarray(embedder.embed(encoded.dictionary.to_pylist(), dim, "document"), np.float32)
        picked: np.ndarray = found[encoded.indices.to_numpy(zero_copy_only=False)]
        return picked


def with_vectors(column: pa.Array, rows: np.ndarray, vectors: np.ndarray) -> pa.Array:
    """A vector column with some of its rows replaced."""
    dim = column.type.list_size
    valid = column.is_valid().to_numpy(zero_copy_only=False).copy()
    numbers = np.zeros((len(column), dim), np.float32)
    numbers[valid] = column.drop_null().flatten().to_numpy(zero_copy_only=False).reshape(-1, dim)
    numbers[rows] = vectors
    valid[rows] = True
    return pa.FixedSizeListArray.from_arrays(pa.array(numbers.reshape(-1)), type=column.type, mask=pa.array(~valid))


def _has_text(column: pa.Array) -> pa.Array:
    return pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(column), ""), False)
