"""The verbs that only read: the same for a live branch and for a view of the past."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from omnigraph.engine.api import runners
from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.frames.explain import Explanation
from omnigraph.engine.read.query import ReadCall, explain_query, run_query
from omnigraph.engine.read.shape.result import Result
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.entity import entity_at
from omnigraph.engine.views.export_lock import cut_of
from omnigraph.engine.views.lifecycle import StrPath, read_source
from omnigraph.engine.views.view import View
from omnigraph.storage.manifest.snapshot import Snapshot

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder
    from omnigraph.engine.views.blob import Blob


@checked_methods
class Reader(ABC):
    """Reads one graph; subclasses say which view."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @abstractmethod
    def view(self) -> View:
        """What reads see right now: one snapshot, its catalog and its head commit."""

    @property
    def spark(self) -> Any:
        """What this sees right now as Spark frames: `graph.spark.read("Person")` (needs omnigraph[spark])."""
        return runners.spark_reader(self.view())

    @property
    def analytics(self) -> Any:
        """PageRank, components, communities, triangles, degrees and distances: `graph.analytics.pagerank("Knows")`."""
        return runners.analytics(self)

    def snapshot(self) -> Snapshot:
        """Which version of each table is visible."""
        return self.view().snapshot

    def export(self, target: StrPath | BinaryIO, types: Sequence[str] = (), *, format: str = "jsonl") -> int:
        """Write every entity, or those of some types, and return the number of bytes.

        As JSON lines by default; `format` may be parquet, csv, neo4j-csv (directories) or graphml.
        """
        if format != "jsonl":
            self._core.require_everything_visible("an export with its schema")
        view = self.view()
        source = self._core.schemas.of(self._core.state(view.branch)).source
        with cut_of(self._core.store).held():
            return runners.export(view, source, target, types, format)

    def get(self, type_name: str, entity_id: str) -> dict[str, Any] | None:
        """One entity as flat JSON, or None when there is no such row."""
        return entity_at(self.view(), type_name, entity_id)

    def blob(self, type_name: str, entity_id: str, property_name: str) -> Blob:
        """One stored blob: `graph.blob("Document", "manual", "content").read(offset, length)`."""
        from omnigraph.engine.views.blob import find_blob

        return find_blob(self.view(), type_name, entity_id, property_name)

    def query(
        self,
        source: StrPath,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        runner: str = "auto",
        limits: Limits | None = None,
        embedder: Embedder | None = None,
        cancel: threading.Event | None = None,
        node_ids: bool = False,
    ) -> Result:
        """Run a read (text, or the path of a `.gq` file) on what this sees right now.

        `name` picks one query of several. `limits` bounds time and rows; setting `cancel` from another thread stops it.
        A returned node is an object, with `node_ids` only its id.
        """
        keep = not self._core.read_only
        call = ReadCall(read_source(source), name, params, runner, limits, embedder, cancel, keep, node_ids)
        return run_query(self.view(), call)

    def explain(self, source: StrPath, name: str | None = None, params: Mapping[str, Any] | None = None) -> Explanation:
        """The plan that `query` would run; print it, or take it as data with `to_dict()`."""
        return explain_query(self.view(), ReadCall(read_source(source), name, params))
