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
    from omnigraph.engine.api.branches import Branches
    from omnigraph.engine.api.changes import Changes
    from omnigraph.engine.api.commits import Commits
    from omnigraph.engine.api.graph import Graph, init, open
    from omnigraph.engine.api.graph_at import Past
    from omnigraph.engine.api.tags import Tags
    from omnigraph.engine.api.transaction import Transaction
    from omnigraph.engine.changes.baseline import Baseline
    from omnigraph.engine.changes.blame import Blame
    from omnigraph.engine.changes.diff import Difference
    from omnigraph.engine.changes.log import LogEntry
    from omnigraph.engine.changes.page import ChangesPage
    from omnigraph.engine.changes.poll import FeedPage
    from omnigraph.engine.merge.outcome import MergeOutcome, MergeResult
    from omnigraph.engine.merge.replay import ReplayResult
    from omnigraph.engine.read.frames.budget import Limits
    from omnigraph.engine.read.frames.explain import Explanation
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import LoadResult, MutationResult
    from omnigraph.engine.views.blob import Blob
    from omnigraph.pipeline.formats import importers
    from omnigraph.pipeline.formats.infer import infer
    from omnigraph.settings import Settings
    from omnigraph.storage.manifest.commits import GraphCommit
    from omnigraph.storage.protocol.tags import Tag

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
    "Baseline": "omnigraph.engine.changes.baseline",
    "Blame": "omnigraph.engine.changes.blame",
    "Blob": "omnigraph.engine.views.blob",
    "Branches": "omnigraph.engine.api.branches",
    "Changes": "omnigraph.engine.api.changes",
    "ChangesPage": "omnigraph.engine.changes.page",
    "Commits": "omnigraph.engine.api.commits",
    "Difference": "omnigraph.engine.changes.diff",
    "Explanation": "omnigraph.engine.read.frames.explain",
    "FeedPage": "omnigraph.engine.changes.poll",
    "Graph": "omnigraph.engine.api.graph",
    "GraphCommit": "omnigraph.storage.manifest.commits",
    "Limits": "omnigraph.engine.read.frames.budget",
    "LoadResult": "omnigraph.engine.values.result",
    "LogEntry": "omnigraph.engine.changes.log",
    "MergeOutcome": "omnigraph.engine.merge.outcome",
    "MergeResult": "omnigraph.engine.merge.outcome",
    "MutationResult": "omnigraph.engine.values.result",
    "Past": "omnigraph.engine.api.graph_at",
    "RemoteGraph": "omnigraph.client.graph",
    "ReplayResult": "omnigraph.engine.merge.replay",
    "Result": "omnigraph.engine.read.shape.result",
    "Settings": "omnigraph.settings",
    "Tag": "omnigraph.storage.protocol.tags",
    "Tags": "omnigraph.engine.api.tags",
    "Transaction": "omnigraph.engine.api.transaction",
    "connect": "omnigraph.client.graph",
    "infer": "omnigraph.pipeline.formats.infer",
    "init": "omnigraph.engine.api.graph",
    "open": "omnigraph.engine.api.graph",
}


_MODULES = {"importers": "omnigraph.pipeline.formats.importers"}


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
