"""Kill a schema change on a branch, and merges that bring a schema, at every hook of theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.testing.crash.schema_matrix import (
    SchemaScenario,
    prepare_schema_template,
    run_schema_scenario,
    schema_scenarios,
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("crash-schema") / "template"
    prepare_schema_template(directory)
    return directory


@pytest.mark.parametrize("scenario", list(schema_scenarios()), ids=lambda scenario: scenario.name)
def test_a_killed_process_breaks_no_promise(scenario: SchemaScenario, template: Path, tmp_path: Path) -> None:
    assert run_schema_scenario(scenario, template, tmp_path / "graph") == []
