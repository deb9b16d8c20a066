"""The change feed: commits of a branch, oldest first, from where a reader stopped up to the head when it asks.

Nothing is stored about readers. A cursor stands between two commits and may be kept for as long as history is; a page
token stands inside a commit and belongs to the poll it came from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.display import Displayed
from omnigraph.engine.changes.block import Block, Budget, CommitChanges, began
from omnigraph.engine.changes.page import graph_identity
from omnigraph.engine.changes.scope import ChangeScope
from omnigraph.engine.changes.token import Position, decode_position, decode_token, encode_token, encoded_digest, hashed
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.targets import commit_named
from omnigraph.errors import (
    BadRequest,
    ChangeCursorRejected,
    ChangeFeedGap,
    ChangeSchemaBoundary,
    ReadSetChanged,
    ResourceLimitExceeded,
)
from omnigraph.ids import is_ulid
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState

DEFAULT_COMMITS = 128
MAX_COMMITS = 512
PURPOSE = "changes/forward"
_MAIN_WITNESS = "main"


@dataclass(frozen=True, slots=True)
class Start:
    """Begin now, at the beginning, or after a commit."""

    at: str = "now"

    @property
    def after(self) -> str | None:
        """The commit of `after:<id>`."""
        word, _, commit_id = self.at.partition(":")
        return commit_id if word == "after" else None

    def __post_init__(self) -> None:
        if self.at not in ("now", "beginning") and not self.after:
            raise BadRequest(f"a feed starts at 'now', 'beginning' or 'after:<commit id>', not '{self.at}'")


@dataclass(frozen=True, slots=True)
class Cursor:
    """Continue after the last complete commit."""

    text: str


@dataclass(frozen=True, slots=True)
class PageToken:
    """Continue inside a commit, in the cut of the poll that stopped there."""

    text: str


FeedPosition = Start | Cursor | PageToken


@dataclass(frozen=True, slots=True, repr=False)
class FeedPage(Displayed):
    """Blocks, and exactly one way to continue: a cursor between commits, or a page token inside one."""

    blocks: list[Block] = field(default_factory=list)
    cursor: str | None = None
    caught_up: bool | None = None
    next_page_token: str | None = None


def poll_feed(
    core: Core,
    branch: str | None,
    position: FeedPosition,
    scope: ChangeScope,
    budget: Budget,
    *,
    max_commits: int = DEFAULT_COMMITS,
) -> FeedPage:
    """The next commits of a branch with their changes."""
    core.require_everything_visible("the change feed")
    if max_commits < 1:
        raise BadRequest(f"a poll covers at least one commit, not {max_commits}")
    if max_commits > MAX_COMMITS:
        raise ResourceLimitExceeded("change_feed_commits_per_poll", limit=MAX_COMMITS, actual=max_commits)
    feed = Feed(core, branch, scope)
    hit("change_feed.post_capture")
    page = feed.read(position, budget, max_commits)
    feed.prove()
    return page


class Feed:
    """One coherent look at a branch: its head, its incarnation and its chain of first parents."""

    def __init__(self, core: Core, branch: str | None, scope: ChangeScope) -> None:
        self.core = core
        self.branch = branch
        self.scope = scope
        self.state: ManifestState = core.state(branch)
        assert self.state.effective_head is not None
        self.head: str = self.state.effective_head
        genesis = self.state.lineage.oldest()
        self.bound = {
            "graph_identity": graph_identity(self.state),
            "genesis_commit_id": None if genesis is None else genesis.graph_commit_id,
            "purpose": PURPOSE,
            "branch": hashed(f"branch:{branch or 'main'}"),
            "branch_witness": _witness(self.state),
            "filter_digest": scope.digest,
        }

    def cursor(self, after: str) -> str:
        """A cursor behind a commit."""
        return encode_token("feed-cursor", {**self.bound, "after_commit_id": after})

    def prove(self) -> None:
        """A branch that was deleted and created again while it was read may have answered from both of its lives."""
        if self.branch is None:
            return
        _, identifier = manifest.newest(self.core.store.root, self.branch)
        if identifier != self.state.identifier:
            member = f"branch_identifier:{self.branch}"
            raise ReadSetChanged(member, expected=self.state.identifier, actual=identifier)

    def read(self, position: FeedPosition, budget: Budget, max_commits: int) -> FeedPage:
        """Blocks from a position on, up to the head or to the end of a page."""
        match position:
            case Start():
                after = self.start(position)
                return _Walk(self, after, self.head, None).run(budget, max_commits)
            case Cursor(text):
                return _Walk(self, self.after(text), self.head, text).run(budget, max_commits)
            case PageToken(text):
                fields = decode_token(text, "feed-page", self.bound)
                walk = _Walk(self, str(fields.get("after_commit_id")), str(fields.get("cut_commit_id")), None)
                return walk.run(budget, max_commits, inside=(fields, decode_position(fields)))

    def start(self, start: Start) -> str:
        """The commit behind which a reader begins."""
        if start.after is not None:
            # An id that the branch does not know is refused as a position, like that of any other reader.
            known = start.after if is_ulid(start.after) else commit_named(self.core, start.after, self.branch)
            return known if isinstance(known, str) else known.graph_commit_id
        return self.head if start.at == "now" else str(self.bound["genesis_commit_id"])

    def after(self, cursor: str) -> str:
        """The commit behind which a cursor stands."""
        return str(decode_token(cursor, "feed-cursor", self.bound).get("after_commit_id"))

    def between(self, after: str, cut: str) -> list[GraphCommit]:
        """The commits behind `after` up to the cut, oldest first; both must lie on the chain of first parents."""
        chain = self.state.lineage.first_parents(self.head)
        found: list[GraphCommit] = []
        for commit in _from(cut, chain):
            if commit.graph_commit_id == after:
                return found[::-1]
            found.append(commit)
        raise ChangeCursorRejected(f"commit {after} is not on the history of branch '{self.branch or 'main'}'")


class _Walk:
    """One poll: block after block with one budget."""

    def __init__(self, feed: Feed, after: str, cut: str, given: str | None) -> None:
        self.feed = feed
        self.after = after
        self.cut = cut
        self.given = given
        self.blocks: list[Block] = []

    def run(
        self, budget: Budget, max_commits: int, inside: tuple[Mapping[str, Any], Position] | None = None
    ) -> FeedPage:
        commits = self.feed.between(self.after, self.cut)
        if inside is not None and [c.graph_commit_id for c in commits[:1]] != [inside[0].get("current_commit_id")]:
            raise ChangeCursorRejected("its current commit is not the next one")
        for commit in commits[:max_commits]:
            if budget.spent:
                return self._boundary()
            try:
                changes = CommitChanges(self.feed.core, commit, self.feed.scope)
            except (ChangeFeedGap, ChangeSchemaBoundary) as error:
                return self._refused(error)
            block = Block(changes.cause)
            stopped = changes.fill(block, budget, inside[1] if inside is not None else None)
            if stopped is not None and not began(stopped):
                return self._boundary()  # the page was full before this commit's first change
            inside = None
            self.blocks.append(block)
            if stopped is not None:
                return self._inside(commit, stopped)
            self.after = commit.graph_commit_id
        return self._boundary()

    def _boundary(self) -> FeedPage:
        caught_up = self.after == self.cut == self.feed.head
        return FeedPage(self.blocks, self.feed.cursor(self.after), caught_up)

    def _inside(self, commit: GraphCommit, stopped: Position) -> FeedPage:
        fields = {
            **self.feed.bound,
            "after_commit_id": self.after,
            "cut_commit_id": self.cut,
            "current_commit_id": commit.graph_commit_id,
            **stopped.fields,
        }
        return FeedPage(self.blocks, next_page_token=encode_token("feed-page", fields))

    def _refused(self, error: ChangeFeedGap | ChangeSchemaBoundary) -> FeedPage:
        """The first commit of a poll reports why it cannot be read; a later one ends the page before it."""
        if self.blocks:
            return self._boundary()
        if isinstance(error, ChangeFeedGap):
            raise ChangeFeedGap(error.first_unreadable_commit_id, self.given) from error
        raise error


def _witness(state: ManifestState) -> str:
    if state.branch is None:
        return _MAIN_WITNESS
    return encoded_digest(repr(state.identifier).encode())


def _from(commit_id: str, chain: Iterator[GraphCommit]) -> Iterator[GraphCommit]:
    reached = False
    for commit in chain:
        reached = reached or commit.graph_commit_id == commit_id
        if reached:
            yield commit
