"""Declared pipelines: the pipeline package knows what they may say, the cluster knows which graphs there are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnigraph.errors import BadRequest


def check_pipelines(declared: Mapping[str, Any], directory: Path, graphs: frozenset[str]) -> None:
    """Refuse a pipeline that cannot run: of the wrong shape, or for a graph that is not declared."""
    for name, value in declared.items():
        graph = value.get("graph") if isinstance(value, Mapping) else None
        if graph not in graphs:
            raise BadRequest(f"pipelines.{name}.graph: no graph '{graph}' is declared in '{directory}'")
