"""A retriever of LlamaIndex over a query of a graph (needs `omnigraph[llamaindex]`)."""

from __future__ import annotations

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from omnigraph.integrations.retrieval import QueryCall


class GraphRetriever(BaseRetriever):  # type: ignore[misc,unused-ignore]
    """Nodes from the rows of a query: `GraphRetriever(QueryCall(graph, "find", content="body"))`."""

    def __init__(self, call: QueryCall) -> None:
        self._call = call
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._call.passages(query_bundle.query_str)
        return [
            NodeWithScore(node=TextNode(text=each.text, metadata=each.metadata), score=each.score) for each in found
        ]
