"""Embedding with patience: batches, retries, a deadline, and checked unit vectors."""

from __future__ import annotations

import logging
import math
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from omnigraph.display import counted
from omnigraph.embeddings.config import EmbeddingConfig
from omnigraph.embeddings.local import LocalEmbedder
from omnigraph.embeddings.mock import mock_vector
from omnigraph.embeddings.wire import Request, Role, batch_limit, build_request, error_text, read_response
from omnigraph.errors import EmbeddingError

_LOG = logging.getLogger("omnigraph.embedding")
_SMALLEST_NORM = 1.19e-7
_MAX_DOUBLINGS = 10


class Embedder(Protocol):
    """Turns texts into unit vectors of one dimension."""

    @property
    def model(self) -> str:
        """The model's name, as `@embed(…, model=…)` records it."""
        ...

    def embed(self, texts: Sequence[str], dim: int, role: Role) -> list[list[float]]:
        """One vector a text, in order."""
        ...


def make_embedder(config: EmbeddingConfig) -> Embedder:
    """The embedder for a resolved configuration."""
    match config.provider:
        case "mock":
            return MockEmbedder(config.model)
        case "local":
            return LocalEmbedder(config.model)
        case _:
            return HttpEmbedder(config)


@dataclass(frozen=True, slots=True)
class MockEmbedder:
    """Offline and deterministic; the model name has no influence on the vectors."""

    model: str = ""

    def embed(self, texts: Sequence[str], dim: int, role: Role) -> list[list[float]]:
        """The mock vector of every text."""
        return [mock_vector(text, dim) for text in texts]


class _Transient(Exception):
    """Worth another attempt, if the provider said so after this many seconds."""

    def __init__(self, text: str, after: float = 0.0) -> None:
        super().__init__(text)
        self.after = after


class _Pace:
    """At most so many requests a minute from this process; a rate of 0 does not wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0.0

    def delay(self, now: float, per_minute: int) -> float:
        """How long to wait for the next turn, which is taken by asking."""
        if not per_minute:
            return 0.0
        with self._lock:
            turn = max(self._next, now)
            self._next = turn + 60 / per_minute
            return turn - now


_PACE = _Pace()


@dataclass(frozen=True, slots=True)
class HttpEmbedder:
    """A hosted provider behind HTTP."""

    config: EmbeddingConfig
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    @property
    def model(self) -> str:
        """The configured model."""
        return self.config.model

    def embed(self, texts: Sequence[str], dim: int, role: Role) -> list[list[float]]:
        """Embed in batches; EmbeddingError when the provider refuses or the deadline passes."""
        deadline_ms = self.config.limits.deadline_ms
        deadline = self.clock() + deadline_ms / 1000 if deadline_ms else math.inf
        size = batch_limit(self.config)
        vectors: list[list[float]] = []
        for start in range(0, len(texts), size):
            batch = texts[start : start + size]
            payload = self._call(build_request(self.config, batch, dim, role), dim, deadline)
            vectors.extend(_checked(vector, dim) for vector in read_response(self.config, payload, len(batch)))
        return vectors

    def _call(self, request: Request, dim: int, deadline: float) -> bytes:
        limits, attempt = self.config.limits, 1
        while True:
            self._wait(_PACE.delay(self.clock(), limits.requests_per_minute), deadline)
            started = self.clock()
            try:
                payload = _post(request, min(limits.timeout_ms / 1000, deadline - started))
            except (_Transient, EmbeddingError) as error:
                self._log(logging.WARNING, dim, attempt, started, "failed")
                if isinstance(error, EmbeddingError):
                    raise
                if attempt >= limits.retry_attempts:
                    raise EmbeddingError(
                        f"{self.config.provider} failed in {counted(attempt, 'attempt')}; last: {error}"
                    ) from error
                backoff = limits.retry_backoff_ms / 1000 * 2 ** min(attempt - 1, _MAX_DOUBLINGS)
                self._wait(max(backoff, error.after), deadline)
                attempt += 1
            else:
                self._log(logging.INFO, dim, attempt, started, "ok")
                return payload

    def _wait(self, delay: float, deadline: float) -> None:
        if self.clock() + delay >= deadline:
            raise EmbeddingError("embedding deadline exceeded")
        if delay > 0:
            self.sleep(delay)

    def _log(self, level: int, dim: int, attempt: int, started: float, outcome: str) -> None:
        # Never the text, never the key.
        elapsed = round((self.clock() - started) * 1000)
        name, model = self.config.provider, self.config.model
        _LOG.log(
            level,
            "provider=%s model=%s dim=%d attempt=%d elapsed_ms=%d %s",
            name,
            model,
            dim,
            attempt,
            elapsed,
            outcome,
        )


def _post(request: Request, timeout: float) -> bytes:
    if not request.url.startswith(("http://", "https://")):
        raise EmbeddingError(f"the embedding endpoint '{request.url}' is not an http(s) address")
    call = urllib.request.Request(request.url, data=request.body, headers=request.headers, method="POST")
    try:
        with urllib.request.urlopen(call, timeout=timeout) as response:
            return bytes(response.read())
    except urllib.error.HTTPError as error:
        text = error_text(error.code, error.read())
        if error.code == 429 or error.code >= 500:
            raise _Transient(text, _retry_after(error.headers.get("Retry-After"))) from error
        raise EmbeddingError(text) from error
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise _Transient(str(getattr(error, "reason", error))) from error


def _retry_after(text: str | None) -> float:
    """The seconds a provider asks for; a date instead of a number is left to the backoff."""
    return float(text) if text is not None and text.strip().isdecimal() else 0.0


def _checked(vector: list[float], dim: int) -> list[float]:
    if len(vector) != dim:
        raise EmbeddingError(f"embedding has the wrong dimension: expected {dim}, got {len(vector)}")
    if not all(math.isfinite(value) for value in vector):
        raise EmbeddingError("embedding holds a component that is not finite")
    norm = math.sqrt(math.fsum(value * value for value in vector))
    if norm <= _SMALLEST_NORM:
        raise EmbeddingError("embedding has no direction: its norm is zero")
    return [value / norm for value in vector]
