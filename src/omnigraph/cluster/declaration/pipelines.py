"""Declared pipelines: the pipeline package knows what they may say, the cluster knows which graphs there are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnigraph.errors import BadRequest


def check_pipelines(declared: Mapping[str, Any], directory: Path, graphs: frozenset[str]) -> None:
    """Refuse a pipeline that cannot run: of the wrong shape, or for a graph that is not declared."""
    from omnigraph.pipeline.runs.declared import parse_pipelines

    for name, pipeline in parse_pipelines(declared, directory).items():
        if pipeline.graph not in graphs:
            raise BadRequest(f"pipelines.{name}.graph: no graph '{pipeline.graph}' is declared in '{directory}'")
