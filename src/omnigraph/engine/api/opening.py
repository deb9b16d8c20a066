"""Opening: a handle of a graph that is there, with the runners, the policy and the settings it works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.engine.api.graph import Graph
from omnigraph.engine.api.runners import Runners
from omnigraph.engine.values.durations import history_age
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.lifecycle import StrPath, open_graph
from omnigraph.policy.engine import PolicyEngine
from omnigraph.policy.external_blobs import ExternalBlobPolicy, policy_of
from omnigraph.settings import DEFAULTS, Settings


def open_handle(
    uri: StrPath,
    branch: str = "main",
    actor: str | None = None,
    read_only: bool = False,
    *,
    runners: Runners,
    settings: Settings = DEFAULTS,
    policy: PolicyEngine | None = None,
    external_blobs: Sequence[str] | ExternalBlobPolicy = (),
) -> Graph:
    """Open a graph with the runners of the package above; users call `omnigraph.open`, which brings them along."""
    core = open_graph(
        uri,
        read_only=read_only,
        settings=settings,
        policy=policy,
        external_blobs=policy_of(external_blobs),
        tasks=runners,
    )
    return Graph(_forgetting(core), runners, actor=actor).branch(branch)


def _forgetting(core: Core) -> Core:
    """The same graph; where the settings limit how long history is kept, its writers let go of what is older."""
    age = history_age(core.store.settings)
    if age is None or core.read_only:
        return core

    def forget() -> None:
        from omnigraph.engine.maintenance.cleanup import forget_older

        forget_older(core, age)

    return replace(core, store=replace(core.store, forget=forget))
