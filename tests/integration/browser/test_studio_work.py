"""Work in the studio by the screen alone: files dropped and loaded, a walk that ends in a merge, large answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import expect
from sample_graph import SCRIPTS

import omnigraph as og

Visit = Callable[..., Any]
GRANTS = "code,title,amount\nG1,Sensors,1200\nG2,Archives,900\n"
HELD = "grant,person\nG1,p001\nG2,p002\n"


def drop(page: Any, files: dict[str, str]) -> None:
    """Files from outside the browser, dropped onto the page."""
    given = page.evaluate_handle(
        """(files) => {
          const carried = new DataTransfer();
          for (const [name, text] of Object.entries(files)) carried.items.add(new File([text], name));
          return carried;
        }""",
        files,
    )
    page.locator(".drop").dispatch_event("drop", {"dataTransfer": given})


def test_files_are_dropped_tried_and_loaded_onto_a_new_branch(visit: Visit, places: dict[str, Path]) -> None:
    page = visit("#/g/loading/data")
    drop(page, {"grants.CSV": GRANTS, "held.csv": HELD + f'"{SCRIPTS[0]}",p003\n'})
    report = page.get_by_role("region", name="What the files suggest")
    expect(report).to_contain_text("grants.csv (2 rows)")
    page.get_by_role("tab", name="Drawing").click()
    expect(report.locator("svg")).to_contain_text("Grant")
    page.get_by_role("tab", name="Mapping").click()
    mapping = "\n".join(
        (
            "sources: {grants: {path: grants.csv}, held: {path: held.csv}}",
            "nodes: {Grant: {from: grants}}",
            "edges: {Held: {from: held, src: grant, dst: person}}",
        )
    )
    type_over(page, mapping)
    page.get_by_role("tab", name="New types").click()
    type_over(
        page, "node Grant {\n  code: String @key\n  title: String\n  amount: I64\n}\n\nedge Held: Grant -> Person\n"
    )
    page.get_by_role("button", name="Dry run").click()
    outcome = page.get_by_role("table", name="Refused rows")
    expect(outcome).to_contain_text(SCRIPTS[0])
    expect(outcome).to_contain_text("line 4")
    with og.open(str(places["loading"])) as graph:
        assert graph.branches.list() == ["main"]
        assert "Grant" not in graph.schema.source
    page.get_by_label("load the others if rows are refused").check()
    page.get_by_label("Name of the new branch").fill("grants")
    page.get_by_label("Message").fill("Grants of the year")
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.get_by_text("Loaded: 4 rows onto grants. 1 row was left out.")).to_be_visible()
    with og.open(str(places["loading"]), branch="grants") as graph:
        assert graph.get("Grant", "G1")["amount"] == 1200
        assert graph.commits.list(limit=1)[0].message == "Grants of the year"
        assert graph.branches.list() == ["main", "grants"]
    page.get_by_role("link", name="Review and merge it").click()
    expect(page.get_by_role("heading", name="Merge review")).to_be_visible()
    again = visit("#/g/loading/data")
    again.get_by_role("button", name="Remove held.csv").click()
    expect(again.get_by_text("held.csv", exact=True)).to_have_count(0)
    drop(again, {"notes.txt": "x"})
    expect(again.get_by_role("alert")).to_contain_text("not a file that is read here")


def test_readers_are_not_offered_to_load(visit: Visit) -> None:
    page = visit("#/g/sample/data", actor="rita")
    expect(page.get_by_role("heading", name="Loading is not for you here")).to_be_visible()
    expect(page.get_by_role("link", name="Data")).to_have_count(0)


def test_a_walk_from_a_node_to_a_merge(visit: Visit, places: dict[str, Path]) -> None:
    """Find a node, walk two hops, see it a commit ago, make a branch, change it there, rename, review and merge."""
    page = visit("#/g/loading/overview")
    page.get_by_role("link", name="Explore").click()
    page.get_by_label("Key or words").fill("dara")
    page.keyboard.press("Enter")
    page.get_by_role("list", name="Found nodes").get_by_role("button").first.click()
    page.get_by_role("button", name="knows → Person").click()
    expect(page.locator(".graph-canvas:not([data-nodes='1'])")).to_be_visible()
    near = page.locator(".graph-canvas").get_attribute("data-nodes")
    page.get_by_role("button", name="Close the details").click()
    page.locator(".node-list button").last.click()
    page.get_by_role("button", name="memberOf → Team").click()
    expect(page.locator(f".graph-canvas:not([data-nodes='{near}'])")).to_be_visible()
    page.get_by_role("button", name="Close the details").click()
    page.locator(".node-list button").first.click()
    expect(page.locator(".values")).to_contain_text("manager")
    expect(page.get_by_role("slider", name="Time")).to_be_visible()
    page.get_by_role("button", name="A commit back").click()
    expect(page.locator(".values")).not_to_contain_text("manager")
    expect(page.get_by_role("button", name="Edit")).to_have_count(0)
    page.get_by_role("button", name="Back to now").click()
    page.get_by_label("Branch, tag, commit or instant").click()
    page.get_by_role("button", name="New branch…").click()
    page.get_by_label("Name", exact=True).fill("people/dara")
    page.get_by_role("button", name="Make the branch").click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("born").fill("1977")
    page.get_by_role("button", name="Save on people/dara").click()
    expect(page.locator(".values")).to_contain_text("1977")
    page.get_by_role("link", name="Review and merge it").click()
    page.get_by_role("button", name="Rename…").click()
    page.get_by_label("New name").fill("people/dara-born")
    page.get_by_role("button", name="Rename the branch").click()
    expect(page.get_by_role("region", name="Source and target")).to_contain_text("people/dara-born")
    page.get_by_label("Message").fill("When Dara was born")
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(page.get_by_role("heading", name="Merged")).to_be_visible()
    with og.open(str(places["loading"])) as graph:
        assert graph.get("Person", "p003")["born"] == 1977
        assert "people/dara-born" in graph.branches.list()


def test_a_hundred_thousand_rows_and_five_thousand_nodes(
    visit: Visit, places: dict[str, Path], large: str, record_property: Callable[[str, object], None]
) -> None:
    """Times are told, never judged: from the request to a page that answers to the next key or wheel."""
    text = "match { $p: Item } return { $p.name, $p.size } order { $p.name }"
    page = visit(f"#/g/{large}/overview")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.evaluate("performance.mark('start')")
    page.goto(f"{page.url.partition('#')[0]}#/g/{large}/query?q={quote(text)}&run=1")
    expect(page.locator(".answer-head [role=status]")).to_contain_text("100,000 rows")
    expect(page.locator(".grid-row").first).to_be_visible()
    rows = _since(page)
    assert page.locator(".grid-row").count() < 200
    scroll = _frames(page, ".grid")
    page.locator(".grid").evaluate("(grid) => grid.scrollTo(0, grid.scrollHeight)")
    expect(page.get_by_role("cell", name="item-099999")).to_be_visible()
    page.get_by_role("button", name="p.size").click()
    expect(page.get_by_role("columnheader", name="p.size")).to_have_attribute("aria-sort", "ascending")
    nodes = "match { $a: Item  $a near $b } return { $a, $b }"
    page.evaluate("performance.mark('start')")
    page.goto(f"{page.url.partition('#')[0]}#/g/{large}/query?q={quote(nodes)}&run=1")
    page.get_by_role("tab", name="Graph").click()
    expect(page.locator(".graph-canvas:not([data-nodes='0'])")).to_be_visible()
    canvas = page.locator(".graph-canvas")
    assert canvas.get_attribute("data-nodes") == "5000"
    assert canvas.get_attribute("data-edges") == "4999"
    drawn = _since(page)
    expect(page.locator(".graph-canvas:not([data-laid-out='0'])")).to_be_visible()
    laid_out = _since(page)
    zoom = _frames(page, ".graph-canvas")
    told = {
        "100,000 rows: first rows on the screen (s)": rows,
        "100,000 rows: longest frame of a scroll (ms)": scroll,
        "5,000 nodes: drawn (s)": drawn,
        "5,000 nodes: laid out (s)": laid_out,
        "5,000 nodes: longest frame of a zoom (ms)": zoom,
    }
    for name, value in told.items():
        print(f"{name}: {value:.2f}")
        record_property(name, round(value, 2))


def type_over(page: Any, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def _since(page: Any) -> float:
    return float(page.evaluate("(performance.now() - performance.getEntriesByName('start').at(-1).startTime) / 1000"))


def _frames(page: Any, selector: str) -> float:
    """The longest time between two frames while the wheel turns over an element, in milliseconds."""
    page.locator(selector).first.hover()
    page.evaluate(
        """() => {
          window.longest = 0;
          let last = performance.now();
          const tick = (now) => { window.longest = Math.max(window.longest, now - last); last = now; window.ticking = requestAnimationFrame(tick); };
          window.ticking = requestAnimationFrame(tick);
        }"""
    )
    for _ in range(20):
        page.mouse.wheel(0, 400)
        page.wait_for_timeout(16)
    return float(page.evaluate("(cancelAnimationFrame(window.ticking), window.longest)"))
