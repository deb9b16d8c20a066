"""Every commit says what kind it is, why it was made and what it changed (issue 14, 8)."""

from __future__ import annotations

import json
import signal
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import run

import pytest

import omnigraph as og
from omnigraph.engine.values.message import MOST_CHARACTERS, shown
from omnigraph.errors import BadRequest, NotFound
from omnigraph.policy.visibility import Visibility
from omnigraph.storage.manifest.note import RowCounts
from omnigraph.storage.manifest.row_codec import parse_commit
from tests.cli_runner import Desk

SCHEMA = "node Person { name: String @key  age: I64? @index }\nedge Knows: Person -> Person"
INSERT = "query add($name: String, $age: I64) { insert Person { name: $name, age: $age } }"
AGE = "query older($name: String) { update Person set { age: 99 } where name = $name }"
DROP = "query drop($name: String) { delete Person where name = $name }"


def _people(*names: str) -> list[dict[str, object]]:
    return [{"type": "Person", "data": {"name": name, "age": 1}} for name in names]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA, actor="ann", message="begin")


def _last(graph: og.Graph) -> og.GraphCommit:
    return graph.commits.list(limit=1, maintenance=True)[0]


# --- what each writer notes ----------------------------------------------------------------------


def test_each_writer_notes_its_kind_message_query_and_counts(graph: og.Graph) -> None:
    first = _last(graph)
    assert (first.kind, first.message, first.counts) == ("init", "begin", {})

    graph.load(_people("a", "b"), message="two people")
    assert (_last(graph).kind, _last(graph).message, _last(graph).counts) == (
        "load",
        "two people",
        {"Person": RowCounts(inserted=2)},
    )
    graph.load(_people("b", "c", "d"), mode="merge")
    assert _last(graph).counts == {"Person": RowCounts(inserted=2, updated=1)}
    assert _last(graph).message is None

    done = graph.mutate(INSERT, params={"name": "a", "age": 3}, message="a is three")
    assert done.commit == _last(graph)
    assert (_last(graph).kind, _last(graph).query) == ("mutate", "add")
    assert _last(graph).counts == {"Person": RowCounts(updated=1)}, "a key that exists is an update"
    graph.mutate(AGE, params={"name": "b"})
    assert _last(graph).counts == {"Person": RowCounts(updated=1)}

    knows = [{"edge": "Knows", "from": "a", "to": "b"}, {"edge": "Knows", "from": "b", "to": "c"}]
    graph.load(knows)
    assert _last(graph).counts == {"Knows": RowCounts(inserted=2)}
    graph.mutate(DROP, params={"name": "b"})
    assert _last(graph).counts == {"Knows": RowCounts(deleted=2), "Person": RowCounts(deleted=1)}

    graph.load(_people("x"), mode="overwrite")
    assert _last(graph).counts["Person"] == RowCounts(inserted=1, deleted=3)


def test_merge_revert_and_cherry_pick_propose_a_message(graph: og.Graph) -> None:
    graph.load(_people("a"))
    graph.branches.create("side")
    side = graph.branch("side")
    side.load(_people("b", "c"), message="b and c come along")
    picked = side.commits.list(limit=1)[0]
    side.mutate(AGE, params={"name": "a"})

    done = graph.commits.cherry_pick(picked)
    assert done.commit is not None
    assert (done.commit.kind, done.commit.message) == ("cherry-pick", "b and c come along")
    assert done.commit.counts == {"Person": RowCounts(inserted=2)}
    undone = graph.commits.revert(done.commit)
    assert undone.commit is not None
    assert (undone.commit.kind, undone.commit.message) == ("revert", 'revert "b and c come along"')
    assert undone.commit.counts == {"Person": RowCounts(deleted=2)}

    merged = graph.branches.merge("side", strategy="theirs")
    assert merged.commit is not None
    assert (merged.commit.kind, merged.commit.message) == ("merge", "merge side into main")
    assert merged.commit.counts == dict(merged.changes.items())
    graph.branches.create("other")
    graph.branch("other").load(_people("z"))
    named = graph.branches.merge("other", message="z was missing")
    assert named.commit is not None
    assert named.commit.message == "z was missing"


def test_a_merge_by_pointer_counts_what_it_takes_over(graph: og.Graph) -> None:
    graph.load(_people("a"))
    graph.branches.create("side")
    graph.load(_people("b", "c"))
    done = graph.branches.merge("main", into="side")
    assert done.commit is not None
    assert done.commit.counts == {"Person": RowCounts(inserted=2)}


def test_a_transaction_keeps_the_messages_of_its_writes(graph: og.Graph) -> None:
    with graph.transaction() as tx:
        tx.load(_people("a"), message="first a")
        tx.mutate(INSERT, params={"name": "b", "age": 2}, message="then b")
    assert _last(graph).message == "first a\nthen b"
    assert _last(graph).counts == {"Person": RowCounts(inserted=2)}
    with graph.transaction(message="all of it") as tx:
        tx.load(_people("c"), message="c")
    assert _last(graph).message == "all of it"
    with graph.transaction() as tx:
        tx.load(_people("d"))
    assert _last(graph).message == "transaction on main"


def test_schema_changes_and_maintenance_have_kind_message_and_actor(graph: og.Graph) -> None:
    graph.load(_people("a"))
    graph.schema.apply(SCHEMA.replace("age:", "city: String?  age:"), message="where they live")
    assert (_last(graph).kind, _last(graph).message, _last(graph).counts) == ("schema", "where they live", {})
    graph.ensure_indices(message="for lookups")
    assert (_last(graph).kind, _last(graph).message, _last(graph).actor_id) == ("index", "for lookups", "ann")
    graph.load(_people("b"))
    graph.optimize(message="nightly")
    assert (_last(graph).kind, _last(graph).message, _last(graph).actor_id) == ("compact", "nightly", "ann")
    assert [commit.kind for commit in graph.commits.list()] == ["load", "schema", "load", "init"]
    assert [commit.kind for commit in graph.commits.list(kind="index")] == ["index"]


def test_a_commit_of_an_older_release_has_no_kind() -> None:
    row = parse_commit("01ARZ3NDEKTSV4RRFFQ69G5FAV", 3, None, '{"created_at":5,"actor_id":"ann"}')
    assert (row.note.kind, row.note.message, dict(row.note.counts)) == (None, None, {})


def test_copies_and_backups_keep_the_notes(graph: og.Graph, tmp_path: Path) -> None:
    graph.load(_people("a"), message="two people")
    graph.mutate(INSERT, params={"name": "b", "age": 2}, message="and b")
    wanted = [commit.document() for commit in graph.commits.list()]
    og.clone(graph.uri, tmp_path / "clone")
    with og.open(tmp_path / "clone") as copy:
        assert [commit.document() for commit in copy.commits.list()] == wanted
    backups = og.Backups(tmp_path / "backup")
    backups.create(graph.uri)
    backups.restore(tmp_path / "restored")
    with og.open(tmp_path / "restored") as copy:
        assert [commit.document() for commit in copy.commits.list()] == wanted


# --- messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("", "is empty"),
        (" \n ", "is empty"),
        ("x" * (MOST_CHARACTERS + 1), "at most 2,000"),
        ("red \x1b[31m", "U+001B at position 5"),
        ("bell\x07", "U+0007"),
        ("c1 \x9b31m", "U+009B"),
        ("turned \u202e round", "U+202E"),
        ("half \ud800", "is not UTF-8"),
    ],
)
def test_a_message_that_could_not_be_shown_is_refused(graph: og.Graph, message: str, said: str) -> None:
    before = len(graph.commits.list())
    for write in (
        lambda: graph.load(_people("a"), message=message),
        lambda: graph.mutate(INSERT, params={"name": "a", "age": 1}, message=message),
        lambda: graph.transaction(message=message),
        lambda: graph.branches.merge("main", into="side", message=message),
        lambda: graph.optimize(message=message),
    ):
        with pytest.raises(BadRequest, match=said.replace("+", r"\+")):
            write()
    assert len(graph.commits.list()) == before


def test_a_message_of_several_lines_is_kept(graph: og.Graph) -> None:
    graph.load(_people("a"), message="  first\r\n\tsecond ünï\n")
    assert _last(graph).message == "first\n\tsecond ünï"


def test_text_of_others_cannot_drive_a_terminal(graph: og.Graph, desk: Desk) -> None:
    graph.with_actor("eve\x1b]0;owned\x07").load(_people("a"), message="plain")
    for command in (["log"], ["log", "--oneline"], ["commit", "list"], ["commit", "show", "HEAD"]):
        place = ["--store"] if command[0:2] == ["commit", "show"] else []
        printed = desk.run(*command, *place, graph.uri).stdout
        assert "\x1b" not in printed
        assert "\x07" not in printed
        assert "plain" in printed
    assert shown("a\x1b\u202eb\ud800") == "a\\x1b\\u202eb\\ud800"


# --- filters -------------------------------------------------------------------------------------


def test_filters_choose_commits(graph: og.Graph) -> None:
    graph.load(_people("a", "b"), message="Two People")
    middle = graph.commits.list(limit=1)[0]
    graph.with_actor("bob").mutate(AGE, params={"name": "a"}, message="a grew up")
    graph.load([{"edge": "Knows", "from": "a", "to": "b"}])

    def said(**filters: object) -> list[str | None]:
        return [commit.message for commit in graph.commits.list(**filters)]  # type: ignore[arg-type]

    assert said(actor="bob") == ["a grew up"]
    assert said(kind="load") == [None, "Two People"]
    assert said(type="Person") == ["a grew up", "Two People"]
    assert said(message="PEOPLE") == ["Two People"]
    assert said(message="people", actor="bob") == []
    assert said(kind="load", limit=1) == [None]
    at = datetime.fromtimestamp(middle.created_at / 1e6, UTC)
    assert said(since=at, limit=10) == [None, "a grew up", "Two People"]
    assert said(until=at.isoformat(timespec="milliseconds")) == ["Two People", "begin"]
    today = at.strftime("%Y-%m-%d")
    assert len(said(since=today, until=today)) == 4
    assert said(since=at + timedelta(days=1)) == []
    assert [entry.commit.message for entry in graph.commits.log(actor="bob")] == ["a grew up"]
    drawn = graph.commits.log(kind="load")
    assert drawn[0].parents == (drawn[1].commit.graph_commit_id,), "joined over the commits between them"


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"kind": "mutation"}, "unknown kind of commit 'mutation' .expected init, load, mutate"),
        ({"since": "yesterday"}, "is not a datetime"),
        ({"since": "2026-02-02", "until": "2026-01-01"}, "since is later"),
        ({"type": "Persn"}, "unknown type 'Persn' .expected Knows, Person"),
        ({"actor": ""}, "'actor' is empty"),
    ],
)
def test_a_bad_filter_is_refused(graph: og.Graph, filters: dict[str, str], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        graph.commits.list(**filters)  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match=said):
        graph.commits.log(**filters)  # type: ignore[arg-type]


def test_a_reader_does_not_learn_of_hidden_types(graph: og.Graph) -> None:
    graph.load([*_people("a"), {"edge": "Knows", "from": "a", "to": "a"}])
    graph.mutate(DROP, params={"name": "a"})
    narrow = graph.with_visibility(Visibility(frozenset({"Person"}), frozenset()))
    newest, load, _ = narrow.commits.list()
    assert (newest.counts, newest.query) == ({"Person": RowCounts(deleted=1)}, None)
    assert narrow.commits.show(load.graph_commit_id).counts == {"Person": RowCounts(inserted=1)}
    assert narrow.commits.log()[0].commit.counts == {"Person": RowCounts(deleted=1)}
    with pytest.raises(BadRequest, match="unknown type 'Knows'"):
        narrow.commits.list(type="Knows")


# --- recovery ------------------------------------------------------------------------------------

KILLED = """
import sys
import omnigraph as og
from omnigraph.storage.base import failpoints

graph = og.open(sys.argv[1], actor="cid", settings=og.Settings(lease_ttl_ms=200))
with failpoints.armed(sys.argv[2] + "=kill"):
    graph.load([{"type": "Person", "data": {"name": sys.argv[3], "age": 1}}], mode="merge", message=sys.argv[3])
"""


@pytest.mark.slow
def test_the_recovery_actor_finds_what_recovery_finished_or_rolled_back(graph: og.Graph) -> None:
    graph.load(_people("a"))
    for step, name in (
        ("mutation.post_effects_pre_publish", "forward"),
        ("mutation.post_sidecar_pre_fork", "back"),
        ("publish.after_commit", "published"),
    ):
        child = run([sys.executable, "-c", KILLED, graph.uri, step, name], check=False)
        assert child.returncode == -signal.SIGKILL
        time.sleep(0.3)
        og.open(graph.uri, settings=og.Settings(lease_ttl_ms=200)).close()
    with og.open(graph.uri) as opened:
        found = opened.commits.list(actor="omnigraph:recovery")
        by_message = {commit.message: commit for commit in found}
        forward = by_message.pop("forward")
        assert (forward.kind, forward.actor_id, forward.recovered_by) == ("load", "cid", "omnigraph:recovery")
        assert forward.counts == {"Person": RowCounts(inserted=1)}, "counted as its writer would have"
        assert by_message.pop("published").actor_id == "cid"
        (rolled_back,) = by_message.values()
        assert (rolled_back.kind, rolled_back.actor_id) == ("recovery", "omnigraph:recovery")
        assert str(rolled_back.message).startswith("rolled back the interrupted load ")
        assert {commit.message for commit in opened.commits.list(actor="cid")} == {"forward", "published"}


# --- the command line ----------------------------------------------------------------------------


def test_the_command_line_writes_and_finds_messages(desk: Desk) -> None:
    desk.write("s.pg", SCHEMA)
    desk.write("people.jsonl", "".join(json.dumps(each) + "\n" for each in _people("a", "b")))

    def cli(*words: str, fails: bool = False) -> str:
        done = desk.run(*words)
        assert bool(done.code) == fails, done.stderr
        return done.stderr if fails else done.stdout

    cli("init", "--schema", "s.pg", "g", "-m", "begin", "--as", "ann")
    cli("load", "--data", "people.jsonl", "--mode", "append", "g", "-m", "two people", "--as", "ann")
    cli("branch", "create", "side", "--uri", "g")
    cli("mutate", "-e", INSERT, "-p", "name=c", "-p", "age=3", "--branch", "side", "--store", "g", "-m", "c too")
    cli("branch", "merge", "side", "--uri", "g", "--as", "bob")
    cli("optimize", "g", "--message", "tidy")

    lines = cli("log", "g", "--oneline").splitlines()
    assert lines[-1].endswith(" begin"), "the id, the names, the subject"
    assert lines[-2].endswith(" two people")
    subjects = "\n".join(lines)
    for said in ("merge side into main", "c too", "two people", "begin"):
        assert said in subjects
    log = cli("log", "g")
    assert "merge" in log
    assert "Person +2" in log
    assert "    two people" in log
    shown_commit = cli("commit", "show", "HEAD~1", "--store", "g")
    assert "kind: merge\n" in shown_commit
    assert "message:\n  merge side into main\n" in shown_commit
    assert "counts:\n  Person  +1\n" in shown_commit

    listed = cli("commit", "list", "g")
    assert "kind=compact" not in listed
    assert "kind=merge" in listed
    assert "kind=compact" in cli("commit", "list", "g", "--maintenance")
    found = cli("commit", "list", "g", "--filter", "actor=ann", "kind=load")
    assert found.count("\n") == 1
    assert "two people" in found
    assert "two people" in cli(
        "commit", "list", "--filter", "message=PEOPLE", "--filter", "type=Person", "--store", "g"
    )
    assert "unknown kind of commit 'lod'" in cli("commit", "list", "g", "--filter", "kind=lod", fails=True)
    assert "possible values: actor=…" in cli("commit", "list", "g", "--filter", "author=ann", fails=True)
    assert "given twice" in cli("commit", "list", "g", "--filter", "kind=load", "kind=init", fails=True)


def test_a_manifest_version_is_a_name_wherever_a_commit_is(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g.omni", "node P { k: String @key }")
    for name in "abc":
        graph.mutate(f'insert P {{ k: "{name}" }}')
    count = "match { $p: P } return { count($p) as n }"
    now = graph.view().version
    assert [graph.query(count, at=f"version:{now - back}").scalar() for back in range(3)] == [3, 2, 1]
    assert graph.query(count, at=f"version:{now}~1").scalar() == 2
    assert len(list(graph.diff(f"version:{now - 1}", "HEAD"))) == 1
    assert graph.at("version:1").commit_id == graph.commits.list()[-1].graph_commit_id
    for wrong in ("version:", "version:x", "version:-1", "version:²"):
        with pytest.raises(BadRequest, match="is not a version; write it as version:3"):
            graph.at(wrong)
    with pytest.raises(NotFound, match="version 99"):
        graph.at("version:99")
