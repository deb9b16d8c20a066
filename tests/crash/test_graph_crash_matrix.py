"""Kill a process at every hook of schema changes and maintenance, and run maintenance beside live writers."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.settings import Settings
from omnigraph.storage.base import failpoints
from omnigraph.testing.crash import storage_matrix as crash
from omnigraph.testing.crash.graph_child import GraphChild
from omnigraph.testing.crash.graph_matrix import SCHEMA, Scenario, prepare_template, run_scenario, scenarios
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.naive.observe import image_of

SCENARIOS = list(scenarios())


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("crash-graph") / "template"
    prepare_template(directory)
    return directory


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_killed_process_breaks_no_promise(scenario: Scenario, template: Path, tmp_path: Path) -> None:
    assert run_scenario(scenario, template, tmp_path / "graph") == []


def test_every_hook_of_these_paths_is_in_the_matrix() -> None:
    matrices = [*SCENARIOS, *crash.scenarios()]  # that of the commit protocol has the reclaiming of deleted branches
    killed = {point.partition("=")[0] for s in matrices for c in s.children for point in c.failpoints.split(";")}
    wanted = {name for name in failpoints.NAMES if name.startswith(("schema_apply.", "cleanup."))}
    assert wanted <= killed


def test_maintenance_beside_live_writers_loses_nothing(tmp_path: Path) -> None:
    settings = Settings(table_compact_fragments=6, manifest_compact_fragments=6)
    graph = og.init(tmp_path / "g.omni", SCHEMA, settings=settings)
    graph.load(b'{"type":"Person","data":{"name":"seed"}}')
    writers = [GraphChild(Path(graph.uri), settings, "", "churn", f"{name}:15") for name in ("a", "b")]
    rounds = 0
    while any(writer.process.is_alive() for writer in writers) or not rounds:
        graph.optimize()
        graph.cleanup(keep=1, confirm=True)
        rounds += 1
    assert [writer.finish().error for writer in writers] == [None, None]
    graph.optimize()
    graph.cleanup(keep=1, confirm=True)
    reopened = og.open(graph.uri, settings=settings)
    expected = {"seed", *(f"{name}{number}" for name in ("a", "b") for number in range(15))}
    assert image_of(reopened.view())["node:Person"].keys() == expected
    assert violations(reopened._core.store) == []
    assert all(each.coverage == 1 for each in reopened.indexes() if each.rows)
