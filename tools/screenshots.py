"""Takes the pictures of the studio for the documentation: `make screenshots` (needs `make studio` and a Chromium)."""

from __future__ import annotations

import itertools
import json
import shutil
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "integration" / "browser"), str(ROOT / "tests")]

import sample_graph  # noqa: E402
from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

from server_process import serving  # noqa: E402

PICTURES = ROOT / "docs" / "pictures" / "studio"
TABLET = ROOT / "studio" / "tablet"  # not in Git: to look at
ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
PAPERS = "match { $p: Person  $p $w:wrote $a  $a $t:about $topic }\nreturn { $p, $w, $a, $t, $topic }\nlimit 90"
ROLES = "match { $p: Person  $p $w:wrote $a }\nreturn { $p.role, count($a) as papers, sum($a.citations) as citations }"
EDITED = sample_graph.SCHEMA.replace("label: String @key", "label: String @key\n  weight: F64?").replace(
    "budget: F64", ""
)
# What is written while the page of live changes is open; each picture writes other values.
BORN = itertools.count(1971)
TOLD = {
    "A year mended": 'query q() { update Person set { born: BORN } where handle = "p005" }',
    "A topic that was missing": 'query q() { insert Topic { label: "lanes BORN" } }',
}
START = quote(json.dumps([["Person", "p001"]]))
# Files that are dropped: a register of rooms, and who uses them.
DROPPED = {
    "rooms.csv": "room,floor,seats,opened\n"
    + "".join(f"R{at:02d},{at % 4},{4 + at % 9},2019-0{at % 9 + 1}-12\n" for at in range(40)),
    "bookings.csv": "booking,room,day,hours\n"
    + "".join(f"B{at:03d},R{at * 7 % 40:02d},2026-11-{at % 28 + 1:02d},{at % 5 + 1}\n" for at in range(160)),
}
# Each picture: the address, what has to be there, and what is done before it is taken.
PAGES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "overview": ("overview", ".schema-drawing svg", ()),
    "query": (f"query?q={quote(ROLES)}&run=1", ".grid-row", ()),
    "query-graph": (f"query?q={quote(PAPERS)}&run=1", ".grid-row", ("tab=Graph",)),
    "query-chart": (f"query?q={quote(ROLES)}&run=1", ".grid-row", ("tab=Chart",)),
    "query-plan": (f"query?q={quote(ROLES)}&run=1", ".grid-row", ("tab=Plan",)),
    "explore": (f"explore?nodes={START}", ".group", ("button=Open all",)),
    "history": ("history", ".log li", ("button=Bo moves to design",)),
    "merge": ("merge?source=review/roles", ".conflict", ("button=1985", "button=researcher")),
    "data": ("data", ".drop", ("drop=files", "button=Dry run", "see=Refused rows")),
    "schema": ("schema", ".cm-line", (f"edit={EDITED}",)),
    "live": ("live", ".dot.pulse", ("tell=A year mended", "tell=A topic that was missing")),
}


def main() -> None:
    """Every page or those named, light and dark; `--tablet` takes them on a tablet too, into a folder of its own."""
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        raise SystemExit("there is no Chromium on PATH: apt-get install chromium")
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        sample_graph.create(Path(home) / "sample.omni").close()
        described = {"uri": f"{home}/sample.omni", "queries": {"colleagues": sample_graph.COLLEAGUES}}
        with serving({"graphs": {"research": described}}) as server:
            browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
            for theme in ("light", "dark"):
                _take_all(browser, server.url, theme, PICTURES, (1280, 800))
                if "--tablet" in sys.argv:
                    for size in ((820, 1180), (1024, 768)):
                        _take_all(browser, server.url, theme, TABLET / f"{size[0]}", size)
            browser.close()


def _take_all(browser: Browser, url: str, theme: str, folder: Path, size: tuple[int, int]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)  # type: ignore[arg-type]
    context.set_default_timeout(120_000)
    named = [each for each in sys.argv[1:] if not each.startswith("--")]
    for name, (path, ready, steps) in PAGES.items():
        if named and name not in named:
            continue
        page = context.new_page()
        page.goto(f"{url}/studio/#/g/research/{path}")
        page.locator(ready).first.wait_for()
        for step in steps:
            _do(page, step)
        page.wait_for_timeout(1_500)
        file = folder / f"{name}-{theme}.png"
        page.screenshot(path=file)
        print(f"{file.relative_to(ROOT)} {file.stat().st_size / 1000:.0f} kB")
        page.close()
    context.close()


def _do(page: Page, step: str) -> None:
    role, _, name = step.partition("=")
    if role == "edit":
        page.locator(".cm-content").click()
        page.keyboard.press("Control+A")
        page.keyboard.insert_text(name)
        page.locator(".plan-steps").wait_for()
        return
    if role == "drop":
        if page.locator(".data-list li").count() == 0:
            page.locator("input[type=file]").set_input_files(
                [{"name": name, "mimeType": "text/csv", "buffer": text.encode()} for name, text in DROPPED.items()]
            )
        page.get_by_role("tab", name="Drawing").click()
        return
    if role == "see":
        page.get_by_role("table", name="Rows by type").wait_for()
        return
    if role == "tell":
        page.get_by_text("Listening").wait_for()
        body = {"query": TOLD[name].replace("BORN", str(next(BORN))), "message": name}
        page.request.post(f"{page.url.partition('/studio')[0]}/graphs/research/mutate", data=body)
        page.get_by_text(name).wait_for()
        return
    page.get_by_role("tab" if role == "tab" else "button", name=name).first.click()
    if page.locator(".graph-canvas").count():
        page.locator(".graph-canvas:not([data-laid-out='0'])").wait_for()
        page.wait_for_timeout(3_000)


if __name__ == "__main__":
    main()
