"""`graph.prepare(text)`: a read that is asked many times with other parameters."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from omnigraph.compiler.compile import CompiledQuery, compile_query
from omnigraph.display import Displayed, ShownList
from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.api.drawn_results import pictured_by
from omnigraph.engine.api.runners import Runners
from omnigraph.engine.read.frames.budget import Limits, limits_from
from omnigraph.engine.read.plan.plans import planned
from omnigraph.engine.read.query import Chosen, ReadCall, run_planned
from omnigraph.engine.read.shape.result import Pictured, Result
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.view import View
from omnigraph.storage.base.watching import Watch
from omnigraph.storage.manifest.manifest import ManifestState, watch_of_main


@dataclass(frozen=True, slots=True)
class _Ready:
    """The read at one state of the graph."""

    state: ManifestState
    view: View
    compiled: CompiledQuery
    chosen: Chosen | None  # None where the lengths of lists among the parameters decide about the plan
    pictured: Pictured
    watch: Watch | None = None  # says by itself that the state is still the newest


@checked_methods
class Prepared(Displayed):
    """A read whose text is parsed and checked once; every call sees the newest state, as `query` does.

    Threads may share one. Limits of the environment are those of the moment when it was prepared.
    """

    def __init__(self, core: Core, runners: Runners, current: Callable[[], ManifestState], call: ReadCall) -> None:
        self._core, self._runners, self._current = core, runners, current
        self._call = call
        self._limits: Limits = limits_from() if call.limits is None else call.limits
        self._ready = self._at(current())

    @property
    def name(self) -> str:
        """The name of the query."""
        return self._ready.compiled.name

    def __call__(self, params: Mapping[str, Any] | None = None, *, cancel: threading.Event | None = None) -> Result:
        """Run it with these parameters; setting `cancel` from another thread stops it."""
        return self._run(self._newest(), params, cancel)

    def many(
        self, params: Sequence[Mapping[str, Any] | None], *, cancel: threading.Event | None = None
    ) -> ShownList[Result]:
        """Run it once for each set of parameters, all of them on the same state of the graph; the results in order."""
        ready = self._newest()
        return ShownList(self._run(ready, each, cancel) for each in params)

    def _newest(self) -> _Ready:
        ready = self._ready
        # Asking what was seen to be the newest whether it is takes half as long as finding out what is.
        if ready.watch is not None and ready.watch.is_unchanged():
            self._core.require_open()
            return ready
        state = self._current()
        # What a reader with restricted rights sees depends on the newest schema of main as well.
        if ready.state is not state or self._core.visibility is not None:
            ready = self._ready = self._at(state)
        elif (watch := watch_of_main(self._core.store.root, state)) is not ready.watch:
            ready = self._ready = replace(ready, watch=watch)
        return ready

    def _at(self, state: ManifestState) -> _Ready:
        view, call = self._core.view_of(state), self._call
        compiled = compile_query(call.source, view.catalog, call.name, mutation=False, memory=view.tables.memory)
        several = any(param.type.list for param in compiled.params)
        chosen = None if several else Chosen(compiled, planned(view, compiled, {}), self._limits)
        return _Ready(state, view, compiled, chosen, pictured_by(self._core, self._runners, state, call))

    def _run(self, ready: _Ready, params: Mapping[str, Any] | None, cancel: threading.Event | None) -> Result:
        call = self._call if cancel is None else replace(self._call, cancel=cancel)
        values, chosen = ready.compiled.bind(params), ready.chosen
        if chosen is None:
            chosen = Chosen(ready.compiled, planned(ready.view, ready.compiled, values), self._limits)
        return run_planned(ready.view, call, chosen, values, ready.pictured)

    def __repr__(self) -> str:
        shown = ", ".join(f"${param.name}: {param.type}" for param in self._ready.compiled.params)
        return f"Prepared({self.name}({shown}))"
