"""OmniGraph: a typed property graph with Git-style branches and atomic commits.

>>> import omnigraph as og
>>> sorted(og.__all__)[:3]
['Branches', 'Commits', 'Graph']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnigraph import errors
from omnigraph.errors import OmnigraphError

if TYPE_CHECKING:
    from omnigraph.engine.branches_api import Branches
    from omnigraph.engine.commits_api import Commits
    from omnigraph.engine.graph import Graph, init, open
    from omnigraph.engine.past import Past
    from omnigraph.engine.result import LoadResult, MutationResult
    from omnigraph.storage.commits import GraphCommit
    from omnigraph.storage.settings import Settings

__all__ = [
    "Branches",
    "Commits",
    "Graph",
    "GraphCommit",
    "LoadResult",
    "MutationResult",
    "OmnigraphError",
    "Past",
    "Settings",
    "errors",
    "init",
    "open",
]

# Arrow and Lance take most of a second to import, so every name below is loaded when it is first used.
_HOMES = {
    "Branches": "omnigraph.engine.branches_api",
    "Commits": "omnigraph.engine.commits_api",
    "Graph": "omnigraph.engine.graph",
    "GraphCommit": "omnigraph.storage.commits",
    "LoadResult": "omnigraph.engine.result",
    "MutationResult": "omnigraph.engine.result",
    "Past": "omnigraph.engine.past",
    "Settings": "omnigraph.storage.settings",
    "init": "omnigraph.engine.graph",
    "open": "omnigraph.engine.graph",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'omnigraph' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
