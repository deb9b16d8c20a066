"""`graph.changes`: the feed of a branch and its baselines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import BinaryIO

from omnigraph.engine.api.arguments import checked_methods
from omnigraph.engine.api.noun import Noun
from omnigraph.engine.changes.baseline import Baseline, capture_baseline
from omnigraph.engine.changes.block import DEFAULT_BYTES, DEFAULT_CHANGES, Block, Budget
from omnigraph.engine.changes.output_file import StrPath
from omnigraph.engine.changes.poll import DEFAULT_COMMITS, Cursor, FeedPage, FeedPosition, PageToken, Start, poll_feed
from omnigraph.engine.changes.scope import ChangeScope, change_scope
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.export_lock import export_lock_of
from omnigraph.engine.views.targets import Names, branch_named
from omnigraph.errors import BadRequest


@checked_methods
class Changes(Noun):
    """What happened to the bound branch, commit by commit."""

    def __init__(self, core: Core, branch: str | None) -> None:
        self._core = core
        self._branch = branch

    def poll(
        self,
        cursor: str | None = None,
        start: str | None = None,
        *,
        page_token: str | None = None,
        branch: str | None = None,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
        limit: int = DEFAULT_CHANGES,
        max_bytes: int = DEFAULT_BYTES,
        max_commits: int = DEFAULT_COMMITS,
    ) -> FeedPage:
        """The next commits with their changes, oldest first; keep `cursor` of the answer together with the data.

        Begin with `start`: "now" (the default), "beginning" or "after:<commit id>". A page that ends inside a commit
        has `next_page_token` instead of a cursor; pass it as `page_token` to get the rest. Delivery is at least once,
        so apply a block by its commit id.
        """
        position = _position(cursor, start, page_token)
        scope = change_scope(kinds, types, ops)
        budget = Budget(limit, max_bytes)
        return poll_feed(self._core, self._named(branch), position, scope, budget, max_commits=max_commits)

    def follow(
        self,
        cursor: str | None = None,
        start: str | None = None,
        *,
        branch: str | None = None,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
        interval: float = 0.5,
    ) -> Iterator[tuple[str | None, Block]]:
        """Commits as they happen, for ever: the cursor behind each, where there is one, and the block.

        Begin as with `poll`. Storage is asked again every `interval` seconds while nothing happens.
        """
        if interval <= 0:
            raise BadRequest(f"an interval is a positive number of seconds, and {interval} is not")
        scope, named = change_scope(kinds, types, ops), self._named(branch)
        return self._follow(named, _position(cursor, start, None), scope, interval)

    def _follow(
        self, branch: str | None, position: FeedPosition, scope: ChangeScope, interval: float
    ) -> Iterator[tuple[str | None, Block]]:
        while True:
            page = poll_feed(self._core, branch, position, scope, Budget())
            for number, block in enumerate(page.blocks, 1):
                yield (page.cursor if number == len(page.blocks) else None), block
            if page.next_page_token is not None:
                position = PageToken(page.next_page_token)
                continue
            position = Cursor(str(page.cursor))
            if page.caught_up:
                time.sleep(interval)

    def baseline(
        self,
        target: StrPath | BinaryIO,
        *,
        branch: str | None = None,
        kinds: Names = None,
        types: Names = None,
        ops: Names = None,
    ) -> Baseline:
        """Write everything the branch holds as JSON lines, ended by the cursor from which `poll` continues."""
        scope = change_scope(kinds, types, ops)
        with export_lock_of(self._core.store).held():
            return capture_baseline(self._core, self._named(branch), scope, target)

    def _named(self, branch: str | None) -> str | None:
        return branch_named(branch, self._branch)


def _position(cursor: str | None, start: str | None, page_token: str | None) -> FeedPosition:
    if sum(given is not None for given in (cursor, start, page_token)) > 1:
        raise BadRequest("name one position: a cursor, a page token or a start")
    if cursor is not None:
        return Cursor(cursor)
    if page_token is not None:
        return PageToken(page_token)
    return Start(start if start is not None else "now")
