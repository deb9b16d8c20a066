"""Reads whose results can draw themselves: the nodes they contain, and the edges between them as of the same state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omnigraph.compiler.source import Source
from omnigraph.engine.api import runners as running
from omnigraph.engine.api.runners import Runners
from omnigraph.engine.read.query import ReadCall
from omnigraph.engine.read.shape.result import Pictured, Result
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.entity import entity_at
from omnigraph.storage.manifest.manifest import ManifestState

if TYPE_CHECKING:
    from omnigraph.render.labels import Labels
    from omnigraph.render.picture import Picture


def read(core: Core, runners: Runners, state: ManifestState, call: ReadCall) -> Result:
    """Run a read; its result remembers what it was read from, and asks it for more only when it is drawn."""
    return running.run_read(runners, core.view_of(state), call, _Pictured(core, runners, state, call))


def pictured_by(core: Core, runners: Runners, state: ManifestState, call: ReadCall) -> Pictured:
    """What draws the results of a read of this state."""
    return _Pictured(core, runners, state, call)


def labels_in(core: Core, state: ManifestState, label: str | Sequence[str]) -> Labels:
    """How nodes of a state are labelled; the order of declaration is for readers who may see the whole schema."""
    from omnigraph.render.labels import labels_of

    source = None if core.visibility is not None else core.schemas.of(state).source
    return labels_of(core.view_of(state).catalog, label, source)


@dataclass(frozen=True, slots=True)
class _Pictured:
    """What a result was read from."""

    core: Core
    runners: Runners
    state: ManifestState
    call: ReadCall

    def __call__(self, result: Result, limit: int, label: str | Sequence[str]) -> Picture:
        from omnigraph.render.answer import draw_rows, node_columns

        labels = labels_in(self.core, self.state, label)
        kinds = node_columns(self.call.source, labels.catalog, self.call.name)
        return draw_rows(self, labels, kinds, result, limit=limit, title=result.query_name)

    def query(self, source: str, name: str | None = None, params: dict[str, Any] | None = None) -> Result:
        self.core.require_open()
        return running.run_read(self.runners, self.core.view_of(self.state), ReadCall(Source(source), name, params))

    def get(self, type_name: str, entity_id: str) -> dict[str, Any] | None:
        return entity_at(self.core.view_of(self.state), type_name, entity_id)
