"""Vectors that were paid for once: a bounded file on this machine, found by a hash of provider, model and text.

A load that failed half way, or that is repeated, asks the provider only for what it has not answered yet.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import tempfile
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from omnigraph.embeddings.config import EmbeddingConfig
from omnigraph.embeddings.provider import Embedder, HttpEmbedder
from omnigraph.embeddings.wire import Role, batch_limit

_LOG = logging.getLogger("omnigraph.embedding")
PLACE = "OMNIGRAPH_EMBED_CACHE"
SIZE = "OMNIGRAPH_EMBED_CACHE_BYTES"
_DEFAULT_BYTES = 1 << 30
# Everything about an entry beside its vector: key, row number, page overhead.
_ENTRY_BYTES = 96
_PATIENCE_SECONDS = 30.0
_KEYS_PER_QUERY = 500
_TABLE = (
    "CREATE TABLE IF NOT EXISTS vectors "
    "(rowid INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB UNIQUE, vector BLOB NOT NULL)"
)


@dataclass(frozen=True, slots=True)
class Cached:
    """An embedder that remembers. A cache that cannot be used is left out, with one line in the log."""

    inner: Embedder
    name: str
    batch: int
    path: str
    most_bytes: int = _DEFAULT_BYTES

    @property
    def model(self) -> str:
        """The model of the provider behind it."""
        return self.inner.model

    def embed(self, texts: Sequence[str], dim: int, role: Role) -> list[list[float]]:
        """Known vectors from the file, the others from the provider, one batch and one deadline at a time."""
        keys = [self._key(text, dim, role) for text in texts]
        known = self._read(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        wanted = list(missing)
        for start in range(0, len(wanted), self.batch):
            batch = wanted[start : start + self.batch]
            vectors = self.inner.embed([missing[key] for key in batch], dim, role)
            fresh = dict(zip(batch, vectors, strict=True))
            self._write(fresh)  # after every batch: what follows may fail
            known |= fresh
        return [known[key] for key in keys]

    def _key(self, text: str, dim: int, role: Role) -> bytes:
        said = f"{self.name}\0{self.model}\0{dim}\0{role}\0{text}"
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, list[float]]:
        found: dict[bytes, list[float]] = {}
        with self._usable(), closing(self._file()) as file:
            for start in range(0, len(keys), _KEYS_PER_QUERY):
                some = list(dict.fromkeys(keys[start : start + _KEYS_PER_QUERY]))
                marks = ",".join("?" * len(some))
                for key, packed in file.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some):
                    found[key] = array("f", packed).tolist()
        return found

    def _write(self, vectors: Mapping[bytes, Sequence[float]]) -> None:
        rows = [(key, array("f", vector).tobytes()) for key, vector in vectors.items()]
        with self._usable(), closing(self._file()) as file, file:
            file.executemany("INSERT OR REPLACE INTO vectors (key, vector) VALUES (?, ?)", rows)
            self._forget_oldest(file, len(rows[0][1]) + _ENTRY_BYTES)

    def _forget_oldest(self, file: sqlite3.Connection, entry: int) -> None:
        first, last = file.execute("SELECT min(rowid), max(rowid) FROM vectors").fetchone()
        surplus = (last - first + 1) - max(1, self.most_bytes // entry)
        if surplus > 0:
            file.execute("DELETE FROM vectors WHERE rowid < ?", (first + surplus,))

    def _file(self) -> sqlite3.Connection:
        Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        file = sqlite3.connect(self.path, timeout=_PATIENCE_SECONDS)
        try:
            file.execute(_TABLE)
        except sqlite3.Error:
            file.close()
            raise
        return file

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """A cache is worth nothing more than time: without one the provider is asked."""
        try:
            yield
        except (OSError, sqlite3.Error) as trouble:
            _LOG.warning("the embedding cache '%s' is not used: %s", self.path, trouble)


def cached(embedder: Embedder, environment: Mapping[str, str] = os.environ) -> Embedder:
    """An embedder whose answers cost something, remembered; what is computed here is computed again instead."""
    if not isinstance(embedder, HttpEmbedder):
        return embedder
    place = environment.get(PLACE, "").strip() or str(_directory(environment) / "embeddings.sqlite")
    if place.lower() in ("off", "0", "none"):
        return embedder
    size = environment.get(SIZE, "").strip()
    most = int(size) if size.isdecimal() and int(size) else _DEFAULT_BYTES
    return Cached(embedder, _named(embedder.config), batch_limit(embedder.config), place, most)


def shared(embedder: Embedder, processes: int) -> Embedder:
    """The embedder for one of several processes that together keep to the configured rate."""
    match embedder:
        case Cached():
            return replace(embedder, inner=shared(embedder.inner, processes))
        case HttpEmbedder(config) if config.limits.requests_per_minute:
            share = max(1, config.limits.requests_per_minute // max(1, processes))
            limits = replace(config.limits, requests_per_minute=share)
            return replace(embedder, config=replace(config, limits=limits))
    return embedder


def _named(config: EmbeddingConfig) -> str:
    return f"{config.provider} {config.base_url}"


def _directory(environment: Mapping[str, str]) -> Path:
    base = environment.get("XDG_CACHE_HOME", "").strip()
    if base:
        return Path(base) / "omnigraph"
    try:
        return Path.home() / ".cache" / "omnigraph"
    except RuntimeError:  # no home directory
        return Path(tempfile.gettempdir()) / "omnigraph"
