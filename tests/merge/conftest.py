"""The people graph, built once and copied for every test."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.testing.graphs.people import create_people, open_copy


@pytest.fixture(scope="session")
def people_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_people(tmp_path_factory.mktemp("merge") / "template.omni")


@pytest.fixture
def people(people_template: Path, tmp_path: Path) -> og.Graph:
    """Alice, Bob, Carol and Dan on main; Bob knows Carol."""
    return open_copy(people_template, tmp_path / "people.omni")
