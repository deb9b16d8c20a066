"""Whatever is sent as a schema, the parser answers with a tree or with one CompileError that has a place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.compiler.schema.format import format_schema
from omnigraph.compiler.schema.parse import parse_schema
from omnigraph.testing.strategies.hostile import damaged, outcome, shapes, token_soup
from tests.thoroughness import examples

FILES = {
    path.stem: path.read_bytes().decode()
    for path in sorted((Path(__file__).parents[3] / "golden/schemas").glob("*.pg"))
}
PIECES = (
    *(
        "node",
        "edge",
        "interface",
        "implements",
        "enum(",
        "Vector(",
        "String",
        "I32",
        "Blob",
        "Hut",
        "a",
        "b",
        "true",
        "->",
    ),
    *(
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ":",
        "..",
        "?",
        "@",
        ",",
        "=",
        "-",
        "1",
        "0.5",
        '"s"',
        '"',
        "\\",
        "#",
        "\0",
        "é",
        "$a",
    ),
    *(
        "@key",
        "@key(",
        "@card(0..1)",
        "@range(a, -1..)",
        '@check(a, "x")',
        "@embed(",
        "// c\n",
        "/* c */",
        "/*",
        "\ufeff",
    ),
)
quick = settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check(text: str | bytes) -> None:
    found = outcome(parse_schema, text)
    assert found == "parsed" or found.startswith("S"), f"{found}: {text!r}"
    if found == "parsed":
        schema = parse_schema(text)
        assert parse_schema(format_schema(schema)) == schema


@quick
@given(st.text() | st.binary())
def test_any_text(text: str | bytes) -> None:
    check(text)


@quick
@given(token_soup(PIECES))
def test_tokens_in_any_order(text: str) -> None:
    check(text)


@quick
@given(token_soup(PIECES))
def test_tokens_in_any_order_inside_a_node(text: str) -> None:
    check(f"node Hut {{ code: String {text} }}")


@quick
@given(damaged(list(FILES.values()), PIECES))
def test_a_damaged_file(text: str) -> None:
    check(text)


@pytest.mark.parametrize("name", ["devices_crlf", "infra", "calendar"])
def test_a_file_cut_off_anywhere(name: str) -> None:
    text = FILES[name]
    for end in range(len(text)):
        found = outcome(parse_schema, text[:end])
        assert found == "parsed" or found.startswith("S"), text[:end]


PARSED = {
    "spaces",
    "line comments",
    "many nodes",
    "many properties",
    "many annotations",
    "many interfaces",
    "a long enum",
    "a long key",
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    # A process of its own: what does not end in minutes, where seconds are usual, is not linear.
    run = subprocess.run(
        [sys.executable, "-m", "omnigraph.testing.strategies.hostile", "schema"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return dict(json.loads(line) for line in run.stdout.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, _ in shapes("schema")])
def test_a_huge_text(name: str, outcomes: dict[str, str]) -> None:
    found = outcomes[name]
    assert found == "parsed" if name in PARSED else found.startswith("S")
