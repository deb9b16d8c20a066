"""The history of a served graph as requests: its branches, merges, commits, tags and changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from omnigraph.client import answers
from omnigraph.client.request import Request, members, no_answer, pairs, segment
from omnigraph.compiler.query.host_values import json_params
from omnigraph.display import ShownList

if TYPE_CHECKING:
    from omnigraph.client.streams import WholeLines
    from omnigraph.engine.changes.baseline import Baseline
    from omnigraph.engine.changes.block import Block
    from omnigraph.engine.changes.page import ChangesPage
    from omnigraph.engine.changes.poll import FeedPage
    from omnigraph.engine.merge.outcome import MergeResult, Resolution
    from omnigraph.engine.merge.replay import ReplayResult
    from omnigraph.engine.views.targets import Names
    from omnigraph.storage.branches.tags import Tag
    from omnigraph.storage.manifest.commits import GraphCommit


@dataclass(frozen=True, slots=True)
class Filter:
    """Which changes are wanted; None lets everything through."""

    kinds: Names = None
    types: Names = None
    ops: Names = None

    def members(self) -> dict[str, list[str] | None]:
        """The filter under the names that routes have for it."""
        given = {"kind": self.kinds, "type": self.types, "op": self.ops}
        return {name: [value] if isinstance(value, str) else list(value or ()) or None for name, value in given.items()}


@dataclass(frozen=True, slots=True)
class FeedPlace:
    """Where a feed continues; at most one of them is given."""

    cursor: str | None = None
    start: str | None = None
    page_token: str | None = None


def list_branches() -> Request[ShownList[str]]:
    """The names, main first."""
    return Request(
        "GET",
        "/branches",
        lambda answer: ShownList(sorted(answer.json()["branches"], key=lambda name: (name != "main", name))),
    )


def create_branch(name: str, base: str) -> Request[None]:
    """A new branch."""
    return Request("POST", "/branches", no_answer, json={"name": name, "from": base})


def rename_branch(name: str, to: str) -> Request[None]:
    """Another name for a branch."""
    return Request("POST", f"/branches/{segment(name)}/rename", no_answer, json={"name": to})


def delete_branch(name: str) -> Request[None]:
    """A branch less."""
    return Request("DELETE", f"/branches/{segment(name)}", no_answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """How contradictions are settled, and whether anything is written at all."""

    preview: bool = False
    resolve: Mapping[str, Resolution] | None = None
    strategy: str = "fail"
    properties: str = "whole"
    message: str | None = None

    def members(self) -> dict[str, Any]:
        """What differs from the default, under the names of the wire."""
        return {
            "preview": self.preview or None,
            "resolve": None if self.resolve is None else json_params(self.resolve),
            "strategy": None if self.strategy == "fail" else self.strategy,
            "properties": None if self.properties == "whole" else self.properties,
            "message": self.message,
        }


def merge_branches(source: str, into: str, delete: bool, how: Settling) -> Request[MergeResult]:
    """One branch into another."""
    body = members(source=source, target=into, delete_branch=delete or None, **how.members())
    return Request("POST", "/branches/merge", answers.merge, json=body)


def replay(kind: str, commit: str, branch: str, how: Settling) -> Request[ReplayResult]:
    """A commit undone, or repeated on a branch."""
    body = members(branch=branch, **how.members())
    return Request("POST", f"/commits/{segment(commit)}/{kind.replace('_', '-')}", answers.replay, json=body)


def list_tags() -> Request[ShownList[Tag]]:
    """Every tag by name."""
    return Request("GET", "/tags", lambda answer: ShownList(map(answers.tag, answer.json()["tags"])))


def show_tag(name: str) -> Request[Tag]:
    """One tag."""
    return Request("GET", f"/tags/{segment(name)}", lambda answer: answers.tag(answer.json()))


def create_tag(name: str, commit: str | None, branch: str, message: str | None) -> Request[Tag]:
    """A name for a commit."""
    body = members(name=name, commit=commit, branch=branch, message=message)
    return Request("POST", "/tags", lambda answer: answers.tag(answer.json()), json=body)


def delete_tag(name: str) -> Request[None]:
    """A tag less."""
    return Request("DELETE", f"/tags/{segment(name)}", no_answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitQuery:
    """Which commits of a branch are wanted; None lets everything through."""

    branch: str
    limit: int | None = None
    actor: str | None = None
    kind: str | None = None
    since: str | datetime | None = None
    until: str | datetime | None = None
    type: str | None = None
    message: str | None = None
    maintenance: bool = False

    def members(self) -> dict[str, str | int | None]:
        """The filter under the names that the route has for it."""
        given = asdict(self) | {"maintenance": "true" if self.maintenance else None}
        return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in given.items()}


def list_commits(wanted: CommitQuery) -> Request[ShownList[GraphCommit]]:
    """The history of a branch, newest first."""
    return Request(
        "GET",
        "/commits",
        lambda answer: ShownList(map(answers.commit, answer.json()["commits"])),
        query=pairs(**wanted.members()),
    )


def show_commit(commit_id: str) -> Request[GraphCommit]:
    """One commit."""
    return Request("GET", f"/commits/{segment(commit_id)}", lambda answer: answers.commit(answer.json()))


def commit_changes(commit: str, wanted: Filter, page_token: str | None, limit: int) -> Request[ChangesPage]:
    """What one commit changed."""
    asked = pairs(page_token=page_token, limit=limit, **wanted.members())
    return Request("GET", f"/commits/{segment(commit)}/changes", answers.changes_page, query=asked)


def poll_changes(branch: str, place: FeedPlace, wanted: Filter, limit: int) -> Request[FeedPage]:
    """The next commits of a branch with their changes."""
    asked = pairs(branch=branch, limit=limit, **asdict(place), **wanted.members())
    return Request("GET", "/changes", answers.feed_page, query=asked)


def follow_changes(branch: str, place: FeedPlace, wanted: Filter) -> Request[None]:
    """The same as a stream of events that does not end."""
    asked = pairs(branch=branch, **asdict(place), **wanted.members())
    return Request("GET", "/changes/stream", no_answer, query=asked)


def followed(event: tuple[str, str, str | None]) -> Iterator[tuple[str | None, Block]]:
    """The commit of an event, with the cursor behind it; other events tell of no commit."""
    import json

    name, data, identity = event
    if name == "changes":
        yield identity, answers.block(json.loads(data))


def baseline(branch: str, wanted: Filter) -> Request[None]:
    """A whole branch, line by line."""
    return Request("POST", "/changes/baseline", no_answer, json=members(branch=branch, **wanted.members()))


def sealed_baseline(lines: WholeLines, size: int) -> Baseline:
    """What the last line of a baseline says."""
    from omnigraph.engine.changes.baseline import Baseline

    seal = lines.seal("baseline")
    return Baseline(seal["snapshot_commit_id"], seal["resume_cursor"], size)
