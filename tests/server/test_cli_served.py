"""The command line against a real server: every data command by --server, profiles, aliases and tokens."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from served_people import SCHEMA, STORED, copies

from server_process import ServerProcess, serving
from tests.cli_runner import Desk

pytestmark = pytest.mark.script

NAMES = "query names() { match { $p: Person } return { $p.name as name } order { name } }"
LISTS = """
version: 1
groups: {ops: [ada]}
rules: [{id: list, allow: {actors: {group: ops}, actions: [graph_list]}}]
"""
ALL = """
version: 1
groups: {ops: [ada]}
rules:
  - id: everything
    allow: {actors: {group: ops}, actions: [read, export, change, branch_create, branch_delete, branch_merge, invoke_query]}
"""


@pytest.fixture
def desk(tmp_path: Path, template: Path, request: pytest.FixtureRequest) -> Desk:
    return Desk(tmp_path, template, request)


@pytest.fixture
def at(open_server: ServerProcess, fresh_names: Iterator[str]) -> list[str]:
    """How a command addresses a graph of its own."""
    return ["--server", open_server.url, "--graph", next(fresh_names)]


@pytest.fixture(scope="module")
def guarded(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Two graphs that only ada may use, and a server that tells her which there are."""
    places = copies(template, tmp_path_factory.mktemp("guarded-cli"), ["default", "second"])
    graphs = {name: {"uri": uri, "queries": STORED, "policy": ALL} for name, uri in places.items()}
    with serving({"graphs": graphs, "server_policy": LISTS, "tokens": {"ada": "secret-ada"}}) as server:
        yield server


def test_a_branch_name_is_used_again_at_once_over_http(desk: Desk, at: list[str]) -> None:
    for _ in range(2):
        assert desk.run("branch", "create", "work", *at).code == 0
        assert desk.run("branch", "delete", "work", *at, "--yes").code == 0
    assert desk.run("branch", "create", "work", *at).code == 0
    assert desk.run("query", *at, "-e", NAMES, "--branch", "work", "--json").json["target"]["branch"] == "work"


def test_rows_and_their_commit_come_from_the_server(desk: Desk, at: list[str]) -> None:
    found = desk.run("query", *at, "-e", NAMES, "--json").json
    assert [row["name"] for row in found["rows"]] == ["Alice", "Bob", "Carol", "Dan"]
    assert found["target"] == {"branch": "main", "snapshot": None}
    head = desk.run("commit", "list", *at, "--json").json["commits"][0]["graph_commit_id"]
    assert found["graph_commit_id"] == head
    assert desk.run("commit", "show", *at, head, "--json").json["graph_commit_id"] == head
    assert desk.run("commit", "show", *at, "HEAD", "--json").json["graph_commit_id"] == head
    assert desk.run("commit", "show", *at, head[:25].lower(), "--json").json["graph_commit_id"] == head
    assert json.loads(desk.run("get", *at, "Person", "Alice").stdout)["age"] == 30


def test_a_write_on_a_branch_is_merged_through_the_server(desk: Desk, at: list[str]) -> None:
    created = desk.run("branch", "create", *at, "review/x")
    assert (created.code, created.stdout) == (0, "created branch review/x from main\n")
    assert "(served)" in created.stderr
    desk.write("more.jsonl", '{"type":"Person","data":{"name":"Eve"}}\n')
    done = desk.run("load", *at, "--data", "more.jsonl", "--mode", "append", "--branch", "review/x", "--json")
    assert done.code == 0, done.stderr
    loaded = done.json
    assert (loaded["total_entities"], loaded["runner"]) == (1, "server")
    insert = 'query q() { insert Person { name: "Fay" } }'
    assert desk.run("mutate", *at, "-e", insert, "--branch", "review/x", "--json").json["affected_nodes"] == 1
    assert desk.run("branch", "list", *at).stdout == "main\nreview/x\n"
    merged = desk.run("branch", "merge", *at, "review/x", "--delete-branch", "--json").json
    assert (merged["outcome"], merged["branch_deleted"]) == ("fast_forward", True)
    assert "Fay" in desk.run("export", *at, "--type", "Person").stdout
    counted = desk.run("export", *at, "--type", "Person", "--out", "p.jsonl", "--progress", "json").stderr.splitlines()
    people = len((desk.place / "p.jsonl").read_text().splitlines())
    assert json.loads(counted[-2]) == {"progress": "export", "done": people, "total": people, "unit": "entities"}
    polled = desk.run("changes", "poll", *at, "--start", "beginning", "--json").json
    assert polled["caught_up"] is True
    changed = desk.run("commit", "changes", *at, polled["blocks"][-1]["cause"]["graph_commit_id"], "--json").json
    assert {change["id"] for change in changed["changes"]} == {"Eve", "Fay"}


def test_a_baseline_and_its_cursor(desk: Desk, at: list[str]) -> None:
    done = desk.run("changes", "baseline", *at, "--out", "all.jsonl", "--json").json
    lines = (desk.place / "all.jsonl").read_text().splitlines()
    assert all("baseline" not in json.loads(line) for line in lines)
    assert desk.run("changes", "poll", *at, "--cursor", done["resume_cursor"], "--json").json["caught_up"]


def test_schema_and_snapshot(desk: Desk, at: list[str]) -> None:
    assert "node Person" in desk.run("schema", "show", *at).stdout
    seen = desk.run("snapshot", *at, "--json").json
    assert {each["type_name"]: each["entity_count"] for each in seen["datasets"]}["Person"] == 4
    assert "graph_branch: main" in desk.run("snapshot", *at).stdout
    wider = desk.write("wider.pg", desk.run("schema", "show", *at).stdout + "\nnode City { name: String @key }\n")
    done = desk.run("schema", "apply", *at, "--schema", wider, "--json")
    assert done.code == 0, done.stderr
    assert done.json["applied"] is True


def test_a_condition_that_no_longer_holds_is_exit_code_4(desk: Desk, at: list[str]) -> None:
    head = desk.run("commit", "list", *at, "--json").json["commits"][0]["graph_commit_id"]
    insert = ["mutate", *at, "-e", "query q($n: String) { insert Person { name: $n } }", "--if-commit", head]
    assert desk.run(*insert, "-p", "n=Gil").code == 0
    late = desk.run(*insert, "-p", "n=Hal")
    assert late.code == 4
    assert head in late.stderr


def test_what_is_looked_at_is_the_same_here_and_on_a_server(desk: Desk, at: list[str]) -> None:
    desk.run("branch", "create", *at, "draft")
    age = 'query q() { update Person set { age: 26 } where name = "Bob" }'
    assert desk.run("mutate", *at, "--branch", "draft", "-e", age, "-m", "birthday").code == 0
    assert desk.run("tag", "create", *at, "start", "--json").json["name"] == "start"
    assert [each["name"] for each in desk.run("tag", "list", *at, "--json").json["tags"]] == ["start"]
    described = desk.run("describe", *at, "--json").json
    assert {"branch": "draft", "ahead": 1, "behind": 0}.items() <= described["divergence"][1].items()
    assert "Person" in desk.run("describe", *at, "--branch", "draft").stdout
    changed = desk.run("diff", *at, "main", "draft")
    assert "~ node Person Bob" in changed.stdout or "age: 25 -> 26" in changed.stdout, changed.stdout
    assert desk.run("diff", *at, "start", "draft", "--json").json["stats"]["updates"] == 1
    assert "26" in desk.run("blame", *at, "Person", "Bob", "age", "--branch", "draft").stdout
    assert "    age: 25 -> 26\n" in desk.run("history", *at, "Person", "Bob", "--branch", "draft").stdout
    assert "birthday" in desk.run("log", *at, "--all").stdout
    assert desk.run("log", *at, "--branch", "draft", "--json").json["commits"][0]["message"] == "birthday"
    assert "scan $p" in desk.run("query", *at, "-e", NAMES, "--explain").stdout
    assert "rows" in desk.run("query", *at, "-e", NAMES, "--analyze").stdout
    assert desk.run("indexes", *at, "--json").json["indexes"]
    desk.write("wider.pg", SCHEMA.replace("age: I32?", "age: I64?"))
    planned = desk.run("schema", "plan", *at, "--schema", "wider.pg", "--json").json
    assert (planned["supported"], planned["step_count"]) == (True, 1)
    head = desk.run("log", *at, "--branch", "draft", "--json").json["commits"][0]["graph_commit_id"]
    assert "applied" in desk.run("commit", "cherry-pick", *at, head, "--branch", "main").stdout
    assert "reverted" in desk.run("commit", "revert", *at, "HEAD").stdout
    assert desk.run("tag", "delete", *at, "start", "--yes").code == 0


def test_what_a_server_lacks_is_said(desk: Desk, at: list[str]) -> None:
    refused = desk.run("lint", *at, "--query", "q.gq")
    assert refused.code == 1
    assert "`--server` does not apply" in refused.stderr
    desk.run("branch", "create", *at, "same")
    assert desk.run("branch", "merge", *at, "same", "--preview", "--json").json["outcome"] == "already_up_to_date"
    asked = desk.run("mutate", *at, "--as", "eve", "-e", 'query q() { delete Person where name = "Dan" }')
    assert "`--as` is not allowed on a served write" in asked.stderr


def test_destroying_on_a_server_needs_consent(desk: Desk, at: list[str]) -> None:
    desk.run("branch", "create", *at, "old")
    assert "without --yes" in desk.run("branch", "delete", *at, "old").stderr
    assert desk.run("branch", "delete", *at, "old", "--yes").code == 0


def test_stored_queries_and_aliases(desk: Desk, guarded: ServerProcess) -> None:
    desk.config(
        f"servers: {{prod: {{url: '{guarded.url}'}}}}\n"
        "profiles: {work: {server: prod, default_graph: second}}\n"
        "aliases: {who: {server: prod, graph: second, query: everybody, format: jsonl}}\n"
    )
    desk.env["OMNIGRAPH_TOKEN_PROD"] = "secret-ada"
    assert desk.run("mutate", "add", "--profile", "work", "-p", "name=Abe", "-p", "age=3", "--json").json[
        "affected_nodes"
    ]
    rows = desk.run("query", "everybody", "--profile", "work", "--json").json["rows"]
    assert rows[0] == {"p.name": "Abe"}
    assert desk.run("alias", "who").stdout.splitlines()[0] == '{"p.name":"Abe"}'
    wrong = desk.run("query", "add", "--profile", "work", "-p", "name=B", "-p", "age=3")
    assert (wrong.code, wrong.stdout) == (1, "")
    assert "'add' is a mutation" in wrong.stderr
    assert "`omnigraph mutate add`" in wrong.stderr
    # A name that looks like a number is text, because the stored query says so.
    assert desk.run("mutate", "add", "--profile", "work", "-p", "name=7", "-p", "age=3").code == 0
    assert desk.run("query", "everybody", "--profile", "work", "--json").json["rows"][0] == {"p.name": "7"}


def test_graphs_are_listed_for_those_who_may(desk: Desk, guarded: ServerProcess) -> None:
    desk.env["OMNIGRAPH_BEARER_TOKEN"] = "secret-ada"
    found = desk.run("graphs", "list", "--server", guarded.url, "--json").json["graphs"]
    assert [each["graph_id"] for each in found] == ["default", "second"]
    listed = desk.run("graphs", "list", "--server", guarded.url).stdout
    assert listed == "".join(f"{each['graph_id']}\t{each['uri']}\n" for each in found)
    desk.env["OMNIGRAPH_BEARER_TOKEN"] = "wrong"
    refused = desk.run("graphs", "list", "--server", guarded.url)
    help_text = "  = help: set OMNIGRAPH_BEARER_TOKEN, or store a token with `omnigraph login`"
    assert (refused.code, refused.stderr) == (1, f"error: invalid bearer token\n{help_text}\n")


@pytest.mark.parametrize("case", [pytest.param(None, id="cli-63")])
def test_a_server_with_several_graphs_wants_one_named(desk: Desk, guarded: ServerProcess, case: None) -> None:
    desk.env["OMNIGRAPH_BEARER_TOKEN"] = "secret-ada"
    refused = desk.run("query", "--server", guarded.url, "-e", NAMES)
    assert refused.code == 1
    for said in ("default", "second", "--graph <id>"):
        assert said in refused.stderr


@pytest.mark.parametrize("case", [pytest.param(None, id="cli-38")])
def test_an_older_server_refuses_a_condition_instead_of_ignoring_it(desk: Desk, case: None) -> None:
    asked: list[str] = []

    class Older(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.requestline)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Older)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        insert = 'query q() { insert Person { name: "x" } }'
        done = desk.run("mutate", "--server", url, "--graph", "legacy", "--if-commit", "I", "-e", insert)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert asked == ["POST /graphs/legacy/mutate/if-graph-commit HTTP/1.1"]
    assert done.code == 1
    assert "404" in done.stderr


# --- blobs ------------------------------------------------------------------------------------------


def test_a_blob_comes_in_parts_and_whole(desk: Desk, at: list[str]) -> None:
    cell = [*at, "node", "Document", "hello", "content"]
    assert desk.run("blob", "get", *cell).stdout == "Hello World"
    assert desk.run("blob", "get", *cell, "--offset", "6", "--length", "99").stdout == "World"
    desk.run("blob", "get", *at, "node", "Document", "empty", "content", "--out", "f")
    assert (desk.place / "f").read_bytes() == b""
    found = desk.run("blob", "stat", *cell, "--json").json
    assert (found["kind"], found["size"]) == ("managed", 11)
    assert found["target"]["resolved_snapshot"]


@pytest.mark.parametrize(
    ("words", "token"),
    [
        pytest.param(["node", "Document", "none", "content"], "Blob cell not found", id="cli-58-served"),
        pytest.param(["node", "Person", "Alice", "age"], "invalid Blob selector", id="no-blob"),
        pytest.param(["node", "Document", "hello", "content", "--offset", "11"], "not satisfiable", id="beyond"),
    ],
)
def test_a_blob_that_a_server_does_not_have(desk: Desk, at: list[str], words: list[str], token: str) -> None:
    desk.write("f", "before")
    refused = desk.run("blob", "get", *at, *words, "--out", "f")
    assert (refused.code, (desk.place / "f").read_text()) == (1, "before")
    assert token in refused.stderr


def test_a_blob_needs_a_token_that_may_read(desk: Desk, guarded: ServerProcess) -> None:
    cell = ["blob", "stat", "--server", guarded.url, "--graph", "second", "node", "Document", "hello", "content"]
    assert "Blob read requires authentication" in desk.run(*cell).stderr
    desk.env["OMNIGRAPH_BEARER_TOKEN"] = "secret-ada"
    assert desk.run(*cell).code == 0


def test_a_reference_is_shown_and_never_followed(desk: Desk) -> None:
    asked: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append(self.requestline)
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/secret")  # type: ignore[attr-defined]
            self.send_header("Omnigraph-Snapshot-Id", "s1")
            self.end_headers()

        do_GET = do_HEAD

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    cell = ["--server", f"http://127.0.0.1:{server.server_port}", "--graph", "k", "node", "Document", "a b", "content"]
    try:
        seen = desk.run("blob", "stat", *cell, "--json").json
        refused = desk.run("blob", "get", *cell)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert (seen["kind"], seen["uri"].endswith("/secret"), "size" in seen) == ("external", True, False)
    assert (refused.code, refused.stdout) == (1, "")
    assert seen["uri"] in refused.stderr
    assert "blob stat" in refused.stderr
    assert [line.split("?")[0] for line in asked] == ["HEAD /graphs/k/blob"] * 2
    assert "id=a+b" in asked[0] or "id=a%20b" in asked[0]


@pytest.mark.parametrize(
    "text",
    [
        "match { $p: Person { name: $who } } return { $p.name }",
        "match {\n\n\n\n\n\n\n\n  $p: Persn } return { $p.name }",  # with its head, a line whose number has one more digit
        "match { $p: Person }\nreturn { $p.nam }",
    ],
)
def test_a_server_corrects_a_body_alone_as_an_embedded_graph_does(
    desk: Desk, open_server: ServerProcess, template: Path, text: str
) -> None:
    at = ["--server", open_server.url, "--graph", "default"]
    served, embedded = desk.run("query", *at, "-e", text), desk.run("query", "--store", str(template), "-e", text)
    assert (served.code, embedded.code) == (1, 1)
    assert served.stderr.split() == embedded.stderr.split()
    assert text.splitlines()[-1] in served.stderr


def test_lines_are_checked_by_a_server_as_in_storage(desk: Desk, at: list[str]) -> None:
    desk.write(
        "mixed.jsonl",
        '{"type":"Person","data":{"name":"Ivy","age":5}}\n{"type":"Person","data":{"name":"Jon","age":"old"}}\n',
    )
    tried = desk.run("load", *at, "--data", "mixed.jsonl", "--mode", "merge", "--dry-run")
    assert "1 entity across 1 node type" in tried.stdout, tried.stderr
    assert "would refuse 1 bad record: W002 × 1" in tried.stdout
    assert "(line 2)" in tried.stdout.splitlines()[-1]
    refused = desk.run("load", *at, "--data", "mixed.jsonl", "--mode", "merge")
    assert "--on-error skip loads the other rows" in refused.stderr
    done = desk.run("load", *at, "--data", "mixed.jsonl", "--mode", "merge", "--on-error", "skip")
    assert "skipped 1 bad record: W002 × 1" in done.stdout, done.stderr
    assert desk.run("mutate", *at, "-e", 'delete Person where name = "Ivy"').code == 0


def test_a_refused_load_reads_alike_from_a_file_from_stdin_and_on_a_server(desk: Desk, at: list[str]) -> None:
    text = (
        '{"type":"Person","data":{"name":"Jon","age":"old"}}\n{"type":"Person","data":{"name":"Alice"}}\n'
        '{"edge":"Knows","from":"Alice","to":"Nobody","data":{"id":"k"}}\n'
    )
    desk.graph()
    desk.write("mixed.jsonl", text)
    asked = ("--mode", "append", "--json", "--data")
    found = [
        desk.run("load", "g", *asked, "mixed.jsonl").stderr.replace("mixed.jsonl: ", ""),
        desk.run("load", "g", *asked, "-", stdin=text).stderr,
        desk.run("load", *at, *asked, "-", stdin=text).stderr,
    ]
    told = [[line for line in each.splitlines() if "help:" not in line and " → " not in line] for each in found]
    documents = [json.loads(each.pop()) for each in told]
    assert told[0] == told[1] == told[2]
    assert told[0][1] == "  refused: 1 x W002, 1 x W013, 1 x W015"
    assert len(told[0]) == 4
    assert [each["refused"] for each in documents] == [{"W002": 1, "W013": 1, "W015": 1}] * 3
    assert [len(each["others"]) for each in documents] == [2] * 3


def test_the_shell_and_pictures_work_on_a_served_graph(desk: Desk, at: list[str]) -> None:
    script = """\
:schema
insert Person { name: "Eve" };
match { $p: Person } return { count($p) as n };
match { $p: Persn } return { $p };
:branch nope
:explain match { $p: Person } return { $p.name };
:describe
"""
    done = desk.run("shell", *at, "--format", "csv", stdin=script)
    assert done.code == 0
    assert "changed main: 1 node, 0 edges\nn\n5\nscan $p: Person" in done.stdout
    assert "of 5 types" in done.stdout.splitlines()[-1]
    assert "<string>:1:13" in done.stderr
    assert "branch 'nope' not found" in done.stderr
    assert "Person" in desk.run("schema", "draw", *at).stdout
    assert desk.run("draw", *at, "--from", "Person:Eve").stdout == "Person Eve\n"
    before = desk.run("draw", *at, "--from", "Person:Eve", "--snapshot", "HEAD~1")
    assert before.stderr == "error: Person 'Eve' not found\n"
    lost = desk.run("draw", *at, "--from", "Persn:Eve")
    assert lost.stderr == "error: the schema has no node type 'Persn'; did you mean 'Person'?\n"
    drawn = desk.run("draw", *at, "-e", 'match { $p: Person { name: "Eve" } } return { $p }')
    assert drawn.stdout == "Person Eve\n"
    gone = desk.run("mutate", *at, "-e", 'delete Person where name = "Eve"')
    assert gone.stdout.startswith("changed main: 1 node,"), gone.stderr
