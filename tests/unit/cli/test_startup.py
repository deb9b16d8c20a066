"""What a command does not load: the reason why it starts at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli_runner import GET_PERSON, Desk


def imported(desk: Desk, *args: str) -> set[str]:
    """The packages of which a command loaded modules, as the interpreter tells; an attempt alone does not count."""
    command = [sys.executable, "-X", "importtime", "-m", "omnigraph.cli", *args]
    done = subprocess.run(command, cwd=desk.place, capture_output=True, text=True, timeout=300, check=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    names = [line.rpartition("|")[2].strip() for line in lines]
    return {name.partition(".")[0] for name in names if "." in name}


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["query", "--help"], ["completion", "bash"]])
def test_what_needs_no_graph_loads_nothing_heavy(desk: Desk, args: list[str]) -> None:
    heavy = {"pyarrow", "lance", "numpy", "pandas", "pyspark", "obstore", "httpx", "starlette", "yaml", "mcp"}
    assert imported(desk, *args) & heavy == set()


@pytest.mark.parametrize(("given", "frozen"), [("", True), ("['--version']", False)])
def test_only_the_process_of_a_command_ends_without_looking_for_garbage(given: str, frozen: bool) -> None:
    script = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"  # runs after what is registered later
        "from omnigraph.cli.main import main\n"
        "sys.argv = ['omnigraph', '--version']\n"
        f"main({given})\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.splitlines()[-1] == str(frozen)


def test_a_query_loads_neither_spark_nor_a_server(desk: Desk) -> None:
    desk.graph()
    found = imported(desk, "query", "--store", "g", "-e", GET_PERSON, "-p", "name=Alice")
    assert "lance" in found
    assert found & {"pandas", "pyspark", "py4j", "httpx", "starlette", "uvicorn", "cedarpy", "mcp"} == set()
