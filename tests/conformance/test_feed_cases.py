"""The numbered cases of commit changes, the change feed and baselines."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.errors import (
    BadRequest,
    ChangeCursorRejected,
    ChangeFeedGap,
    ChangeSchemaBoundary,
    CommitHasNoParent,
    ResourceLimitExceeded,
    StorageError,
)
from omnigraph.storage.base import failpoints
from omnigraph.storage.intent.writeset import WriteSet
from omnigraph.storage.protocol.commit import commit
from omnigraph.testing.graphs.people import SCHEMA, befriend, change, create_people, open_copy, put, remove

Changes = list[tuple[str, str, str]]


def case(*numbers: str) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(number, id=number) for number in numbers])


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_people(tmp_path_factory.mktemp("feed") / "template.omni")


@pytest.fixture
def graph(template: Path, tmp_path: Path) -> og.Graph:
    return open_copy(template, tmp_path / "people.omni")


def head(graph: og.Graph) -> str:
    return str(graph.commits.head())


def listed(changes: list[dict[str, Any]]) -> Changes:
    return [(change["op"], change["entity_type"]["name"], change["id"]) for change in changes]


def blocks(page: og.FeedPage) -> list[tuple[str, Changes]]:
    return [(block.cause.graph_commit_id, listed(block.changes)) for block in page.blocks]


def everything(graph: og.Graph, **options: Any) -> tuple[list[tuple[str, Changes]], og.FeedPage]:
    """Follow the feed from the beginning; blocks split over pages are put together again."""
    page = graph.changes.poll(start="beginning", **options)
    found: list[tuple[str, Changes]] = []
    while True:
        for commit_id, changes in blocks(page):
            if found and found[-1][0] == commit_id:
                found[-1][1].extend(changes)
            else:
                found.append((commit_id, changes))
        if page.next_page_token is not None:
            page = graph.changes.poll(page_token=page.next_page_token, **options)
        elif page.caught_up:
            return found, page
        else:
            page = graph.changes.poll(page.cursor, **options)


def busy_commit(graph: og.Graph) -> str:
    """One commit that inserts, updates and deletes nothing less than six entities of two types."""
    people = [{"type": "Person", "data": {"name": name, "age": 7}} for name in ("Alice", "Eve", "Fay", "Gus")]
    edges = [{"edge": "Knows", "from": "Eve", "to": "Fay", "data": {"id": name}} for name in ("k1", "k2")]
    graph.load([json.dumps(line) for line in [*people, *edges]], "merge")
    return head(graph)


# --- one commit ----------------------------------------------------------------------------------------


@case("V55")
def test_an_update_shows_both_images_exactly(graph: og.Graph, case: str) -> None:
    change(graph, "Alice", nick="", score=1.5)
    page = graph.commits.changes(head(graph))
    [update] = page.changes
    before, after = update["before"]["properties"], update["after"]["properties"]
    assert (update["kind"], update["op"], update["id"]) == ("node", "update", "Alice")
    assert (before["nick"], after["nick"]) == (None, "")
    assert (before["score"], after["score"], before["age"], after["age"]) == (None, 1.5, 30, 30)
    assert "id" not in after
    assert "endpoints" not in update["after"]
    cause = page.cause
    assert (cause.graph_commit_id, cause.actor_id, cause.authored_branch) == (head(graph), "ada", None)
    assert cause.authored_at == graph.commits.show(head(graph)).created_at


def test_inserts_and_deletes_show_one_image_and_edges_their_endpoints(graph: og.Graph) -> None:
    befriend(graph, "Alice", "Dan", "new")
    [insert] = graph.commits.changes(head(graph)).changes
    assert insert["after"]["endpoints"] == {"from": "Alice", "to": "Dan"}
    assert "before" not in insert
    remove(graph, "Dan")
    deleted = graph.commits.changes(head(graph)).changes
    assert listed(deleted) == [("delete", "Person", "Dan"), ("delete", "Knows", "new")]
    assert all("after" not in change and "before" in change for change in deleted)


@case("V56")
def test_small_pages_put_together_are_the_one_large_page(graph: og.Graph, case: str) -> None:
    busy = busy_commit(graph)
    whole = graph.commits.changes(busy)
    assert whole.next_page_token is None
    collected, token, pages = [], None, 0
    while True:
        page = graph.commits.changes(busy, limit=2, page_token=token)
        assert page.cause == whole.cause
        collected += page.changes
        pages += 1
        token = page.next_page_token
        if token is None:
            break
    assert (pages, collected) == (3, whole.changes)
    keys = [(c["kind"] == "edge", c["entity_type"]["id"], c["id"]) for c in whole.changes]
    assert keys == sorted(keys)
    assert listed(whole.changes)[0] == ("update", "Person", "Alice")


@case("V57")
@pytest.mark.parametrize("wrong", ["other commit", "other scope", "flipped byte", "cursor as token", "nonsense"])
def test_a_token_used_elsewhere_is_refused(graph: og.Graph, case: str, wrong: str) -> None:
    other = head(graph)
    busy = busy_commit(graph)
    token = str(graph.commits.changes(busy, limit=2).next_page_token)
    cursor = str(graph.changes.poll().cursor)
    flipped = token[:9] + ("A" if token[9] != "A" else "B") + token[10:]
    attempts: dict[str, Callable[[], object]] = {
        "other commit": lambda: graph.commits.changes(other, page_token=token),
        "other scope": lambda: graph.commits.changes(busy, page_token=token, ops="insert"),
        "flipped byte": lambda: graph.commits.changes(busy, page_token=flipped),
        "cursor as token": lambda: graph.commits.changes(busy, page_token=cursor),
        "nonsense": lambda: graph.commits.changes(busy, page_token="ünsinn"),
    }
    with pytest.raises(ChangeCursorRejected, match=r"^change cursor rejected: "):
        attempts[wrong]()


def test_the_order_of_a_filter_does_not_matter_and_all_values_are_no_filter(graph: og.Graph) -> None:
    busy = busy_commit(graph)
    token = graph.commits.changes(busy, limit=2, ops=["update", "insert"]).next_page_token
    graph.commits.changes(busy, page_token=token, ops=["insert", "update", "insert"])
    token = graph.commits.changes(busy, limit=2).next_page_token
    graph.commits.changes(busy, page_token=token, kinds=["edge", "node"], ops=["delete", "update", "insert"])


def test_limits_are_checked(graph: og.Graph) -> None:
    with pytest.raises(BadRequest):
        graph.commits.changes(head(graph), limit=0)
    for options, resource in (
        ({"limit": 8_193}, "commit_changes_page_changes"),
        ({"max_bytes": (32 << 20) + 1}, "commit_changes_page_bytes"),
        ({"page_token": "A" * 5_000}, "change_continuation_token_encoded_bytes"),
    ):
        with pytest.raises(ResourceLimitExceeded) as caught:
            graph.commits.changes(head(graph), **options)
        assert caught.value.resource == resource
    with pytest.raises(ResourceLimitExceeded, match="change_feed_commits_per_poll"):
        graph.changes.poll(max_commits=513)


@case("V58")
def test_the_first_commit_has_no_parent_and_a_physical_one_no_changes(graph: og.Graph, case: str) -> None:
    genesis = graph.commits.list()[-1]
    with pytest.raises(CommitHasNoParent):
        graph.commits.changes(genesis.graph_commit_id)
    change(graph, "Alice", age=31)
    change(graph, "Bob", age=31)
    before = head(graph)
    graph.optimize()
    assert head(graph) != before
    assert graph.commits.changes(head(graph)).changes == []


@case("V59")
def test_a_commit_that_added_a_property_is_a_boundary_for_every_scope(graph: og.Graph, case: str) -> None:
    graph.schema.apply(SCHEMA.replace("  nick: String?\n", "  nick: String?\n  city: String?\n"))
    applied = head(graph)
    for scope in ({}, {"kinds": "edge"}, {"types": "Team"}, {"ops": "delete"}):
        with pytest.raises(ChangeSchemaBoundary) as caught:
            graph.commits.changes(applied, **scope)
        assert (caught.value.graph_commit_id, caught.value.type_name) == (applied, "Person")
    page = graph.changes.poll(start="beginning")
    assert len(page.blocks) == 1
    assert page.caught_up is False
    with pytest.raises(ChangeSchemaBoundary):
        graph.changes.poll(page.cursor)
    put(graph, "Eve", city="Bern")
    resumed = graph.changes.poll(start=f"after:{applied}")
    assert [listed(block.changes) for block in resumed.blocks] == [[("insert", "Person", "Eve")]]


# --- the feed ------------------------------------------------------------------------------------------


@case("V60")
def test_the_feed_goes_from_the_beginning_to_now(graph: og.Graph, case: str) -> None:
    change(graph, "Alice", age=31)
    page = graph.changes.poll(start="beginning")
    expected = [commit.graph_commit_id for commit in graph.commits.list()][::-1][1:]
    assert [commit_id for commit_id, _ in blocks(page)] == expected
    assert (page.caught_up, page.next_page_token) == (True, None)
    now = graph.changes.poll()
    assert (now.blocks, now.caught_up) == ([], True)
    assert graph.changes.poll(now.cursor).blocks == []


def test_a_named_branch_shows_its_inherited_history_too(graph: og.Graph) -> None:
    graph.branches.create("feature")
    feature = graph.branch("feature")
    change(feature, "Alice", age=31)
    found, page = everything(feature)
    assert [commit_id for commit_id, _ in found] == [c.graph_commit_id for c in feature.commits.list()][::-1][1:]
    with pytest.raises(ChangeCursorRejected, match="branch"):
        graph.changes.poll(page.cursor)


@case("V61")
def test_a_commit_that_lands_during_a_poll_waits_for_the_next_one(graph: og.Graph, case: str) -> None:
    cursor = graph.changes.poll().cursor
    change(graph, "Alice", age=31)
    first = head(graph)
    late = [lambda: change(graph, "Bob", age=32)]
    with failpoints.armed({"change_feed.post_capture": lambda: late.pop()() if late else None}):
        page = graph.changes.poll(cursor)
    assert [commit_id for commit_id, _ in blocks(page)] == [first]
    assert page.caught_up is True
    following = graph.changes.poll(page.cursor)
    assert [commit_id for commit_id, _ in blocks(following)] == [head(graph)]


@case("V62")
def test_a_page_that_ends_inside_a_block_has_a_token_and_no_cursor(graph: og.Graph, case: str) -> None:
    cursor = graph.changes.poll().cursor
    busy = busy_commit(graph)
    page = graph.changes.poll(cursor, limit=4)
    assert (page.cursor, page.caught_up) == (None, None)
    assert page.next_page_token is not None
    put(graph, "Zoe", age=1)
    rest = graph.changes.poll(page_token=page.next_page_token, limit=100)
    assert [commit_id for commit_id, _ in blocks(rest)] == [busy]
    together = page.blocks[0].changes + rest.blocks[0].changes
    assert together == graph.commits.changes(busy).changes
    assert rest.next_page_token is None
    assert rest.caught_up is False  # its cut is older than the head by now
    assert listed(graph.changes.poll(rest.cursor).blocks[0].changes) == [("insert", "Person", "Zoe")]
    with pytest.raises(ChangeCursorRejected):
        graph.changes.poll(page.next_page_token)
    with pytest.raises(ChangeCursorRejected):
        graph.changes.poll(page_token=cursor)


@case("V63")
def test_a_change_larger_than_a_page_is_delivered_alone(graph: og.Graph, case: str) -> None:
    cursor = graph.changes.poll().cursor
    put(graph, "Big", nick="x" * 5_000)
    put(graph, "Small", nick="y")
    page = graph.changes.poll(cursor, max_bytes=1_000)
    assert [listed(block.changes) for block in page.blocks] == [[("insert", "Person", "Big")]]
    assert page.caught_up is False
    assert listed(graph.changes.poll(page.cursor).blocks[0].changes) == [("insert", "Person", "Small")]


def test_a_commit_that_does_not_fit_any_more_waits_as_a_whole(graph: og.Graph) -> None:
    cursor = graph.changes.poll().cursor
    put(graph, "First", nick="x")
    put(graph, "Second", nick="y" * 2_000)
    page = graph.changes.poll(cursor, max_bytes=1_500)
    assert [listed(block.changes) for block in page.blocks] == [[("insert", "Person", "First")]]
    assert page.next_page_token is None


@case("V64")
@pytest.mark.slow
def test_a_long_history_is_caught_up_with_only_on_the_last_poll(graph: og.Graph, case: str) -> None:
    start = graph.changes.poll()
    for _ in range(600):
        commit(graph._core.store, None, lambda txn: WriteSet(writer_kind="Load", lineage_only=True))
    caught_up, cursor, seen = [], start.cursor, 0
    while not caught_up or not caught_up[-1]:
        page = graph.changes.poll(cursor, max_commits=128)
        assert all(block.changes == [] for block in page.blocks)
        caught_up.append(page.caught_up)
        cursor, seen = page.cursor, seen + len(page.blocks)
    assert (caught_up, seen) == ([False] * 4 + [True], 600)


@case("V65")
def test_a_cursor_of_a_branch_that_was_created_again_is_refused(graph: og.Graph, case: str) -> None:
    graph.branches.create("feature")
    cursor = graph.branch("feature").changes.poll().cursor
    graph.branches.delete("feature")
    graph.branches.create("feature")
    with pytest.raises(ChangeCursorRejected, match="branch witness"):
        graph.branch("feature").changes.poll(cursor)


@case("V66")
def test_a_merge_is_one_block_against_its_first_parent(graph: og.Graph, case: str) -> None:
    graph.branches.create("feature")
    feature = graph.branch("feature")
    change(feature, "Alice", age=31)
    change(feature, "Alice", age=32)
    put(graph, "Eve", age=1)
    cursor = graph.changes.poll().cursor
    graph.branches.merge("feature")
    [block] = graph.changes.poll(cursor).blocks
    assert listed(block.changes) == [("update", "Person", "Alice")]
    assert block.changes[0]["after"]["properties"]["age"] == 32
    assert block.cause.merged_parent_commit_id == feature.commits.head()


@case("V67")
def test_a_reclaimed_version_is_a_gap_that_names_the_commit_and_echoes_the_cursor(graph: og.Graph, case: str) -> None:
    cursor = graph.changes.poll().cursor
    graph.load([json.dumps({"type": "Team", "data": {"title": "one"}})])
    change(graph, "Alice", age=31)
    lost = head(graph)
    change(graph, "Alice", age=32)
    graph.cleanup(keep=2, confirm=True)  # of people what was before the first change goes; teams had no more than two
    with og.open(graph.uri) as reader:
        page = reader.changes.poll(cursor)
        assert [listed(block.changes)[0][1] for block in page.blocks] == ["Team"]
        assert page.caught_up is False
        with pytest.raises(ChangeFeedGap) as caught:
            reader.changes.poll(page.cursor)
        assert (caught.value.first_unreadable_commit_id, caught.value.cursor) == (lost, page.cursor)
        with pytest.raises(ChangeFeedGap) as alone:
            reader.commits.changes(lost)
        assert alone.value.cursor is None


def test_a_start_must_be_known_and_positions_exclude_each_other(graph: og.Graph) -> None:
    for start in ("later", "after:"):
        with pytest.raises(BadRequest):
            graph.changes.poll(start=start)
    with pytest.raises(ChangeCursorRejected):
        graph.changes.poll(start="after:01J00000000000000000000000")
    with pytest.raises(BadRequest, match="one position"):
        graph.changes.poll("x", start="now")


# --- baselines -----------------------------------------------------------------------------------------


@case("V68")
def test_a_baseline_continues_with_the_first_commit_after_it(graph: og.Graph, tmp_path: Path, case: str) -> None:
    target = tmp_path / "baseline.jsonl"
    done = graph.changes.baseline(target)
    change(graph, "Alice", age=99)
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert [line["data"]["name"] for line in lines[:4]] == ["Alice", "Bob", "Carol", "Dan"]
    assert lines[0]["data"]["age"] == 30
    assert lines[4] == {"edge": "Knows", "from": "Bob", "to": "Carol", "data": {"id": "bob-carol", "since": None}}
    assert lines[5] == {
        "baseline": {"snapshot_commit_id": done.snapshot_commit_id, "resume_cursor": done.resume_cursor}
    }
    assert len(lines) == 6
    page = graph.changes.poll(done.resume_cursor)
    assert [commit_id for commit_id, _ in blocks(page)] == [head(graph)]
    assert target.stat().st_size == done.bytes_written


def test_a_baseline_obeys_kinds_and_types_and_binds_its_cursor_to_all_of_the_scope(graph: og.Graph) -> None:
    stream = io.BytesIO()
    done = graph.changes.baseline(stream, kinds="node", ops="delete")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line.get("type") for line in lines] == ["Person"] * 4 + [None]
    remove(graph, "Dan")
    page = graph.changes.poll(done.resume_cursor, kinds="node", ops="delete")
    assert listed(page.blocks[0].changes) == [("delete", "Person", "Dan")]
    with pytest.raises(ChangeCursorRejected, match="filter digest"):
        graph.changes.poll(done.resume_cursor)
    with pytest.raises(BadRequest, match="unknown type"):
        graph.changes.baseline(io.BytesIO(), types="Nobody")


class _Full(io.BytesIO):
    def write(self, data: Any) -> int:
        if self.tell():
            raise OSError("disk full")
        return super().write(data)


@case("V69")
def test_a_baseline_whose_writer_fails_has_no_last_record(graph: og.Graph, tmp_path: Path, case: str) -> None:
    stream = _Full()
    with pytest.raises(OSError, match="disk full"):
        graph.changes.baseline(stream)
    assert b"baseline" not in stream.getvalue()
    with pytest.raises(StorageError, match="cannot be written"):
        graph.changes.baseline(tmp_path / "missing" / "baseline.jsonl")
    assert not list(tmp_path.glob("**/*.part"))


@case("V70")
def test_an_id_of_three_hundred_bytes_at_a_page_boundary_resumes_exactly(graph: og.Graph, case: str) -> None:
    names = [f"{'é' * 150}{at}" for at in range(3)] + [f"a{'z' * 300}"]
    lines = [json.dumps({"type": "Person", "data": {"name": name}}) for name in names]
    graph.load(lines)
    whole = graph.commits.changes(head(graph)).changes
    token, collected = None, []
    for _ in range(4):
        page = graph.commits.changes(head(graph), limit=1, page_token=token)
        collected += page.changes
        token = page.next_page_token
        if token is not None:
            fields = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))[:-32])
            assert fields["position"]["mode"] == "digest"
            assert 61 <= len(fields["position"]["prefix"].encode()) <= 64
    assert token is None
    assert collected == whole


# --- following -----------------------------------------------------------------------------------------


def test_following_gives_what_polling_gives_and_then_what_happens(graph: og.Graph) -> None:
    busy_commit(graph)
    polled, page = everything(graph)
    feed = graph.changes.follow(start="beginning", interval=0.01)
    followed = [next(feed) for _ in polled]
    assert [(block.cause.graph_commit_id, listed(block.changes)) for _, block in followed] == polled
    assert followed[-1][0] == page.cursor
    put(graph, "Zoe", age=1)
    cursor, block = next(feed)
    assert (block.cause.graph_commit_id, listed(block.changes)) == (head(graph), [("insert", "Person", "Zoe")])
    assert graph.changes.poll(cursor).caught_up
    with graph:
        pass
    with pytest.raises(BadRequest, match="closed"):
        next(feed)


def test_a_commit_larger_than_a_page_is_followed_in_parts(graph: og.Graph) -> None:
    start = head(graph)
    graph.load([{"type": "Person", "data": {"name": f"p{number:05}"}} for number in range(2_500)])
    feed = graph.changes.follow(start=f"after:{start}")
    parts = [next(feed) for _ in range(3)]
    assert [cursor is None for cursor, _ in parts] == [True, True, False]
    assert sum(len(block.changes) for _, block in parts) == 2_500


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cursor": "x", "start": "now"}, "name one position"),
        ({"start": "yesterday"}, "a feed starts at"),
        ({"kinds": "vertex"}, "unknown kind 'vertex'"),
        ({"interval": 0}, "a positive number of seconds"),
    ],
)
def test_a_feed_that_cannot_be_followed_is_refused_at_once(graph: og.Graph, options: Any, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        graph.changes.follow(**options)
