"""The queries that every engine runs: they use the whole language, and the naive evaluator gives the engine's rows.

`tests/integration/spark/test_query.py` runs the same ones on Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.temporal import DateTime
from omnigraph.ids import now_micros
from omnigraph.testing.graphs.ants import ANTS
from omnigraph.testing.graphs.compared import APART, OVER_ANTS, OVER_HUTS
from omnigraph.testing.graphs.constructs import NAMES, WORDS, all_texts, everything, used
from omnigraph.testing.graphs.huts import RECORDS
from omnigraph.testing.naive.constraints import Image
from omnigraph.testing.naive.evaluator import evaluate
from omnigraph.testing.naive.evaluator_values import close
from omnigraph.testing.naive.image import Placeholders, empty_image, load, record_of
from omnigraph.testing.strategies import read_graphs

EDGES = frozenset({"Path", "Guards", "Walks", "Meets", "Feeds"})


@pytest.fixture(scope="module")
def ants(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    graph = og.init(tmp_path_factory.mktemp("ants") / "graph.omni", schema=read_graphs.SCHEMA)
    graph.load([json.dumps(record) for record in ANTS])
    return graph


def image_of(graph: og.Graph, documents: Iterable[Any]) -> Image:
    catalog = graph.view().catalog
    records = [record_of(each) for each in documents]
    image = load(catalog, empty_image(catalog), "append", records, Placeholders()).image
    for rows in image.values():
        for row in rows.values():  # vectors are written as whole numbers
            row |= {name: [*map(float, row[name])] for name in ("v", "vec") if row.get(name) is not None}
    return image


@pytest.fixture(scope="module")
def hut_image(huts: og.Graph) -> Image:
    return image_of(huts, map(json.loads, RECORDS.strip().splitlines()))


@pytest.fixture(scope="module")
def ant_image(ants: og.Graph) -> Image:
    return image_of(ants, ANTS)


def naive(graph: og.Graph, image: Image, text: str) -> list[Any]:
    catalog = graph.view().catalog
    return evaluate(compile_query(text, catalog).checked, catalog, image, {}, DateTime(now_micros() // 1000))


@pytest.mark.parametrize("text", OVER_HUTS.values(), ids=OVER_HUTS)
def test_the_naive_evaluator_gives_the_rows_of_the_engine_for_huts(huts: og.Graph, hut_image: Image, text: str) -> None:
    assert_equal(huts.query(text).rows(), naive(huts, hut_image, text))


@pytest.mark.parametrize("text", OVER_ANTS.values(), ids=OVER_ANTS)
def test_the_naive_evaluator_gives_the_rows_of_the_engine_for_ants(ants: og.Graph, ant_image: Image, text: str) -> None:
    assert_equal(ants.query(text).rows(), naive(ants, ant_image, text))


def assert_equal(rows: list[Any], meant: list[Any]) -> None:
    different = [
        {name: (row[name], other[name]) for name in row if not close(row[name], other.get(name))}
        for row, other in zip(rows, meant, strict=True)
    ]
    assert not any(different), different
    assert close(rows, meant)


def test_the_queries_that_every_engine_runs_use_the_whole_language() -> None:
    texts = (*OVER_HUTS.values(), *OVER_ANTS.values())
    found = frozenset().union(*(used(text, frozenset({"Named"}), EDGES) for text in texts))
    missing = everything() - found - APART.keys()
    assert not missing, f"no compared query uses {sorted(missing)}: add one to omnigraph.testing.graphs"
    assert not found & APART.keys(), "what is compared needs no exception"
    assert APART.keys() <= everything()


def test_every_text_in_the_tree_is_a_name_or_one_of_some_words() -> None:
    assert all_texts() == NAMES | WORDS.keys()
