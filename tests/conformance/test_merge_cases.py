"""The numbered cases of merging: outcomes, conflicts, lineage, publication and interruptions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.engine.views.merge_base import CommitGraph, merge_base
from omnigraph.errors import BranchNotFound, MergeConflicts, ReadSetChanged, StorageError
from omnigraph.storage.base import failpoints
from omnigraph.storage.lance.tables import open_table
from omnigraph.testing.crash.merge_matrix import (
    MergeScenario,
    merge_scenarios,
    prepare_merge_template,
    run_merge_scenario,
)
from omnigraph.testing.graphs.people import befriend, change, create_people, open_copy, put, remove, unfriend
from omnigraph.testing.naive.observe import image_of

PERSON, KNOWS = "node:Person", "edge:Knows"
UPDATED = "_row_last_updated_at_version"


def case(*numbers: str) -> pytest.MarkDecorator:
    """Puts the number of a specification case into the id of its test."""
    return pytest.mark.parametrize("case", [pytest.param(number, id=number) for number in numbers])


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_people(tmp_path_factory.mktemp("cases") / "template.omni")


@pytest.fixture
def graph(template: Path, tmp_path: Path) -> og.Graph:
    return open_copy(template, tmp_path / "people.omni")


@pytest.fixture
def feature(graph: og.Graph) -> og.Graph:
    graph.branches.create("feature")
    return graph.branch("feature")


def rows(graph: og.Graph, key: str = PERSON) -> dict[str, dict[str, Any]]:
    return image_of(graph.view())[key]


def entry(graph: og.Graph, key: str = PERSON) -> Any:
    return graph.snapshot().entry(key)


def conflict_kinds(action: Callable[[], object]) -> list[tuple[str, str | None]]:
    with pytest.raises(MergeConflicts) as caught:
        action()
    return [(conflict.kind, conflict.entity_id) for conflict in caught.value.conflicts]


# --- the matrix ----------------------------------------------------------------------------------------

OPERATIONS: dict[str, Callable[[og.Graph, str], object]] = {
    "Noop": lambda graph, side: None,
    "AddNode": lambda graph, side: put(graph, "Eve", age=1 if side == "source" else 2),
    "RemoveNode": lambda graph, side: remove(graph, "Alice"),
    "AddEdge": lambda graph, side: befriend(graph, "Alice", "Carol", f"{side}-edge"),
    "RemoveEdge": lambda graph, side: unfriend(graph, "bob-carol"),
    "SetProperty": lambda graph, side: change(graph, "Alice", age=41 if side == "source" else 42),
    "NetZero": lambda graph, side: (befriend(graph, "Dan", "Bob", f"{side}-zero"), unfriend(graph, f"{side}-zero")),
}
DIVERGENT_INSERT, DIVERGENT_UPDATE = "DivergentInsert(Eve)", "DivergentUpdate(Alice)"
DELETE_VS_UPDATE, ORPHAN = "DeleteVsUpdate(Alice)", "OrphanEdge"
MATRIX = {
    "Noop": ["U", "U", "U", "U", "U", "U", "U"],
    "AddNode": ["F", DIVERGENT_INSERT, "M", "M", "M", "M", "M"],
    "RemoveNode": ["F", "M", "M", ORPHAN, "M", DELETE_VS_UPDATE, "M"],
    "AddEdge": ["F", "M", ORPHAN, "M", "M", "M", "M"],
    "RemoveEdge": ["F", "M", "M", "M", "M", "M", "M"],
    "SetProperty": ["F", "M", DELETE_VS_UPDATE, "M", "M", DIVERGENT_UPDATE, "M"],
    "NetZero": ["F", "M", "M", "M", "M", "M", "M"],
}
OUTCOMES = {"U": "already_up_to_date", "F": "fast_forward", "M": "merged"}


@pytest.mark.parametrize(
    ("on_source", "on_target", "expected"),
    [
        pytest.param(source, target, cell, id=f"V25-{source}-{target}")
        for source, cells in MATRIX.items()
        for target, cell in zip(OPERATIONS, cells, strict=True)
    ],
)
def test_each_pair_of_operations_merges_as_tabulated(
    graph: og.Graph, feature: og.Graph, on_source: str, on_target: str, expected: str
) -> None:
    OPERATIONS[on_source](feature, "source")
    OPERATIONS[on_target](graph, "target")
    before, head = image_of(graph.view()), graph.commits.head()
    if expected in OUTCOMES:
        result = graph.branches.merge("feature")
        assert result.outcome == OUTCOMES[expected]
        assert (result.commit is None) == (expected == "U")
        edges = {("AddEdge", "AddEdge"): 3}.get((on_source, on_target))
        assert edges is None or len(rows(graph, KNOWS)) == edges
        return
    found = conflict_kinds(lambda: graph.branches.merge("feature"))
    assert len(found) == 1
    [(kind, entity)] = found
    assert expected == (kind if kind == "OrphanEdge" else f"{kind}({entity})")
    assert (image_of(graph.view()), graph.commits.head()) == (before, head)


# --- rows ----------------------------------------------------------------------------------------------


@case("V26")
def test_equal_inserts_on_both_sides_are_one_row(graph: og.Graph, feature: og.Graph, case: str) -> None:
    put(feature, "Eve", age=5)
    put(graph, "Eve", age=5)
    assert graph.branches.merge("feature").outcome == "merged"
    assert [row["age"] for row in rows(graph).values() if row["name"] == "Eve"] == [5]


@case("V27")
def test_equal_updates_on_both_sides_do_not_conflict(graph: og.Graph, feature: og.Graph, case: str) -> None:
    change(feature, "Alice", age=31)
    change(graph, "Alice", age=31)
    assert graph.branches.merge("feature").outcome == "merged"
    assert rows(graph)["Alice"]["age"] == 31


@case("V28")
def test_different_properties_of_one_row_conflict(graph: og.Graph, feature: og.Graph, case: str) -> None:
    change(feature, "Alice", age=31)
    change(graph, "Alice", nick="Al")
    assert conflict_kinds(lambda: graph.branches.merge("feature")) == [("DivergentUpdate", "Alice")]


@case("V29")
def test_empty_text_against_null_is_a_change(graph: og.Graph, feature: og.Graph, case: str) -> None:
    change(feature, "Alice", nick="")
    change(graph, "Bob", age=31)
    assert graph.branches.merge("feature").outcome == "merged"
    assert rows(graph)["Alice"]["nick"] == ""
    assert rows(graph)["Carol"]["nick"] is None


# --- lineage -------------------------------------------------------------------------------------------


@case("V30")
def test_a_merge_commit_has_both_heads_as_parents_and_a_second_merge_finds_nothing(
    graph: og.Graph, feature: og.Graph, case: str
) -> None:
    change(feature, "Alice", age=31)
    change(graph, "Bob", age=32)
    heads = graph.commits.head(), feature.commits.head()
    done = graph.branches.merge("feature")
    assert done.commit is not None
    assert (done.commit.parent_commit_id, done.commit.merged_parent_commit_id) == heads
    assert (done.commit.actor_id, done.commit.manifest_branch) == ("ada", None)
    assert graph.branches.merge("feature").outcome == "already_up_to_date"
    assert graph.commits.head() == done.commit_id


@case("V31")
def test_a_fast_forward_is_a_commit_of_its_own_with_the_content_of_the_source(
    graph: og.Graph, feature: og.Graph, case: str
) -> None:
    change(feature, "Alice", age=31)
    remove(feature, "Bob")
    done = graph.branches.merge("feature")
    assert done.outcome == "fast_forward"
    assert done.commit is not None
    assert done.commit.merged_parent_commit_id == feature.commits.head()
    assert image_of(graph.view()) == image_of(feature.view())


@case("V32")
def test_a_source_without_net_changes_gives_a_commit_and_no_table_version(
    graph: og.Graph, feature: og.Graph, case: str
) -> None:
    befriend(feature, "Dan", "Bob", "zero")
    unfriend(feature, "zero")
    before, count = graph.snapshot().pins(), len(graph.commits.list())
    assert graph.branches.merge("feature").outcome == "fast_forward"
    assert graph.snapshot().pins() == before
    assert len(graph.commits.list()) == count + 1


# --- publication ---------------------------------------------------------------------------------------


@case("V33")
def test_a_branch_that_inherits_a_table_points_at_mains_new_version(
    graph: og.Graph, feature: og.Graph, case: str
) -> None:
    change(graph, "Alice", age=31)
    assert feature.branches.merge("main", into="feature").outcome == "fast_forward"
    assert entry(feature) == entry(graph)
    change(feature, "Bob", age=32)
    assert (entry(feature).owner, entry(feature).version) == ("feature", entry(graph).version + 1)
    assert (rows(feature)["Alice"]["age"], rows(feature)["Bob"]["age"]) == (31, 32)


@case("V34")
def test_a_branch_that_owns_a_table_gets_the_rows_even_when_main_has_a_smaller_version(
    graph: og.Graph, feature: og.Graph, case: str
) -> None:
    for age in (1, 2, 3):
        change(feature, "Bob", age=age)
    change(graph, "Alice", age=31)
    assert entry(feature).version > entry(graph).version
    before = entry(feature)
    feature.branches.merge("main", into="feature")
    assert (entry(feature).owner, entry(feature).version) == ("feature", before.version + 1)
    assert (rows(feature)["Alice"]["age"], rows(feature)["Bob"]["age"]) == (31, 3)


@case("V35")
def test_a_sibling_forks_from_its_own_version_and_outlives_the_source(
    graph: og.Graph, feature: og.Graph, case: str
) -> None:
    graph.branches.create("sibling")
    sibling = graph.branch("sibling")
    change(feature, "Alice", age=31)
    done = graph.branches.merge("feature", into="sibling", delete=True)
    assert (done.outcome, done.branch_deleted) == ("fast_forward", True)
    assert entry(sibling).owner == "sibling"
    with pytest.raises(BranchNotFound):
        feature.view()
    assert rows(og.open(graph.uri, "sibling"))["Alice"]["age"] == 31
    assert rows(graph)["Alice"]["age"] == 30


@case("V36")
def test_merging_back_and_forth_keeps_every_change(graph: og.Graph, feature: og.Graph, case: str) -> None:
    change(feature, "Alice", age=1)
    graph.branches.merge("feature")
    change(graph, "Bob", age=2)
    graph.branches.merge("main", into="feature")
    change(feature, "Carol", age=3)
    put(feature, "Eve", age=4)
    graph.branches.merge("feature")
    ages = {name: row["age"] for name, row in rows(graph).items()}
    assert ages == {"Alice": 1, "Bob": 2, "Carol": 3, "Dan": 30, "Eve": 4}
    assert image_of(graph.view()) == image_of(feature.view())


# --- constraints ---------------------------------------------------------------------------------------


@case("V37")
def test_one_unique_value_under_two_ids_is_a_conflict(graph: og.Graph, feature: og.Graph, case: str) -> None:
    put(feature, "Eve", mail="x@y")
    put(graph, "Fay", mail="x@y")
    assert conflict_kinds(lambda: graph.branches.merge("feature")) == [("UniqueViolation", "Eve")]


@case("V38")
def test_edges_that_exceed_a_maximum_together_are_a_conflict(graph: og.Graph, feature: og.Graph, case: str) -> None:
    befriend(feature, "Bob", "Dan")
    befriend(graph, "Bob", "Alice")
    assert conflict_kinds(lambda: graph.branches.merge("feature")) == [("CardinalityViolation", None)]


@case("V39")
def test_a_deleted_node_that_got_a_new_edge_is_a_conflict(graph: og.Graph, feature: og.Graph, case: str) -> None:
    remove(feature, "Dan")
    befriend(graph, "Alice", "Dan", "late")
    before = image_of(graph.view())
    assert conflict_kinds(lambda: graph.branches.merge("feature")) == [("OrphanEdge", "late")]
    assert image_of(graph.view()) == before


@case("V40")
def test_a_value_out_of_range_that_the_merge_assembles_is_a_conflict(
    graph: og.Graph, feature: og.Graph, case: str
) -> None:
    change(feature, "Alice", nick="Al")
    change(graph, "Alice", age=31)
    # Every write is checked, so only a decision by hand can assemble a row that neither side could have stored.
    found = conflict_kinds(lambda: graph.branches.merge("feature", resolve={"Person/Alice": {"age": 400}}))
    assert found == [("ValueConstraintViolation", "Alice")]


@case("V41")
def test_constraints_are_only_checked_once_no_rows_disagree(graph: og.Graph, feature: og.Graph, case: str) -> None:
    change(feature, "Alice", age=1)
    change(graph, "Alice", age=2)
    befriend(feature, "Bob", "Dan")
    befriend(graph, "Bob", "Alice")
    assert conflict_kinds(lambda: graph.branches.merge("feature")) == [("DivergentUpdate", "Alice")]


@case("V42")
def test_rows_that_a_merge_leaves_alone_are_not_rewritten(graph: og.Graph, feature: og.Graph, case: str) -> None:
    change(feature, "Alice", age=31)
    change(graph, "Bob", age=31)
    before = _written(graph)
    graph.branches.merge("feature")
    after = _written(graph)
    assert {name for name in after if after[name] != before.get(name)} == {"Alice"}


def _written(graph: og.Graph) -> dict[str, int]:
    view = graph.view()
    table = view.table(view.catalog.nodes["Person"]).scan(["id", UPDATED])
    return dict(zip(table["id"].to_pylist(), table[UPDATED].to_pylist(), strict=True))


# --- others at work ------------------------------------------------------------------------------------


@case("V43")
def test_a_source_that_advances_meanwhile_is_merged_as_captured(graph: og.Graph, feature: og.Graph, case: str) -> None:
    change(feature, "Alice", age=31)
    captured = feature.commits.head()
    with failpoints.armed({"branch_merge.post_capture": lambda: change(feature, "Bob", age=99)}):
        done = graph.branches.merge("feature")
    assert done.commit is not None
    assert done.commit.merged_parent_commit_id == captured
    assert (rows(graph)["Alice"]["age"], rows(graph)["Bob"]["age"]) == (31, 30)
    graph.branches.merge("feature")
    assert rows(graph)["Bob"]["age"] == 99


# Decision 12 of the specification changed V44: the merge is computed again on the target's new head.
@case("V44")
def test_a_target_that_advances_meanwhile_is_merged_with_as_it_is_then(
    graph: og.Graph, feature: og.Graph, case: str
) -> None:
    change(feature, "Alice", age=31)
    advance = _once(lambda: change(graph, "Bob", age=99))
    with failpoints.armed({"branch_merge.post_validation": advance}):
        assert graph.branches.merge("feature").outcome == "merged"
    assert (rows(graph)["Alice"]["age"], rows(graph)["Bob"]["age"]) == (31, 99)


@case("V44")
def test_a_target_that_contradicts_meanwhile_is_a_conflict(graph: og.Graph, feature: og.Graph, case: str) -> None:
    change(feature, "Alice", age=31)
    advance = _once(lambda: change(graph, "Alice", age=99))
    with failpoints.armed({"branch_merge.post_validation": advance}), pytest.raises(MergeConflicts):
        graph.branches.merge("feature")
    assert rows(graph)["Alice"]["age"] == 99


@case("V44")
def test_with_one_attempt_a_target_that_advances_refuses_the_merge(
    graph: og.Graph, feature: og.Graph, case: str
) -> None:
    change(feature, "Alice", age=31)
    advance = _once(lambda: change(graph, "Bob", age=99))
    with failpoints.armed({"branch_merge.post_validation": advance}), pytest.raises(ReadSetChanged):
        graph.branches.merge("feature", attempts=1)
    assert (rows(graph)["Alice"]["age"], rows(graph)["Bob"]["age"]) == (30, 99)
    assert graph.branches.merge("feature").outcome == "merged"


def _once(action: Callable[[], object]) -> Callable[[], None]:
    left = [action]
    return lambda: left.pop()() and None if left else None


@pytest.fixture(scope="module")
def merge_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare_merge_template(tmp_path_factory.mktemp("killed") / "template.omni")


@pytest.mark.parametrize("scenario", list(merge_scenarios()), ids=lambda scenario: f"V45-{scenario.name}")
def test_a_killed_merge_is_finished_with_both_parents_or_undone(
    merge_template: Path, tmp_path: Path, scenario: MergeScenario
) -> None:
    assert run_merge_scenario(scenario, merge_template, tmp_path / "graph.omni") == []


def test_every_hook_of_a_merge_is_in_the_matrix() -> None:
    killed = {scenario.failpoints.partition("=")[0] for scenario in merge_scenarios()}
    assert {name for name in failpoints.NAMES if name.startswith("branch_merge.")} <= killed


@case("V46")
def test_a_source_that_others_depend_on_survives_and_the_merge_stands(
    graph: og.Graph, feature: og.Graph, case: str
) -> None:
    change(feature, "Alice", age=31)
    graph.branches.create("child", from_="feature")
    done = graph.branches.merge("feature", delete=True)
    assert (done.outcome, done.branch_deleted) == ("fast_forward", False)
    assert "child" in str(done.branch_delete_error)
    assert rows(graph)["Alice"]["age"] == 31
    assert "feature" in graph.branches.list()


@case("V47")
def test_criss_cross_merges_have_one_base_whatever_the_order(graph: og.Graph, feature: og.Graph, case: str) -> None:
    change(feature, "Alice", age=1)
    change(graph, "Bob", age=2)
    ours, theirs = graph.commits.head(), feature.commits.head()
    # Both merges start from the same two heads, so each head is an ancestor of both results.
    graph.branches.create("other", from_="main")
    other = graph.branch("other")
    graph.branches.merge("feature")
    graph.branches.merge("other", into="feature")
    states = [graph._core.state(None), graph._core.state("feature")]
    lineages = [state.lineage for state in states]
    heads = [str(state.effective_head) for state in states]
    found = merge_base(CommitGraph(lineages), heads[0], heads[1])
    assert merge_base(CommitGraph(lineages[::-1]), heads[1], heads[0]) == found
    assert found.graph_commit_id in (ours, theirs)
    known = [commit for lineage in lineages for commit in (lineage.get(str(ours)), lineage.get(str(theirs))) if commit]
    assert found == max(known, key=lambda commit: commit.lineage_key)
    assert other.commits.head() == ours
    change(feature, "Carol", age=3)
    assert graph.branches.merge("feature").outcome == "merged"
    assert {name: row["age"] for name, row in rows(graph).items()} == {"Alice": 1, "Bob": 2, "Carol": 3, "Dan": 30}


def test_the_same_branch_twice_a_missing_and_a_reserved_one_are_refused(graph: og.Graph) -> None:
    with pytest.raises(og.errors.BadRequest, match="distinct source and target"):
        graph.branches.merge("main")
    with pytest.raises(BranchNotFound):
        graph.branches.merge("nowhere")
    with pytest.raises(og.errors.BadRequest, match="reserved"):
        graph.branches.merge("__schema_apply_lock__")


def test_a_source_deleted_before_publication_refuses_the_merge(graph: og.Graph, feature: og.Graph) -> None:
    change(feature, "Alice", age=31)
    vanish = _once(lambda: graph.branches.delete("feature"))
    with failpoints.armed({"branch_merge.post_validation": vanish}), pytest.raises(ReadSetChanged):
        graph.branches.merge("feature")
    assert rows(graph)["Alice"]["age"] == 30


def test_a_source_that_was_deleted_and_made_again_refuses_the_merge(graph: og.Graph, feature: og.Graph) -> None:
    graph.branches.create("target")
    change(feature, "Alice", age=31)
    before = image_of(graph.branch("target").view())

    def replace_source() -> None:
        graph.branches.delete("feature")
        graph.branches.create("feature")

    with (
        failpoints.armed({"branch_merge.post_effects_pre_publish": _once(replace_source)}),
        pytest.raises(ReadSetChanged, match="branch_identifier:feature"),
    ):
        graph.branches.merge("feature", into="target")
    assert image_of(graph.branch("target").view()) == before


def test_a_merge_whose_storage_fails_midway_leaves_nothing(graph: og.Graph, feature: og.Graph) -> None:
    change(feature, "Alice", age=31)
    before = image_of(graph.view())
    with failpoints.armed("mutation.post_effects_pre_publish=raise@1"), pytest.raises(StorageError):
        graph.branches.merge("feature")
    assert image_of(graph.view()) == before
    assert graph.branches.merge("feature").outcome == "fast_forward"
    address = entry(graph).address(graph._core.store.root)
    assert open_table(address).version == entry(graph).version
