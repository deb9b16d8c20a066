"""The verbs that only read: the same for a live branch and for a view of the past."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from omnigraph.display import Displayed
from omnigraph.engine.api import runners
from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.api.drawn_results import labels_in, read
from omnigraph.engine.api.prepared import Prepared
from omnigraph.engine.api.runners import Runners
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.frames.explain import Explanation
from omnigraph.engine.read.query import ReadCall, explain_query
from omnigraph.engine.read.shape.result import Result
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.entity import entity_at
from omnigraph.engine.views.export_lock import export_lock_of
from omnigraph.engine.views.lifecycle import StrPath, Text, read_source
from omnigraph.engine.views.table_tasks import Runner
from omnigraph.engine.views.view import View
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.snapshot import Snapshot

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder
    from omnigraph.engine.api.analytics import Analytics
    from omnigraph.engine.api.spark import SparkView
    from omnigraph.engine.views.blob import Blob
    from omnigraph.render.drawing import Drawing


@checked_methods
class Reader(Displayed, ABC):
    """Reads one graph; subclasses say which view."""

    def __init__(self, core: Core, runners: Runners) -> None:
        self._core = core
        self._runners = runners

    @abstractmethod
    def view(self) -> View:
        """What reads see right now: one snapshot, its catalog and its head commit."""

    @abstractmethod
    def _current(self) -> ManifestState:
        """The state that `view` shows right now."""

    @property
    def spark(self) -> SparkView:
        """What this sees right now as Spark frames: `graph.spark.read("Person")` (needs omnigraph[spark])."""
        runners.require_spark(self._runners)
        return self._runners.spark(self.view())

    @property
    def analytics(self) -> Analytics:
        """PageRank, components, communities, triangles, degrees and distances: `graph.analytics.pagerank("Knows")`."""
        return self._runners.analytics(self)

    def snapshot(self) -> Snapshot:
        """Which version of each table is visible."""
        return self.view().snapshot

    def export(self, target: StrPath | BinaryIO, types: Sequence[str] = (), *, format: str = "jsonl") -> int:
        """Write every entity, or those of some types, and return the number of bytes.

        As JSON lines by default; `format` may be parquet, csv, neo4j-csv (directories) or graphml.
        """
        return self._export(self._current(), target, types, format)

    def get(self, type_name: str, entity_id: str) -> dict[str, Any] | None:
        """One entity as flat JSON, or None when there is no such row."""
        return entity_at(self.view(), type_name, entity_id)

    def blob(self, type_name: str, entity_id: str, property_name: str) -> Blob:
        """One stored blob: `graph.blob("Document", "manual", "content").read(offset, length)`."""
        from omnigraph.engine.views.blob import find_blob

        return find_blob(self.view(), type_name, entity_id, property_name)

    def query(
        self,
        source: Text,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        runner: Runner = "auto",
        limits: Limits | None = None,
        embedder: Embedder | None = None,
        cancel: threading.Event | None = None,
        node_ids: bool = False,
    ) -> Result:
        """Run a read (text, or the path of a `.gq` file) on what this sees right now.

        `name` picks one query of several. `limits` bounds time and rows; setting `cancel` from another thread stops it.
        A returned node is an object, with `node_ids` only its id.
        """
        keep = self._core.keeps_derived
        call = ReadCall(read_source(source), name, params, runner, limits, embedder, cancel, keep, node_ids)
        return read(self._core, self._runners, self._current(), call)

    def prepare(
        self,
        source: Text,
        name: str | None = None,
        *,
        limits: Limits | None = None,
        embedder: Embedder | None = None,
        node_ids: bool = False,
    ) -> Prepared:
        """A read to ask many times: `ask = past.prepare(text)`, then `ask(params)`; arguments are those of `query`."""
        call = prepared_call(self._core, source, name, limits, embedder, node_ids=node_ids)
        return Prepared(self._core, self._runners, self._current, call)

    def explain(self, source: Text, name: str | None = None, params: Mapping[str, Any] | None = None) -> Explanation:
        """The plan that `query` would run; print it, or take it as data with `to_dict()`."""
        return explain_query(self.view(), ReadCall(read_source(source), name, params))

    def draw(self, type: str, id: str, *, depth: int = 1, limit: int = 40, label: str | Sequence[str] = ()) -> Drawing:
        """One node and what is around it, at most `limit` nodes within `depth` hops, as SVG that notebooks show.

        Nodes are labelled by their `name`, their `title` or their key, or by the property that `label` names (`"code"`,
        or for one type `"Airport.code"`).
        """
        from omnigraph.render.drawing import Drawing
        from omnigraph.render.neighbourhood import draw_neighbourhood

        labels = labels_in(self._core, self._current(), label)
        return Drawing.of(draw_neighbourhood(self, labels, type, id, depth=depth, limit=limit))

    def _export(self, state: ManifestState, target: StrPath | BinaryIO, types: Sequence[str], format: str) -> int:
        """JSON lines are written here; every other format, together with its schema, by the runners."""
        view = self._core.view_of(state)
        if format == "jsonl":
            from omnigraph.engine.changes.export import write_export

            with export_lock_of(self._core.store).held():
                return write_export(view, target, types)
        self._core.require_everything_visible("an export with its schema")
        schema = self._core.schemas.of(state).source
        with export_lock_of(self._core.store).held():
            return self._runners.export(view, schema, target, types, format)


def prepared_call(
    core: Core, source: Text, name: str | None, limits: Limits | None, embedder: Embedder | None, *, node_ids: bool
) -> ReadCall:
    """What each call of a prepared read has in common."""
    text, keep = read_source(source), core.keeps_derived
    return ReadCall(text, name, limits=limits, embedder=embedder, keep_derived=keep, node_ids=node_ids)
