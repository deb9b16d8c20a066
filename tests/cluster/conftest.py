"""Cluster directories: a declared one, and an applied one that is copied rather than applied again."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_desk import TWO_GRAPHS, Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A declaration of which nothing is stored yet."""
    return Desk(tmp_path / "config").declare()


@pytest.fixture(scope="session")
def applied_template(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("applied")).declare().applied()


@pytest.fixture(scope="session")
def two_graphs_template(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("two")).declare(TWO_GRAPHS).applied()


@pytest.fixture
def applied(applied_template: Desk, tmp_path: Path) -> Desk:
    """The fixture of the cases, applied."""
    return applied_template.copy(tmp_path / "config")


@pytest.fixture
def two_graphs(two_graphs_template: Desk, tmp_path: Path) -> Desk:
    """Two applied graphs, `knowledge` and `old`."""
    return two_graphs_template.copy(tmp_path / "config")
