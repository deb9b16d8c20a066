"""A served graph for asynchronous programs: `graph = omnigraph.aio.connect(…)`, then `await graph.query(…)`."""

from __future__ import annotations

from omnigraph.client.aio import AsyncGraph, connect

__all__ = ["AsyncGraph", "connect"]
