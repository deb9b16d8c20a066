"""Loads: records in a JSON envelope, or as a raw batch of lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from starlette.responses import Response

from omnigraph.engine.values.result import LoadResult, OnError
from omnigraph.errors import BadRequest
from omnigraph.pipeline.formats.confined import without_place
from omnigraph.policy.actions import Action
from omnigraph.policy.visibility import NOTHING
from omnigraph.server.http import bodies
from omnigraph.server.http.answers import answer
from omnigraph.server.http.exchange import Exchange, matching, named_branch
from omnigraph.server.http.models import LoadRequest, Mode
from omnigraph.server.http.outputs import load_output
from omnigraph.server.http.records import record_lines
from omnigraph.server.http.refusal import bad_request, refuse

_MODES: tuple[Mode, ...] = get_args(Mode)
_ON_ERROR: tuple[OnError, ...] = get_args(OnError)
_SHOWN_REJECTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """What is asked for beside the records."""

    mode: Mode
    branch: str
    base: str | None
    expected: str | None
    message: str | None
    dry_run: bool
    on_error: OnError

    @property
    def checks(self) -> bool:
        """Whether the answer says what is wrong with the rows."""
        return self.dry_run or self.on_error == "skip"


async def load(exchange: Exchange) -> Response:
    """Records as text inside JSON."""
    body = await exchange.json(LoadRequest, limit=bodies.LARGE)
    branch, base = named_branch(body.branch), named_base(body.from_)
    await _decide(exchange, branch, base, checks=body.dry_run or body.on_error == "skip")
    data, size = await bodies.beside_others(lambda: (record_lines(body.data), len(body.data.encode())), len(body.data))
    with exchange.admit(size):
        asked = _Load(
            mode=body.mode or "merge",
            branch=branch,
            base=base,
            expected=matching(exchange, body.if_commit),
            message=body.message,
            dry_run=body.dry_run,
            on_error=body.on_error,
        )
        return answer(await _run(exchange, data, asked, exchange.graph.uri))


async def load_ndjson(exchange: Exchange) -> Response:
    """A batch of lines; not a byte of it is asked for before the policy has decided."""
    branch, base = named_branch(exchange.value("branch")), named_base(exchange.value("from"))
    asked = _Load(
        mode=_mode(exchange.value("mode")),
        branch=branch,
        base=base,
        expected=matching(exchange, exchange.value("if_commit")),
        message=exchange.value("message"),
        dry_run=exchange.flag("dry_run"),
        on_error=_on_error(exchange.value("on_error")),
    )
    await _decide(exchange, branch, base, checks=asked.checks)
    bodies.require_ndjson(exchange.request)
    data = await bodies.read_batch(exchange.request, seconds=exchange.server.settings.body_seconds)
    with exchange.admit(len(data)):
        return answer(await _run(exchange, data, asked))


def _mode(given: str | None) -> Mode:
    for mode in _MODES:
        if given == mode:
            return mode
    if given is None:
        return "merge"
    raise bad_request(f"unknown load mode '{given}' (expected {', '.join(_MODES)})")


def _on_error(given: str | None) -> OnError:
    for word in _ON_ERROR:
        if given == word:
            return word
    if given is None:
        return "stop"
    raise bad_request(f"on_error must be {' or '.join(_ON_ERROR)}, not '{given}'")


def named_base(given: str | None) -> str | None:
    """The branch that a missing one is created from."""
    return None if given is None else named_branch(given, "from")


async def decide_load(exchange: Exchange, branch: str, base: str | None) -> None:
    """A missing branch needs a base and the right to create it; an existing one needs neither."""
    graph = exchange.graph.handle
    if branch not in await exchange.read(lambda _: graph.branches.list()):
        if base is None:
            raise refuse(404, f"branch '{branch}' not found; give 'from' to create it")
        await exchange.allow(Action.BRANCH_CREATE, branch=base, target=branch)
    await exchange.allow(Action.CHANGE, branch=branch)


async def require_reading(exchange: Exchange, *branches: str | None) -> None:
    """403 for those who may not read: which rows are refused says which there are."""
    for branch in branches:
        if branch is not None and await exchange.visibility(branch) == NOTHING:
            raise refuse(403, f"a dry run, and a load that skips rows, need the right to read branch '{branch}'")


def checked_output(result: LoadResult, rejects: Path, directory: Path) -> dict[str, Any]:
    """What a load found out about its rows: how many it refused, by code, and the first of them.

    Files of the directory are named without it.
    """
    entries: list[Any] = []
    path = rejects / "rejects.jsonl"
    if path.exists():
        with path.open(encoding="utf-8") as lines:
            entries = [json.loads(without_place(line, directory)) for line in islice(lines, _SHOWN_REJECTS)]
    return {
        "dry_run": result.dry_run,
        "rejected": dict(result.rejected),
        "skipped": dict(result.skipped),
        "rejects": entries,
    }


async def _decide(exchange: Exchange, branch: str, base: str | None, *, checks: bool) -> None:
    await decide_load(exchange, branch, base)
    if checks:
        await require_reading(exchange, branch, base)


async def _run(exchange: Exchange, data: bytes, asked: _Load, uri: str | None = None) -> dict[str, Any]:
    graph, embedder = exchange.writable.acting(exchange.actor), exchange.graph.embedder
    visibility = await exchange.visibility(asked.branch)

    def load(rejects: str | None = None) -> LoadResult:
        return graph.load(
            data,
            asked.mode,
            branch=asked.branch,
            from_=asked.base,
            if_commit=asked.expected,
            on_error="skip" if asked.dry_run else asked.on_error,
            rejects=rejects,
            dry_run=asked.dry_run,
            runner="inline",
            embedder=embedder,
            message=asked.message,
        )

    def run() -> dict[str, Any]:
        if not asked.checks:
            return load_output(load(), uri, visibility)
        with exchange.server.uploads.scratch() as rejects:
            result = load(rejects)
            return {**load_output(result, uri, visibility), **checked_output(result, Path(rejects), Path(rejects))}

    try:
        return await exchange.write(run, asked.branch)
    except UnicodeError as error:
        raise BadRequest("the records are not UTF-8") from error
