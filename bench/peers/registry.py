"""The engines by name; a module is imported only when its engine is asked for."""

from __future__ import annotations

from importlib import import_module

from bench.peers.engine import Engine

# Name, module, class, package on PyPI.
ENGINES = {
    "omnigraph": ("bench.peers.omnigraph", "OmniGraph", "omnigraph"),
    "ladybug": ("bench.peers.ladybug", "Ladybug", "ladybug"),
    "duckdb": ("bench.peers.duckdb", "DuckDb", "duckdb"),
    "igraph": ("bench.peers.igraph", "IGraph", "igraph"),
}


def engine_class(name: str) -> type[Engine]:
    """The class of an engine."""
    module, attribute, _ = ENGINES[name]
    found: type[Engine] = getattr(import_module(module), attribute)
    return found
