"""What each hosted provider is sent and how its answer is read; no network here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from omnigraph.embeddings.config import EmbeddingConfig
from omnigraph.errors import EmbeddingError

Role = Literal["query", "document"]
_GEMINI_TASK = {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT"}


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP POST."""

    url: str
    headers: dict[str, str]
    body: bytes


def batch_limit(config: EmbeddingConfig) -> int:
    """How many texts one request may carry."""
    return 1 if config.provider == "gemini" else 96


def build_request(config: EmbeddingConfig, texts: Sequence[str], dim: int, role: Role) -> Request:
    """The request for a batch of texts."""
    body: dict[str, Any]
    if config.provider == "gemini":
        url = f"{config.base_url}/models/{config.model}:embedContent"
        headers = {"x-goog-api-key": config.api_key}
        body = {
            "model": f"models/{config.model}",
            "content": {"parts": [{"text": texts[0]}]},
            "taskType": _GEMINI_TASK[role],
            "outputDimensionality": dim,
        }
    else:
        url = f"{config.base_url}/embeddings"
        headers = {"Authorization": f"Bearer {config.api_key}"}
        body = {"model": config.model, "input": list(texts), "dimensions": dim}
    return Request(url, {"Content-Type": "application/json", **headers}, json.dumps(body).encode())


def read_response(config: EmbeddingConfig, payload: bytes, count: int) -> list[list[float]]:
    """The vectors of a response, in the order of the texts."""
    try:
        answer = json.loads(payload)
        if config.provider == "gemini":
            return [_numbers(answer["embedding"]["values"])]
        by_index = {item["index"]: _numbers(item["embedding"]) for item in answer["data"]}
        return [by_index[index] for index in range(count)]
    except (ValueError, KeyError, TypeError) as error:
        raise EmbeddingError(f"{config.provider} answered without the vectors that were asked for") from error


def error_text(status: int, payload: bytes) -> str:
    """The provider's own words about a failure, prefixed with the status."""
    text = payload.decode("utf-8", "replace").strip()
    try:
        message = json.loads(text)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        message = text
    return f"HTTP {status}: {message}"


def _numbers(values: list[Any]) -> list[float]:
    if not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        raise TypeError("a component is not a number")
    return [float(value) for value in values]
