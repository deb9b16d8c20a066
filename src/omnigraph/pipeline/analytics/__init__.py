"""Whole-graph analytics: in memory over the topology while it fits, on Spark beyond, with the same answers."""

from __future__ import annotations

from omnigraph.pipeline.analytics.api import GraphAnalytics

__all__ = ["GraphAnalytics"]
