"""`@embed` targets are filled on every road into a graph, by whoever is configured, and the result says so."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.cli.main import main
from omnigraph.embeddings import EmbeddingConfig, Limits, cached, make_embedder
from omnigraph.embeddings.mock import mock_vector
from omnigraph.engine.api.graph import Graph
from omnigraph.errors import BadRequest, EmbeddingError

SCHEMA = """
node Doc {
  slug: String @key
  body: String?
  vec: Vector(64)? @embed(body)
}
"""
INSERT = 'query add($b: String) { insert Doc { slug: "new" body: $b } }'
NEAR = "query near($q: String) { match { $d: Doc } return { $d.slug } order { nearest($d.vec, $q) } limit 1 }"

DOCS = [
    {"slug": "pasta", "body": "Boil the noodles in plenty of salted water, then add the tomato sauce."},
    {"slug": "loan", "body": "The bank lends money to companies and charges interest."},
    {"slug": "orbit", "body": "The satellite circles the planet every ninety minutes."},
]


def records(docs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "Doc", "data": doc} for doc in docs]


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Graph]:
    for name in ("OMNIGRAPH_EMBED_PROVIDER", "OMNIGRAPH_EMBEDDINGS_MOCK", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with og.init(tmp_path / "graph.omni", SCHEMA) as made:
        yield made


def vector(graph: Graph, slug: str) -> list[float] | None:
    found = graph.get("Doc", slug)
    assert found is not None
    return found["vec"]  # type: ignore[no-any-return]


def test_a_semantic_query_finds_its_document_offline(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "local")
    done = graph.load(records(DOCS))
    assert done.embeddings.filled == {"Doc.vec": 3}
    for question, slug in [
        ("how do I cook spaghetti", "pasta"),
        ("credit and finance", "loan"),
        ("spacecraft around the earth", "orbit"),
    ]:
        assert graph.query(NEAR, params={"q": question}).rows() == [{"d.slug": slug}]


def test_without_a_provider_targets_stay_null_and_the_result_says_so(graph: Graph) -> None:
    done = graph.load(records([*DOCS, {"slug": "empty"}, {"slug": "blank", "body": "  "}]))
    assert (done.embeddings.filled, done.embeddings.left) == ({}, {"Doc.vec": 3})
    assert done.embeddings.why == "no embedding provider is configured"
    assert vector(graph, "pasta") is None


def test_a_key_that_lies_around_sends_no_text_anywhere(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert graph.load(records(DOCS)).embeddings.left == {"Doc.vec": 3}


def test_embedding_can_be_turned_off(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
    assert graph.load(records(DOCS), no_embed=True).embeddings.why == "embedding was turned off"
    done = graph.mutate(INSERT, params={"b": "alpha"}, no_embed=True)
    assert done.embeddings.left == {"Doc.vec": 1}
    assert vector(graph, "new") is None


def test_a_given_vector_is_kept_and_a_missing_text_asks_for_none(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
    own = [1.0] + [0.0] * 63
    done = graph.load(records([{"slug": "a", "body": "alpha", "vec": own}, {"slug": "b"}, {"slug": "c", "body": "c"}]))
    assert done.embeddings.filled == {"Doc.vec": 1}
    assert (vector(graph, "a"), vector(graph, "b")) == (own, None)
    assert vector(graph, "c") == pytest.approx(mock_vector("c", 64), abs=1e-6)


def test_frames_and_upserts_are_filled_as_well(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
    graph.load(pa.table({"slug": ["a", "b"], "body": ["alpha", "beta"]}), type="Doc")
    assert vector(graph, "b") == pytest.approx(mock_vector("beta", 64), abs=1e-6)
    graph.load(records([{"slug": "a", "body": "gamma"}]), "merge")
    assert vector(graph, "a") == pytest.approx(mock_vector("gamma", 64), abs=1e-6)


def test_a_mutation_embeds_new_text_and_renews_changed_text(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
    done = graph.mutate(INSERT, params={"b": "alpha"})
    assert done.embeddings.filled == {"Doc.vec": 1}
    assert vector(graph, "new") == pytest.approx(mock_vector("alpha", 64), abs=1e-6)
    update = 'query change($b: String) { update Doc set { body: $b } where slug = "new" }'
    graph.mutate(update, params={"b": "beta"})
    assert vector(graph, "new") == pytest.approx(mock_vector("beta", 64), abs=1e-6)
    monkeypatch.delenv("OMNIGRAPH_EMBED_PROVIDER")
    assert graph.mutate(update, params={"b": "gamma"}).embeddings.left == {"Doc.vec": 1}
    assert vector(graph, "new") == pytest.approx(mock_vector("beta", 64), abs=1e-6)


def test_a_required_vector_is_filled_or_reported_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = "node Doc { slug: String @key body: String vec: Vector(64) @embed(body) }"
    with og.init(tmp_path / "g.omni", schema) as graph:
        with pytest.raises(og.OmnigraphError, match="vec"):
            graph.load(records(DOCS))
        monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
        assert graph.load(records(DOCS)).nodes == {"Doc": 3}
        graph.mutate(INSERT, params={"b": "alpha"})
        assert vector(graph, "new") is not None


def test_vectors_of_another_model_than_the_recorded_one_are_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
    schema = 'node Doc { slug: String @key body: String vec: Vector(64)? @embed(body, model="m-1") }'
    with og.init(tmp_path / "g.omni", schema) as graph:
        done = graph.load(records(DOCS))
    assert done.embeddings.left == {"Doc.vec": 3}
    assert "'m-1'" in (done.embeddings.why or "")


def test_a_provider_that_is_chosen_but_unusable_stops_the_write(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "gemini")
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    with pytest.raises(BadRequest, match="GEMINI_API_KEY"):
        graph.load(records(DOCS))


def test_the_local_model_names_the_dimensions_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "local")
    with og.init(
        tmp_path / "g.omni", "node Doc { slug: String @key body: String vec: Vector(5)? @embed(body) }"
    ) as graph:
        with pytest.raises(EmbeddingError, match="64, 128, 256"):
            graph.load(records(DOCS))
        assert len(graph.commits.list()) == 1


# --- a hosted provider, its cache and its failures --------------------------------------------------------


class Provider:
    """Answers like an OpenAI endpoint, counts the texts it was asked about, and can be told to fail."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fail_after: int | None = None


@pytest.fixture
def provider() -> Iterator[tuple[Provider, str]]:
    state = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            broken = state.fail_after is not None and len(state.asked) >= state.fail_after
            if not broken:
                state.asked += body["input"]
            vectors = [mock_vector(text, body["dimensions"]) for text in body["input"]]
            answer = {"data": [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]}
            payload = json.dumps({"error": {"message": "no more"}} if broken else answer).encode()
            self.send_response(400 if broken else 200)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield state, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_repeated_load_asks_the_provider_for_nothing_it_has_answered(
    graph: Graph, provider: tuple[Provider, str], tmp_path: Path
) -> None:
    state, url = provider
    config = EmbeddingConfig("openai", "m", url, "k", Limits(retry_backoff_ms=1))
    embedder = cached(make_embedder(config), {"OMNIGRAPH_EMBED_CACHE": str(tmp_path / "cache.sqlite")})
    docs = [{"slug": f"d{at}", "body": f"text {at % 150}"} for at in range(300)]
    state.fail_after = 96
    with pytest.raises(EmbeddingError, match="no more"):
        graph.load(records(docs), embedder=embedder)
    assert graph.get("Doc", "d0") is None
    state.fail_after = None
    assert graph.load(records(docs), embedder=embedder).embeddings.filled == {"Doc.vec": 300}
    assert sorted(state.asked) == sorted({doc["body"] for doc in docs})
    graph.load(records(docs), "merge", embedder=embedder)
    assert len(state.asked) == 150
    assert vector(graph, "d7") == pytest.approx(mock_vector("text 7", 64), abs=1e-6)


def test_the_cache_stays_within_its_bound_and_a_broken_one_is_left_out(
    provider: tuple[Provider, str], tmp_path: Path
) -> None:
    state, url = provider
    place = tmp_path / "cache.sqlite"
    made = make_embedder(EmbeddingConfig("openai", "m", url, "k"))
    small = cached(made, {"OMNIGRAPH_EMBED_CACHE": str(place), "OMNIGRAPH_EMBED_CACHE_BYTES": str(20 * (4 * 8 + 96))})
    texts = [f"t{at}" for at in range(60)]
    small.embed(texts, 8, "document")
    small.embed(texts[-20:], 8, "document")
    assert len(state.asked) == 60
    small.embed(texts[:1], 8, "document")
    assert len(state.asked) == 61
    place.write_bytes(b"this is not a database" * 100)
    assert small.embed(["x"], 8, "document")[0] == pytest.approx(mock_vector("x", 8), abs=1e-6)


def test_requests_keep_to_the_configured_rate(provider: tuple[Provider, str]) -> None:
    from omnigraph.embeddings.provider import HttpEmbedder

    _, url = provider
    slept: list[float] = []
    config = EmbeddingConfig("openai", "m", url, "k", Limits(requests_per_minute=600))
    embedder = HttpEmbedder(config, sleep=slept.append, clock=lambda: 1e9 + sum(slept))
    embedder.embed([f"t{at}" for at in range(96 * 4)], 8, "document")
    assert slept == pytest.approx([0.1, 0.1, 0.1])


def test_the_command_line_says_what_was_embedded(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")
    data = tmp_path / "in.jsonl"
    data.write_text("".join(json.dumps(record) + "\n" for record in records(DOCS)))
    arguments = ["load", graph.uri, "--data", str(data), "--mode", "merge"]
    assert main([*arguments, "--no-embed"]) == 0
    assert "left without a vector: Doc.vec × 3 (embedding was turned off)" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["embeddings"] == {"filled": {"Doc.vec": 3}, "left": {}}
