"""History drawn as text."""

from __future__ import annotations

from omnigraph.cli.terminal.lanes import drawn
from omnigraph.engine.changes.log import LogEntry, behind
from omnigraph.storage.manifest.commits import GraphCommit


def entry(name: str, *parents: str) -> LogEntry:
    first, second, *_ = [*parents, None, None]
    return LogEntry(GraphCommit(name, None, 1, first, second, None, 0), parents)


def text(*entries: LogEntry) -> list[str]:
    return list(drawn(entries, [[each.commit.graph_commit_id] for each in entries]))


def test_a_straight_line() -> None:
    assert text(entry("b", "a"), entry("a")) == ["●  b", "●  a"]


def test_a_merge_opens_a_lane_that_joins_again() -> None:
    drawing = text(entry("m", "b", "x"), entry("b", "a"), entry("x", "a"), entry("a"))
    assert drawing == ["●  m", "├─╮", "● │  b", "│ ●  x", "├─╯", "●  a"]


def test_lanes_cross_where_they_must() -> None:
    drawing = text(
        entry("m", "b", "x"), entry("n", "b"), entry("b", "a", "y"), entry("y", "a"), entry("x", "a"), entry("a")
    )
    assert drawing == [
        "●  m",
        "├─╮",
        "│ │ ●  n",
        "├─┼─╯",
        "● │  b",
        "├─┼─╮",
        "│ │ ●  y",
        "│ ● │  x",
        "├─┴─╯",
        "●  a",
    ]


def test_a_parent_out_of_reach_ends_its_lane() -> None:
    assert text(entry("m", "gone", "alsogone"), entry("z")) == ["●  m", "●  z"]


def test_only_what_a_head_descends_from_is_kept() -> None:
    entries = [entry("other", "a"), entry("b", "a"), entry("a")]
    assert [each.commit.graph_commit_id for each in behind(entries, "b")] == ["b", "a"]
