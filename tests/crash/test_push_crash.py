"""Kill a push at every step: the receiver is sound, stands at a commit of the sender's, and the push can be repeated."""

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
    if branch == "main" and "branch" in step:
        pytest.skip("main exists")
    here, there = (Path(shutil.copytree(clones / name, tmp_path / name)) for name in ("here.omni", "there.omni"))
    child = GraphChild(here, SETTINGS, step, "push", f"{there}:{branch}").finish()
    assert child.exit_code != 0, "the step was never reached"
    with og.open(here, read_only=True) as graph:
        bound = graph.branch(branch)
        expected = image_of(bound.view())
        states = {each.graph_commit_id: each for each in bound.commits.list()}
        images = {name: image_of(graph.at(name).view()) for name in states}
    with og.open(there, settings=SETTINGS) as graph:
        assert violations(graph._core.store) == []
        if branch in graph.branches.list():
            head = graph.branch(branch).commits.list()[0].graph_commit_id
            assert image_of(graph.branch(branch).view()) == images[head]  # a commit of the sender, whole
    og.push(here, there, branch=branch)
    with og.open(there) as graph:
        assert violations(graph._core.store) == []
        assert image_of(graph.branch(branch).view()) == expected
        received = graph.branch(branch).commits.list()
        assert [each.graph_commit_id for each in received] == list(states)
        assert [each.parent_commit_id for each in received] == [each.parent_commit_id for each in states.values()]
