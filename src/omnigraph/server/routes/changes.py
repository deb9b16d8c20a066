"""What changed: one commit, the feed of a branch, and baselines to start from.

These answers go to consumers outside; whatever is not known to be harmless is logged and becomes one fixed sentence.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from typing import Any, BinaryIO, cast

from starlette.responses import Response

from omnigraph.engine.api.graph import Graph
from omnigraph.engine.changes.block import DEFAULT_CHANGES, MAX_CHANGES
from omnigraph.engine.changes.poll import FeedPage
from omnigraph.engine.changes.scope import ChangeScope, change_scope
from omnigraph.errors import (
    BadRequest,
    BranchNotFound,
    ChangeCursorRejected,
    ChangeFeedGap,
    ChangeSchemaBoundary,
    CommitHasNoParent,
    CommitNotFound,
    OmnigraphError,
    PermissionDenied,
    RecoveryNeeded,
    ResourceLimitExceeded,
)
from omnigraph.policy.actions import Action
from omnigraph.server.http.exchange import MAIN, Exchange, named_branch
from omnigraph.server.http.models import ChangeBaselineRequest
from omnigraph.server.http.outputs import changes_output, feed_output
from omnigraph.server.http.refusal import INTERNAL, Refusal, bad_request, refusal_of, refuse, resource_limit
from omnigraph.server.http.streams import Sink
from omnigraph.server.routes.commits import answer_commits, known_commit
from omnigraph.server.routes.exports import streamed

Endpoint = Callable[[Exchange], Coroutine[Any, Any, Response]]

_FILTERS = ("kind", "type", "op")
_POSITIONS = ("cursor", "start", "page_token")
FEED_KEYS = ("branch", "limit", *_POSITIONS, *_FILTERS)
_SHOWN = (
    ChangeCursorRejected,
    BranchNotFound,
    CommitNotFound,
    ChangeFeedGap,
    CommitHasNoParent,
    ChangeSchemaBoundary,
    PermissionDenied,
)
_SHOWN_LIMITS = frozenset(
    {
        "commit_changes_page_changes",
        "commit_changes_page_bytes",
        "change_feed_commits_per_poll",
        "change_continuation_token_encoded_bytes",
        "stream_export_slots",
        "stream_export_transport_bytes",
    }
)
_LOG = logging.getLogger("omnigraph.server")


def redacted(endpoint: Endpoint) -> Endpoint:
    """Let only failures through that say nothing about storage."""

    @wraps(endpoint)
    async def guarded(exchange: Exchange) -> Response:
        try:
            return await endpoint(exchange)
        except OmnigraphError as error:
            raise redaction(error, exchange) from error

    return guarded


@redacted
async def commit_changes(exchange: Exchange) -> Response:
    """One page of what a commit changed; a commit that may not be read is a commit that does not exist."""
    exchange.only(("page_token", "limit", *_FILTERS))
    scope, limit, token = change_filter(exchange), change_limit(exchange), exchange.value("page_token")
    name = exchange.params["commit_id"]
    missing = refuse(404, f"commit '{name}' not found")
    try:
        commit = await known_commit(exchange, name)
    except (CommitNotFound, BranchNotFound):
        raise missing from None
    except Refusal as denied:
        raise (missing if denied.status == 403 else denied) from None
    if not (await exchange.permits(Action.READ, commit.manifest_branch or MAIN)).allowed:
        raise missing
    seen = exchange.graph.handle  # from here on without what the sender may not see
    kinds, types, ops = scope.kinds, scope.type_names, scope.ops
    page = await exchange.read(
        lambda _: seen.commits.changes(commit, kinds=kinds, types=types, ops=ops, page_token=token, limit=limit)
    )
    return await answer_commits(exchange, changes_output(page))


@redacted
async def poll(exchange: Exchange) -> Response:
    """The next commits of a branch."""
    exchange.only(FEED_KEYS)
    branch = named_branch(exchange.value("branch"))
    await exchange.allow(Action.READ, branch=branch)
    position = feed_place(exchange)
    scope, limit = change_filter(exchange), change_limit(exchange)
    graph = exchange.graph.handle
    page = await exchange.read(lambda _: position.poll(graph, branch, scope, limit))
    return await answer_commits(exchange, feed_output(page))


@redacted
async def baseline(exchange: Exchange) -> Response:
    """Everything a branch holds, and the cursor from which its changes continue."""
    body = await exchange.json(ChangeBaselineRequest)
    branch = named_branch(body.branch)
    await exchange.allow(Action.EXPORT, branch=branch)
    graph = exchange.graph.handle
    scope = change_scope(body.kind, body.type, body.op)
    catalog = (await exchange.read(lambda _: graph.view(branch))).catalog
    for name in body.type:
        if name not in catalog.nodes and name not in catalog.edges:
            raise bad_request(f"unknown type '{name}' in a change filter")

    def produce(sink: Sink) -> object:
        out, kinds, types, ops = cast("BinaryIO", sink), scope.kinds, scope.type_names, scope.ops
        return graph.changes.baseline(out, branch=branch, kinds=kinds, types=types, ops=ops)

    return await streamed(exchange, produce)


@dataclass(frozen=True, slots=True)
class FeedPlace:
    """Where a poll continues; by default it starts now."""

    cursor: str | None = None
    start: str | None = None
    page_token: str | None = None

    def poll(self, graph: Graph, branch: str, scope: ChangeScope, limit: int = DEFAULT_CHANGES) -> FeedPage:
        """The next commits from here on."""
        return graph.changes.poll(
            self.cursor,
            self.start,
            page_token=self.page_token,
            branch=branch,
            kinds=scope.kinds,
            types=scope.type_names,
            ops=scope.ops,
            limit=limit,
        )


def feed_place(exchange: Exchange) -> FeedPlace:
    """Where a request wants to continue."""
    given = {name: value for name in _POSITIONS if (value := exchange.value(name)) is not None}
    if len(given) > 1:
        raise bad_request("give one of cursor, start and page_token")
    return FeedPlace(**given)


def change_filter(exchange: Exchange) -> ChangeScope:
    """Which changes are asked for."""
    return change_scope(exchange.values("kind"), exchange.values("type"), exchange.values("op"))


def change_limit(exchange: Exchange) -> int:
    """How many changes a page may have."""
    text = exchange.value("limit")
    if text is None:
        return DEFAULT_CHANGES
    if not (text.isascii() and text.isdecimal()) or len(text) > 18 or int(text) == 0:
        raise bad_request("limit must be a positive whole number")
    if int(text) > MAX_CHANGES:
        raise resource_limit("commit_changes_page_changes", limit=MAX_CHANGES, actual=int(text))
    return int(text)


def redaction(error: OmnigraphError, exchange: Exchange) -> Refusal:
    """The refusal that may be shown for an error; the rest of it goes to the log."""
    if isinstance(error, _SHOWN) or (isinstance(error, ResourceLimitExceeded) and error.resource in _SHOWN_LIMITS):
        return refusal_of(error)
    if isinstance(error, BadRequest):
        return refusal_of(error)  # our own words about a branch name or a filter; no storage was asked
    _LOG.error("%s", error.message, extra={"request_id": exchange.request_id, "code": error.code})
    if isinstance(error, RecoveryNeeded):
        shown = refusal_of(error)
        return Refusal(shown.status, "an interrupted operation must be recovered first", None, shown.details)
    return refuse(500, f"internal: {INTERNAL}")
