"""OmniGraph: a typed property graph with Git-style branches and atomic commits.

>>> import omnigraph as og
>>> sorted(og.__all__)[:3]
['Analytics', 'BackupSnapshot', 'Backups']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph import errors
from omnigraph.errors import OmnigraphError

if TYPE_CHECKING:
    __version__: str
    from omnigraph.assembly import init, open
    from omnigraph.client.graph import RemoteGraph, connect
    from omnigraph.engine.api.analytics import Analytics, NodeValues
    from omnigraph.engine.api.branches import Branches
    from omnigraph.engine.api.changes import Changes
    from omnigraph.engine.api.commits import Commits
    from omnigraph.engine.api.copies import Backups, PruneReport, clone, pull, push
    from omnigraph.engine.api.graph import Graph
    from omnigraph.engine.api.graph_at import GraphAt
    from omnigraph.engine.api.prepared import Prepared
    from omnigraph.engine.api.spark import SparkView
    from omnigraph.engine.api.tags import Tags
    from omnigraph.engine.api.transaction import Transaction
    from omnigraph.engine.changes.baseline import Baseline
    from omnigraph.engine.changes.blame import Blame
    from omnigraph.engine.changes.diff import Difference
    from omnigraph.engine.changes.entity_history import EntityHistory
    from omnigraph.engine.changes.log import LogEntry
    from omnigraph.engine.changes.page import ChangesPage
    from omnigraph.engine.changes.poll import FeedPage
    from omnigraph.engine.merge.fast_forward import TransferReport
    from omnigraph.engine.merge.outcome import MergeOutcome, MergeResult
    from omnigraph.engine.merge.replay import ReplayResult
    from omnigraph.engine.read.frames.budget import Limits
    from omnigraph.engine.read.frames.explain import Explanation
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import BatchResult, LoadResult, MutationResult
    from omnigraph.engine.views.blob import Blob
    from omnigraph.pipeline.formats import importers
    from omnigraph.pipeline.formats.infer import infer
    from omnigraph.settings import Settings
    from omnigraph.storage.branches.tags import Tag
    from omnigraph.storage.manifest.commits import GraphCommit
    from omnigraph.storage.transfer.backup import BackupSnapshot
    from omnigraph.storage.transfer.clone import CopyReport

__all__ = [
    "Analytics",
    "BackupSnapshot",
    "Backups",
    "Baseline",
    "BatchResult",
    "Blame",
    "Blob",
    "Branches",
    "Changes",
    "ChangesPage",
    "Commits",
    "CopyReport",
    "Difference",
    "EntityHistory",
    "Explanation",
    "FeedPage",
    "Graph",
    "GraphAt",
    "GraphCommit",
    "Limits",
    "LoadResult",
    "LogEntry",
    "MergeOutcome",
    "MergeResult",
    "MutationResult",
    "NodeValues",
    "OmnigraphError",
    "Prepared",
    "PruneReport",
    "RemoteGraph",
    "ReplayResult",
    "Result",
    "Settings",
    "SparkView",
    "Tag",
    "Tags",
    "Transaction",
    "TransferReport",
    "clone",
    "connect",
    "errors",
    "importers",
    "infer",
    "init",
    "open",
    "pull",
    "push",
]


# Arrow and Lance take most of a second to import, so every name below is loaded when it is first used.
def __getattr__(name: str) -> Any:
    home: Any
    match name:
        case "init" | "open":
            from omnigraph import assembly as home
        case "RemoteGraph" | "connect":
            from omnigraph.client import graph as home
        case "Blame":
            from omnigraph.engine.changes import blame as home
        case "Blob":
            from omnigraph.engine.views import blob as home
        case "Analytics" | "NodeValues":
            from omnigraph.engine.api import analytics as home
        case "Branches":
            from omnigraph.engine.api import branches as home
        case "Changes":
            from omnigraph.engine.api import changes as home
        case "Commits":
            from omnigraph.engine.api import commits as home
        case "Backups" | "PruneReport" | "clone" | "pull" | "push":
            from omnigraph.engine.api import copies as home
        case "BackupSnapshot":
            from omnigraph.storage.transfer import backup as home
        case "CopyReport":
            from omnigraph.storage.transfer import clone as home
        case "Difference":
            from omnigraph.engine.changes import diff as home
        case "EntityHistory":
            from omnigraph.engine.changes import entity_history as home
        case "Baseline":
            from omnigraph.engine.changes import baseline as home
        case "ChangesPage":
            from omnigraph.engine.changes import page as home
        case "FeedPage":
            from omnigraph.engine.changes import poll as home
        case "Graph":
            from omnigraph.engine.api import graph as home
        case "LogEntry":
            from omnigraph.engine.changes import log as home
        case "MergeOutcome" | "MergeResult":
            from omnigraph.engine.merge import outcome as home
        case "TransferReport":
            from omnigraph.engine.merge import fast_forward as home
        case "Prepared":
            from omnigraph.engine.api import prepared as home
        case "ReplayResult":
            from omnigraph.engine.merge import replay as home
        case "GraphAt":
            from omnigraph.engine.api import graph_at as home
        case "Limits":
            from omnigraph.engine.read.frames import budget as home
        case "Explanation":
            from omnigraph.engine.read.frames import explain as home
        case "Result":
            from omnigraph.engine.read.shape import result as home
        case "BatchResult" | "LoadResult" | "MutationResult":
            from omnigraph.engine.values import result as home
        case "SparkView":
            from omnigraph.engine.api import spark as home
        case "Tags":
            from omnigraph.engine.api import tags as home
        case "Transaction":
            from omnigraph.engine.api import transaction as home
        case "infer":
            from omnigraph.pipeline.formats import infer as home
        case "GraphCommit":
            from omnigraph.storage.manifest import commits as home
        case "Settings":
            from omnigraph import settings as home
        case "Tag":
            from omnigraph.storage.branches import tags as home
        case "__version__":
            from importlib.metadata import version

            return version("omnigraph")
        case "load_ipython_extension":  # %load_ext omnigraph
            from omnigraph.integrations.jupyter import load_ipython_extension

            return load_ipython_extension
        case "importers":
            from omnigraph.pipeline.formats import importers

            return importers
        case _:
            raise AttributeError(f"module 'omnigraph' has no attribute '{name}'")
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
