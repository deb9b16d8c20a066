"""The change feed as a stream: offsets are feed cursors, and each commit between two of them is one task's share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow

from omnigraph.engine.api.access import access
from omnigraph.engine.api.graph import Graph
from omnigraph.engine.changes.block import MAX_BYTES, MAX_CHANGES, Block
from omnigraph.engine.changes.poll import Feed, Start
from omnigraph.engine.changes.scope import change_scope
from omnigraph.errors import BadRequest
from omnigraph.pipeline.runners import open_graph
from omnigraph.pipeline.spark.refusals import told_plainly

# What Spark adds to the options that its user gives, for a table of its catalog.
GIVEN_BY_SPARK = {
    "path", "serialization.format", "owner", "provider", "location", "external", "is_managed_location", "comment",
}  # fmt: skip
OPTIONS = {"graph", "branch", "start", "kinds", "types", "ops", "max_commits"}
SCHEMA = pa.schema(
    [
        pa.field("commit_id", pa.utf8()),
        pa.field("actor_id", pa.utf8()),
        pa.field("authored_at", pa.timestamp("us", "UTC")),
        pa.field("position", pa.int64()),
        pa.field("kind", pa.utf8()),
        pa.field("type", pa.utf8()),
        pa.field("id", pa.utf8()),
        pa.field("op", pa.utf8()),
        pa.field("before", pa.utf8()),
        pa.field("after", pa.utf8()),
    ]
)
_CURSOR = "cursor"


@dataclass(frozen=True, slots=True)
class CommitPart(InputPartition):
    """The changes of one commit."""

    commit_id: str


class ChangeReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a branch commit by commit; `max_commits` bounds a batch.

    Options are looked at when it is first asked for something: of a reader that cannot be made, Spark 4.3 tells an
    `UnboundLocalError` of its own instead of what was wrong.
    """

    _last: str | None = None  # where a stream over what is available now ends

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = dict(options)

    @told_plainly
    def initialOffset(self) -> dict[str, str]:
        """Where the option `start` says: now, at the beginning, or after a commit."""
        feed = self._feed()
        return {_CURSOR: feed.cursor(feed.start(Start(self.options.get("start", "now"))))}

    @told_plainly
    def prepareForTriggerAvailableNow(self) -> None:
        """What is committed from here on belongs to the next run."""
        self._last = self._feed().head

    @told_plainly
    def getDefaultReadLimit(self) -> ReadLimit:
        """A commit counts as a file."""
        require_options(self.options)
        most = self.options.get("max_commits")
        return ReadAllAvailable() if most is None else ReadMaxFiles(int(most))

    @told_plainly
    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:
        """The cursor behind the newest commit, or behind as many as one batch may have."""
        feed = self._feed()
        commits = feed.between(feed.after(start[_CURSOR]), self._last or feed.head)
        if isinstance(limit, ReadMaxFiles):
            commits = commits[: limit.max_files]
        return start if not commits else {_CURSOR: feed.cursor(commits[-1].graph_commit_id)}

    @told_plainly
    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        """One per commit."""
        feed = self._feed()
        commits = feed.between(feed.after(start[_CURSOR]), feed.after(end[_CURSOR]))
        return [CommitPart(commit.graph_commit_id) for commit in commits]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The changes of a commit, page by page."""
        assert isinstance(partition, CommitPart)
        commits = self._graph().commits
        kinds, types, ops = self._filters()
        token, position = None, 0
        while True:
            page = commits.changes(
                partition.commit_id,
                kinds=kinds,
                types=types,
                ops=ops,
                page_token=token,
                limit=MAX_CHANGES,
                max_bytes=MAX_BYTES,
            )
            if page.changes:
                yield _rows(page.block, position)
            position += len(page.changes)
            token = page.next_page_token
            if token is None:
                return

    def _graph(self) -> Graph:
        require_options(self.options)
        return open_graph(self.options["graph"], self.options.get("branch", "main"), read_only=True)

    def _feed(self) -> Feed:
        return access(self._graph()).feed(change_scope(*self._filters()))

    def _filters(self) -> list[list[str] | None]:
        return [_names(self.options.get(name)) for name in ("kinds", "types", "ops")]


def require_options(options: Mapping[str, str]) -> None:
    """Refuse options that no change stream can have."""
    unknown = sorted(set(options) - OPTIONS - GIVEN_BY_SPARK)
    if unknown:
        raise BadRequest(f"unknown option '{unknown[0]}' of a change stream (known: {', '.join(sorted(OPTIONS))})")
    if "graph" not in options:
        raise BadRequest("the omnigraph source needs the option 'graph'")
    Start(options.get("start", "now"))
    most = options.get("max_commits", "1")
    if not most.isdecimal() or int(most) < 1:
        raise BadRequest(f"the option 'max_commits' is a number of commits, at least 1, not '{most}'")


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _rows(block: Block, first: int) -> pa.RecordBatch:
    cause, changes = block.cause, block.changes
    count = len(changes)
    columns = {
        "commit_id": [cause.graph_commit_id] * count,
        "actor_id": [cause.actor_id] * count,
        "authored_at": [cause.authored_at] * count,
        "position": list(range(first, first + count)),
        "kind": [change["kind"] for change in changes],
        "type": [change["entity_type"]["name"] for change in changes],
        "id": [change["id"] for change in changes],
        "op": [change["op"] for change in changes],
        "before": [_json(change.get("before")) for change in changes],
        "after": [_json(change.get("after")) for change in changes],
    }
    return pa.RecordBatch.from_arrays([pa.array(columns[field.name], field.type) for field in SCHEMA], schema=SCHEMA)


def _json(image: Any) -> str | None:
    return None if image is None else json.dumps(image, ensure_ascii=False, separators=(",", ":"))
