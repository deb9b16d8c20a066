"""Three branches give the same graph however they are brought together, wherever the model says that they can be."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.errors import OmnigraphError
from omnigraph.testing.naive.constraints import Image
from omnigraph.testing.naive.merge import merge_images
from omnigraph.testing.naive.observe import image_of
from omnigraph.testing.strategies import programs
from tests.thoroughness import examples

NAMES = ("left", "middle", "right")
# How the three meet: pairs of source and target, one after the other; everything ends on main.
ORDERS = (
    (("left", "main"), ("middle", "main"), ("right", "main")),
    (("right", "main"), ("middle", "main"), ("left", "main")),
    (("middle", "right"), ("left", "main"), ("right", "main")),
    (("left", "middle"), ("middle", "right"), ("right", "main")),
)
WRITES = st.one_of(*(programs.constructive(programs.Known((name,), (note,)))
                     for name, note in zip(programs.NAMES, programs.NOTES, strict=False)))  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("associativity") / "template.omni"
    with og.init(place, programs.SCHEMA) as graph:
        graph.load([record.line() for record in programs.SEED])
        for name in NAMES:
            graph.branches.create(name)
    return place


def expected_of(graph: og.Graph, base: Image) -> Image | None:
    """What every order gives in the model, if they all go through and agree."""
    results = []
    for order in ORDERS:
        images = {name: image_of(graph.view(name)) for name in (*NAMES, "main")}
        for source, target in order:
            merged = merge_images(graph.schema.catalog, base, images[target], images[source])
            if merged.conflicts:
                return None
            images[target] = merged.image
        results.append(images["main"])
    return results[0] if all(image == results[0] for image in results) else None


@settings(
    max_examples=examples(5),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(writes=st.tuples(WRITES, WRITES, WRITES))
def test_the_order_of_merges_does_not_matter_where_the_model_says_so(template: Path, writes) -> None:  # type: ignore[no-untyped-def]
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(template, f"{place}/0.omni")
        with og.open(f"{place}/0.omni") as graph:
            base = image_of(graph.view())
            for name, statements in zip(NAMES, writes, strict=True):
                text, params = programs.Writer(graph.schema.catalog, False).query(statements)
                with suppress(OmnigraphError):
                    graph.mutate(text, params=params, branch=name)
            expected = expected_of(graph, base)
        assume(expected is not None)
        for number, order in enumerate(ORDERS, 1):
            shutil.copytree(f"{place}/0.omni", f"{place}/{number}.omni")
            with og.open(f"{place}/{number}.omni") as graph:
                for source, target in order:
                    graph.branches.merge(source, into=target)
                assert image_of(graph.view()) == expected
                for source, target in order:
                    assert graph.branches.merge(source, into=target).outcome == "already_up_to_date"
