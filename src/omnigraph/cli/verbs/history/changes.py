"""`commit changes`, `changes poll` and `changes baseline`: what commits did, entity by entity."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypedDict, cast

from omnigraph.cli.address.target import AnyGraph, read_target
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.change_text import JsonBlock, TextBlock, cause_json, change_json
from omnigraph.errors import BadRequest, Conflict
from omnigraph.storage.base.clouds import is_remote

if TYPE_CHECKING:
    from omnigraph.engine.changes.block import Block
    from omnigraph.engine.changes.page import ChangesPage
    from omnigraph.engine.changes.poll import FeedPage
    from omnigraph.storage.manifest.commits import GraphCommit


class _Filters(TypedDict):
    """Which changes are asked for; an empty list lets everything through."""

    kinds: list[str]
    types: list[str]
    ops: list[str]


# --- one commit ------------------------------------------------------------------------------------------


def commit_changes(call: Call) -> None:
    """Everything a commit changed; a page is printed before the next one is fetched."""
    token = call.text("--page-token")
    with read_target(call).reader() as graph:
        commit = graph.commits.show(call.required("COMMIT_ID"))  # once: HEAD may move between two pages
        if token is not None:
            _print_page(call, _page(call, graph, commit, token))
            return
        block = JsonBlock() if call.json else TextBlock()
        page = _page(call, graph, commit, None)
        block.begin(page.cause)
        for each in _pages(call, graph, commit, page):
            for change in each.changes:
                block.change(change)
        block.end()
    if call.json:
        output.write("\n")


def _pages(call: Call, graph: AnyGraph, commit: GraphCommit, page: ChangesPage) -> Iterator[ChangesPage]:
    yield page
    while page.next_page_token is not None:
        output.finish()
        page = _page(call, graph, commit, page.next_page_token)
        yield page


def _page(call: Call, graph: AnyGraph, commit: GraphCommit, token: str | None) -> ChangesPage:
    return graph.commits.changes(commit, page_token=token, limit=_limit(call), **_filters(call))


def _print_page(call: Call, page: ChangesPage) -> None:
    more = {} if page.next_page_token is None else {"next_page_token": page.next_page_token}
    if call.json:
        output.document({"cause": cause_json(page.cause), "changes": [*map(change_json, page.changes)], **more})
        return
    block = TextBlock()
    block.begin(page.cause)
    for change in page.changes:
        block.change(change)
    for name, value in more.items():
        output.line(f"{name}: {value}")


# --- the feed --------------------------------------------------------------------------------------------


def poll(call: Call) -> None:
    """The next commits of a branch, and the cursor to go on from."""
    start = call.text("--start")
    if start is not None and not re.fullmatch("now|beginning|after:.+", start):
        raise BadRequest(f"--start takes now | beginning | after:<commit_id>, not '{start}'")
    with read_target(call).reader() as graph:
        page = _poll(call, graph, cursor=call.text("--cursor"), start=start)
        printer = _FeedPrinter(json=call.json)
        printer.blocks(page.blocks)
        while page.next_page_token is not None:
            output.finish()
            page = _poll(call, graph, page_token=page.next_page_token)
            printer.blocks(page.blocks)
    printer.end(page)


def _poll(
    call: Call, graph: AnyGraph, *, cursor: str | None = None, start: str | None = None, page_token: str | None = None
) -> FeedPage:
    branch = call.value("--branch")
    return graph.changes.poll(cursor, start, page_token=page_token, branch=branch, limit=_limit(call), **_filters(call))


class _FeedPrinter:
    """Prints blocks as they come; a commit that is split over pages stays one block."""

    def __init__(self, *, json: bool) -> None:
        self._json = json
        self._open: JsonBlock | TextBlock | None = None
        self._commit: str | None = None
        if json:
            output.write('{\n  "blocks": [')

    def blocks(self, blocks: list[Block]) -> None:
        for block in blocks:
            if self._open is None or block.cause.graph_commit_id != self._commit:
                self._begin(block)
            assert self._open is not None
            for change in block.changes:
                self._open.change(change)

    def end(self, page: FeedPage) -> None:
        if self._json:
            self._close(last=True)
            rest = {"cursor": page.cursor, "caught_up": page.caught_up}
            told = "".join(
                f',\n  "{name}": {output.compact(value)}' for name, value in rest.items() if value is not None
            )
            output.write(f"{told}\n}}\n")
            return
        if self._open is None:
            output.line("(no new commits)")
        output.write(f"\ncursor: {page.cursor}\ncaught_up: {output.compact(page.caught_up)}\n")

    def _begin(self, block: Block) -> None:
        self._close(last=False)
        if self._json:
            output.write("\n    ")
        self._open = JsonBlock(2) if self._json else TextBlock()
        self._commit = block.cause.graph_commit_id
        self._open.begin(block.cause)

    def _close(self, *, last: bool) -> None:
        if self._open is not None:
            self._open.end()
        if not self._json:
            output.write("\n" if self._open is not None else "")
        elif last:
            output.write("]" if self._open is None else "\n  ]")
        elif self._open is not None:
            output.write(",")


# --- baselines -------------------------------------------------------------------------------------------


def baseline(call: Call) -> None:
    """Everything a branch holds as a file, and the cursor from which its changes continue."""
    from omnigraph.engine.changes.output_file import output_file

    if is_remote(call.value("--out")):
        raise BadRequest("a baseline is written to a file of this machine, where others see it replaced at once")
    path = Path(call.value("--out"))
    with read_target(call).reader() as graph, _locked(path):
        with output_file(path) as file:
            records = cast("BinaryIO", _Records(file))
            done = graph.changes.baseline(records, branch=call.value("--branch"), **_filters(call))
            installed = os.fstat(file.fileno()).st_ino
        if path.stat().st_ino != installed:
            raise Conflict(f"'{path}' was replaced by another process while the baseline was being written")
    if call.json:
        output.document({"snapshot_commit_id": done.snapshot_commit_id, "resume_cursor": done.resume_cursor})
        return
    output.line(f"snapshot: {path}")
    output.line(f"snapshot_commit_id: {done.snapshot_commit_id}")
    output.line(f"resume_cursor: {done.resume_cursor}")


class _Records:
    """Passes everything on but the last piece: the line that ends a stream, which a complete file needs none of."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._held = b""

    def write(self, piece: bytes) -> int:
        self._file.write(self._held)
        self._held = bytes(piece)
        return len(piece)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Two baselines into one file take turns."""
    with open(f"{path}.lock", "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _limit(call: Call) -> int:
    return int(call.value("--limit"))


def _filters(call: Call) -> _Filters:
    return {"kinds": call.many("--kind"), "types": call.many("--type"), "ops": call.many("--op")}
