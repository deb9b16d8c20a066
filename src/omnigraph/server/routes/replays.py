"""Undoing a commit, and repeating one on another branch."""

from __future__ import annotations

from functools import partial

from starlette.responses import Response

from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import MAIN, Exchange, named_branch
from omnigraph.server.http.models import ReplayRequest
from omnigraph.server.http.outputs import replay_output
from omnigraph.server.routes.commits import known_commit

_ESTIMATE = 256


async def revert(exchange: Exchange) -> Response:
    """Undo what a commit changed, as a new commit."""
    return await _replay(exchange, "revert")


async def cherry_pick(exchange: Exchange) -> Response:
    """Apply what a commit changed to a branch, as a new commit."""
    return await _replay(exchange, "cherry_pick")


async def _replay(exchange: Exchange, kind: str) -> Response:
    """Both copy values from the history, so both branches have to be readable in full."""
    body = await exchange.optional_json(ReplayRequest)
    branch, wanted = named_branch(body.branch), exchange.params["commit_id"]
    if not body.preview:
        await exchange.allow(Action.CHANGE, branch=branch)
    await exchange.allow_whole(branch)
    commit = await known_commit(exchange, wanted)
    await exchange.allow_whole(commit.manifest_branch or MAIN)
    commits = exchange.writable.acting(exchange.actor).commits
    verb = commits.revert if kind == "revert" else commits.cherry_pick
    run = partial(verb, commit, branch=branch, preview=body.preview, message=body.message, **body.options())
    if body.preview:
        return answer(replay_output(await exchange.read(lambda _: run())))
    with exchange.admit(_ESTIMATE):
        return answer(replay_output(await exchange.write(run, branch)))
