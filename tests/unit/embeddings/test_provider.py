"""Providers behave as configured, against a real HTTP server on loopback."""

from __future__ import annotations

import json
import logging
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from omnigraph.embeddings import EmbeddingConfig, Limits, make_embedder, resolve_config
from omnigraph.embeddings.mock import mock_vector
from omnigraph.errors import BadRequest, EmbeddingError

Answer = tuple[int, Any]


class Script:
    """Answers to give in turn, and the requests that came."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.seen: list[tuple[str, dict[str, str], Any]] = []


@contextmanager
def served(script: Script) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            script.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            status, answer = script.answers.pop(0)
            payload = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def config(url: str, provider: str = "openai", **limits: int) -> EmbeddingConfig:
    return EmbeddingConfig(provider, "m-1", url, "secret-key", Limits(**{"retry_backoff_ms": 1, **limits}))


VECTORS = [
    pytest.param("alpha", [0.798153, -0.284001, -0.267476, -0.459078], id="ops-57-alpha"),
    pytest.param("beta", [0.421209, 0.519787, 0.665346, 0.331240], id="ops-57-beta"),
    pytest.param("", [0.668421, 0.674327, 0.266611, -0.165574], id="ops-57-empty"),
    pytest.param("alpha beta", [0.926030, 0.214731, 0.288979, -0.113358], id="ops-57-two-words"),
    pytest.param(
        "type: Decision\nslug: dec-alpha\nintent: Alpha ship",
        [-0.009810, -0.483411, -0.779795, -0.397666],
        id="ops-57-record",
    ),
]


@pytest.mark.parametrize(("text", "expected"), VECTORS)
def test_mock_vectors_are_the_published_ones(text: str, expected: list[float]) -> None:
    embedder = make_embedder(resolve_config({"OMNIGRAPH_EMBED_PROVIDER": "mock"}))
    assert mock_vector(text, 4) == pytest.approx(expected, abs=1e-6)
    assert embedder.embed([text], 4, "query") == embedder.embed([text], 4, "document") == [mock_vector(text, 4)]


def test_mock_vectors_of_related_texts_are_closer() -> None:
    def cosine(a: str, b: str) -> float:
        return math.fsum(x * y for x, y in zip(mock_vector(a, 64), mock_vector(b, 64), strict=True))

    assert cosine("graph database engine", "a graph database") == pytest.approx(0.658, abs=5e-4)
    assert cosine("graph database engine", "chocolate cake recipe") == pytest.approx(-0.118, abs=5e-4)


def test_default_provider_is_openai_compatible_and_takes_the_first_key_present() -> None:
    found = resolve_config(
        {"OPENROUTER_API_KEY": "  ", "OPENAI_API_KEY": " k ", "OMNIGRAPH_EMBED_BASE_URL": "http://h/v1/"}
    )
    assert (found.provider, found.model) == ("openai-compatible", "openai/text-embedding-3-large")
    assert (found.base_url, found.api_key) == ("http://h/v1", "k")
    assert "api_key" not in repr(found)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        pytest.param({}, "OPENROUTER_API_KEY or OPENAI_API_KEY", id="ops-58"),
        pytest.param(
            {"OMNIGRAPH_EMBED_PROVIDER": "openai", "OPENROUTER_API_KEY": "k"},
            "needs a key: set OPENAI_API_KEY$",
            id="ops-59",
        ),
        pytest.param({"OMNIGRAPH_EMBED_PROVIDER": "gemini"}, "GEMINI_API_KEY", id="gemini"),
        pytest.param({"OMNIGRAPH_EMBED_PROVIDER": "acme"}, "unknown embedding provider 'acme'", id="unknown"),
    ],
)
def test_unknown_provider_and_missing_key_say_what_to_set(environment: dict[str, str], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        resolve_config(environment)


@pytest.mark.parametrize("case", [pytest.param("ops-60", id="ops-60")])
def test_mock_switch_beats_the_provider_with_one_warning(caplog: pytest.LogCaptureFixture, case: str) -> None:
    with caplog.at_level(logging.WARNING, "omnigraph.embedding"):
        found = resolve_config({"OMNIGRAPH_EMBEDDINGS_MOCK": "YES", "OMNIGRAPH_EMBED_PROVIDER": "gemini"})
    assert found.provider == "mock"
    assert len(caplog.records) == 1


def test_bad_limits_fall_back_and_a_zero_deadline_means_none() -> None:
    found = resolve_config(
        {
            "OMNIGRAPH_EMBED_PROVIDER": "mock",
            "OMNIGRAPH_EMBED_TIMEOUT_MS": "x",
            "OMNIGRAPH_EMBED_RETRY_ATTEMPTS": "-1",
            "OMNIGRAPH_EMBED_DEADLINE_MS": "0",
        }
    )
    assert found.limits == Limits(deadline_ms=0)


def test_openai_requests_are_batched_and_answers_put_in_order() -> None:
    script = Script((200, {"data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]}))
    with served(script) as url:
        vectors = make_embedder(config(url)).embed(["a", "b"], 2, "query")
    assert vectors == [[0.6, 0.8], [0.0, 1.0]]
    path, headers, body = script.seen[0]
    assert path == "/embeddings"
    assert headers["authorization"] == "Bearer secret-key"
    assert body == {"model": "m-1", "input": ["a", "b"], "dimensions": 2}


def test_gemini_is_told_the_role() -> None:
    script = Script((200, {"embedding": {"values": [1, 0]}}), (200, {"embedding": {"values": [1, 0]}}))
    with served(script) as url:
        embedder = make_embedder(config(url, "gemini"))
        embedder.embed(["a"], 2, "query")
        embedder.embed(["a"], 2, "document")
    assert [body["taskType"] for _, _, body in script.seen] == ["RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"]
    assert script.seen[0][0] == "/models/m-1:embedContent"
    assert script.seen[0][1]["x-goog-api-key"] == "secret-key"


@pytest.mark.parametrize(
    "busy",
    [
        pytest.param([(500, b"broken"), (500, b"broken")], id="ops-65"),
        pytest.param([(429, {"error": {"message": "slow down"}}), (503, b"later")], id="too-many-then-unavailable"),
    ],
)
def test_busy_provider_is_asked_again_and_refusals_are_not(busy: list[tuple[int, Any]]) -> None:
    good = (200, {"data": [{"index": 0, "embedding": [1, 0]}]})
    script = Script(*busy, good)
    with served(script) as url:
        assert make_embedder(config(url)).embed(["a"], 2, "query") == [[1.0, 0.0]]
    assert len(script.seen) == 3
    refused = Script((401, {"error": {"message": "bad key"}}), good)
    with served(refused) as url, pytest.raises(EmbeddingError, match="HTTP 401: bad key"):
        make_embedder(config(url)).embed(["a"], 2, "query")
    assert len(refused.seen) == 1


def test_attempts_run_out_with_the_last_reason() -> None:
    script = Script(*[(500, b"broken")] * 3)
    with served(script) as url, pytest.raises(EmbeddingError, match="failed in 3 attempts; last: HTTP 500: broken"):
        make_embedder(config(url, retry_attempts=3)).embed(["a"], 2, "query")


def test_deadline_covers_all_attempts() -> None:
    script = Script(*[(500, b"broken")] * 9)
    with served(script) as url, pytest.raises(EmbeddingError, match="embedding deadline exceeded"):
        make_embedder(config(url, retry_attempts=9, retry_backoff_ms=40, deadline_ms=100)).embed(["a"], 2, "query")


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        pytest.param([1.0], "expected 2, got 1", id="ops-66-length"),
        pytest.param([0.0, 0.0], "no direction", id="ops-66-zero"),
        pytest.param([1.0, 1e999], "not finite", id="ops-66-infinite"),
        pytest.param([float("nan"), 1.0], "not finite", id="ops-66-nan"),
        pytest.param(["x", 1], "without the vectors", id="text"),
    ],
)
def test_vectors_that_cannot_be_used_are_refused(vector: list[Any], message: str) -> None:
    script = Script((200, {"data": [{"index": 0, "embedding": vector}]}))
    with served(script) as url, pytest.raises(EmbeddingError, match=message):
        make_embedder(config(url)).embed(["a"], 2, "query")


def test_an_unreachable_provider_is_an_embedding_error() -> None:
    with pytest.raises(EmbeddingError, match="failed in 2 attempts"):
        make_embedder(config("http://127.0.0.1:1", retry_attempts=2)).embed(["a"], 2, "query")


def test_neither_text_nor_key_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    script = Script((200, {"data": [{"index": 0, "embedding": [1, 0]}]}))
    with served(script) as url, caplog.at_level(logging.INFO, "omnigraph.embedding"):
        make_embedder(config(url)).embed(["private words"], 2, "query")
    assert "provider=openai model=m-1 dim=2 attempt=1" in caplog.text
    assert "private" not in caplog.text
    assert "secret-key" not in caplog.text
