"""Push and pull of branches between two clones of one graph: fast-forward or refused, with the same commits."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, BranchNotFound, Conflict, NotFound
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.naive.observe import image_of

SCHEMA = """
node Person { name: String @key age: I32? tags: [String]? photo: Blob? }
edge Knows: Person -> Person { since: I32? }
"""
ADD = "query q($n: String, $a: I32) { insert Person { name: $n age: $a } }"


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def add(place: Path, *names: str, branch: str = "main") -> list[str]:
    """Insert people, one commit each; the ids of the commits."""
    with og.open(place) as graph:
        made = [graph.branch(branch).mutate(ADD, params={"n": name, "a": 1}).commit for name in names]
    return [commit.graph_commit_id for commit in made if commit is not None]


def rows(place: Path, branch: str = "main") -> Any:
    with og.open(place, read_only=True) as graph:
        return image_of(graph.branch(branch).view())


def history(place: Path, branch: str = "main") -> list[Any]:
    with og.open(place, read_only=True) as graph:
        found = graph.branch(branch).commits.list(maintenance=True)
        return [
            (c.graph_commit_id, c.parent_commit_id, c.merged_parent_commit_id, c.actor_id, c.created_at, c.kind, c.message, c.counts)
            for c in found
        ]  # fmt: skip


def assert_same(one: Path, other: Path, branch: str = "main") -> None:
    assert rows(one, branch) == rows(other, branch)
    assert history(one, branch) == history(other, branch)
    for place in (one, other):
        with og.open(place) as graph:
            assert violations(graph._core.store) == []


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("seed") / "graph.omni"
    with og.init(place, SCHEMA) as graph:
        graph.load(
            [
                *(person(f"p{n}", age=n, tags=["a", "b"][: n % 3], photo=f"base64:{'AAEC' * n}") for n in range(20)),
                *({"edge": "Knows", "from": f"p{n}", "to": f"p{n + 1}", "data": {"since": n}} for n in range(19)),
            ]
        )
    return place


@pytest.fixture
def here(seed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(seed, tmp_path / "here.omni"))


@pytest.fixture
def there(here: Path, tmp_path: Path) -> Path:
    place = tmp_path / "there.omni"
    og.clone(here, place)
    return place


def test_a_push_brings_the_same_commits_under_the_same_ids(here: Path, there: Path) -> None:
    with og.open(here, actor="ana") as graph:
        graph.mutate(ADD, params={"n": "new", "a": 7}, message="somebody new")
        graph.load([person("p3", age=33, photo="base64://79"), person("more", tags=["x"])], mode="merge")
        graph.mutate('query q() { delete Person where name = "p5" }')
        graph.mutate('query q() { update Knows set { since: 99 } where from = "p1" }')
        graph.optimize()
    seen: list[tuple[int, int]] = []
    done = og.push(here, there, progress=lambda *step: seen.append(step))
    assert len(done.commits) == len(history(here)) - 2
    assert seen[-1] == (len(done.commits), len(done.commits))
    assert done.head == history(here)[0][0] == done.commits[-1]
    assert not done.up_to_date
    assert_same(here, there)
    again = og.push(here, there)
    assert again.up_to_date
    assert again.head == done.head


def test_every_commit_can_be_read_at_the_receiver(here: Path, there: Path) -> None:
    commits = add(here, "a", "b", "c")
    og.push(here, there)
    images = []
    for place in (here, there):
        with og.open(place, read_only=True) as graph:
            images.append([image_of(graph.at(commit).view()) for commit in commits])
    assert images[0] == images[1]
    assert images[0][0] != images[0][1]


def test_a_pull_is_the_other_direction(here: Path, there: Path) -> None:
    add(there, "a", "b")
    done = og.pull(here, there)
    assert len(done.commits) == 2
    assert_same(here, there)
    add(here, "c")
    og.push(here, there)
    add(there, "d")
    og.pull(here, there)
    assert_same(here, there)


def test_a_branch_that_the_receiver_lacks_is_created(here: Path, there: Path) -> None:
    with og.open(here) as graph:
        graph.branches.create("review")
    add(here, "a", "b", branch="review")
    done = og.push(here, there, branch="review")
    assert (done.created, len(done.commits)) == (True, 2)
    assert_same(here, there, "review")
    assert rows(there) != rows(there, "review")
    add(here, "c", branch="review")
    done = og.push(here, there, branch="review")
    assert (done.created, len(done.commits)) == (False, 1)
    assert_same(here, there, "review")
    with og.open(there) as graph:
        graph.branches.merge("review")
    og.pull(here, there)
    assert_same(here, there)


def test_a_new_branch_may_begin_below_the_head_of_the_receiver(here: Path, there: Path) -> None:
    with og.open(here) as graph:
        graph.branches.create("review")
    add(here, "a", branch="review")
    add(there, "x", "y")
    og.push(here, there, branch="review")
    assert rows(here, "review") == rows(there, "review")
    with og.open(there) as graph:
        graph.branches.merge("review")
        names = {row["p.name"] for row in graph.query("query q() { match { $p: Person } return { $p.name } }").rows()}
    assert {"a", "x", "y"} <= names


def test_diverged_branches_are_refused_and_can_be_merged_under_another_name(here: Path, there: Path) -> None:
    (ours,) = add(here, "ours")
    (theirs,) = add(there, "theirs")
    for attempt in (lambda: og.push(here, there), lambda: og.pull(here, there)):
        with pytest.raises(Conflict, match="both have commits that the other lacks") as caught:
            attempt()
        assert ours in str(caught.value)
        assert theirs in str(caught.value)
        assert "under another branch name" in str(caught.value)
    done = og.pull(here, there, into="theirs")
    assert (done.created, done.branch, done.commits) == (True, "theirs", (theirs,))
    with og.open(here) as graph:
        graph.branches.merge("theirs")
    done = og.push(here, there)
    assert done.commits == (history(here)[0][0],)
    assert rows(here) == rows(there)
    assert {"ours", "theirs"} <= set(rows(there)["node:Person"])
    merge, same = history(there)[0], history(here)[0]
    assert (merge[0], merge[3:]) == (same[0], same[3:])
    assert merge[1:3] == (theirs, ours)  # the same parents; the first is the one that the branch stood at
    assert same[1:3] == (ours, theirs)
    with og.open(there) as graph:
        assert violations(graph._core.store) == []
        assert [each.graph_commit_id for each in graph.commits.list()][:2] == [merge[0], theirs]
    add(there, "after")
    og.pull(here, there)
    assert rows(here) == rows(there)
    assert og.push(here, there).up_to_date


def test_a_receiver_that_is_ahead_is_named(here: Path, there: Path) -> None:
    add(there, "a")
    with pytest.raises(Conflict, match=r"is ahead.*transfer it in the other direction"):
        og.push(here, there)


def test_graphs_that_are_no_clones_are_refused(here: Path, tmp_path: Path) -> None:
    og.init(tmp_path / "other.omni", SCHEMA).close()
    with pytest.raises(Conflict, match="is not a clone of"):
        og.push(here, tmp_path / "other.omni")
    with pytest.raises(NotFound, match="is not a graph"):
        og.push(here, tmp_path / "nothing.omni")
    with pytest.raises(BranchNotFound):
        og.push(here, here, branch="nowhere")
    with pytest.raises(BadRequest):
        og.push(here, here, branch="a b?")


TALLER = SCHEMA.replace("age: I32?", "age: I64? height: F64 @default(1.5)").replace(
    "since: I32?", "since: I32? how: String?"
)
RENAMED = TALLER.replace("node Person {", 'node Human @rename_from("Person") {').replace(
    "Person -> Person", "Human -> Human"
)
CITY = "\nnode City { name: String @key }\nedge In: Human -> City"


@pytest.mark.parametrize("branch", ["main", "review"])
def test_schema_changes_are_replayed_with_their_commits(here: Path, there: Path, branch: str) -> None:
    with og.open(here) as graph:
        if branch != "main":
            graph.branches.create(branch)
        bound = graph.branch(branch)
        bound.load([person("a", age=3, tags=["x"]), {"edge": "Knows", "from": "a", "to": "a"}])
        for schema in (TALLER, RENAMED, RENAMED + CITY):
            bound.schema.apply(schema, message=f"{len(schema)}")
        bound.load([{"type": "Human", "data": {"name": "b", "height": 2.0}}, {"type": "City", "data": {"name": "c"}}])
        bound.load([{"edge": "In", "from": "b", "to": "c"}])
        bound.schema.apply(RENAMED.replace("tags: [String]?", ""))
        bound.mutate('query q() { insert Human { name: "d" } }')
    done = og.push(here, there, branch=branch)
    assert len(done.commits) == 8
    assert_same(here, there, branch)
    with og.open(there) as graph:
        bound = graph.branch(branch)
        assert bound.get("Human", "a")["height"] == 1.5
        assert bound.schema.source == og.open(here).branch(branch).schema.source
        graph.branch(branch).mutate('query q() { insert Human { name: "later" } }')
        if branch == "main":  # and back again
            graph.schema.apply(RENAMED.replace("tags: [String]?", "") + CITY.replace("City", "Town"))
    og.pull(here, there, branch=branch)
    assert_same(here, there, branch)


def test_a_merge_that_brings_a_schema_is_replayed_with_its_rows(here: Path, there: Path) -> None:
    with og.open(here) as graph:
        graph.branches.create("wider")
        bound = graph.branch("wider")
        bound.schema.apply(TALLER)
        bound.load([person("w", age=5, height=1.9)])
        graph.load([person("m")])
        graph.branches.merge("wider")
    og.push(here, there)
    assert_same(here, there)
    og.push(here, there, branch="wider")
    assert_same(here, there, "wider")


def test_schemas_that_both_clones_have_changed_are_refused(here: Path, there: Path) -> None:
    with og.open(there) as graph:
        graph.branches.create("own")
        graph.branch("own").schema.apply(SCHEMA + "\nnode Pet { name: String @key }")
    add(here, "a")
    with og.open(here) as graph:
        graph.schema.apply(SCHEMA + "\nnode City { name: String @key }")
    with pytest.raises(Conflict, match=r"have changed the schema since they parted.*clone one of them anew"):
        og.push(here, there)
    with pytest.raises(Conflict, match="have changed the schema"):
        og.pull(here, there, branch="own")
    with og.open(there) as graph:
        assert violations(graph._core.store) == []
    assert "a" in rows(there)["node:Person"]


def test_writers_go_on_at_both_ends(here: Path, there: Path) -> None:
    """A commit of the receiver in the middle of a push makes the branches part, and the push says so."""
    add(here, "a", "b")

    def intrude(done: int, of: int) -> None:
        add(there, f"x{done}") if done == 1 else add(here, "late")

    with pytest.raises(Conflict, match="both have commits that the other lacks"):
        og.push(here, there, progress=intrude)
    assert {"a", "x1"} <= set(rows(there)["node:Person"])
    with og.open(there) as graph:
        assert violations(graph._core.store) == []


def test_damage_on_the_way_is_found(here: Path, there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from omnigraph.engine.merge import fast_forward

    honest: Callable[..., Any] = fast_forward.table_steps
    add(here, "a")

    def forged(merge: Any) -> Any:
        rows = merge.rows
        at = rows.column_names.index("age")
        column = rows["age"].combine_chunks()
        object.__setattr__(
            merge, "rows", rows.set_column(at, rows.schema.field(at), [pa.array([9] * len(column), pa.int32())])
        )
        return honest(merge)

    monkeypatch.setattr(fast_forward, "table_steps", forged)
    with pytest.raises(og.OmnigraphError, match=r"does not read back as it was sent \(node:Person\)"):
        og.push(here, there)


def test_the_command_line(here: Path, there: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from omnigraph.cli.main import main

    add(here, "a")
    assert main(["push", str(here), str(there)]) == 0
    assert re.search(r"pushed 1 commit to main of .*there.omni, now at \w{26}", capsys.readouterr().out)
    assert main(["pull", str(here), str(there), "--json"]) == 0
    assert '"commits": []' in capsys.readouterr().out
    add(here, "b")
    add(there, "c")
    assert main(["push", str(here), str(there)]) != 0
    assert "both have commits" in capsys.readouterr().err
    assert main(["pull", str(here), str(there), "--into", "theirs"]) == 0
    assert "(a new branch)" in capsys.readouterr().out
