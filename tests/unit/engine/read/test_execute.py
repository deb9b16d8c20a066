"""Random small graphs and random queries: the executor, in both traversal modes, agrees with the naive evaluator."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.testing.naive.evaluator import REFUSED, rows_of
from omnigraph.testing.naive.evaluator_values import close
from omnigraph.testing.naive.image import Record
from omnigraph.testing.strategies.read_programs import SCHEMA, graphs, image_of, queries
from tests.thoroughness import examples


# Shrinking reruns whole graphs; a smaller example is not worth minutes.
@settings(
    max_examples=examples(40),
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(graphs(), st.lists(queries(), min_size=4, max_size=8))
def test_every_query_has_the_rows_that_its_definition_gives(records: list[Record], texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        graph = og.init(Path(place) / "graph.omni", schema=SCHEMA)
        graph.load([record.line() for record in records])
        catalog = graph.view().catalog
        image = image_of(catalog, records)
        for text in texts:
            note(text)
            expected = rows_of(text, catalog, image)
            for mode, small in (("csr", 4_096), ("indexed", 0)):
                if expected is None:
                    with pytest.raises(og.errors.BadRequest, match=REFUSED):
                        run(graph, text, mode, small)
                    continue
                found = run(graph, text, mode, small)
                assert close(found.rows(), expected), f"{mode}\n{found.explanation}\n{found.rows()}\n{expected}"


def run(graph: og.Graph, text: str, mode: str, small: int) -> Any:
    """The result with a forced traversal mode; a `small` of 0 sends every predicate to storage first."""
    graph._core.store.memory.clear()
    with (
        patch.dict(os.environ, {"OMNIGRAPH_TRAVERSAL_MODE": mode}),
        patch("omnigraph.engine.read.columns.entities.SMALL_TABLE", small),
    ):
        return graph.query(text)
