"""Branches copy rows: what a fork or a merge brings along may not show an actor more than its source does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.errors import PermissionDenied
from omnigraph.policy.actions import Action
from omnigraph.policy.bundle import parse_bundle
from omnigraph.policy.engine import PolicyEngine, PolicyRequest
from omnigraph.policy.visibility import NOTHING, Visibility, meet, shows_no_more

SCHEMA = "node Person { name: String @key  salary: I32? }  node Secret { code: String @key }"
POLICY = """
version: 1
groups: {analysts: [ana], writers: [wim], outside: [oda], all: [root]}
protected_branches: [main, release]
rules:
  - {id: some, allow: {actors: {group: analysts}, actions: [read], branch_scope: protected, types: [Person], mask: {Person: [salary]}}}
  - {id: drafts, allow: {actors: {group: analysts}, actions: [read], branch_scope: unprotected}}
  - {id: outside, allow: {actors: {group: outside}, actions: [read, change], branch_scope: unprotected}}
  - {id: fork, allow: {actors: {group: analysts}, actions: [branch_create], target_branch_scope: any}}
  - {id: fork-out, allow: {actors: {group: outside}, actions: [branch_create, branch_merge], target_branch_scope: any}}
  - {id: write, allow: {actors: {group: writers}, actions: [change, branch_create]}}
  - {id: everything, allow: {actors: {group: all}, actions: [read, export, change, branch_create, branch_merge]}}
"""


@pytest.fixture(scope="module")
def engine() -> PolicyEngine:
    return PolicyEngine(parse_bundle(POLICY, "rules"), "g")


@pytest.fixture
def graph(tmp_path: Path, engine: PolicyEngine) -> og.Graph:
    og.init(tmp_path / "g.omni", SCHEMA).load(
        [{"type": "Person", "data": {"name": "Ada", "salary": 10}}, {"type": "Secret", "data": {"code": "zebra"}}]
    )
    return og.open(tmp_path / "g.omni", actor="root", policy=engine)


def decided(engine: PolicyEngine, actor: str, action: Action, branch: str, target: str) -> str | None:
    """None, or why it was refused."""
    decision = engine.decide(actor, PolicyRequest(action, branch, target))
    return None if decision.allowed else decision.message


def test_a_fork_that_would_show_more_is_refused(engine: PolicyEngine) -> None:
    refused = decided(engine, "ana", Action.BRANCH_CREATE, "main", "draft")
    assert refused is not None
    assert "'draft' would show more than its source" in refused
    assert decided(engine, "ana", Action.BRANCH_CREATE, "main", "release") is None
    assert decided(engine, "ana", Action.BRANCH_CREATE, "draft", "other") is None
    assert decided(engine, "oda", Action.BRANCH_CREATE, "main", "draft") is not None  # main is not hers to read at all
    assert decided(engine, "wim", Action.BRANCH_CREATE, "main", "draft") is None  # reads neither
    assert decided(engine, "root", Action.BRANCH_CREATE, "main", "draft") is None


def test_a_merge_that_would_show_more_is_refused(engine: PolicyEngine) -> None:
    refused = decided(engine, "oda", Action.BRANCH_MERGE, "main", "draft")
    assert refused is not None
    assert "'draft' would show more than its source" in refused
    assert decided(engine, "oda", Action.BRANCH_MERGE, "draft", "main") is None
    assert decided(engine, "root", Action.BRANCH_MERGE, "main", "draft") is None


def test_the_rules_of_a_branch_hold_for_its_forks(graph: og.Graph) -> None:
    graph.branches.create("draft")
    graph.branches.create("deeper", from_="draft")
    ana = graph.with_actor("ana")
    main = ana.visibility_of("main")
    assert main == Visibility(frozenset({"Person"}), frozenset({("Person", frozenset({"salary"}))}))
    assert ana.visibility_of("draft") == ana.visibility_of("deeper") == main
    assert graph.visibility_of("deeper") is None
    assert graph.with_actor("oda").visibility_of("deeper") is None  # root made the fork, and oda may read drafts
    assert graph.with_actor("oda").visibility_of("main") == NOTHING
    seen = ana.with_visibility(ana.visibility_of("deeper")).branch("deeper")
    assert seen.query("query q() { match { $p: Person } return { $p.salary as salary } }").rows() == [{"salary": None}]


def test_a_fork_from_a_bound_handle_is_judged_by_the_branch_it_is_bound_to(graph: og.Graph) -> None:
    with pytest.raises(PermissionDenied, match="would show more"):
        graph.with_actor("ana").branches.create("draft")


@pytest.mark.parametrize(
    "body",
    [
        'update Person set { salary: 1 } where name = "Ada"',
        'delete Person where name = "Ada"',
        "match { $p: Person } insert Secret { code: $p.name }",
        "match { $p: Person } delete $p",
    ],
)
def test_what_looks_at_rows_needs_the_right_to_read_them(graph: og.Graph, body: str) -> None:
    writer = graph.with_actor("wim")
    head = graph.refresh()
    with pytest.raises(PermissionDenied, match="'read' on branch 'main' for actor 'wim'"):
        writer.mutate(f"query q() {{ {body} }}")
    with pytest.raises(PermissionDenied, match="'read' on branch 'main' for actor 'wim'"):
        writer.mutate_many([{"query": f"query q() {{ {body} }}"}])
    assert graph.refresh() == head


def test_plain_inserts_and_loads_need_no_right_to_read(graph: og.Graph) -> None:
    writer = graph.with_actor("wim")
    writer.mutate('query q() { insert Person { name: "Bob" } }')
    writer.load([{"type": "Person", "data": {"name": "Cy"}}])
    assert len(graph.query("query q() { match { $p: Person } return { $p.name } }")) == 3


# --- the order of what is shown -----------------------------------------------------------------

TYPES = ("A", "B")
PROPERTIES = ("x", "y")
SHOWN = st.one_of(
    st.none(),
    st.builds(
        Visibility,
        st.one_of(st.none(), st.frozensets(st.sampled_from(TYPES))),
        st.dictionaries(st.sampled_from(TYPES), st.frozensets(st.sampled_from(PROPERTIES), min_size=1)).map(
            lambda masks: frozenset(masks.items())
        ),
    ),
)


def values(visibility: Visibility | None) -> set[tuple[str, str]]:
    """The types and values that are visible, one by one."""
    found = set()
    for name in (*TYPES, "other"):
        if visibility is None or visibility.shows(name):
            masks = {} if visibility is None else visibility.masks()
            found |= {(name, ""), *((name, each) for each in PROPERTIES if each not in masks.get(name, ()))}
    return found


@given(SHOWN, SHOWN)
def test_meeting_shows_what_both_show(first: Visibility | None, second: Visibility | None) -> None:
    assert values(meet(first, second)) == values(first) & values(second)


@given(SHOWN, SHOWN)
def test_showing_no_more_is_containment(first: Visibility | None, second: Visibility | None) -> None:
    claimed = shows_no_more(first, second)
    contained = values(first) <= values(second)
    assert not claimed or contained
    # Both agree but for two ways to say "everything", which the stricter reading takes for different.
    assert claimed or not contained or first is None or first.types is None
