"""A Chromium, the built studio, and servers with graphs to look at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sample_graph

from omnigraph.server.studio import files
from server_process import ServerProcess, serving

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
]
AXE = Path(__file__).resolve().parents[3] / "studio" / "node_modules" / "axe-core" / "axe.min.js"
REQUIRED = "OMNIGRAPH_REQUIRE_BROWSER"
PATIENCE_MS = int(os.environ.get("OMNIGRAPH_TEST_BROWSER_MS", "60000"))  # an end for a run that hangs
EVERYTHING = "read, export, change, schema_apply, branch_create, branch_delete, branch_merge, admin, invoke_query"
POLICY = f"""
version: 1
groups: {{ editors: [ada], readers: [rita] }}
rules:
  - {{ id: all, allow: {{ actors: {{ group: editors }}, actions: [{EVERYTHING}] }} }}
  - id: some
    allow:
      actors: {{ group: readers }}
      actions: [read]
      types: [Person, Team, MemberOf, Knows]
      mask: {{ Person: [email] }}
"""
OPEN = f"""
version: 1
groups: {{ editors: [ada] }}
rules: [ {{ id: all, allow: {{ actors: {{ group: editors }}, actions: [{EVERYTHING}] }} }} ]
"""
SERVER_POLICY = """
version: 1
groups: { all: [ada, rita] }
rules: [ { id: list, allow: { actors: { group: all }, actions: [graph_list] } } ]
"""
TOKENS = {"ada": "token-of-ada", "rita": "token-of-rita"}
HERE = Path(__file__).parent
# A first sign of trouble, in a run that leaves the slow tests out: a browser draws in software, on the cores of the tests.
QUICK = (
    "test_people_sign_in_with_a_token_that_stays_in_the_tab",
    "test_the_overview_shows_types_branches_and_commits",
    "test_answers_are_tables_graphs_charts_and_plans",
    "test_the_first_load_is_small",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and HERE in item.path.parents and item.originalname not in QUICK:
            item.add_marker(pytest.mark.slow)


def unavailable(reason: str) -> None:
    """Skip where there cannot be a browser; fail where one was asked for."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{reason}, and {REQUIRED} is set")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def executable() -> str | None:
    """The path of a Chromium, where the studio that it would show is built."""
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        unavailable("there is no Chromium on PATH: install it (apt-get install chromium)")
    if not files.is_built():
        unavailable("the studio was not built: run `make studio`")
    return path


@pytest.fixture(scope="session")
def axe() -> Path:
    """The script that looks for barriers in a page; it comes with what the studio is built with."""
    if not AXE.exists():
        unavailable("axe-core is not installed: run `make studio`")
    return AXE


@pytest.fixture(scope="module")
def chromium(executable: str) -> Iterator[Any]:
    """A browser that the tests of a module share; each gets a context of its own.

    It ends with the module: as long as it runs, so does an event loop, and no other test of this worker could start one.
    """
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, Path]:
    """Where the graphs of the server are; the large one is made where a test will look at it."""
    home = tmp_path_factory.mktemp("browser")
    sample_graph.create(home / "sample.omni").close()
    sample_graph.create_hostile(home / "hostile.omni").close()
    sample_graph.create(home / "changing.omni", people=10, papers=4).close()  # for tests that write
    sample_graph.create(home / "loading.omni", people=10, papers=4, reviewed=False).close()
    names = ["sample", "hostile", "changing", "loading"]
    if any("large" in getattr(item, "fixturenames", ()) for item in request.session.items if HERE in item.path.parents):
        sample_graph.create_large(home / "large.omni").close()
        names.append("large")
    return {name: home / f"{name}.omni" for name in names}


@pytest.fixture
def large() -> str:
    """The name of the large graph; asking for it has it made."""
    return "large"


@pytest.fixture(scope="session")
def studio(executable: str, places: dict[str, Path]) -> Iterator[ServerProcess]:
    """A server with tokens and policies."""
    queries = {"colleagues": sample_graph.COLLEAGUES}
    graphs = {
        name: {
            "uri": str(place),
            "policy": OPEN if name == "hostile" else POLICY,
            "queries": queries if name == "sample" else {},
        }
        for name, place in places.items()
    }
    uploads = {"OMNIGRAPH_UPLOADS": str(places["sample"].parent / "uploads")}
    with serving({"graphs": graphs, "server_policy": SERVER_POLICY, "tokens": TOKENS}, uploads) as server:
        yield server


@pytest.fixture
def visit(chromium: Any, studio: ServerProcess) -> Iterator[Callable[..., Any]]:
    """Opens a page of the studio as an actor; anything the browser complains about fails the test."""
    contexts, complaints, allowed = [], [], []

    def opened(path: str, actor: str | None = "ada", expected: str | None = None, **options: Any) -> Any:
        allowed.extend([] if expected is None else [expected])
        context = chromium.new_context(viewport={"width": 1280, "height": 800}, **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda told: complaints.append(told.text) if _is_complaint(told) else None)
        page.on("dialog", lambda dialog: (complaints.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        if actor is not None:
            page.add_init_script(f"sessionStorage.setItem('omnigraph.token', {TOKENS[actor]!r})")
        page.goto(f"{studio.url}/studio/{path}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [each for each in complaints if not any(known in each for known in allowed)] == []


def _is_complaint(told: Any) -> bool:
    """Refused requests are expected where a test provokes one; scripts, styles and policies never are."""
    return told.type == "error" and "Failed to load resource" not in told.text
