"""History: the commits of a branch, and one commit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from starlette.responses import Response

from omnigraph.errors import AmbiguousCommit, CommitNotFound
from omnigraph.policy.actions import Action
from omnigraph.policy.visibility import NOTHING
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import MAIN, Exchange, named_branch
from omnigraph.server.http.outputs import commit_output
from omnigraph.server.http.refusal import bad_request, refuse
from omnigraph.storage.manifest.commits import GraphCommit

_MERGE = re.compile(r"merge \S+ into (\S+)")
_MERGED = ("merged_parent_commit_id", "unknown_parent")
_WITH_COMMITS = frozenset({"commits", "commit", "cause", "blocks", "created", "events", "properties"})
_FILTERS = ("actor", "kind", "since", "until", "type", "message")


async def list_commits(exchange: Exchange) -> Response:
    """The commits of a branch, newest first, or those among them that are asked for."""
    branch = named_branch(exchange.value("branch"))
    wanted = commit_filters(exchange)
    await exchange.allow(Action.READ, branch=branch)
    graph = exchange.graph.handle
    found = await exchange.read(lambda _: graph.commits.list(branch, **wanted))
    return await answer_commits(exchange, {"commits": [commit_output(commit) for commit in found]})


def commit_filters(exchange: Exchange) -> dict[str, Any]:
    """Which commits are asked for, as arguments of the engine."""
    limit, maintenance = _limit(exchange.value("limit")), exchange.flag("maintenance")
    return {**{name: exchange.value(name) for name in _FILTERS}, "limit": limit, "maintenance": maintenance}


def _limit(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise bad_request(f"limit must be a whole number, not '{text}'")
    return int(text)


async def known_commit(exchange: Exchange, reference: str, branch: str = MAIN) -> GraphCommit:
    """The commit that a reference means from a branch's point of view.

    One of a branch that the sender may not read does not exist for it, and no answer tells the two apart: either is
    forbidden to a sender who may not read the branch that the reference is seen from, and missing for others. The
    history of that branch, with what it inherited, is known to those who may read it.
    """
    graph = exchange.graph.handle
    candidates: Sequence[str] = ()
    try:
        commit = await exchange.read(lambda _: graph.branch(branch).commits.show(reference))
        if _reads(exchange, commit.manifest_branch):
            return commit
        candidates = (commit.graph_commit_id,)
    except AmbiguousCommit as error:
        if exchange.graph.policy is None:
            raise
        candidates = error.candidates
    except CommitNotFound:
        if exchange.graph.policy is None:
            raise
    return await _only_known(exchange, reference, branch, candidates)


async def answer_commits(exchange: Exchange, document: Any) -> Response:
    """A document with commits, or what they changed, as its reader may see it."""
    return answer(await without_hidden_parents(exchange, document))


async def without_hidden_parents(exchange: Exchange, document: Any) -> Any:
    """A document in which no merge names the commit that it brought in from a branch that the sender may not read."""
    if exchange.graph.policy is None or exchange.actor is None:
        return document
    graph = exchange.graph.handle

    def leave_out(_: object) -> Any:
        merges = list(_merges(document))
        if not merges or all(_reads(exchange, name) for name in graph.branches.list()):
            return document
        known = _known_commits(exchange)
        for merge in merges:
            for key in _MERGED:
                if merge.get(key) not in known and merge.pop(key, None) is not None and "authored_branch" not in merge:
                    merge[key] = None  # of a feed the member is left out, of a commit it is null
                    merge["message"] = _without_branch(merge.get("message"))
        return document

    # Without listening for a disconnection: a feed has its own listener.
    return await exchange.server.pools.read(leave_out, None, exchange.reader)


def _without_branch(message: str | None) -> str | None:
    """A message without the branch that a merge names when it is given none."""
    found = None if message is None else _MERGE.fullmatch(message)
    return message if found is None else f"merge into {found[1]}"


def _merges(document: Any) -> Iterator[dict[str, Any]]:
    """The parts of a document that name a merged commit; values of entities are not looked into."""
    if isinstance(document, list):
        for each in document:
            yield from _merges(each)
    elif isinstance(document, dict):
        if any(document.get(key) is not None for key in _MERGED):
            yield document
        for key in _WITH_COMMITS & document.keys():
            yield from _merges(document[key])


async def _only_known(exchange: Exchange, reference: str, branch: str, candidates: Sequence[str]) -> GraphCommit:
    """The one commit among some that the sender knows.

    The same is done for hidden commits and for none: neither an answer nor the work behind it tells them apart.
    """
    if not _reads(exchange, branch):
        await exchange.allow(Action.READ, branch=branch)
    known = await exchange.read(lambda _: _known_commits(exchange))
    found = [known[candidate] for candidate in candidates if candidate in known]
    if len(found) > 1:
        raise AmbiguousCommit(reference, [each.graph_commit_id for each in found])
    if not found:
        raise CommitNotFound(reference.strip())
    return found[0]


def _known_commits(exchange: Exchange) -> dict[str, GraphCommit]:
    """The history of every branch that the sender may read, by id."""
    graph = exchange.graph.handle
    readable = [name for name in graph.branches.list() if _reads(exchange, name)]
    return {each.graph_commit_id: each for name in readable for each in graph.commits.list(name, maintenance=True)}


def _reads(exchange: Exchange, branch: str | None) -> bool:
    """Whether the sender may read or export at least a part of a branch."""
    policy, actor = exchange.graph.policy, exchange.actor
    return policy is None or actor is None or policy.content(actor, branch or MAIN) != NOTHING


async def get_commit(exchange: Exchange) -> Response:
    """One commit of any live branch."""
    await exchange.allow(Action.READ)
    name = exchange.params["commit_id"]
    try:
        return await answer_commits(exchange, commit_output(await known_commit(exchange, name)))
    except AmbiguousCommit:
        raise
    except CommitNotFound:
        raise refuse(404, f"commit '{name}' not found") from None
