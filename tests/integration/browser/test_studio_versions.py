"""The pages of the studio that show and change versions: history, merge review, schema, live changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import expect
from sample_graph import HOSTILE_BRANCH, SCRIPTS

import omnigraph as og

Visit = Callable[..., Any]


def type_text(page: Any, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def person(place: Path, handle: str) -> dict[str, Any]:
    with og.open(str(place)) as graph:
        return dict(graph.get("Person", handle))


def test_the_history_has_lanes_and_filters(visit: Visit) -> None:
    page = visit("#/g/sample/history")
    rows = page.locator(".log li")
    expect(rows).to_have_count(12)
    main = rows.filter(has_text="Budget of the new year").locator(".lanes circle")
    review = rows.filter(has_text="More for storage").locator(".lanes circle")
    assert float(main.get_attribute("cx")) < float(review.get_attribute("cx"))
    expect(rows.filter(has_text="Who knows whom")).to_contain_text("first-year")
    page.get_by_label("Actor").fill("ada")
    expect(rows.filter(has_text="Budget of the new year")).to_have_count(0)
    expect(rows.filter(has_text="More for storage")).to_have_count(1)
    page.get_by_label("Message", exact=True).fill("no such message")
    expect(page.get_by_role("heading", name="No commit fits")).to_be_visible()
    page.get_by_role("button", name="Show all").click()
    expect(rows).to_have_count(12)
    page.get_by_label("Branches").select_option("one")
    expect(rows.filter(has_text="More for storage")).to_have_count(0)


def test_a_commit_shows_each_change_property_by_property(visit: Visit) -> None:
    page = visit("#/g/sample/history")
    page.get_by_role("button", name="Bo moves to design").click()
    changes = page.get_by_role("list", name="Changes")
    expect(changes.locator("li")).to_have_count(1)
    expect(changes.locator("dt")).to_have_text(["born"])
    expect(changes.locator("del")).to_have_text("1966")
    expect(changes.locator(".value.after")).to_have_text("1986")
    page.keyboard.press("k")
    expect(page.locator(".commit-head h2")).to_have_text("Budget of the new year")
    page.get_by_role("button", name="People of the first year").click()
    expect(page.locator(".counts tbody tr")).to_contain_text(["MemberOf", "Person"])
    page.locator(".counts").get_by_role("button", name="Person").click()
    expect(page.get_by_text("50 changes so far")).to_be_visible()
    page.get_by_role("button", name="Show more changes").click()
    expect(page.get_by_text("100 changes so far")).to_be_visible()
    assert "MemberOf" not in changes.inner_text()


def test_two_points_are_compared(visit: Visit) -> None:
    page = visit("#/g/sample/history?view=compare&from=branch:main&to=branch:review/roles")
    expect(page.locator(".compare-sums .badge")).to_have_text(["1 added", "2 changed", "0 removed"])
    expect(page.get_by_role("list", name="Differences")).to_contain_text("provenance")
    page.get_by_role("button", name="Exchange the two points").click()
    expect(page.locator(".compare-sums .badge")).to_have_text(["0 added", "2 changed", "1 removed"])


def test_a_commit_is_reverted(visit: Visit, places: dict[str, Path]) -> None:
    assert person(places["changing"], "p003")["role"] == "manager"
    page = visit("#/g/changing/history")
    page.get_by_role("button", name="Dara leads the team").click()
    page.get_by_role("button", name="Revert…").click()
    dialog = page.get_by_role("dialog", name="Revert on main")
    expect(dialog.locator(".counts tbody tr")).to_contain_text(["Person"])
    dialog.get_by_label("Message").fill("Dara does not lead")
    dialog.get_by_role("button", name="Revert", exact=True).click()
    expect(page.get_by_role("button", name="Dara does not lead")).to_be_visible()
    assert person(places["changing"], "p003")["role"] != "manager"


def test_a_conflict_is_decided_by_property_and_merged(visit: Visit, places: dict[str, Path]) -> None:
    page = visit("#/g/changing/merge")
    page.get_by_role("button", name="review/roles").click()
    expect(page.get_by_role("heading", name="2 conflicts")).to_be_visible()
    merge = page.get_by_role("button", name="Merge", exact=True)
    expect(merge).to_be_disabled()
    bo = page.get_by_role("region", name="Person p001", exact=True)
    expect(bo.locator("th")).to_have_text(["Property", "Base", "Ours: main", "Theirs: review/roles", "Result"])
    bo.get_by_role("row", name="born").get_by_role("button", name="1985").click()
    bo.get_by_role("row", name="role").get_by_role("button", name="designer").last.click()
    expect(bo.locator(".result")).to_have_text(["1985", "designer"])
    expect(page.get_by_text("1 conflict to decide")).to_be_visible()
    team = page.get_by_role("region", name="Team storage", exact=True)
    team.get_by_role("button", name="All of review/roles").click()
    expect(page.locator(".merge-result tbody tr")).to_contain_text(["Person", "Team", "Topic"])
    page.get_by_label("Message").fill("Roles, reviewed")
    page.get_by_label("delete the branch afterwards").check()
    merge.click()
    expect(page.get_by_role("heading", name="Merged")).to_be_visible()
    with og.open(str(places["changing"])) as graph:
        found = graph.get("Person", "p001")
        assert (found["born"], found["role"]) == (1985, "designer")
        assert graph.get("Team", "storage")["budget"] == 410000.0
        assert "review/roles" not in graph.branches.list()
        newest = graph.commits.list(limit=1)[0]
        assert (newest.message, newest.kind, newest.actor_id) == ("Roles, reviewed", "merge", "ada")
    page.get_by_role("link", name="Open the commit").click()
    expect(page.locator(".commit-head h2")).to_have_text("Roles, reviewed")


def test_branches_are_made_and_deleted(visit: Visit, places: dict[str, Path]) -> None:
    page = visit("#/g/changing/merge")
    expect(page.get_by_role("button", name="New branch…")).to_be_visible()
    page.keyboard.press("n")
    page.get_by_label("Name").fill("trial/of one")
    page.get_by_role("button", name="Make the branch").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    page.get_by_label("Name").fill("trial/one")
    page.get_by_role("button", name="Make the branch").click()
    expect(page.get_by_role("heading", name="Nothing to merge")).to_be_visible()
    with og.open(str(places["changing"])) as graph:
        assert "trial/one" in graph.branches.list()
    page.get_by_role("button", name="Delete trial/one").click()
    page.get_by_role("button", name="Delete the branch").click()
    expect(page.get_by_role("heading", name="Choose the branch to merge")).to_be_visible()
    with og.open(str(places["changing"])) as graph:
        assert "trial/one" not in graph.branches.list()


def test_a_schema_is_planned_and_applied(visit: Visit, places: dict[str, Path]) -> None:
    page = visit("#/g/changing/schema")
    expect(page.get_by_role("heading", name="Nothing to change")).to_be_visible()
    with og.open(str(places["changing"])) as graph:
        source = graph.schema.source
    type_text(page, source.replace("label: String @key", "label: Strng @key"))
    expect(page.get_by_role("heading", name="Not a schema yet")).to_be_visible()
    expect(page.locator(".cm-lintRange-error")).to_have_text("Strng")
    apply = page.get_by_role("button", name="Apply to main")
    expect(apply).to_be_disabled()
    type_text(page, source.replace("label: String @key", "label: String @key\n  weight: F64?"))
    expect(page.locator(".plan-steps li")).to_contain_text(["add property 'Topic.weight'"])
    page.get_by_label("Message").fill("Topics have a weight")
    apply.click()
    expect(page.get_by_text("The schema of main is changed.")).to_be_visible()
    with og.open(str(places["changing"])) as graph:
        assert "weight: F64?" in graph.schema.source
        assert graph.commits.list(limit=1)[0].message == "Topics have a weight"


def test_changes_appear_as_they_happen(visit: Visit, places: dict[str, Path]) -> None:
    page = visit("#/g/changing/live")
    expect(page.get_by_role("heading", name="Nothing has happened on main yet")).to_be_visible()
    expect(page.get_by_text("Listening: main")).to_be_visible()
    with og.open(str(places["changing"])) as graph:
        update = 'query q() { update Person set { born: 1971 } where handle = "p005" }'
        graph.with_actor("bo").mutate(update, message="Hana is older")
    block = page.get_by_role("region", name="Commit")
    expect(block).to_contain_text("Hana is older")
    expect(block.locator(".value.after")).to_have_text("1971")
    page.get_by_label("Type").select_option("Team")
    expect(page.get_by_role("heading", name="No change fits")).to_be_visible()


def test_what_may_not_be_done_is_not_offered(visit: Visit) -> None:
    page = visit("#/g/sample/history", actor="rita")
    page.get_by_role("button", name="Bo moves to design").click()
    expect(page.get_by_role("heading", name="The changes are not shown")).to_be_visible()
    expect(page.get_by_role("button", name="Revert…")).to_have_count(0)
    expect(page.get_by_role("tab", name="Compare")).to_have_count(0)
    page = visit("#/g/sample/merge?source=review/roles", actor="rita")
    expect(page.get_by_role("heading", name="A merge is not shown")).to_be_visible()
    for name in ("Merge", "New branch…", "Delete review/roles"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
    page = visit("#/g/sample/schema", actor="rita")
    expect(page.get_by_role("heading", name="The schema text is not shown")).to_be_visible()
    page = visit("#/g/sample/live", actor="rita")
    expect(page.get_by_role("heading", name="The feed is not shown")).to_be_visible()


def test_messages_and_actors_are_text(visit: Visit) -> None:
    page = visit("#/g/hostile/history")
    page.get_by_role("button", name=SCRIPTS[0]).click()
    expect(page.locator(".commit-head h2")).to_have_text(SCRIPTS[0])
    expect(page.get_by_role("list", name="Changes")).to_contain_text(SCRIPTS[2])
    page = visit(f"#/g/hostile/merge?source={quote(HOSTILE_BRANCH)}&target={quote(SCRIPTS[1])}")
    expect(page.locator("main")).to_contain_text(HOSTILE_BRANCH)
    expect(page.get_by_role("heading", name="There is no such branch")).to_be_visible()
    assert page.title() == "OmniGraph studio"
    markup = "main script, main img:not(.cm-widgetBuffer), main svg[onload]"
    assert page.evaluate(f"document.querySelectorAll('{markup}').length") == 0
