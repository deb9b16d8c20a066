"""Graphs whose indexes cover nothing, an earlier state or everything, and a switch that sends tiny tables to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from omnigraph.engine.api.graph import Graph

COVERAGES = ("none", "partial", "full")

_LIMITS = (
    "omnigraph.engine.read.columns.entities.SMALL_TABLE",
    "omnigraph.engine.read.search.corpus_store.WORTH_KEEPING",
    "omnigraph.engine.read.search.nearest.EXACT_COLD",
    "omnigraph.engine.read.search.nearest.EXACT_HOT",
    "omnigraph.engine.read.search.nearest._LARGEST_SHARE",
)


def load_covered(graph: Graph, earlier: Sequence[str], now: Sequence[str], coverage: str) -> None:
    """Load the records of now; unless coverage is `none`, indexes are built over earlier ones first.

    With `partial` they stay as they are, so updated rows are in them no more and new rows not yet; with `full` they are
    brought up to date.
    """
    if coverage != "none":
        graph.load(earlier)
        graph.ensure_indices()
    graph.load(now, mode="merge")
    if coverage == "full":
        graph.optimize()


@contextmanager
def indexes_are_used() -> Iterator[None]:
    """Every table is large enough for storage filters, kept corpora and the vector index."""
    with ExitStack() as stack:
        for name in _LIMITS:
            stack.enter_context(patch(name, 0))
        yield
