"""The pages of the studio in a real Chromium, against a real server and real graphs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from sample_graph import HOSTILE_BRANCH, SCRIPTS

from server_process import ServerProcess

Visit = Callable[..., Any]
PAPERS = "match { $p: Person  $p $w:wrote $a }\nreturn { $p, $w, $a }\nlimit 60"
ROLES = "match { $p: Person  $p wrote $a }\nreturn { $p.role, count($a) as papers }"


def query(text: str, graph: str = "sample", **more: str) -> str:
    extra = "".join(f"&{name}={quote(value)}" for name, value in more.items())
    return f"#/g/{graph}/query?q={quote(text)}&run=1{extra}"


def type_query(page: Any, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def test_people_sign_in_with_a_token_that_stays_in_the_tab(visit: Visit, studio: ServerProcess) -> None:
    page = visit("", actor=None)
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("does not know this token")
    page.get_by_label("Token").fill("token-of-ada")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Choose a graph")).to_be_visible()
    page.get_by_role("link", name="sample").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    assert "token-of-ada" not in page.url
    assert page.evaluate("JSON.stringify(localStorage) + document.cookie") == "{}"
    page.get_by_title("Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    assert "token-of-ada" not in studio.log.read_text()


def test_the_overview_shows_types_branches_and_commits(visit: Visit) -> None:
    page = visit("#/g/sample/overview")
    expect(page.get_by_text("223 nodes, 902 edges")).to_be_visible()
    expect(page.locator(".types")).to_contain_text("Person")
    expect(page.get_by_role("img", name="Schema: 4 node types, 5 edge types")).to_be_visible()
    row = page.get_by_role("row", name="review/roles")
    expect(row.locator(".num")).to_have_text(["3", "2"])
    expect(page.get_by_role("link", name="Budget of the new year")).to_be_visible()
    expect(page.locator(".indexes")).to_contain_text("Person.name")


def test_a_typing_error_is_marked_and_mended(visit: Visit) -> None:
    page = visit(query("match { $p: Preson } return { $p.name }"))
    expect(page.locator(".problem")).to_contain_text("Preson")
    expect(page.locator(".cm-lintRange-error")).to_have_text("Preson")
    type_query(page, "match { $p: Person } return { $p.name } limit 7")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".answer-head [role=status]")).to_contain_text("7 rows")
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)


def test_completion_comes_from_the_schema(visit: Visit) -> None:
    page = visit("#/g/sample/query")
    page.locator(".cm-content").click()
    type_query(page, "match { $p: Person } return { $p.")
    page.keyboard.press("Control+Space")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("handle")


def test_answers_are_tables_graphs_charts_and_plans(visit: Visit) -> None:
    page = visit(query(PAPERS))
    expect(page.get_by_role("columnheader", name="p.handle")).to_be_visible()
    page.get_by_role("button", name="a.citations").click()
    expect(page.get_by_role("columnheader", name="a.citations")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("tab", name="Graph").click()
    expect(page.locator(".graph-canvas[data-edges='60']")).to_be_visible()
    page.get_by_role("tab", name="Plan").click()
    expect(page.locator(".plan table")).to_contain_text("scan")
    type_query(page, ROLES)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".answer-head [role=status]")).to_contain_text("4 rows")
    page.get_by_role("tab", name="Chart").click()
    expect(page.get_by_role("img", name="papers by p.role, 4 values")).to_be_visible()


def test_parameters_and_stored_queries_have_forms(visit: Visit) -> None:
    text = "query born($year: I32) { match { $p: Person  $p.born > $year } return { $p.name } }"
    page = visit(query(text, p=json.dumps({"year": "2001"})))
    expect(page.get_by_label("$year")).to_have_value("2001")
    page.get_by_label("$year").fill("2002")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".answer-head [role=status]")).to_contain_text("0 rows")
    page.get_by_role("button", name="colleagues").click()
    page.get_by_label("$handle").fill("p001")
    page.locator(".invoke").get_by_role("button", name="Run").click()
    expect(page.get_by_role("columnheader", name="team")).to_be_visible()


def test_a_query_reads_at_a_tag_and_its_link_reopens_it(visit: Visit) -> None:
    page = visit(query("match { $a: Paper } return { count($a) as n }", at="at:first-year"))
    expect(page.get_by_role("cell")).to_have_text("0")
    again = visit(page.url.partition("/studio/")[2].replace("query?", "query?run=1&"))
    expect(again.get_by_role("cell")).to_have_text("0")


@pytest.mark.parametrize(
    ("form", "start"), [("CSV", b"name"), ("JSON", b"[{"), ("Parquet", b"PAR1"), ("Arrow", b"\xff\xff\xff\xff")]
)
def test_rows_are_downloaded(visit: Visit, form: str, start: bytes) -> None:
    page = visit(query("match { $p: Person } return { $p.name as name, $p.born as born } limit 20"))
    expect(page.get_by_text("20 rows")).to_be_visible()
    page.get_by_label("Download").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=form, exact=True).click()
    assert Path(download.value.path()).read_bytes().startswith(start)


def test_a_node_is_found_and_walked_from(visit: Visit) -> None:
    page = visit("#/g/sample/explore")
    page.get_by_label("Key or words").fill("bo faro")
    page.keyboard.press("Enter")
    page.get_by_role("list", name="Found nodes").get_by_role("button").first.click()
    expect(page.locator(".values")).to_contain_text("designer")
    page.get_by_role("button", name="knows → Person").click()
    expect(page.locator(".graph-canvas[data-nodes='5']")).to_be_visible()
    page.get_by_role("button", name="knows → Person").click()
    expect(page.locator(".graph-canvas[data-nodes='1']")).to_be_visible()
    page.get_by_role("button", name="Open all").click()
    expect(page.locator(".graph-canvas[data-nodes='10']")).to_be_visible()
    page.get_by_role("tab", name="History").click()
    happened = page.get_by_role("list", name="History of the node").get_by_role("listitem")
    expect(happened.first).to_contain_text("Bo moves to design")
    expect(happened.first).to_contain_text("born: 1966 → 1986")
    expect(happened.last).to_contain_text("Created")


def test_the_slider_shows_what_was_there(visit: Visit) -> None:
    page = visit(f"#/g/sample/explore?nodes={quote(json.dumps([['Person', 'p001']]))}")
    page.get_by_role("button", name="Open all").click()
    expect(page.locator(".graph-canvas[data-nodes='10']")).to_be_visible()
    slider = page.get_by_role("slider", name="Time")
    slider.fill("2")  # the people are there, nobody knows anybody
    expect(page.locator(".graph-canvas[data-nodes='2']")).to_be_visible()
    expect(page.locator(".values")).to_contain_text("1966")
    slider.fill("1")
    expect(page.get_by_text("p001 is not there at this commit")).to_be_visible()
    page.get_by_role("button", name="Back to now").click()
    expect(page.locator(".values")).to_contain_text("1986")


def test_a_reader_sees_what_the_policy_shows(visit: Visit) -> None:
    page = visit("#/g/sample/overview", actor="rita")
    expect(page.locator(".types")).to_contain_text("Person")
    expect(page.locator("main")).not_to_contain_text("Paper")
    page = visit(query("match { $a: Paper } return { $a }"), actor="rita")
    expect(page.locator(".problem")).to_contain_text("Paper")
    page = visit(query("match { $p: Person } return { $p.email } limit 3"), actor="rita")
    expect(page.locator(".grid-cell .null")).to_have_count(3)
    page = visit(query('insert Topic { label: "x" }'), actor="rita")
    expect(page.get_by_text("you may not change this branch")).to_be_visible()
    expect(page.get_by_role("button", name="Run").first).to_be_disabled()


def test_names_and_values_never_become_markup(visit: Visit) -> None:
    page = visit(query("match { $n: Note } return { $n }", graph="hostile"))
    for script in SCRIPTS[:3]:
        expect(page.get_by_role("cell", name=script, exact=True).first).to_be_attached()
    page.get_by_role("tab", name="Graph").click()
    expect(page.locator(".graph-canvas[data-nodes='8']")).to_be_visible()
    for path in (
        f"#/g/hostile/overview?at={quote('branch:' + HOSTILE_BRANCH)}",
        f"#/g/{quote(SCRIPTS[1], safe='')}/overview",
    ):
        page = visit(path)
        expect(page.locator("main")).to_be_visible()
    page = visit("#/g/hostile/explore")
    page.get_by_label("Key or words").fill("script")
    page.keyboard.press("Enter")
    page.get_by_role("list", name="Found nodes").get_by_role("button").first.click()
    page.get_by_role("button", name="Open all").click()
    expect(page.locator(".details")).to_contain_text("<script>")
    page.get_by_role("tab", name="History").click()
    expect(page.locator(".happened")).to_contain_text(SCRIPTS[0])
    assert page.title() == "OmniGraph studio"
    assert page.evaluate("document.querySelectorAll('main script, main img[src=x], main svg[onload]').length") == 0


def test_the_policy_of_the_page_refuses_inline_script(visit: Visit) -> None:
    page = visit("#/g/sample/overview", expected="Executing inline event handler violates")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    blocked = page.evaluate(
        """() => new Promise((tell) => {
          document.addEventListener('securitypolicyviolation', (event) => tell(event.effectiveDirective), { once: true });
          const script = document.createElement('div');
          script.innerHTML = '<img src="data:," onerror="document.title = 1">';
          document.body.append(script);
        })"""
    )
    assert blocked.startswith("script-src")
    assert page.title() == "OmniGraph studio"


def test_everything_is_reached_by_the_keyboard(visit: Visit) -> None:
    page = visit("#/g/sample/overview")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page.get_by_role("heading", name="Query", exact=True)).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Page, branch").fill("expl")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Explore", exact=True)).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Find a node")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_label("Key or words")).to_be_focused()


PAGES = {
    "overview": ("#/g/sample/overview", ".schema-drawing svg"),
    "query": (query(PAPERS), ".grid-row"),
    "explore": (f"#/g/sample/explore?nodes={quote(json.dumps([['Person', 'p001']]))}", ".group"),
    "history": ("#/g/sample/history?view=compare&to=branch:review/roles", ".changes li"),
    "merge": ("#/g/sample/merge?source=review/roles", ".conflict"),
    "data": ("#/g/sample/data", ".drop"),
    "schema": ("#/g/sample/schema", ".cm-line"),
    "live": ("#/g/sample/live", ".panel .state"),
}


FOCUSABLE = "main :is(a[href], button, input, select, textarea, [contenteditable=true], [tabindex='0'])"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_violation(visit: Visit, axe: Path, name: str, theme: str) -> None:
    path, ready = PAGES[name]
    page = visit(path, color_scheme=theme, bypass_csp=True)
    page.locator(ready).first.wait_for()
    page.locator(FOCUSABLE).first.wait_for()  # a page that is still empty has nothing to go to by keyboard
    page.add_script_tag(path=str(axe))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    told = [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found["violations"]]
    assert told == []


def test_the_first_load_is_small() -> None:
    from tools.build_studio import BUILT, FIRST_LOAD_BYTES, first_load

    if not (BUILT / "index.html").exists():
        pytest.skip("the studio was not built: run `make studio`")
    sizes = first_load(BUILT)
    assert any(re.match(r"index-.*\.js", name) for name in sizes)
    assert any(re.match(r"overview-.*\.js", name) for name in sizes)
    assert sum(sizes.values()) <= FIRST_LOAD_BYTES
