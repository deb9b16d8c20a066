"""Uploaded files: what schema and mapping they suggest, and loading them, with progress if it is wanted."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from omnigraph.checkpoints import checking
from omnigraph.engine.read.frames.budget import Budget
from omnigraph.errors import OmnigraphError
from omnigraph.pipeline.formats.confined import confined, file_name, mapping_of, readable
from omnigraph.server.http.answers import NDJSON, answer, compact
from omnigraph.server.http.exchange import Exchange, matching, named_branch
from omnigraph.server.http.models import InferRequest, LoadFilesRequest
from omnigraph.server.http.outputs import load_output
from omnigraph.server.http.preferences import preferences
from omnigraph.server.http.refusal import Refusal, refusal_of, refuse
from omnigraph.server.routes.loads import checked_output, decide_load, named_base, require_reading
from omnigraph.server.routes.uploads import allow_loading, place_of

if TYPE_CHECKING:
    from omnigraph.pipeline.formats.infer import Inference

_SAMPLE_ROWS = 100_000
_DECLARATION = re.compile(r"(node|edge) (\w+)")

Report = Callable[[Any], None]


async def infer(exchange: Exchange) -> Response:
    """A schema and a mapping for uploaded files, and the reasons for both."""
    body = await exchange.json(InferRequest)
    await allow_loading(exchange, body.branch)
    directory = place_of(exchange)
    paths = [_uploaded(directory, name) for name in body.files]
    sample = min(body.sample or _SAMPLE_ROWS, _SAMPLE_ROWS)
    limits = preferences(exchange.request).limits(exchange.server.settings.limits)

    def run(cancel: threading.Event) -> dict[str, Any]:
        exchange.server.uploads.use(directory)
        with checking(Budget(limits, cancel=cancel).check):
            return _inferred(_infer(paths, directory, sample, enums=body.enums))

    return answer(await exchange.read(run, limits.seconds))


async def load_files(exchange: Exchange) -> Response:
    """Load uploaded files by a mapping; a client that accepts lines gets its progress while it runs."""
    body = await exchange.json(LoadFilesRequest)
    branch, base = named_branch(body.branch), named_base(body.from_)
    await decide_load(exchange, branch, base)
    if body.dry_run or body.on_error == "skip":
        await require_reading(exchange, branch, base)
    directory = place_of(exchange)
    mapping = await exchange.read(lambda _: _mapped(body.mapping, directory))
    exchange.server.uploads.use(directory)
    graph, embedder = exchange.writable.acting(exchange.actor), exchange.graph.embedder
    expected, visibility = matching(exchange, body.if_commit), await exchange.visibility(branch)

    def load(report: Report) -> dict[str, Any]:
        with exchange.server.uploads.scratch() as rejects, readable(directory):
            result = graph.load(
                mapping=mapping,
                mode=body.mode or "merge",
                branch=branch,
                from_=base,
                if_commit=expected,
                on_error="skip" if body.dry_run else body.on_error,
                rejects=rejects,
                dry_run=body.dry_run,
                progress=report,
                runner="inline",
                embedder=embedder,
                message=body.message,
            )
            found = load_output(result, exchange.graph.uri, visibility)
            return {**found, **checked_output(result, Path(rejects), directory)}

    with ExitStack() as place:
        place.enter_context(exchange.admit(_size(mapping)))
        if preferences(exchange.request).lines:
            following = _Following(exchange, load, branch)
            await following.begun()
            return _Lines(following, place.pop_all())
        return answer(await exchange.write(lambda: load(_unheard), branch))


def _uploaded(directory: Path, given: str) -> Path:
    path = directory / file_name(given)
    if not path.is_file():
        raise refuse(404, f"there is no uploaded file '{given}'; upload it first")
    return path


def _mapped(given: dict[str, Any] | str, directory: Path) -> dict[str, Any]:
    return confined(mapping_of(given) if isinstance(given, str) else given, directory)


def _infer(paths: list[Path], directory: Path, sample: int, *, enums: bool) -> Inference:
    from omnigraph.pipeline.formats.infer import infer as learn

    with readable(directory):
        return learn(*paths, relative_to=directory, enums=enums, sample=sample)


def _inferred(found: Inference) -> dict[str, Any]:
    declared = [(block, _DECLARATION.match(block)) for block in found.schema.strip().split("\n\n")]
    return {
        "schema_source": found.schema,
        "declarations": [{"kind": at[1], "name": at[2], "text": block} for block, at in declared if at is not None],
        "mapping": json.loads(json.dumps(found.mapping)),
        "mapping_text": found.mapping_text,
        "notes": list(found.notes),
        "report": list(found.report),
        "evidence": list(found.evidence),
    }


def _size(mapping: dict[str, Any]) -> int:
    return sum(Path(source["path"]).stat().st_size for source in mapping["sources"].values())


def _unheard(_: object) -> None:
    pass


class _Following:
    """A load in its thread, and what it has reported so far, seen from the event loop."""

    def __init__(self, exchange: Exchange, load: Callable[[Report], dict[str, Any]], branch: str) -> None:
        self._exchange = exchange
        self._reported: asyncio.Queue[Any] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def report(progress: Any) -> None:
            loop.call_soon_threadsafe(self._reported.put_nowait, progress)

        self._running = asyncio.create_task(exchange.write(lambda: load(report), branch))
        self._running.add_done_callback(lambda _: self._reported.put_nowait(None))
        self._first: Any = None

    async def begun(self) -> None:
        """Wait for the first report; what is refused before it is answered with its status."""
        self._first = await self._reported.get()
        if self._first is None:
            self._running.result()

    async def lines(self, send: Callable[[Any], Any]) -> None:
        """Send every report, then the result or why there is none."""
        progress = self._first
        while progress is not None:
            await send({"progress": asdict(progress)})
            progress = await self._reported.get()
        try:
            await send({"result": self._running.result()})
        except Refusal as refusal:
            await send(refusal.envelope())
        except OmnigraphError as error:
            await send(refusal_of(error).envelope())

    async def ended(self) -> None:
        """Wait for the load, whoever has stopped listening: what was begun is finished."""
        await asyncio.wait([self._running])


class _Lines(Response):
    """The reports of a load as lines; its place is free when it has ended."""

    def __init__(self, following: _Following, place: ExitStack) -> None:
        super().__init__(None, headers={"Cache-Control": "no-store"}, media_type=NDJSON)
        del self.headers["content-length"]
        self._following = following
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def line(document: Any) -> None:
            await send({"type": "http.response.body", "body": compact(document) + b"\n", "more_body": True})

        with self._place:
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._following.lines(line)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            finally:
                await self._following.ended()
