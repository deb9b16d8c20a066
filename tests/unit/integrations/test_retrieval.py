"""Retrievers of LangChain and LlamaIndex over queries."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import BadRequest
from omnigraph.integrations.retrieval import QueryCall

# The libraries are imported where they are used: each takes a second, in every worker that only collects these tests.
QUERY = """
query lines($text: String, $most: I64) {
  match { $l: Line match_text($l.about, $text) }
  return { $l.slug as slug, $l.about as about, bm25($l.about, $text) as score }
  order { score desc }
  limit $most
}
query none($text: String) { match { $l: Line { slug: $text } } return { $l.slug as slug } }
"""


@pytest.fixture
def call(roads: og.Graph, tmp_path: Path) -> QueryCall:
    (tmp_path / "queries.gq").write_text(QUERY)
    return QueryCall(roads, "lines", "about", tmp_path / "queries.gq", params={"most": 5})


def test_rows_become_passages(call: QueryCall) -> None:
    (found,) = call.passages("lake")
    assert found.text == "the red line goes to the lake"
    assert found.metadata["slug"] == "red"
    assert found.score is not None
    assert found.score > 0
    assert call.passages("nothing of the kind at all, xyzzy") == []


def test_what_is_wrong_with_a_call_is_said(roads: og.Graph) -> None:
    with pytest.raises(BadRequest, match="only a served graph has stored queries; pass source="):
        QueryCall(roads, "lines", "about").passages("x")
    with pytest.raises(BadRequest, match="returns no column 'about'; it returns slug"):
        QueryCall(roads, "none", "about", QUERY).passages("x")


def test_langchain_retrieves_documents(call: QueryCall) -> None:
    from omnigraph.integrations import langchain

    (found,) = langchain.GraphRetriever(call=call).invoke("hill")
    assert found.page_content == "the blue line climbs the hill"
    assert found.metadata["slug"] == "blue"


def test_llamaindex_retrieves_nodes(call: QueryCall) -> None:
    from omnigraph.integrations import llamaindex

    (found,) = llamaindex.GraphRetriever(call).retrieve("hill")
    assert found.node.text == "the blue line climbs the hill"
    assert found.score > 0
