"""Export formats beside JSON lines: tables (CSV, Parquet), Neo4j's import files, GraphML."""

from __future__ import annotations

from omnigraph.pipeline.formats.exporters.export import FORMATS, export_view

__all__ = ["FORMATS", "export_view"]
