"""What differs between two points of the history, and the history itself as a graph."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from starlette.responses import Response

from omnigraph.engine.changes.block import DEFAULT_BYTES
from omnigraph.policy.actions import Action
from omnigraph.policy.visibility import Visibility, meet
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import MAIN, Exchange, named_branch
from omnigraph.server.http.refusal import bad_request, refuse
from omnigraph.server.routes.changes import change_filter, change_limit
from omnigraph.server.routes.commits import answer_commits, commit_filters, known_commit
from omnigraph.storage.manifest.commits import GraphCommit


async def diff(exchange: Exchange) -> Response:
    """One page of the net difference between two points, with the values on both sides.

    It shows values of any type, so every type and property of both sides has to be readable.
    """
    start, end = exchange.value("from"), exchange.value("to")
    branch, scope, limit = named_branch(exchange.value("branch")), change_filter(exchange), change_limit(exchange)
    if start is None:
        raise bad_request("'from' says what to compare with: a branch, a tag, a commit or a point in time")
    before = await _point(exchange, start, branch)
    after = await _point(exchange, branch if end is None else end, branch)
    offset = _continued(exchange.value("page_token"), before, after)
    graph = exchange.graph.handle

    def run(_: object) -> dict[str, Any]:
        token = f"{before.graph_commit_id}.{after.graph_commit_id}"
        found = graph.diff(before, after, kinds=scope.kinds, types=scope.type_names, ops=scope.ops)
        return {
            "from_commit_id": before.graph_commit_id,
            "to_commit_id": after.graph_commit_id,
            **found.summary(),
            **_page((each.document() for each in found.page(offset, limit)), offset, len(found), token),
        }

    return answer(await exchange.read(run))


async def _point(exchange: Exchange, reference: str, branch: str) -> GraphCommit:
    """The commit that a name means; its details are only for those who may read all of the branch it is on."""
    await exchange.allow_whole(branch)
    graph, text = exchange.graph.handle, reference.strip()
    named = await exchange.read(lambda _: text in graph.branches.list())
    if named and text == MAIN:  # which is known to exist
        await exchange.allow_whole(text)
    commit = await known_commit(exchange, text, branch)
    await exchange.allow_whole(text if named else commit.manifest_branch or MAIN)
    return commit


def _continued(token: str | None, before: GraphCommit, after: GraphCommit) -> int:
    """The position that a page token stands for; the commits in it must be the ones that are compared now."""
    if token is None:
        return 0
    offset, _, compared = token.partition(".")
    if not (offset.isascii() and offset.isdecimal() and len(offset) < 19):
        raise bad_request("the page token is not one of this route")
    if compared != f"{before.graph_commit_id}.{after.graph_commit_id}":
        raise refuse(409, "a branch of this comparison has moved on; begin again, or name commits instead of branches")
    return int(offset)


def _page(documents: Iterable[dict[str, Any]], offset: int, total: int, compared: str) -> dict[str, Any]:
    """Changes up to a size, the first one in any case, and how to go on."""
    changes: list[dict[str, Any]] = []
    size = 0
    for document in documents:
        size += len(json.dumps(document, ensure_ascii=False))
        if changes and size > DEFAULT_BYTES:
            break
        changes.append(document)
    end = offset + len(changes)
    more = {"next_page_token": f"{end}.{compared}"} if end < total else {}
    return {"changes": changes, **more}


async def log(exchange: Exchange) -> Response:
    """Commits with their parents, branches and tags; commits of other branches only where those may be read."""
    wanted, everywhere = commit_filters(exchange), exchange.value("every_branch")
    if everywhere not in (None, "true", "false"):
        raise bad_request(f"every_branch must be true or false, not '{everywhere}'")
    named = exchange.value("branch")
    branch = named_branch(named)
    await exchange.allow(Action.READ, branch=branch)
    graph = exchange.graph.handle
    if everywhere != "true":
        entries = await exchange.read(lambda _: graph.commits.log(branch, **wanted))
        return await answer_commits(exchange, {"commits": [each.document() for each in entries]})
    names = await exchange.read(lambda _: graph.branches.list())
    readable = [each for each in names if exchange.decide(Action.READ, branch=each).allowed]
    start = None if named is None else branch
    seen = graph.with_visibility(await _common(exchange, readable))
    entries = await exchange.read(lambda _: seen.commits.log(start, every_branch=True, among=readable, **wanted))
    return await answer_commits(exchange, {"commits": [each.document() for each in entries]})


async def _common(exchange: Exchange, branches: Sequence[str]) -> Visibility | None:
    """What the sender sees of each of these branches; counts of a commit tell of types."""
    found: Visibility | None = None
    for each in branches:
        found = meet(found, await exchange.visibility(each))
    return found
