"""One graph without a cluster, for development: `omnigraph serve --store graph.omni`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from omnigraph.assembly import open as open_graph
from omnigraph.compiler.query.stored import declared_in, registry
from omnigraph.compiler.source import Source
from omnigraph.errors import BadRequest
from omnigraph.policy.actions import Action, kind_of
from omnigraph.policy.authorize import State
from omnigraph.policy.bundle import Bundle, parse_bundle
from omnigraph.policy.engine import PolicyEngine
from omnigraph.policy.tokens import INLINE, TokenTable, load_tokens
from omnigraph.server.process.deployment import Deployment, ServedGraph
from omnigraph.server.studio.sign_in import OneTimeCode
from omnigraph.settings import DEFAULTS
from omnigraph.settings import Settings as WriteSettings

GRAPH_ID = "default"
ACTOR = "developer"

_OPEN_TABLE = TokenTable((), "none")


def development_deployment(
    uri: str,
    *,
    queries: Sequence[str] = (),
    token: str | None,
    settings: WriteSettings = DEFAULTS,
    sign_in: OneTimeCode | None = None,
) -> Deployment:
    """A graph under the id `default`; the holder of the token may do everything; without a token every client may."""
    stored = registry(declared_in([_read(path) for path in queries]))
    if token is None:
        graph = ServedGraph(GRAPH_ID, open_graph(uri, settings=settings), stored)
        return Deployment({GRAPH_ID: graph}, State.OPEN, _OPEN_TABLE)
    policy = PolicyEngine(_everything("graph"), GRAPH_ID)
    graph = ServedGraph(GRAPH_ID, open_graph(uri, settings=settings, policy=policy), stored)
    tokens = load_tokens(_only(token))
    everything = PolicyEngine(_everything("server"), None)
    return Deployment({GRAPH_ID: graph}, State.POLICY_ENABLED, tokens, everything, sign_in=sign_in)


def _everything(kind: str) -> Bundle:
    actions = ", ".join(action.value for action in Action if kind_of(action) == kind)
    text = f"""
version: 1
groups: {{ developers: [{ACTOR}] }}
rules:
  - id: everything
    allow: {{ actors: {{ group: developers }}, actions: [{actions}] }}
"""
    return parse_bundle(text, "development")


def _only(token: str) -> Mapping[str, str]:
    return {INLINE: f'{{"{ACTOR}": "{token}"}}'}


def _read(path: str) -> Source:
    try:
        return Source(Path(path).read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"'{path}' cannot be read: {error}") from error
