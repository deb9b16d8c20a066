"""Graphs whose hops are followed in each of the two ways."""

from __future__ import annotations

import pytest

import omnigraph as og


@pytest.fixture(params=["csr", "indexed"])
def graph(stored: og.Graph, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> og.Graph:
    """The graph that a module calls `stored`."""
    monkeypatch.setenv("OMNIGRAPH_TRAVERSAL_MODE", request.param)
    return stored
