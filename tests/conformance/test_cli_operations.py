"""The cases of the operations contract that are about commands, by number, and the commands beyond the reference."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import lance
import pytest

from tests.cli_runner import ADD_PERSON, RECORDS, SCHEMA, Desk, lines

pytestmark = pytest.mark.script

ALICE = '{"type":"Person","data":{"id":"Alice","age":30,"name":"Alice"}}'


# --- 28–30: export ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [pytest.param(28, id="ops-28")])
def test_export_order_and_spelling(desk: Desk, number: int) -> None:
    desk.graph()
    found = desk.run("export", "g").stdout.splitlines()
    kinds = [record.get("edge") or record["type"] for record in map(json.loads, found)]
    assert kinds == ["Knows"] * 3 + ["WorksAt"] * 2 + ["Company"] * 2 + ["Person"] * 4
    assert found[7] == ALICE


@pytest.mark.parametrize("number", [pytest.param(29, id="ops-29")])
def test_export_round_trips_byte_for_byte(desk: Desk, number: int) -> None:
    desk.graph()
    first = desk.run("export", "g").stdout
    desk.write("again.pg", desk.run("schema", "show", "g").stdout)
    assert desk.run("init", "--schema", "again.pg", "h").code == 0
    assert desk.run("load", "h", "--mode", "overwrite", "--data", "-", stdin=first).code == 0
    assert desk.run("export", "h").stdout == first


@pytest.mark.parametrize("number", [pytest.param(30, id="ops-30")])
def test_a_branch_is_exported_on_its_own(desk: Desk, number: int) -> None:
    desk.graph()
    more = [{"type": "Person", "data": {"name": "Eve"}}, {"edge": "Knows", "from": "Eve", "to": "Bob"}]
    desk.write("more.jsonl", lines(more))
    load = ("load", "g", "--mode", "append", "--data", "more.jsonl")
    assert desk.run(*load, "--branch", "feature", "--from", "main").code == 0
    desk.write("feature.jsonl", desk.run("export", "g", "--branch", "feature").stdout)
    assert desk.run("init", "--schema", "F.pg", "h").code == 0
    assert desk.run("load", "h", "--mode", "overwrite", "--data", "feature.jsonl").code == 0
    counts = {each["type_name"]: each["entity_count"] for each in desk.run("snapshot", "h", "--json").json["datasets"]}
    assert counts == {"Person": 5, "Company": 2, "Knows": 4, "WorksAt": 2}
    assert desk.run("branch", "list", "--uri", "h").stdout == "main\n"


# --- 35–54: load -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "text", "token"),
    [
        pytest.param("merge", "\n\n// note\n", "invalid strict JSON at line 3", id="ops-36"),
        pytest.param("merge", '{"type":"Person","data":{"name":"A","age":"old"}}\n', "expects", id="ops-43"),
        pytest.param("append", '{"type":"Person","data":{"name":"Alice"}}\n', "already has this id", id="ops-45"),
        pytest.param("overwrite", '{"type":"Person","data":{"name":"Zed"}}\n', "not found in Person", id="ops-48"),
        pytest.param(
            "append", '{"edge":"Knows","from":"Alice","to":"Missing"}\n', "dst 'Missing' not found", id="ops-49"
        ),
        pytest.param(
            "merge", '{"type":"Person","data":{"name":"A"}}\n' * 2, "@unique violation on Person.name", id="ops-51"
        ),
        pytest.param(
            "merge", '{\n"type":"Person",\n"data":{"name":"A"}}\n', "invalid strict JSON at line 1", id="ops-56"
        ),
    ],
)
def test_bad_records_are_refused_whole(desk: Desk, mode: str, text: str, token: str) -> None:
    desk.graph()
    before = desk.head()
    desk.write("bad.jsonl", text)
    done = desk.run("load", "g", "--mode", mode, "--data", "bad.jsonl")
    assert (done.code, done.stdout) == (1, "")
    assert token in done.stderr, done.stderr
    assert desk.head() == before


@pytest.mark.parametrize("number", [pytest.param(35, id="ops-35")])
def test_external_blobs_are_not_allowed(desk: Desk, number: int) -> None:
    desk.write("b.pg", "node Doc { slug: String @key\n content: Blob? }")
    assert desk.run("init", "--schema", "b.pg", "b").code == 0
    text = '{"type":"Doc","data":{"slug":"a","content":"s3://x/y"}}\n'
    done = desk.run("load", "b", "--mode", "append", "--data", "-", stdin=text)
    assert (done.code, "is not allowed" in done.stderr) == (1, True)
    assert desk.run("export", "b").stdout == ""


@pytest.mark.parametrize("number", [pytest.param(53, id="ops-53")])
def test_an_empty_file_is_an_empty_commit(desk: Desk, number: int) -> None:
    desk.graph()
    before = desk.head()
    done = desk.run("load", "g", "--mode", "merge", "--data", "-", "--json", stdin="\n")
    assert (done.code, done.json["total_entities"]) == (0, 0)
    assert done.json["commit"]["parent_commit_id"] == before


@pytest.mark.parametrize("number", [pytest.param(54, id="ops-54")])
def test_a_failed_load_leaves_the_branch_it_created(desk: Desk, number: int) -> None:
    desk.graph()
    before = desk.head()
    args = ("load", "g", "--mode", "append", "--branch", "r", "--from", "main", "--data", "-")
    assert desk.run(*args, stdin="nonsense\n").code == 1
    assert desk.run("branch", "list", "--uri", "g").stdout == "main\nr\n"
    assert desk.run("commit", "list", "g", "--branch", "r", "--json").json["commits"][0]["graph_commit_id"] == before


def test_a_dry_run_checks_and_writes_nothing(desk: Desk) -> None:
    desk.graph()
    before = desk.head()
    done = desk.run("load", "g", "--mode", "merge", "--data", "F.jsonl", "--dry-run", "--json")
    assert (done.json["total_entities"], done.json["commit"], done.json["dry_run"]) == (11, None, True)
    assert desk.head() == before


# --- 61–64: embed ----------------------------------------------------------------------------------------

SEED = """\
sources: {raw_seed: seed.jsonl}
artifacts: {embedded_seed: out/seed.embedded.jsonl}
embeddings:
  dimension: 4
  types: {Decision: {target: embedding, fields: [slug, intent]}}
"""
DECISIONS: list[dict[str, Any]] = [
    {"type": "Decision", "data": {"slug": "dec-alpha", "intent": "Alpha ship"}},
    {"type": "Decision", "data": {"slug": "dec-beta", "intent": "Beta ship", "embedding": [0.1, 0.2]}},
]
ALPHA = [-0.009810, -0.483411, -0.779795, -0.397666]


@pytest.fixture
def seeded(desk: Desk) -> Desk:
    desk.write("seed.yaml", SEED)
    desk.write("seed.jsonl", lines(DECISIONS))
    desk.env["OMNIGRAPH_EMBED_PROVIDER"] = "mock"
    return desk


def embedded(desk: Desk) -> list[dict[str, Any]]:
    text = (desk.place / "out" / "seed.embedded.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("number", [pytest.param(61, id="ops-61")])
def test_embed_fills_missing_vectors(seeded: Desk, number: int) -> None:
    done = seeded.run("embed", "--seed", "seed.yaml", "--json")
    assert done.code == 0, done.stderr
    assert done.json == {
        "input": "seed.jsonl",
        "output": "out/seed.embedded.jsonl",
        "records": 2,
        "selected_records": 2,
        "embedded_records": 1,
        "cleaned_records": 0,
        "mode": "fill_missing",
        "dimension": 4,
        "model": "",
    }
    first, second = embedded(seeded)
    assert first["data"]["embedding"] == pytest.approx(ALPHA, abs=1e-6)
    assert second == DECISIONS[1]
    words = seeded.run("embed", "--seed", "seed.yaml").stdout
    expected = (
        "embedded 1 records (selected 2, cleaned 0) from seed.jsonl -> out/seed.embedded.jsonl [fill_missing 4d]\n"
    )
    assert words == expected


@pytest.mark.parametrize("number", [pytest.param(62, id="ops-62")])
def test_embed_replaces_selected_vectors(seeded: Desk, number: int) -> None:
    done = seeded.run("embed", "--seed", "seed.yaml", "--json", "--select", "Decision:slug=dec-beta")
    assert (done.json["mode"], done.json["embedded_records"]) == ("reembed_selected", 1)
    first, second = embedded(seeded)
    assert "embedding" not in first["data"]
    assert len(second["data"]["embedding"]) == 4


@pytest.mark.parametrize("number", [pytest.param(63, id="ops-63")])
def test_clean_needs_no_key(seeded: Desk, number: int) -> None:
    seeded.env["OMNIGRAPH_EMBED_PROVIDER"] = ""
    done = seeded.run("embed", "--seed", "seed.yaml", "--json", "--clean", "--select", "Decision:slug=dec-beta")
    assert (done.json["mode"], done.json["cleaned_records"], done.json["model"]) == ("clean", 1, "")
    assert "embedding" not in embedded(seeded)[1]["data"]


@pytest.mark.parametrize("number", [pytest.param(64, id="ops-64")])
def test_edges_pass_through(seeded: Desk, number: int) -> None:
    edge = {"edge": "About", "from": "dec-alpha", "to": "dec-beta"}
    seeded.write("seed.jsonl", lines([*DECISIONS, edge]))
    done = seeded.run("embed", "--seed", "seed.yaml", "--json")
    assert (done.json["records"], done.json["selected_records"]) == (3, 2)
    assert embedded(seeded)[2] == edge


@pytest.mark.parametrize(
    ("args", "code", "token"),
    [
        pytest.param([], 1, "--input is required", id="ops-64-nothing"),
        pytest.param(["--seed", "a", "--input", "b"], 2, "cannot be used with", id="ops-64-seed-and-input"),
        pytest.param(["--seed", "a", "--clean", "--reembed-all"], 2, "cannot be used with", id="ops-64-two-modes"),
        pytest.param(["--seed", "s.yaml"], 1, "sources.raw_seed", id="ops-64-no-source"),
        pytest.param(["--seed", "t.yaml"], 1, "embeddings", id="ops-64-no-spec"),
        pytest.param(["--seed", "u.yaml"], 1, "seed input does not exist", id="ops-64-no-input"),
        pytest.param(["--seed", "v.yaml"], 1, "line 2 is not valid JSON", id="ops-64-bad-line"),
        pytest.param(["--seed", "w.yaml"], 1, "missing object field 'data'", id="ops-64-no-data"),
        pytest.param(["--seed", "seed.yaml", "--select", "slug"], 1, "--select", id="ops-64-no-value"),
        pytest.param(["--seed", "seed.yaml", "--select", "T:=x"], 1, "names no field", id="ops-64-no-field"),
    ],
)
def test_embed_refuses(seeded: Desk, args: list[str], code: int, token: str) -> None:
    spec = "{dimension: 4, types: {}}"
    seeded.write("s.yaml", f"embeddings: {spec}")
    seeded.write("t.yaml", "sources: {raw_seed: seed.jsonl}")
    seeded.write("u.yaml", f"sources: {{raw_seed: gone.jsonl}}\nembeddings: {spec}")
    seeded.write("v.yaml", f"sources: {{raw_seed: v.jsonl}}\nembeddings: {spec}")
    seeded.write("v.jsonl", "{}\nnonsense\n")
    seeded.write("w.yaml", f"sources: {{raw_seed: w.jsonl}}\nembeddings: {spec}")
    seeded.write("w.jsonl", '{"type":"Decision"}\n')
    done = seeded.run("embed", *args)
    assert (done.code, done.stdout) == (code, "")
    assert token in done.stderr, done.stderr
    assert not (seeded.place / "out").exists()


# --- 67–68: opening and creating -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stamp", "token"),
    [
        pytest.param("3", "load --mode overwrite", id="ops-67-older"),
        pytest.param("5", "upgrade omnigraph before opening this graph", id="ops-67-newer"),
        pytest.param("x", "'x'", id="ops-67-unreadable"),
        pytest.param(None, "no internal-schema stamp", id="ops-67-absent"),
    ],
)
def test_a_graph_of_another_format_is_refused(desk: Desk, stamp: str | None, token: str) -> None:
    desk.graph()
    metadata = {} if stamp is None else {"omnigraph:internal_schema_version": stamp}
    lance.dataset(str(desk.place / "g" / "__manifest")).update_schema_metadata(metadata, replace=True)
    for command in ("snapshot", "optimize"):
        done = desk.run(command, "g")
        assert (done.code, done.stdout) == (1, "")
        assert token in done.stderr, done.stderr


@pytest.mark.parametrize("number", [pytest.param(68, id="ops-68")])
def test_init_never_overwrites_a_graph(desk: Desk, number: int) -> None:
    desk.graph()
    root = desk.place / "g"
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert "already initialized" in desk.run("init", "--schema", "F.pg", "g").stderr
    assert "force init refuses" in desk.run("init", "--force", "--schema", "F.pg", "g").stderr
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    desk.write("orphan/_schema.pg", "left behind")
    assert desk.run("init", "--schema", "F.pg", "orphan").code == 1
    assert desk.run("init", "--force", "--schema", "F.pg", "orphan").code == 0


def test_graphs_of_a_cluster_are_left_to_the_cluster(desk: Desk) -> None:
    desk.write("c/__cluster/state.json", "{}")
    desk.write("c/graphs/.keep", "")
    for args in (
        ["init", "--schema", "F.pg", "c/graphs/k.omni"],
        ["schema", "apply", "c/graphs/k.omni", "--schema", "F.pg"],
    ):
        done = desk.run(*args)
        assert (done.code, done.stdout) == (1, "")
        assert "cluster apply" in done.stderr


# --- changes, diff, blame, tags --------------------------------------------------------------------------


def add(desk: Desk, name: str, *more: str) -> str:
    done = desk.run("mutate", "--store", "g", "-e", ADD_PERSON, "-p", f"name={name}", "--json", *more)
    found = done.json["commit"]["graph_commit_id"]
    assert isinstance(found, str)
    return found


def test_commit_changes_is_one_document_whatever_the_page_size(desk: Desk) -> None:
    desk.graph()
    head = desk.head()
    whole = desk.run("commit", "changes", head, "--uri", "g", "--json")
    assert whole.code == 0, whole.stderr
    assert whole.stdout == json.dumps(whole.json, indent=2, ensure_ascii=False) + "\n"
    assert len(whole.json["changes"]) == len(RECORDS)
    assert whole.json["cause"]["graph_commit_id"] == head
    assert whole.json["cause"]["authored_branch"] == "main"
    assert "actor_id" not in whole.json["cause"]
    assert desk.run("commit", "changes", head, "--uri", "g", "--json", "--limit", "2") == whole
    some = desk.run("commit", "changes", head, "--uri", "g", "--json", "--type", "Nobody").json
    assert some["changes"] == []
    assert (
        "no first parent" in desk.run("commit", "changes", whole.json["cause"]["parent_commit_id"], "--uri", "g").stderr
    )
    assert "change cursor rejected:" in desk.run("commit", "changes", head, "--uri", "g", "--page-token", "x").stderr
    assert desk.run("commit", "changes", head, "--uri", "g", "--limit", "8193").code == 1


def test_commit_changes_in_words(desk: Desk) -> None:
    desk.graph()
    update = 'query q() { update Person set { age: 31 } where name = "Alice" }'
    done = desk.run("mutate", "--store", "g", "-e", update, "--as", "ann", "--json").json["commit"]
    words = desk.run("commit", "changes", done["graph_commit_id"], "--uri", "g").stdout
    assert words.splitlines() == [
        f"commit: {done['graph_commit_id']}",
        "branch: main",
        f"parent: {done['parent_commit_id']}",
        "actor: ann",
        f"authored_at: {done['created_at']}",
        "update node Person Alice",
        "  age: 30 -> 31",
    ]


def test_the_feed_goes_on_from_its_cursor(desk: Desk) -> None:
    desk.graph()
    begun = desk.run("changes", "poll", "--uri", "g", "--json").json
    assert (begun["blocks"], begun["caught_up"]) == ([], True)
    commit = add(desk, "Eve")
    more = desk.run("changes", "poll", "--uri", "g", "--cursor", begun["cursor"], "--json")
    assert more.stdout == json.dumps(more.json, indent=2, ensure_ascii=False) + "\n"
    assert [block["cause"]["graph_commit_id"] for block in more.json["blocks"]] == [commit]
    every = desk.run("changes", "poll", "--uri", "g", "--start", "beginning", "--limit", "2", "--json").json
    assert len(every["blocks"][0]["changes"]) == len(RECORDS)
    words = desk.run("changes", "poll", "--uri", "g", "--cursor", more.json["cursor"]).stdout
    assert words == f"(no new commits)\n\ncursor: {more.json['cursor']}\ncaught_up: true\n"
    assert "now | beginning | after:<commit_id>" in desk.run("changes", "poll", "--uri", "g", "--start", "x").stderr


def test_a_baseline_holds_records_only(desk: Desk) -> None:
    desk.graph()
    done = desk.run("changes", "baseline", "--out", "b.jsonl", "--uri", "g", "--json")
    assert done.code == 0, done.stderr
    found = (desk.place / "b.jsonl").read_text().splitlines()
    assert sorted(found) == sorted(desk.run("export", "g").stdout.splitlines())
    assert done.json["snapshot_commit_id"] == desk.head()
    commit = add(desk, "Eve")
    polled = desk.run("changes", "poll", "--uri", "g", "--cursor", done.json["resume_cursor"], "--json").json
    assert [block["cause"]["graph_commit_id"] for block in polled["blocks"]] == [commit]
    before = (desk.place / "b.jsonl").read_bytes()
    assert desk.run("changes", "baseline", "--out", "b.jsonl", "--uri", "g", "--branch", "nope").code == 1
    assert (desk.place / "b.jsonl").read_bytes() == before
    assert {path.name for path in desk.place.glob("*b.jsonl*")} == {"b.jsonl", "b.jsonl.lock"}


def test_diff_blame_log_and_tags(desk: Desk) -> None:
    desk.graph()
    assert desk.run("branch", "create", "feature", "--uri", "g").code == 0
    commit = add(desk, "Eve", "--branch", "feature", "--as", "ann")
    assert (
        desk.run("diff", "main", "feature", "--uri", "g").stdout
        == "+ node Person Eve\n1 inserted, 0 updated, 0 deleted\n"
    )
    counted = desk.run("diff", "main", "feature", "--uri", "g", "--stat", "--json").json
    assert counted["stats"] == {"inserts": 1, "updates": 0, "deletes": 0, "types_affected": ["Person"]}
    blamed = desk.run("blame", "Person", "Eve", "name", "--uri", "g", "--branch", "feature", "--json").json
    assert blamed["properties"][0]["commit"]["graph_commit_id"] == commit
    assert "ann" in desk.run("blame", "Person", "Eve", "--uri", "g", "--branch", "feature").stdout
    happened = desk.run("history", "Person", "Eve", "--uri", "g", "--branch", "feature", "--json").json
    assert [(each["op"], each["commit"]["graph_commit_id"]) for each in happened["events"]] == [("insert", commit)]
    lines = desk.run("history", "Person", "Eve", "--uri", "g", "--branch", "feature").stdout.splitlines()
    assert (lines[0].startswith(f"+ {commit}  "), lines[0].endswith("  ann  mutate"), lines[1]) == (
        True,
        True,
        "    name: Eve",
    )
    refused = desk.run("history", "Person", "Eve", "--uri", "g")
    assert (refused.code, "Person 'Eve' does not exist on branch 'main', nor did it before" in refused.stderr) == (
        1,
        True,
    )
    assert (
        desk.run("tag", "create", "v1", "--uri", "g", "--branch", "feature").stdout == f"created tag v1 at {commit}\n"
    )
    assert desk.run("tag", "list", "--uri", "g").stdout == f"v1 {commit}\n"
    assert desk.run("branch", "merge", "feature", "--uri", "g").code == 0
    logged = desk.run("log", "g", "--oneline").stdout
    assert any("tag: v1" in text and commit[:10] in text for text in logged.splitlines())
    assert "by ann" in desk.run("log", "g").stdout, "one line has no place for the actor (issue 14, 8)"
    assert desk.run("tag", "delete", "v1", "--uri", "g").stdout == "deleted tag v1\n"


def test_a_commit_is_reverted_and_repeated(desk: Desk) -> None:
    desk.graph()
    commit = add(desk, "Eve")
    undone = desk.run("commit", "revert", commit, "--uri", "g", "--json").json
    assert undone["changes"] == {"Person": {"inserted": 0, "updated": 0, "deleted": 1}}
    assert desk.run("get", "Person", "Eve", "--store", "g").code == 1
    again = desk.run("commit", "cherry-pick", commit, "--uri", "g")
    assert again.stdout.startswith(f"applied {commit} on main as ")
    assert desk.run("get", "Person", "Eve", "--store", "g").json["name"] == "Eve"


# --- what went wrong, in words and as data -------------------------------------------------------------------


def test_with_json_the_last_line_of_stderr_is_the_failure_as_data(desk: Desk) -> None:
    desk.graph()
    desk.write("again.jsonl", lines([{"type": "Person", "data": {"name": "Alice"}}]))
    done = desk.run("load", "--mode", "append", "--data", "again.jsonl", "g", "--json")
    assert (done.code, done.stdout) == (1, "")
    words, data = done.stderr.splitlines()[-2:]
    found = json.loads(data)
    assert words == f"error: {found['error']}"
    assert (found["code"], found["id"]) == ("key_conflict", "Alice")
    plain = desk.run("load", "--mode", "append", "--data", "again.jsonl", "g")
    assert plain.stderr.splitlines()[-1] == words


@pytest.mark.parametrize(
    ("args", "label", "total"),
    [
        pytest.param(["export", "g"], "export", 11, id="export"),
        pytest.param(["optimize", "g", "--json", "--quiet"], "optimize", 4, id="optimize"),
    ],
)
def test_a_program_can_ask_for_progress(desk: Desk, args: list[str], label: str, total: int) -> None:
    desk.graph()
    done = desk.run(*args, "--progress", "json")
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert {event["progress"] for event in events} == {label}
    assert (events[-1]["done"], events[-1]["total"]) == (total, total)
    assert desk.run(*args, "--progress", "off").stderr == ""


@pytest.mark.parametrize(
    ("args", "token"),
    [
        pytest.param(["get", "--store", "g", "Persn", "a"], "did you mean 'Person'?", id="type-of-get"),
        pytest.param(["blame", "--uri", "g", "Knws", "a"], "did you mean 'Knows'?", id="type-of-blame"),
        pytest.param(["export", "g", "--type", "Compny"], "did you mean 'Company'?", id="type-of-export"),
        pytest.param(["load", "g", "--mode", "append", "--data", "bad.jsonl"], "did you mean 'Person'?", id="record"),
        pytest.param(["describe", "g", "--branch", "mian"], "did you mean 'main'?", id="branch"),
        pytest.param(["branch", "delete", "mian", "g"], "did you mean 'main'?", id="branch-to-delete"),
        pytest.param(["load", "g", "--mod", "append"], "did you mean `--mode`?", id="option"),
        pytest.param(["query", "--uri", "g"], "give the URI as an argument", id="uri-where-there-is-none"),
        pytest.param(["load", "g", "--uri", "g"], "give the URI as an argument", id="uri-as-an-argument"),
        pytest.param(["load", "g", "--mode", "append", "--data", "p.csv"], "describe it in a mapping", id="table"),
        pytest.param(["load", "g", "--mode", "append", "--data", "twice.jsonl"], "(lines 1 and 3)", id="both-lines"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(desk: Desk, args: list[str], token: str) -> None:
    desk.graph()
    desk.write("bad.jsonl", lines([{"type": "Persn", "data": {"name": "x"}}]))
    desk.write("p.csv", "name,age\nx,3\n")
    desk.write("twice.jsonl", lines([{"type": "Person", "data": {"name": name}} for name in ("x", "y", "x")]))
    done = desk.run(*args)
    assert done.code != 0
    assert token in done.stderr


def test_a_write_says_which_commit_it_became(desk: Desk) -> None:
    desk.graph()
    done = desk.run("mutate", "--store", "g", "-e", ADD_PERSON, "-p", "name=Eve")
    assert done.stdout == "changed main via add: 1 node, 0 edges\n"
    assert done.stderr == f"commit {desk.head()}\n"
    desk.write("more.jsonl", lines([{"type": "Person", "data": {"name": "Fay"}}]))
    done = desk.run("load", "--mode", "append", "--data", "more.jsonl", "g")
    assert done.stdout == "loaded g on branch main with append: 1 entity across 1 node type and 0 edge types\n"
    assert done.stderr.endswith(f"commit {desk.head()}\n")
    assert desk.run("mutate", "--store", "g", "-e", ADD_PERSON, "-p", "name=Gil", "--quiet").stderr == ""


def test_a_snapshot_is_a_commit_a_tag_or_an_instant(desk: Desk) -> None:
    desk.graph()
    head = desk.head()
    assert desk.run("tag", "create", "before", head, "--uri", "g").code == 0
    instant = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    time.sleep(0.01)
    desk.run("mutate", "--store", "g", "-e", ADD_PERSON, "-p", "name=Eve")
    count = ["query", "--store", "g", "--json", "-e", "query n() { match { $p: Person } return { count($p) as n } }"]
    for moment in (head, "before", instant):
        assert desk.run(*count, "--snapshot", moment).json["rows"] == [{"n": 4}]
    assert desk.run(*count).json["rows"] == [{"n": 5}]
    assert "not found" in desk.run(*count, "--snapshot", "nonsense").stderr


# --- plans, doctor, completion, streams --------------------------------------------------------------------


def test_a_plan_is_explained_or_measured(desk: Desk) -> None:
    desk.graph()
    plan = desk.query("--explain")
    assert plan.stdout.startswith("scan $p: Person")
    measured = desk.query("--analyze", "--json").json
    assert measured["operators"][0]["rows"] == 1


def test_doctor_finds_what_is_wrong(desk: Desk) -> None:
    desk.graph()
    fine = desk.run("doctor", "g", "--json")
    assert (fine.code, fine.json["ok"]) == (0, True)
    unbuilt = [each for each in fine.json["findings"] if each["check"] == "indexes"]
    assert unbuilt[0]["fix"] == "omnigraph optimize g"
    desk.config("servers: {s: {url: 'http://h'}}\nprofiles: {bad: {}}")
    desk.write("home/credentials", "[s]\ntoken = t\n")
    (desk.home / "credentials").chmod(0o644)
    bad = desk.run("doctor", "gone")
    assert bad.code == 1
    for text in ("ERROR profile: profile 'bad' binds no scope", "fix: chmod 600", "ERROR graph:"):
        assert text in bad.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_ask_the_program(desk: Desk, shell: str) -> None:
    assert "omnigraph __complete" in desk.run("completion", shell).stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["qu"], ["queries", "query"]),
        (["branch", ""], ["create", "delete", "list", "merge", "rename"]),
        (["load", "--mode", ""], ["overwrite", "append", "merge", "patch"]),
        (["--profile", ""], ["local"]),
        (["query", "--query", "q.gq", ""], ["one", "two"]),
        (["alias", "w"], ["who"]),
        (["query", "--exp"], ["--explain"]),
        (["init", "--sto"], ["--store"]),
        (["init", "--ser"], []),
        (["no", "such"], []),
    ],
)
def test_completion_offers_what_fits(desk: Desk, words: list[str], expected: list[str]) -> None:
    desk.config("profiles: {local: {store: g}}\naliases: {who: {server: s, query: q}}")
    desk.write(
        "q.gq", "".join(f"query {name}() {{ match {{ $p: P }} return {{ $p.x }} }}\n" for name in ("one", "two"))
    )
    assert desk.run("__complete", *words).stdout.split() == expected


def test_a_reader_that_goes_away_ends_the_command_quietly(desk: Desk) -> None:
    import os
    import subprocess

    from tests.cli_runner import COMMAND

    text = lines([{"type": "Company", "data": {"name": f"c{number:06}"}} for number in range(20_000)])
    desk.graph()
    assert desk.run("load", "g", "--mode", "append", "--data", "-", stdin=text).code == 0
    process = subprocess.Popen(
        [*COMMAND, "export", "g"],
        cwd=desk.place,
        env={**os.environ, **desk.env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=300), complaint) == (141, b"")


def test_an_unreadable_root_is_an_error_and_no_traceback(desk: Desk) -> None:
    desk.write("file", "x")
    done = desk.shell("snapshot", "file")
    assert (done.code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_help_and_version_import_neither_arrow_nor_lance(desk: Desk) -> None:
    import subprocess
    import sys

    heavy = ("pyarrow", "lance", "numpy", "pandas", "pyspark", "yaml")
    program = (
        "import sys; from omnigraph.cli.main import main; status = main(sys.argv[1:]); "
        f"sys.exit(status or ' '.join(name for name in {heavy!r} if name in sys.modules) or None)"
    )
    for args in (["--help"], ["version"], ["query", "--help"], ["--version"]):
        done = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_the_reference_page_is_up_to_date() -> None:
    from omnigraph.cli.table.reference import reference

    page = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
    assert page.read_text() == reference(), "run: python -m omnigraph.cli.table.reference > docs/cli.md"


def test_every_command_has_a_handler() -> None:
    from omnigraph.cli.commands import COMMANDS
    from omnigraph.cli.main import handler_of

    for command in COMMANDS:
        assert callable(handler_of(command.handler)), command.name


def test_the_schema_fixture_is_what_the_contract_says() -> None:
    assert SCHEMA.count("node ") == SCHEMA.count("edge ") == 2
