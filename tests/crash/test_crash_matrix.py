"""Kill a process at every hook of the write, fork, recovery and branch paths; every promise holds afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.storage.base import failpoints
from omnigraph.testing.crash.storage_matrix import Scenario, prepare_template, run_scenario, scenarios

SCENARIOS = list(scenarios())
PATHS = (
    "mutation.",
    "fork.",
    "table_commit.",
    "publish.",
    "recovery.",
    "fence.",
    "lease.",
    "branch_create.",
    "branch_rename.",
    "branch_delete.",
    "together.",
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("crash") / "template"
    prepare_template(directory)
    return directory


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_killed_process_breaks_no_promise(scenario: Scenario, template: Path, tmp_path: Path) -> None:
    report = run_scenario(scenario, template, tmp_path / "graph")
    assert report.problems == ()


def test_every_hook_of_these_paths_is_in_the_matrix() -> None:
    killed = {point.partition("=")[0] for s in SCENARIOS for c in s.children for point in c.failpoints.split(";")}
    wanted = {name for name in failpoints.NAMES if name.startswith(PATHS)}
    # Only reached by a query without effect, which has nothing to lose.
    assert wanted - killed == {"mutation.post_no_effect_pre_gate"}
