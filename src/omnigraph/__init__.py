"""OmniGraph: a typed property graph with Git-style branches and atomic commits.

>>> import omnigraph as og
>>> sorted(og.__all__)[:3]
['Baseline', 'Blame', 'Blob']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnigraph import errors
from omnigraph.errors import OmnigraphError

if TYPE_CHECKING:
    from omnigraph.client.graph import RemoteGraph, connect
    from omnigraph.engine.blame import Blame
    from omnigraph.engine.blob import Blob
    from omnigraph.engine.branches_api import Branches
    from omnigraph.engine.changes_api import Changes
    from omnigraph.engine.commits_api import Commits
    from omnigraph.engine.diff import Difference
    from omnigraph.engine.feed.baseline import Baseline
    from omnigraph.engine.feed.page import ChangesPage
    from omnigraph.engine.feed.poll import FeedPage
    from omnigraph.engine.graph import Graph, init, open
    from omnigraph.engine.log import LogEntry
    from omnigraph.engine.merge.outcome import MergeOutcome, MergeResult
    from omnigraph.engine.merge.replay import ReplayResult
    from omnigraph.engine.past import Past
    from omnigraph.engine.read.budget import Limits
    from omnigraph.engine.read.explain import Explanation
    from omnigraph.engine.read.result import Result
    from omnigraph.engine.result import LoadResult, MutationResult
    from omnigraph.engine.tags_api import Tags
    from omnigraph.engine.transaction import Transaction
    from omnigraph.pipeline import importers
    from omnigraph.pipeline.infer import infer
    from omnigraph.storage.commits import GraphCommit
    from omnigraph.storage.settings import Settings
    from omnigraph.storage.tags import Tag

__all__ = [
    "Baseline",
    "Blame",
    "Blob",
    "Branches",
    "Changes",
    "ChangesPage",
    "Commits",
    "Difference",
    "Explanation",
    "FeedPage",
    "Graph",
    "GraphCommit",
    "Limits",
    "LoadResult",
    "LogEntry",
    "MergeOutcome",
    "MergeResult",
    "MutationResult",
    "OmnigraphError",
    "Past",
    "RemoteGraph",
    "ReplayResult",
    "Result",
    "Settings",
    "Tag",
    "Tags",
    "Transaction",
    "connect",
    "errors",
    "importers",
    "infer",
    "init",
    "open",
]

# Arrow and Lance take most of a second to import, so every name below is loaded when it is first used.
_HOMES = {
    "Baseline": "omnigraph.engine.feed.baseline",
    "Blame": "omnigraph.engine.blame",
    "Blob": "omnigraph.engine.blob",
    "Branches": "omnigraph.engine.branches_api",
    "Changes": "omnigraph.engine.changes_api",
    "ChangesPage": "omnigraph.engine.feed.page",
    "Commits": "omnigraph.engine.commits_api",
    "Difference": "omnigraph.engine.diff",
    "Explanation": "omnigraph.engine.read.explain",
    "FeedPage": "omnigraph.engine.feed.poll",
    "Graph": "omnigraph.engine.graph",
    "GraphCommit": "omnigraph.storage.commits",
    "Limits": "omnigraph.engine.read.budget",
    "LoadResult": "omnigraph.engine.result",
    "LogEntry": "omnigraph.engine.log",
    "MergeOutcome": "omnigraph.engine.merge.outcome",
    "MergeResult": "omnigraph.engine.merge.outcome",
    "MutationResult": "omnigraph.engine.result",
    "Past": "omnigraph.engine.past",
    "RemoteGraph": "omnigraph.client.graph",
    "ReplayResult": "omnigraph.engine.merge.replay",
    "Result": "omnigraph.engine.read.result",
    "Settings": "omnigraph.storage.settings",
    "Tag": "omnigraph.storage.tags",
    "Tags": "omnigraph.engine.tags_api",
    "Transaction": "omnigraph.engine.transaction",
    "connect": "omnigraph.client.graph",
    "infer": "omnigraph.pipeline.infer",
    "init": "omnigraph.engine.graph",
    "open": "omnigraph.engine.graph",
}


_MODULES = {"importers": "omnigraph.pipeline.importers"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'omnigraph' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
