"""Kill a push or a pull at every step: both sides are sound, the receiver stands at a commit of the sender's, and the
transfer can be repeated."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.settings import Settings
from omnigraph.testing.crash.graph_child import GraphChild
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.naive.observe import image_of

SCHEMA = "node Person { name: String @key age: I32? } edge Knows: Person -> Person"
SETTINGS = Settings(lease_ttl_ms=1_000, lease_skew_ms=0)
STEPS = [
    "branch_create.post_native=kill",
    "transfer.post_branch=kill",
    "recovery.sidecar_write=kill@1",
    "recovery.sidecar_write=kill@2",
    "mutation.post_sidecar_pre_fork=kill@2",
    "mutation.post_fork_pre_commit=kill@1",
    "mutation.post_table_commit=kill@1",  # one of two tables
    "mutation.post_table_commit=kill@2",
    "mutation.post_effects_pre_publish=kill@2",
    "publish.pre_commit=kill@2",
    "publish.after_commit=kill@2",
    "commit.hand_over=kill@1",
    "recovery.sidecar_delete=kill@2",
    "transfer.post_commit=kill@2",
]

# A commit with a schema change, which is the second of main here.
SCHEMA_STEPS = [
    "schema_apply.post_lock=kill",
    "schema_apply.post_sidecar_pre_effect=kill",
    "schema_apply.post_table_commit=kill@1",
    "schema_apply.before_staging_write=kill",
    "schema_apply.post_keep=kill",
    "schema_apply.after_staging_write=kill",
    "schema_apply.after_publish=kill",
]


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clones; the first has a load, a schema change and another load more."""
    place = tmp_path_factory.mktemp("changed")
    with og.init(place / "here.omni", SCHEMA) as graph:
        graph.load([{"type": "Person", "data": {"name": "p0"}}])
    og.clone(place / "here.omni", place / "there.omni")
    with og.open(place / "here.omni") as graph:
        graph.load([{"type": "Person", "data": {"name": "p1"}}])
        graph.schema.apply(SCHEMA.replace("age: I32?", "age: I64? height: F64 @default(1.5)"))
        graph.load([{"type": "Person", "data": {"name": "p2", "height": 2.0}}])
    return place


@pytest.mark.parametrize("step", SCHEMA_STEPS)
def test_a_push_killed_in_a_schema_change_can_be_repeated(step: str, changed: Path, tmp_path: Path) -> None:
    _killed_and_repeated("push", step, "main", changed, tmp_path)


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clones; the first has three commits more on main, and as many on a branch that the other lacks."""
    place = tmp_path_factory.mktemp("clones")
    with og.init(place / "here.omni", SCHEMA) as graph:
        graph.load([{"type": "Person", "data": {"name": "p0"}}, {"edge": "Knows", "from": "p0", "to": "p0"}])
    og.clone(place / "here.omni", place / "there.omni")
    with og.open(place / "here.omni") as graph:
        graph.branches.create("review")
        for bound in (graph, graph.branch("review")):
            for number in (1, 2, 3):
                person = {"type": "Person", "data": {"name": f"p{number}", "age": number}}
                bound.load([person, {"edge": "Knows", "from": f"p{number}", "to": "p0"}], mode="merge")
    return place


@pytest.mark.parametrize("branch", ["main", "review"])
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_push_can_be_repeated(step: str, branch: str, clones: Path, tmp_path: Path) -> None:
    _killed_and_repeated("push", step, branch, clones, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("branch", ["main", "review"])
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_pull_can_be_repeated(step: str, branch: str, clones: Path, tmp_path: Path) -> None:
    _killed_and_repeated("pull", step, branch, clones, tmp_path)


def _killed_and_repeated(verb: str, step: str, branch: str, clones: Path, tmp_path: Path) -> None:
    if branch == "main" and "branch" in step:
        pytest.skip("main exists")
    here, there = (Path(shutil.copytree(clones / name, tmp_path / name)) for name in ("here.omni", "there.omni"))
    own, other = (here, there) if verb == "push" else (there, here)
    child = GraphChild(own, SETTINGS, step, verb, f"{other}:{branch}").finish()
    assert child.exit_code != 0, "the step was never reached"
    with og.open(here, read_only=True) as graph:
        assert violations(graph._core.store) == []
        bound = graph.branch(branch)
        expected = image_of(bound.view())
        states = {each.graph_commit_id: each for each in bound.commits.list()}
        images = {name: image_of(graph.at(name).view()) for name in states}
    with og.open(there, settings=SETTINGS) as graph:
        assert violations(graph._core.store) == []
        if branch in graph.branches.list():
            head = graph.branch(branch).commits.list()[0].graph_commit_id
            assert image_of(graph.branch(branch).view()) == images[head]  # a commit of the sender, whole
    if verb == "push":
        og.push(here, there, branch=branch)
    else:
        og.pull(there, here, branch=branch)
    with og.open(there) as graph:
        assert violations(graph._core.store) == []
        assert image_of(graph.branch(branch).view()) == expected
        received = graph.branch(branch).commits.list()
        assert [each.graph_commit_id for each in received] == list(states)
        assert [each.parent_commit_id for each in received] == [each.parent_commit_id for each in states.values()]
