"""Which provider embeds text: read once from the environment, checked, and never guessed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.embeddings.local import MODEL as LOCAL_MODEL
from omnigraph.embeddings.local import require_local_model
from omnigraph.errors import BadRequest

_LOG = logging.getLogger("omnigraph.embedding")
_TRUE = frozenset({"1", "true", "yes", "on"})
_CHOICES = ("OMNIGRAPH_EMBED_PROVIDER", "OMNIGRAPH_EMBED_BASE_URL", "OMNIGRAPH_EMBED_MODEL")


@dataclass(frozen=True, slots=True)
class _Preset:
    base_url: str
    model: str
    key_variables: tuple[str, ...]


_PRESETS = {
    "openai-compatible": _Preset(
        "https://openrouter.ai/api/v1", "openai/text-embedding-3-large", ("OPENROUTER_API_KEY", "OPENAI_API_KEY")
    ),
    "openai": _Preset("https://api.openai.com/v1", "text-embedding-3-large", ("OPENAI_API_KEY",)),
    "gemini": _Preset("https://generativelanguage.googleapis.com/v1beta", "gemini-embedding-2", ("GEMINI_API_KEY",)),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Patience, in milliseconds and attempts; a deadline or a rate of 0 means none."""

    timeout_ms: int = 30_000
    retry_attempts: int = 4
    retry_backoff_ms: int = 200
    deadline_ms: int = 60_000
    requests_per_minute: int = 0


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """One resolved provider. The key stays out of the representation, so that no log can hold it."""

    provider: str
    model: str
    base_url: str = ""
    api_key: str = ""
    limits: Limits = Limits()

    def __repr__(self) -> str:
        return f"EmbeddingConfig(provider={self.provider!r}, model={self.model!r}, base_url={self.base_url!r})"


def is_configured(environment: Mapping[str, str]) -> bool:
    """Whether someone chose a provider; a key that merely lies around must not send a graph's texts anywhere."""
    return any(_value(environment, name) for name in _CHOICES) or _mocked(environment)


def resolve_config(environment: Mapping[str, str]) -> EmbeddingConfig:
    """The provider that the environment names; BadRequest when it is unknown or lacks its key."""
    chosen = _value(environment, "OMNIGRAPH_EMBED_PROVIDER")
    limits = _limits(environment)
    if _mocked(environment):
        if chosen not in (None, "mock"):
            _LOG.warning("OMNIGRAPH_EMBEDDINGS_MOCK is set: using the mock provider instead of %s", chosen)
        chosen = "mock"
    if chosen == "mock":
        return EmbeddingConfig("mock", _value(environment, "OMNIGRAPH_EMBED_MODEL") or "", limits=limits)
    if chosen == "local":
        return _local(environment, limits)
    name = chosen or "openai-compatible"
    preset = _PRESETS.get(name)
    if preset is None:
        known = ", ".join([*_PRESETS, "local", "mock"])
        raise BadRequest(f"unknown embedding provider '{name}'; OMNIGRAPH_EMBED_PROVIDER is one of {known}")
    key = next((value for name in preset.key_variables if (value := _value(environment, name))), None)
    if key is None:
        wanted = " or ".join(preset.key_variables)
        raise BadRequest(f"embedding provider '{name}' needs a key: set {wanted}")
    base_url = _value(environment, "OMNIGRAPH_EMBED_BASE_URL") or preset.base_url
    model = _value(environment, "OMNIGRAPH_EMBED_MODEL") or preset.model
    return EmbeddingConfig(name, model, base_url.rstrip("/"), key, limits)


def _local(environment: Mapping[str, str], limits: Limits) -> EmbeddingConfig:
    require_local_model()
    model = _value(environment, "OMNIGRAPH_EMBED_MODEL") or LOCAL_MODEL
    if model != LOCAL_MODEL:
        raise BadRequest(f"embedding provider 'local' has the model '{LOCAL_MODEL}' only, not '{model}'")
    return EmbeddingConfig("local", model, limits=limits)


def _mocked(environment: Mapping[str, str]) -> bool:
    return (_value(environment, "OMNIGRAPH_EMBEDDINGS_MOCK") or "").lower() in _TRUE


def _limits(environment: Mapping[str, str]) -> Limits:
    default = Limits()
    return Limits(
        _positive(environment, "OMNIGRAPH_EMBED_TIMEOUT_MS", default.timeout_ms),
        _positive(environment, "OMNIGRAPH_EMBED_RETRY_ATTEMPTS", default.retry_attempts),
        _positive(environment, "OMNIGRAPH_EMBED_RETRY_BACKOFF_MS", default.retry_backoff_ms),
        _positive(environment, "OMNIGRAPH_EMBED_DEADLINE_MS", default.deadline_ms, zero_allowed=True),
        _positive(environment, "OMNIGRAPH_EMBED_REQUESTS_PER_MINUTE", default.requests_per_minute),
    )


def _positive(environment: Mapping[str, str], name: str, default: int, *, zero_allowed: bool = False) -> int:
    try:
        value = int(_value(environment, name) or "")
    except ValueError:
        return default
    return value if value > 0 or (value == 0 and zero_allowed) else default


def _value(environment: Mapping[str, str], name: str) -> str | None:
    return environment.get(name, "").strip() or None
