"""`blob get` and `blob stat` on a graph in storage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import omnigraph as og
from tests.cli_runner import Desk

pytestmark = pytest.mark.script

SCHEMA = "node Doc { name: String @key  content: Blob?  pages: I32? }\nedge Cites: Doc -> Doc { scan: Blob? }"
RECORDS = [
    {"type": "Doc", "data": {"name": "hello", "content": "base64:SGVsbG8gV29ybGQ="}},
    {"type": "Doc", "data": {"name": "empty", "content": "base64:"}},
    {"type": "Doc", "data": {"name": "none"}},
    {"edge": "Cites", "from": "hello", "to": "none", "data": {"id": "e", "scan": "base64:QUI="}},
]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("blobs") / "template"
    with og.init(place, SCHEMA) as graph:
        graph.load(RECORDS)
    return place


@pytest.fixture
def desk(tmp_path: Path, template: Path, request: pytest.FixtureRequest) -> Desk:
    found = Desk(tmp_path, template, request)
    found.graph()
    return found


def cell(verb: str, entity_id: str = "hello", *options: str) -> list[str]:
    return ["blob", verb, "--store", "g", "node", "Doc", entity_id, "content", *options]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--length", "0"], id="cli-58-no-bytes"),
        pytest.param(["--offset", "18446744073709551615", "--length", "1"], id="cli-58-overflow"),
    ],
)
def test_an_impossible_range_is_refused_before_anything_is_resolved(desk: Desk, options: list[str]) -> None:
    desk.config("a: [broken")
    done = desk.run("blob", "get", "node", "Doc", "hello", "content", *options)
    assert (done.code, done.stdout) == (1, "")
    assert "--length" in done.stderr
    assert "config" not in done.stderr


@pytest.mark.parametrize("case", [pytest.param(58, id="cli-58")])
def test_a_missing_cell_leaves_the_file_as_it_was(desk: Desk, case: int) -> None:
    desk.write("f", "before")
    done = desk.run(*cell("get", "none", "--out", "f"))
    assert (done.code, done.stdout) == (1, "")
    assert "Blob cell not found" in done.stderr
    assert (desk.place / "f").read_text() == "before"


@pytest.mark.parametrize(
    ("options", "content"),
    [
        pytest.param([], "Hello World", id="whole"),
        pytest.param(["--offset", "6"], "World", id="from"),
        pytest.param(["--offset", "1", "--length", "4"], "ello", id="range"),
        pytest.param(["--offset", "6", "--length", "99"], "World", id="clamped"),
    ],
)
def test_bytes_go_to_stdout_or_into_a_file(desk: Desk, options: list[str], content: str) -> None:
    done = desk.run(*cell("get", "hello", *options))
    assert (done.code, done.stdout, done.stderr) == (0, content, "")
    assert desk.run(*cell("get", "hello", "--out", "f", *options)).stdout == ""
    assert (desk.place / "f").read_text() == content


def test_an_empty_value_is_an_empty_file(desk: Desk) -> None:
    assert desk.run(*cell("get", "empty", "--out", "f", "--offset", "3")).code == 0
    assert (desk.place / "f").read_bytes() == b""


def test_an_edge_has_blobs_too(desk: Desk) -> None:
    assert desk.run("blob", "get", "--store", "g", "edge", "Cites", "e", "scan").stdout == "AB"


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        pytest.param(["node", "Doc", "hello", "pages"], ["invalid Blob selector", "is not a Blob"], id="no-blob"),
        pytest.param(["node", "Cites", "e", "scan"], ["invalid Blob selector", "node type 'Cites'"], id="wrong-kind"),
        pytest.param(["node", "Doc", "nobody", "content"], ["Blob cell not found", "nobody"], id="no-entity"),
        pytest.param(["node", "Doc", "hello", "content", "--branch", "gone"], ["branch 'gone'"], id="no-branch"),
        pytest.param(
            ["node", "Doc", "hello", "content", "--offset", "11"], ["Blob range is not satisfiable"], id="beyond"
        ),
    ],
)
def test_what_cannot_be_read_says_why(desk: Desk, words: list[str], tokens: list[str]) -> None:
    done = desk.run("blob", "get", "--store", "g", *words)
    assert (done.code, done.stdout) == (1, "")
    assert all(token in done.stderr for token in tokens), done.stderr


def test_an_entity_is_a_node_or_an_edge(desk: Desk) -> None:
    assert desk.run("blob", "get", "--store", "g", "thing", "Doc", "hello", "content").code == 2


def test_facts_about_a_cell(desk: Desk) -> None:
    found = desk.run(*cell("stat", "hello", "--json")).json
    assert list(found) == ["selector", "kind", "size", "etag", "target"]
    assert found["selector"] == {"entity": "node", "type": "Doc", "id": "hello", "property": "content"}
    assert (found["kind"], found["size"]) == ("managed", 11)
    assert len(json.loads(found["etag"])) == 32
    assert list(found["target"]) == ["resolved_snapshot"]
    assert found["target"]["resolved_snapshot"].startswith("manifest:main:v")
    head = desk.run("commit", "list", "g", "--json").json["commits"][0]["graph_commit_id"]
    past = desk.run(*cell("stat", "hello", "--json", "--snapshot", head)).json
    assert past["target"] == {"snapshot": head, "resolved_snapshot": head}
    assert past["etag"] == found["etag"]
    text = desk.run(*cell("stat", "hello", "--branch", "main")).stdout.splitlines()
    assert [line.partition(":")[0] for line in text] == [
        *("entity", "type", "id", "property", "kind", "size", "etag", "branch", "resolved_snapshot"),
    ]
