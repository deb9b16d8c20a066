"""Whole-graph analytics: in memory over the topology while it fits, on Spark beyond, with the same answers."""

from __future__ import annotations

from omnigraph.pipeline.analytics.api import Analytics
from omnigraph.pipeline.analytics.values import NodeValues

__all__ = ["Analytics", "NodeValues"]
