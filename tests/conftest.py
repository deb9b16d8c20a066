"""What every test may use: golden files and their update flag, a desk for commands, and two small graphs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

import omnigraph as og
from omnigraph.storage.base.store import Store
from omnigraph.storage.base.syncing import SYNC
from omnigraph.testing.graphs import huts as huts_data
from omnigraph.testing.graphs.tiny import LONG_LEASES, create_tiny, inserting, write
from tests.cli_runner import RECORDS, SCHEMA, Desk, build_template, lines
from tests.scheduling import scheduler
from tests.scratch import scratch_in_memory
from tests.thoroughness import EXPLORE, examples

# Compiled modules are kept when pytest is started without `make` as well: collecting takes 15 s of processor time, not 38.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

_SCRATCH = scratch_in_memory()

# Tests kill processes and pull no plugs; those of power cuts (`tests/crash/test_power_cut.py`) ask for it themselves.
os.environ.setdefault(SYNC, "off")

# A shared machine stalls now and then; how long one example takes proves nothing. What guards main draws the same examples
# every time, so that a change is judged by what it changed; `make explore` draws new ones.
settings.register_profile("omnigraph", deadline=None, max_examples=examples(100), derandomize=not EXPLORE)
settings.load_profile("omnigraph")

EVERY_TEST = pytest.StashKey[list[str]]()
GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens", action="store_true", help="rewrite golden files with what the code produces now"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note every test there is, before marks leave some of them out."""
    if config.args == config.getini("testpaths"):
        config.stash[EVERY_TEST] = [item.nodeid for item in items]


def pytest_sessionfinish(exitstatus: int) -> None:
    """Keep the files of a run in which something failed, until the next one."""
    if _SCRATCH is not None:
        _SCRATCH.kept = exitstatus in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERNAL_ERROR)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    return scheduler(config, log)


@pytest.fixture(scope="session")
def every_test(pytestconfig: pytest.Config) -> list[str] | None:
    """The ids of all tests, where this run has collected them; None in a run of some files."""
    return pytestconfig.stash.get(EVERY_TEST, None)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden("schema/S004.txt", text)` compares text with the file under tests/golden, or rewrites it."""

    def check(name: str, actual: str) -> None:
        path = GOLDEN / name
        actual = actual if actual.endswith("\n") else actual + "\n"
        if request.config.getoption("--update-goldens"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8", newline="")
        assert path.exists(), f"{path} is missing; run pytest with --update-goldens and review the new file"
        assert actual == path.read_bytes().decode("utf-8"), f"{path} differs; review, then run with --update-goldens"

    return check


@pytest.fixture(scope="session")
def cli_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph that every desk copies."""
    return build_template(tmp_path_factory.mktemp("cli") / "template")


@pytest.fixture
def desk(tmp_path: Path, cli_template: Path, request: pytest.FixtureRequest) -> Desk:
    """A directory to run commands in, with a schema and records to load."""
    found = Desk(tmp_path, cli_template, request)
    found.write("F.pg", SCHEMA)
    found.write("F.jsonl", lines(RECORDS))
    return found


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Storage of hand-made tables, after one commit."""
    made = create_tiny(tmp_path / "graph", LONG_LEASES)
    write(made, inserting(["seed"]))
    return made


@pytest.fixture(scope="session")
def huts(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    """The graph that most examples of queries are about; no test writes to it."""
    graph = og.init(tmp_path_factory.mktemp("huts") / "graph.omni", schema=huts_data.SCHEMA)
    graph.load(huts_data.RECORDS.strip().splitlines())
    return graph
