"""A retriever of LangChain over a query of a graph (needs `omnigraph[langchain]`)."""

from __future__ import annotations

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from omnigraph.integrations.retrieval import QueryCall


class GraphRetriever(BaseRetriever):  # type: ignore[misc,unused-ignore]
    """Documents from the rows of a query: `GraphRetriever(call=QueryCall(graph, "find", content="body"))`."""

    call: QueryCall

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(page_content=each.text, metadata=each.metadata) for each in self.call.passages(query)]
