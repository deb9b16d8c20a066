"""Every numbered case of the specification is a test: a number without one fails here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

# The tables of the specification: what an id looks like, and how many cases there are.
TABLES = {
    "storage": (r"S{}", 50),
    "writes": (r"W{}", 62),
    "versioning": (r"V{}", 70),
    "operations": (r"ops-{}", 68),
    "command line": (r"cli-{}", 64),
    "schema language": (r"schema-{}", 64),
    "query language": (r"query-{}", 86),
    "http api": (r"http-{}", 71),
    "authentication and policy": (r"auth-{}", 49),
    "cluster": (r"cluster-{}", 53),
}


@pytest.fixture(scope="module")
def collected(every_test: list[str] | None) -> str:
    """The id of every test that carries case numbers, one per line."""
    if every_test is not None:
        return "\n".join(every_test)
    folders = ["conformance", "crash", "integration", "merge", "unit/embeddings", "server", "policy", "cluster"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-o",
        "addopts=--import-mode=importlib",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run([*command, *folders], cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("table", TABLES)
def test_every_numbered_case_has_a_test(collected: str, table: str) -> None:
    pattern, count = TABLES[table]
    names = [pattern.format(number) for number in range(1, count + 1)]
    assert [name for name in names if not _covers(collected, name)] == []
    assert not _covers(collected, pattern.format(count + 1)), "the specification has grown"


def _covers(collected: str, name: str) -> bool:
    # The number stands in the brackets of an id, on its own or with a letter or words behind it.
    return re.search(rf"\[(?:.*[-_])?{name}(?:[a-z]?[-_\]]|[a-z]\])", collected) is not None
