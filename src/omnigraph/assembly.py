"""Where the package is put together: opening a graph gives the engine the runners of the pipeline.

This module sits above both, so neither has to know how the other is reached.
"""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.engine.api.arguments import checked
from omnigraph.engine.api.graph import Graph
from omnigraph.engine.api.opening import open_handle
from omnigraph.engine.views.lifecycle import StrPath, Text, create_graph
from omnigraph.pipeline.runners import RUNNERS
from omnigraph.policy.engine import PolicyEngine
from omnigraph.policy.external_blobs import ExternalBlobPolicy, policy_of
from omnigraph.settings import DEFAULTS, Settings


@checked
def init(
    uri: StrPath,
    schema: Text,
    *,
    actor: str | None = None,
    force: bool = False,
    settings: Settings = DEFAULTS,
    external_blobs: Sequence[str] | ExternalBlobPolicy = (),
    message: str | None = None,
) -> Graph:
    """Create a graph at a path or a URI (`s3://`, `az://`, `gs://`) and open it; a place that is not empty is refused.

    `schema` is schema text or the path of a `.pg` file. `force` accepts schema files that an interrupted
    initialization left behind. `external_blobs` is that of `open`. `message` is kept with the first commit.
    """
    policy_of(external_blobs)  # before anything is created
    create_graph(uri, schema, force=force, settings=settings, actor=actor, message=message)
    return open(uri, actor=actor, settings=settings, external_blobs=external_blobs)


@checked
def open(
    uri: StrPath,
    branch: str = "main",
    actor: str | None = None,
    read_only: bool = False,
    *,
    settings: Settings = DEFAULTS,
    policy: PolicyEngine | None = None,
    external_blobs: Sequence[str] | ExternalBlobPolicy = (),
) -> Graph:
    """Open a graph; unless `read_only`, interrupted writes of dead processes are resolved first.

    With a `policy`, every write asks it first whether `actor` may. `external_blobs` are the `s3://` prefixes and
    `file:///` directories below which new blobs may refer to objects instead of holding bytes; by default none.
    """
    return open_handle(
        uri,
        branch,
        actor,
        read_only,
        runners=RUNNERS,
        settings=settings,
        policy=policy,
        external_blobs=external_blobs,
    )
