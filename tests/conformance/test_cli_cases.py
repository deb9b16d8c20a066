"""Every numbered case of the command line that needs no server, by number."""

from __future__ import annotations

import json
import stat
from importlib.metadata import version

import pytest

from tests.cli_runner import ADD_PERSON, GET_PERSON, SCHEMA, Desk

pytestmark = pytest.mark.script

VERSION = version("omnigraph")
ALICE = ("-e", GET_PERSON, "--params", '{"name":"Alice"}')


# --- 1–8: the program itself -------------------------------------------------------------------------


@pytest.mark.parametrize("flag", [pytest.param("-v", id="cli-1-short"), pytest.param("--version", id="cli-1-long")])
def test_version_flag_prints_one_line(desk: Desk, flag: str) -> None:
    done = desk.shell(flag)
    assert (done.code, done.stdout, done.stderr) == (0, f"omnigraph {VERSION}\n", "")


@pytest.mark.parametrize("number", [pytest.param(2, id="cli-2")])
def test_version_command_names_the_storage_format(desk: Desk, number: int) -> None:
    done = desk.shell("version")
    assert (done.code, done.stdout) == (0, f"omnigraph {VERSION}\ninternal-schema 4\n")


@pytest.mark.parametrize(
    "args",
    [
        pytest.param([], id="cli-3"),
        pytest.param(["branch"], id="cli-3-group"),
        pytest.param(["--quiet"], id="cli-3-option"),
    ],
)
def test_without_a_command_help_goes_to_stderr(desk: Desk, args: list[str]) -> None:
    done = desk.shell(*args)
    assert (done.code, done.stdout) == (2, "")
    assert "Usage: omnigraph" in done.stderr


@pytest.mark.parametrize("number", [pytest.param(4, id="cli-4")])
def test_help_lists_commands_by_what_they_need(desk: Desk, number: int) -> None:
    done = desk.shell("--help")
    assert (done.code, done.stderr) == (0, "")
    assert "COMMANDS BY CAPABILITY" in done.stdout
    words = [text.split()[0] for text in done.stdout.splitlines() if text.strip()]
    assert words.index("query") < words.index("optimize") < words.index("embed")
    assert "ingest" not in words


@pytest.mark.parametrize(
    ("args", "tokens"),
    [
        pytest.param(["export", "--table", "node:Person"], ["unexpected argument '--table'"], id="cli-5"),
        pytest.param(
            ["query", "--alias", "who"], ["unexpected argument", "--alias", "omnigraph alias NAME"], id="cli-6"
        ),
        pytest.param(["read"], ["unrecognized command 'read'", "omnigraph query"], id="cli-7-dropped-by-decision-3"),
        pytest.param(["query", "lint", "g", "more"], ["unexpected argument 'more'"], id="cli-8-dropped-by-decision-3"),
        pytest.param(["load", "--data", "d", "g"], ["--mode"], id="cli-12"),
        pytest.param(["query", "--query", "a", "-e", "b"], ["cannot be used with"], id="cli-28"),
        pytest.param(["query", "-e", "b", "--json", "--format", "csv"], ["cannot be used with"], id="cli-28-formats"),
        pytest.param(["query", "--format", "xml"], ["xml", "table"], id="cli-28-unknown-format"),
        pytest.param(["load", "--mode"], ["--mode"], id="cli-12-no-value"),
        pytest.param(["branch", "create"], ["<NAME>"], id="cli-12-argument"),
        pytest.param(["query", "-v"], ["unexpected argument '-v'"], id="cli-1-version-is-root-only"),
        pytest.param(["query", "--yes=no"], ["--yes", "takes no value"], id="cli-12-switch-with-value"),
        pytest.param(["branch", "creat"], ["unrecognized command", "branch create"], id="cli-12-near-miss"),
        pytest.param(
            ["load", "--uri", "g"], ["unexpected argument '--uri'", "as an argument"], id="cli-12-former-option"
        ),
    ],
)
def test_usage_errors_exit_2(desk: Desk, args: list[str], tokens: list[str]) -> None:
    done = desk.run(*args)
    assert (done.code, done.stdout) == (2, "")
    assert all(token in done.stderr for token in tokens), done.stderr


# --- 9–18: init and load -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [pytest.param(9, id="cli-9")])
def test_init_creates_a_graph_once(desk: Desk, number: int) -> None:
    done = desk.shell("init", "--schema", "F.pg", "new.omni")
    assert (done.code, done.stdout, done.stderr) == (0, "initialized new.omni\n", "")
    again = desk.run("init", "--schema", "F.pg", "new.omni")
    assert (again.code, again.stdout) == (1, "")
    assert "already initialized" in again.stderr


@pytest.mark.parametrize("number", [pytest.param(10, id="cli-10")])
def test_init_needs_its_schema_file(desk: Desk, number: int) -> None:
    done = desk.run("init", "--schema", "missing.pg", "x")
    assert (done.code, done.stdout) == (1, "")
    assert "No such file" in done.stderr
    assert not (desk.place / "x").exists()


@pytest.mark.parametrize("number", [pytest.param(11, id="cli-11")])
def test_init_refuses_addressing_flags_before_it_does_anything(desk: Desk, number: int) -> None:
    desk.config("a: [broken")
    done = desk.run("init", "--schema", "F.pg", "--store", "file:///x", "g2")
    assert done.code == 1
    for token in ("`init` is a direct (storage-native) command", "--store", "does not apply", "Pass a storage URI"):
        assert token in done.stderr
    assert not (desk.place / "g2").exists()


@pytest.mark.parametrize("number", [pytest.param(13, id="cli-13")])
def test_load_reports_what_it_wrote(desk: Desk, number: int) -> None:
    assert desk.run("init", "--schema", "F.pg", "n").code == 0
    done = desk.shell("load", "--mode", "overwrite", "--data", "F.jsonl", "--json", "n")
    assert done.code == 0, done.stderr
    found = done.json
    assert list(found)[:4] == ["uri", "branch", "mode", "branch_created"]
    assert (found["branch"], found["mode"], found["total_entities"]) == ("main", "overwrite", 11)
    assert found["nodes"] == [{"name": "Company", "entities_loaded": 2}, {"name": "Person", "entities_loaded": 4}]
    assert found["edges"] == [{"name": "Knows", "entities_loaded": 3}, {"name": "WorksAt", "entities_loaded": 2}]
    assert "base_branch" not in found
    assert found["commit"] == desk.run("commit", "list", "--json", "n").json["commits"][0]


@pytest.mark.parametrize("number", [pytest.param(14, id="cli-14")])
def test_load_in_words(desk: Desk, number: int) -> None:
    desk.graph()
    done = desk.run("load", "--mode", "overwrite", "--data", "F.jsonl", "g")
    expected = "loaded g on branch main with overwrite: 11 entities across 2 node types and 2 edge types\n"
    assert (done.code, done.stdout) == (0, expected)


@pytest.mark.parametrize("number", [pytest.param(15, id="cli-15")])
def test_load_says_on_stderr_where_it_writes(desk: Desk, number: int) -> None:
    desk.graph()
    loud = desk.run("load", "--mode", "merge", "--data", "F.jsonl", "g", "--json")
    assert "omnigraph load → g (direct, local)\n" in loud.stderr
    quiet = desk.run("--quiet", "load", "--mode", "merge", "--data", "F.jsonl", "g", "--json")
    assert (quiet.code, quiet.stderr) == (0, "")


@pytest.mark.parametrize("number", [pytest.param(16, id="cli-16")])
def test_load_needs_an_existing_branch(desk: Desk, number: int) -> None:
    desk.graph()
    done = desk.run("load", "--mode", "merge", "--branch", "nope", "--data", "F.jsonl", "g")
    assert (done.code, done.stdout) == (1, "")
    assert "nope" in done.stderr
    assert desk.run("branch", "list", "--uri", "g").stdout == "main\n"


@pytest.mark.parametrize("number", [pytest.param(17, id="cli-17")])
def test_load_can_fork_its_branch(desk: Desk, number: int) -> None:
    desk.graph()
    args = ("load", "--mode", "merge", "--branch", "nope", "--from", "main", "--data", "F.jsonl", "g")
    done = desk.run(*args, "--json")
    assert done.code == 0, done.stderr
    assert (done.json["branch_created"], done.json["base_branch"]) == (True, "main")
    again = desk.run(*args, "--json").json
    assert (again["branch_created"], again["base_branch"]) == (False, "main")


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(
            ["load", "--mode", "overwrite", "--store", "s3://b/g", "--data", "F.jsonl", "--json"], id="cli-18"
        ),
        pytest.param(["branch", "delete", "--store", "s3://b/g", "f", "--json"], id="cli-41"),
    ],
)
def test_destroying_something_remote_needs_consent(desk: Desk, args: list[str]) -> None:
    done = desk.run(*args)
    assert (done.code, done.stdout) == (1, "")
    assert "refusing destructive `" in done.stderr
    assert "--yes" in done.stderr
    assert "→" not in done.stderr


# --- 19–33: reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [pytest.param(19, id="cli-19")])
def test_query_prints_an_envelope(desk: Desk, number: int) -> None:
    desk.graph()
    done = desk.shell("query", "--store", "g", *ALICE, "--json")
    assert (done.code, done.stderr) == (0, "")
    assert done.json == {
        "query_name": "get_person",
        "target": {"branch": "main", "snapshot": None},
        "row_count": 1,
        "columns": ["p.name", "p.age"],
        "rows": [{"p.name": "Alice", "p.age": 30}],
        "graph_commit_id": desk.head(),
    }
    assert done.stdout == json.dumps(done.json, indent=2, ensure_ascii=False) + "\n"


METADATA = '{"kind":"metadata","query_name":"get_person","target":{"branch":"main","snapshot":null},"row_count":1}\n'


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param(["--format", "csv"], "p.name,p.age\nAlice,30\n", id="cli-20"),
        pytest.param(
            ["--format", "kv"], "1 row from branch main via get_person\nrow 1\np.name: Alice\np.age: 30\n", id="cli-22"
        ),
        pytest.param(
            [],
            "1 row from branch main via get_person\np.name | p.age\n-------+------\nAlice  |    30\n",
            id="cli-23",
        ),
    ],
)
def test_query_formats(desk: Desk, args: list[str], expected: str) -> None:
    desk.graph()
    done = desk.query(*args)
    assert (done.code, done.stdout, done.stderr) == (0, expected, "")


@pytest.mark.parametrize("number", [pytest.param(21, id="cli-21")])
def test_lines_are_rows_only_and_metadata_is_beside_them(desk: Desk, number: int) -> None:
    """Case 21 changed by issue 13, item 10: the metadata was the first line of the rows."""
    desk.graph()
    done = desk.query("--format", "jsonl")
    assert (done.code, done.stdout, done.stderr) == (0, '{"p.name":"Alice","p.age":30}\n', METADATA)
    assert desk.query("--format", "jsonl", "--quiet").stderr == ""


@pytest.mark.parametrize("number", [pytest.param(24, id="cli-24")])
def test_the_configured_format_yields_to_the_option(desk: Desk, number: int) -> None:
    desk.graph()
    desk.config("defaults: {output: csv}")
    assert desk.query().stdout.startswith("p.name,p.age\n")
    assert desk.query("--format", "jsonl").stdout.startswith("{")


@pytest.mark.parametrize(
    ("args", "tokens"),
    [
        pytest.param(["query", "--store", "g", "--query", "multi.gq"], ["multiple queries", "add"], id="cli-25"),
        pytest.param(
            ["query", "nope", "--store", "g", "--query", "multi.gq"], ["query 'nope' not found"], id="cli-25-name"
        ),
        pytest.param(["query", "find", "--store", "g"], ["needs a server"], id="cli-26"),
        pytest.param(["query", "--store", "g"], ["--query", "-e"], id="cli-26-nothing"),
        pytest.param(["query", "--store", "g", "-e", ""], ["must not be empty"], id="cli-27"),
        pytest.param(["query", "--store", "g", "-e", "F.pg"], ["parse error", "F.pg"], id="cli-27-text-is-no-path"),
        pytest.param(["query", "--store", "g", "--graph", "k", *ALICE], ["already a single graph"], id="cli-29"),
        pytest.param(
            ["query", "--store", "http://127.0.0.1:1", *ALICE], ["must be addressed with `--server <url>`"], id="cli-30"
        ),
        pytest.param(["query", "--cluster", "./c", *ALICE], ["`--cluster` does not apply.\n"], id="cli-31"),
        pytest.param(["query", "--as", "x", "--store", "g", *ALICE], ["--as", "does not apply"], id="cli-32"),
        pytest.param(["query", *ALICE], ["no graph addressed"], id="cli-33-no-graph"),
        pytest.param(["snapshot", "g", "--store", "g"], ["mutually exclusive"], id="cli-33-two-graphs"),
        pytest.param(["query", "--profile", "nope", *ALICE], ["unknown profile 'nope'"], id="cli-33-unknown-profile"),
        pytest.param(
            ["query", "--store", "g", "-e", GET_PERSON, "--params", "[1]"],
            ["params must be a JSON object"],
            id="cli-19-list",
        ),
        pytest.param(
            ["query", "--store", "g", "-e", GET_PERSON, "--params", '{"name": NaN}'],
            ["params must be a JSON object"],
            id="cli-19-nan",
        ),
        pytest.param(["query", "--store", "g", "-e", GET_PERSON], ["param 'name':"], id="cli-19-missing"),
        pytest.param(
            ["query", "--store", "g", "-e", GET_PERSON, "--params", '{"name": 3}'],
            ["param 'name':"],
            id="cli-19-wrong-kind",
        ),
        pytest.param(
            [
                "query",
                "--store",
                "g",
                "-e",
                "query q($n: I32) { match { $p: Person { age: $n } } return { $p.name } }",
                "-p",
                "n=3000000000",
            ],
            ["param 'n':", "exceeds I32"],
            id="cli-19-out-of-range",
        ),
        pytest.param(["commit", "show", "\udcff", "--uri", "g"], ["not UTF-8"], id="cli-19-bytes"),
        pytest.param(["query", "--store", "g", "--query", "gone.gq"], ["No such file", "gone.gq"], id="cli-25-no-file"),
        pytest.param(["query", "--store", "gone", *ALICE], ["gone"], id="cli-19-no-graph-there"),
    ],
)
def test_reads_that_fail(desk: Desk, args: list[str], tokens: list[str]) -> None:
    desk.graph()
    desk.write("multi.gq", GET_PERSON + ADD_PERSON)
    done = desk.run(*args)
    assert (done.code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert all(token in done.stderr for token in tokens), done.stderr


@pytest.mark.parametrize("number", [pytest.param(33, id="cli-33")])
def test_a_profile_names_the_store(desk: Desk, number: int) -> None:
    desk.graph()
    desk.config("profiles: {local: {store: g}}")
    plain = desk.query("--json")
    assert desk.run("query", "--profile", "local", *ALICE, "--json") == plain
    desk.env["OMNIGRAPH_PROFILE"] = "local"
    assert desk.run("query", *ALICE, "--json") == plain
    assert desk.run("--profile", "nope", "query", "--store", "g", *ALICE, "--json") == plain


@pytest.mark.parametrize("number", [pytest.param(33, id="cli-33-parameters")])
def test_parameters_come_from_options_and_files(desk: Desk, number: int) -> None:
    desk.graph()
    desk.write("p.json", '{"name": "Bob"}')
    expected = "p.name,p.age\nBob,25\n"
    base = ("query", "--store", "g", "-e", GET_PERSON, "--format", "csv")
    assert desk.run(*base, "--params-file", "p.json").stdout == expected
    assert desk.run(*base, "-p", "name=Bob").stdout == expected
    assert desk.run(*base, "--params", '{"name":"Alice"}', "-p", "name=Bob").stdout == expected


@pytest.mark.parametrize("number", [pytest.param(19, id="cli-19-snapshot")])
def test_a_read_of_the_past_names_its_snapshot(desk: Desk, number: int) -> None:
    desk.graph()
    before = desk.head()
    assert desk.run("mutate", "--store", "g", "-e", 'query q() { delete Person where name = "Alice" }').code == 0
    done = desk.query("--snapshot", before, "--json")
    assert done.json["target"] == {"branch": None, "snapshot": before}
    assert done.json["row_count"] == 1
    assert desk.query("--json").json["row_count"] == 0


# --- 34–37: mutations --------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [pytest.param(34, id="cli-34")])
def test_mutate_reports_its_commit(desk: Desk, number: int) -> None:
    desk.graph()
    args = ("mutate", "--store", "g", "-e", ADD_PERSON, "-p", "name=Eve", "--as", "ann")
    done = desk.shell(*args, "--json")
    assert (done.code, done.stderr) == (0, "")
    assert (done.json["affected_nodes"], done.json["actor_id"]) == (1, "ann")
    assert done.json["commit"]["graph_commit_id"] == desk.head()
    words = desk.run("mutate", "--store", "g", "-e", ADD_PERSON, "-p", "name=Fred")
    assert words.stdout == "changed main via add: 1 node, 0 edges\n"


@pytest.mark.parametrize("number", [pytest.param(35, id="cli-35")])
def test_a_mutation_that_matches_nothing_is_no_commit(desk: Desk, number: int) -> None:
    desk.graph()
    done = desk.run("mutate", "--store", "g", "-e", 'query q() { delete Person where name = "Zed" }', "--json")
    assert done.code == 0
    assert (done.json["affected_nodes"], done.json["commit"]) == (0, None)


@pytest.mark.parametrize("number", [pytest.param(36, id="cli-36")])
def test_a_lost_compare_and_swap_exits_4(desk: Desk, number: int) -> None:
    desk.graph()
    seen = desk.query("--json").json["graph_commit_id"]
    assert desk.run("mutate", "--store", "g", "-e", ADD_PERSON, "-p", "name=Eve").code == 0
    args = ("mutate", "--store", "g", "-e", ADD_PERSON, "-p", "name=Fred", "--if-commit", seen)
    done = desk.run(*args, "--json")
    assert done.code == 4
    assert done.json["precondition_failure"] == {"expected": seen, "actual": desk.head()}
    words = desk.run(*args)
    assert (words.code, words.stdout) == (4, "")
    assert "precondition failed on branch 'main'" in words.stderr
    assert desk.run("get", "Person", "Fred", "--store", "g").code == 1


@pytest.mark.parametrize("number", [pytest.param(37, id="cli-37")])
def test_a_served_write_takes_no_actor(desk: Desk, number: int) -> None:
    done = desk.run("mutate", "--server", "http://127.0.0.1:1", "--as", "a", "-e", ADD_PERSON)
    assert done.code == 1
    assert "`--as` is not allowed on a served write" in done.stderr


# --- 39–44: branches ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [pytest.param(39, id="cli-39")])
def test_branches_are_created_and_listed(desk: Desk, number: int) -> None:
    desk.graph()
    done = desk.run("branch", "create", "--uri", "g", "--from", "main", "feature", "--json")
    assert done.json == {"uri": "g", "from": "main", "name": "feature", "actor_id": None}
    assert desk.run("branch", "list", "--uri", "g").stdout == "feature\nmain\n"
    again = desk.run("branch", "create", "--uri", "g", "feature")
    assert "already exists" in again.stderr
    assert desk.run("branch", "delete", "feature", "--uri", "g").stdout == "deleted branch feature\n"


@pytest.mark.parametrize("number", [pytest.param(40, id="cli-40")])
def test_main_cannot_be_deleted(desk: Desk, number: int) -> None:
    desk.graph()
    done = desk.run("branch", "delete", "--uri", "g", "main")
    assert (done.code, done.stdout) == (1, "")
    assert "cannot delete branch 'main'" in done.stderr


@pytest.mark.parametrize("number", [pytest.param(41, id="cli-41-consented")])
def test_consent_lets_a_remote_delete_proceed(desk: Desk, number: int) -> None:
    done = desk.run("branch", "delete", "--store", "gs://b/g", "f", "--json", "--yes")
    assert done.code == 1
    assert "refusing" not in done.stderr
    assert "omnigraph branch delete → gs://b/g (direct, remote)" in done.stderr


@pytest.mark.parametrize("number", [pytest.param(42, id="cli-42")])
def test_a_merge_fast_forwards(desk: Desk, number: int) -> None:
    desk.graph()
    desk.write("eve.jsonl", '{"type":"Person","data":{"name":"Eve"}}\n')
    desk.run("load", "g", "--branch", "feature", "--from", "main", "--mode", "append", "--data", "eve.jsonl")
    done = desk.run("branch", "merge", "--uri", "g", "feature", "--json")
    assert done.json == {"source": "feature", "target": "main", "outcome": "fast_forward", "actor_id": None}
    assert desk.run("get", "Person", "Eve", "--store", "g").json["name"] == "Eve"


@pytest.mark.parametrize("number", [pytest.param(43, id="cli-43")])
def test_a_merged_branch_with_children_is_kept(desk: Desk, number: int) -> None:
    desk.graph()
    assert desk.run("branch", "create", "feature", "--uri", "g").code == 0
    assert desk.run("branch", "create", "child", "--from", "feature", "--uri", "g").code == 0
    done = desk.run("branch", "merge", "feature", "--uri", "g", "--delete-branch", "--json")
    assert done.code == 0
    assert (done.json["outcome"], done.json["branch_deleted"]) == ("already_up_to_date", False)
    assert "child" in done.json["branch_delete_error"]
    assert "warning: merged, but could not delete branch 'feature'" in done.stderr


@pytest.mark.parametrize("number", [pytest.param(44, id="cli-44")])
def test_a_merge_needs_two_branches(desk: Desk, number: int) -> None:
    desk.graph()
    done = desk.run("branch", "merge", "--uri", "g", "main", "--into", "main")
    assert (done.code, done.stdout) == (1, "")
    assert "distinct source and target" in done.stderr


@pytest.mark.parametrize("number", [pytest.param(44, id="cli-44-conflict")])
def test_conflicts_are_listed_previewed_and_resolved(desk: Desk, number: int) -> None:
    desk.graph()
    age = 'query q($n: I32) { update Person set { age: $n } where name = "Alice" }'
    assert desk.run("branch", "create", "feature", "--uri", "g").code == 0
    assert desk.run("mutate", "--store", "g", "--branch", "feature", "-e", age, "-p", "n=31").code == 0
    assert desk.run("mutate", "--store", "g", "-e", age, "-p", "n=32").code == 0
    merge = ("branch", "merge", "feature", "--uri", "g")
    done = desk.run(*merge)
    assert (done.code, done.stdout) == (1, "")
    assert (
        "error: 1 merge conflict; nothing was written\n  node type 'Person' 'Alice': divergent_update:" in done.stderr
    )
    assert "\n      age: base 30, ours 32, theirs 31\n" in done.stderr
    preview = desk.run(*merge, "--preview", "--json")
    assert (preview.code, preview.json["conflicts"][0]["kind"]) == (0, "divergent_update")
    assert (preview.json["conflicts"][0]["ours"], preview.json["conflicts"][0]["theirs"]) == ({"age": 32}, {"age": 31})
    told = desk.run(*merge, "--preview").stdout
    assert "would stop at 1 conflict" in told
    assert "--resolve TYPE/ID=ours|theirs" in told
    assert desk.run(*merge, "--resolve", "Person/Alice").code == 1
    settled = desk.run(*merge, "--resolve", 'Person/Alice={"age": 40}', "--json")
    assert (settled.code, settled.json["outcome"]) == (0, "merged")
    assert desk.query("--json").json["rows"] == [{"p.name": "Alice", "p.age": 40}]


def test_a_merge_of_a_deleted_branch_names_its_second_parent(desk: Desk) -> None:
    desk.graph()
    assert desk.run("branch", "create", "feature", "--uri", "g").code == 0
    age = 'query q() { update Person set { age: 31 } where name = "Alice" }'
    source = desk.run("mutate", "--store", "g", "--branch", "feature", "-e", age, "--json").json["commit"]
    assert desk.run("branch", "merge", "feature", "--uri", "g", "--delete-branch").code == 0
    for form in ((), ("--oneline",)):
        log = desk.run("log", "--store", "g", *form).stdout
        assert f"merged {source['graph_commit_id']} of a deleted branch" in log
    listed = desk.run("log", "--store", "g", "--json").json["commits"][0]
    assert listed["merged_parent_commit_id"] == source["graph_commit_id"]


# --- 45–50: inspection and schema --------------------------------------------------------------------


@pytest.mark.parametrize("number", [pytest.param(45, id="cli-45")])
def test_snapshot_lists_datasets(desk: Desk, number: int) -> None:
    desk.graph()
    found = desk.run("snapshot", "g", "--json").json
    assert list(found) == ["graph_branch", "graph_manifest_version", "internal_schema_version", "datasets"]
    assert (found["graph_branch"], found["internal_schema_version"]) == ("main", 4)
    names = [(each["entity_kind"], each["type_name"]) for each in found["datasets"]]
    assert names == [("edge", "Knows"), ("edge", "WorksAt"), ("node", "Company"), ("node", "Person")]
    assert found["datasets"][-1]["entity_count"] == 4
    assert found["datasets"][-1]["native_dataset_branch"] is None
    words = desk.run("snapshot", "g").stdout.splitlines()
    assert words[0] == "graph_branch: main"
    assert words[-1].startswith("node type 'Person' published_dataset_version=")
    assert words[-1].endswith(" native_dataset_branch=main entities=4")


@pytest.mark.parametrize("number", [pytest.param(46, id="cli-46")])
def test_export_selects_types(desk: Desk, number: int) -> None:
    desk.graph()
    done = desk.run("export", "g", "--type", "Person")
    assert [json.loads(text)["type"] for text in done.stdout.splitlines()] == ["Person"] * 4
    unknown = desk.run("export", "g", "--type", "Nope")
    assert (unknown.code, unknown.stdout) == (1, "")
    assert "unknown export type 'Nope'" in unknown.stderr


@pytest.mark.parametrize("number", [pytest.param(47, id="cli-47")])
def test_schema_plan_lists_steps(desk: Desk, number: int) -> None:
    desk.graph()
    desk.write("new.pg", SCHEMA.replace("age: I32?", "age: I32?\n  nickname: String?"))
    done = desk.run("schema", "plan", "g", "--schema", "new.pg", "--json")
    assert list(done.json) == ["uri", "supported", "step_count", "steps"]
    assert (done.json["supported"], done.json["step_count"]) == (True, 1)
    assert done.json["steps"][0]["kind"] == "add_property"
    words = desk.run("schema", "plan", "g", "--schema", "new.pg").stdout
    expected = "schema plan for g\nsupported: yes\n- add property 'Person.nickname' (String?) on node 'Person'\n"
    assert words == expected


@pytest.mark.parametrize("number", [pytest.param(48, id="cli-48")])
def test_an_unsupported_plan_is_shown_and_not_applied(desk: Desk, number: int) -> None:
    desk.graph()
    desk.write("new.pg", SCHEMA.replace("age: I32?", "age: Bool?"))
    done = desk.run("schema", "plan", "g", "--schema", "new.pg", "--json")
    assert (done.code, done.json["supported"]) == (0, False)
    assert any(each["kind"] == "unsupported_change" and "Person.age" in each["entity"] for each in done.json["steps"])
    refused = desk.run("schema", "apply", "g", "--schema", "new.pg")
    assert (refused.code, refused.stdout) == (1, "")
    assert "error: [OG-" in refused.stderr


@pytest.mark.parametrize("number", [pytest.param(49, id="cli-49")])
def test_schema_apply_leaves_other_branches_alone(desk: Desk, number: int) -> None:
    """The contract refuses the change; schema changes and branches live together now (decision 19)."""
    desk.graph()
    desk.write("new.pg", SCHEMA.replace("age: I32?", "age: I32?\n  nickname: String?"))
    assert desk.run("branch", "create", "feature", "--uri", "g").code == 0
    planned = desk.run("schema", "plan", "g", "--schema", "new.pg", "--branch", "feature", "--json").json
    assert [step["kind"] for step in planned["steps"]] == ["add_property"]
    assert desk.run("schema", "apply", "g", "--schema", "new.pg", "--branch", "feature").code == 0
    shown = [desk.run("schema", "show", "g", "--branch", name).stdout for name in ("main", "feature")]
    assert ["nickname" in text for text in shown] == [False, True]
    assert desk.run("branch", "merge", "feature", "--uri", "g").code == 0
    assert "nickname" in desk.run("schema", "show", "g").stdout
    refused = desk.run("schema", "apply", "g", "--schema", "new.pg", "--branch", "nope")
    assert (refused.code, refused.stdout) == (1, "")
    assert "branch 'nope'" in refused.stderr


@pytest.mark.parametrize(
    ("flags", "mode"),
    [pytest.param([], "soft", id="cli-50-soft"), pytest.param(["--allow-data-loss"], "hard", id="cli-50-hard")],
)
def test_schema_apply_drops_softly_unless_told(desk: Desk, flags: list[str], mode: str) -> None:
    desk.graph()
    desk.write("new.pg", SCHEMA.replace("  age: I32?\n", ""))
    done = desk.run("schema", "apply", "g", "--schema", "new.pg", *flags, "--json")
    assert done.code == 0, done.stderr
    assert list(done.json) == ["uri", "supported", "applied", "step_count", "graph_manifest_version", "steps"]
    assert done.json["steps"] == [
        {"kind": "drop_property", "type_kind": "node", "type_name": "Person", "property_name": "age", "mode": mode}
    ]
    assert "omnigraph schema apply → g (direct, local)" in done.stderr
    assert desk.run("schema", "show", "g").stdout == SCHEMA.replace("  age: I32?\n", "") + "\n"


@pytest.mark.parametrize("name", [pytest.param("show", id="cli-50-show"), pytest.param("get", id="cli-50-get")])
def test_schema_show_prints_the_source(desk: Desk, name: str) -> None:
    desk.graph()
    assert desk.run("schema", name, "g", "--json").json == {"schema_source": SCHEMA}


@pytest.mark.parametrize("number", [pytest.param(45, id="cli-45-commit-show")])
def test_commit_show_prints_one_commit(desk: Desk, number: int) -> None:
    desk.graph()
    newest = desk.run("commit", "list", "g", "--json").json["commits"][0]
    assert desk.run("commit", "show", newest["graph_commit_id"], "--uri", "g", "--json").json == newest
    words = desk.run("commit", "show", newest["graph_commit_id"], "--uri", "g").stdout
    assert words.startswith(f"graph_commit_id: {newest['graph_commit_id']}\ngraph_branch: main\n")
    gone = desk.run("commit", "show", "01J00000000000000000000000", "--uri", "g")
    assert (gone.code, gone.stdout) == (1, "")
    assert "commit '01J00000000000000000000000' not found" in gone.stderr


# --- 51–55: maintenance ------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [pytest.param(51, id="cli-51")])
def test_optimize_reports_every_dataset(desk: Desk, number: int) -> None:
    desk.graph()
    done = desk.run("optimize", "--json", "g")
    assert done.code == 0, done.stderr
    assert list(done.json) == ["uri", "datasets"]
    keys = ["edge:Knows", "edge:WorksAt", "node:Company", "node:Person", "__manifest"]
    assert [each["type_key"] for each in done.json["datasets"]] == keys
    for each in done.json["datasets"]:
        assert list(each) == [
            "type_key",
            "fragments_removed",
            "fragments_added",
            "committed",
            "skipped",
            "published_dataset_version",
            "lance_head_version",
            "pending_indexes",
        ]
    assert "omnigraph optimize → g (direct, local)" in done.stderr
    words = desk.run("optimize", "g").stdout.splitlines()
    assert words[0] == "optimize g — 5 datasets"
    assert words[1] == f"  {'edge type ' + repr('Knows'):<40} no-op"
    shown = desk.run("indexes", "g", "--json").json["indexes"]
    assert {each["coverage"] for each in shown} == {1.0}


@pytest.mark.parametrize("command", [pytest.param(name, id=f"52-{name}") for name in ("optimize", "repair", "cleanup")])
def test_maintenance_needs_storage(desk: Desk, command: str) -> None:
    done = desk.run(command, "https://h")
    assert (done.code, done.stdout) == (1, "")
    assert "direct (storage-native) command and needs direct storage access" in done.stderr
    assert "remote server" in done.stderr
    flagged = desk.run(command, "g", "--as", "x")
    assert "Pass a storage URI, or --cluster <dir> --graph <id>." in flagged.stderr


@pytest.mark.parametrize("number", [pytest.param(53, id="cli-53")])
def test_repair_finds_no_drift(desk: Desk, number: int) -> None:
    desk.graph()
    done = desk.run("repair", "--json", "g")
    assert list(done.json) == ["uri", "confirm", "force", "graph_manifest_version", "datasets"]
    assert [(each["classification"], each["action"]) for each in done.json["datasets"]] == [("no_drift", "no_op")] * 4
    assert done.json["graph_manifest_version"] is None
    assert desk.run("repair", "g").stdout.splitlines()[0] == "repair g — preview mode, 4 datasets"
    forced = desk.run("repair", "--force", "g")
    assert (forced.code, "--confirm" in forced.stderr) == (2, True)


@pytest.mark.parametrize("number", [pytest.param(54, id="cli-54")])
def test_cleanup_previews_without_opening_the_graph(desk: Desk, number: int) -> None:
    done = desk.run("cleanup", "g")
    assert (done.code, done.stdout) == (1, "")
    assert "--keep" in done.stderr
    assert "--older-than" in done.stderr
    preview = desk.run("cleanup", "--keep", "5", "--older-than", "2h", "--json", "there-is-no-graph")
    assert (preview.code, preview.stdout) == (0, "")
    assert "keep 5 versions, remove anything older than 7200s" in preview.stderr


@pytest.mark.parametrize(
    ("duration", "token"),
    [
        pytest.param("1h30m", "invalid duration", id="cli-54-compound"),
        pytest.param("7D", "unknown duration unit", id="cli-54-unit"),
        pytest.param("-1s", "invalid duration", id="cli-54-sign"),
    ],
)
def test_cleanup_refuses_odd_durations(desk: Desk, duration: str, token: str) -> None:
    done = desk.run("cleanup", "g", f"--older-than={duration}")
    assert (done.code, token in done.stderr) == (1, True)


@pytest.mark.parametrize("number", [pytest.param(55, id="cli-55")])
def test_cleanup_removes_versions_when_confirmed(desk: Desk, number: int) -> None:
    desk.graph()
    assert desk.run("mutate", "--store", "g", "-e", ADD_PERSON, "-p", "name=Eve").code == 0
    done = desk.run("cleanup", "--keep", "1", "--confirm", "g", "--json")
    assert done.code == 0, done.stderr
    assert list(done.json) == ["uri", "keep_versions", "older_than_secs", "datasets"]
    assert (done.json["keep_versions"], done.json["older_than_secs"]) == (1, None)
    assert [list(each) for each in done.json["datasets"]] == [
        ["type_key", "bytes_removed", "old_versions_removed", "error"]
    ] * 4
    assert done.json["datasets"][3]["old_versions_removed"] > 0
    assert "omnigraph cleanup → g (direct, local)" in done.stderr
    refused = desk.run("cleanup", "--keep", "1", "--confirm", "--json", "--store", "s3://b/g")
    assert (refused.code, "refusing destructive `cleanup`" in refused.stderr) == (1, True)
    words = desk.run("cleanup", "--keep", "1", "--confirm", "g").stdout
    assert words == "cleanup g (keep 1 versions) — removed 0 versions (0 bytes) across 4 datasets\n"


# --- 56–62: lint and local commands ------------------------------------------------------------------


@pytest.mark.parametrize("number", [pytest.param(56, id="cli-56")])
def test_lint_warns_about_properties_that_no_update_sets(desk: Desk, number: int) -> None:
    desk.write("s.pg", "node Person { name: String @key\n age: I32?\n city: String? }")
    desk.write("q.gq", 'query q($n: I32) { update Person set { age: $n } where name = "Alice" }')
    done = desk.run("lint", "--query", "q.gq", "--schema", "s.pg", "--json")
    assert done.code == 0
    assert (done.json["status"], done.json["warnings"]) == ("ok", 1)
    assert done.json["findings"][0]["code"] == "L201"
    assert done.json["schema_source"] == {"kind": "file", "path": "s.pg"}


def test_lint_warns_about_what_has_no_effect_in_the_schema(desk: Desk) -> None:
    schema = "node A { name: String @key  n: I32? @default(3) }"
    desk.write("s.pg", schema)
    desk.write("q.gq", "query all() { match { $a: A } return { $a.name } }")
    done = desk.run("lint", "--query", "q.gq", "--schema", "s.pg", "--json")
    assert (done.code, done.json["status"], done.json["warnings"]) == (0, "ok", 1)
    assert [(found["severity"], found["code"]) for found in done.json["findings"]] == [("warning", "L102")]
    desk.run("init", "--schema", "s.pg", "own")
    words = desk.run("lint", "own", "--query", "q.gq")
    assert words.code == 0
    assert "WARN  schema: @default has no effect" in words.stdout
    assert "| " + schema in words.stdout
    assert desk.run("lint", "own", "--query", "q.gq", "--json").json["findings"] == done.json["findings"]


@pytest.mark.parametrize("number", [pytest.param(57, id="cli-57")])
def test_lint_reports_errors_and_exits_1(desk: Desk, number: int) -> None:
    desk.graph()
    desk.write("q.gq", "query q() { match { $p: Person } return { $p.nope } }")
    done = desk.run("lint", "g", "--query", "q.gq", "--json")
    assert (done.code, done.stderr) == (1, "")
    assert done.json["status"] == "error"
    assert "operation" not in done.json["results"][0]
    assert done.json["schema_source"] == {"kind": "graph", "uri": "g"}
    words = desk.run("lint", "g", "--query", "q.gq")
    assert words.code == 1
    assert words.stdout.startswith("ERROR query `q`: type error:")
    last = "INFO  Lint complete: 1 queries processed (1 error(s), 0 warning(s), 0 info item(s))\n"
    assert words.stdout.endswith(last)


@pytest.mark.parametrize(
    ("args", "tokens"),
    [
        pytest.param(["alias", "nope"], ["unknown alias 'nope'", "who"], id="cli-59-unknown"),
        pytest.param(["--server", "x", "alias", "who"], ["uses the server, graph", "--server"], id="cli-59-addressed"),
        pytest.param(["alias", "who", "a", "b"], ["takes 1 positional arg(s)"], id="cli-59-arguments"),
        pytest.param(["graphs", "list"], ["needs a server scope"], id="cli-62"),
        pytest.param(["graphs", "list", "--store", "x"], ["does not apply"], id="cli-62-store"),
        pytest.param(["graphs", "list", "--graph", "a"], ["does not apply"], id="cli-62-graph"),
        pytest.param(
            ["graphs", "list", "--profile", "local"],
            ["requires a server", "resolves a store scope"],
            id="cli-62-profile",
        ),
        pytest.param(
            ["query", "--server", "nope", *ALICE], ["unknown server 'nope'", "prod"], id="cli-62-unknown-server"
        ),
        pytest.param(
            ["lint", "https://h", "--query", "F.pg"], ["direct storage access", "remote server"], id="cli-52-lint"
        ),
        pytest.param(
            ["embed", "--store", "x"], ["`embed` is a local command", "`--store` does not apply."], id="cli-62-local"
        ),
    ],
)
def test_commands_that_cannot_use_their_scope(desk: Desk, args: list[str], tokens: list[str]) -> None:
    desk.config(
        "servers: {prod: {url: 'http://127.0.0.1:1/'}}\nprofiles: {local: {store: g}}\n"
        "aliases: {who: {server: prod, graph: k, query: find, args: [name]}}"
    )
    done = desk.run(*args)
    assert (done.code, done.stdout) == (1, "")
    assert all(token in done.stderr for token in tokens), done.stderr


@pytest.mark.parametrize("number", [pytest.param(60, id="cli-60")])
def test_a_broken_profile_is_listed(desk: Desk, number: int) -> None:
    desk.config("profiles: {bad: {store: g, server: s}, good: {store: g}}")
    desk.env["OMNIGRAPH_PROFILE"] = "good"
    done = desk.run("profile", "list", "--json")
    assert (done.code, done.stderr) == (0, "")
    bad, good = done.json
    assert list(bad) == ["name", "binding", "scope_kind", "target", "valid", "error", "default_graph", "active"]
    assert (bad["scope_kind"], bad["valid"], bad["target"]) == ("invalid", False, None)
    assert (good["binding"], good["active"]) == ("store: g", True)
    shown = desk.run("profile", "show", "--json").json
    assert shown == {
        "name": "good",
        "scope_kind": "store",
        "target": "g",
        "endpoint": "g",
        "default_graph": None,
        "output_format": None,
    }
    assert desk.run("profile", "list").stdout.splitlines()[1] == "good (active)  store: g"


@pytest.mark.parametrize("number", [pytest.param(61, id="cli-61")])
def test_credentials_are_private(desk: Desk, number: int) -> None:
    desk.config("servers: {s: {url: 'http://127.0.0.1:1'}}")
    done = desk.shell("login", "s", stdin="t\n")
    path = desk.home / "credentials"
    assert (done.code, done.stdout) == (0, f"stored credential for 's' in {path}\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == "[s]\ntoken = t\n"
    other = desk.run("login", "other", "--token", "o", "--json")
    assert (other.json["declared"], "note:" in other.stderr) == (False, True)
    path.chmod(0o644)
    refused = desk.run("query", "--server", "s", *ALICE)
    assert (refused.code, "chmod 600" in refused.stderr) == (1, True)
    assert "chmod 600" in desk.run("logout", "s").stderr
    path.chmod(0o600)
    assert desk.run("logout", "s").code == 0
    assert path.read_text() == "[other]\ntoken = o\n"
    assert "no token provided" in desk.run("login", "s", stdin="\n").stderr


# --- configuration -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "token"),
    [
        pytest.param("a: [b", "could not parse operator config", id="3.1-yaml"),
        pytest.param("- a", "could not parse operator config", id="3.1-list"),
        pytest.param("defaults: {server: s, store: g}", "binds one entity", id="3.1-two-defaults"),
        pytest.param("defaults: {store: g, default_graph: k}", "already a single graph", id="3.1-store-and-graph"),
        pytest.param("defaults: {output: xml}", "defaults.output", id="3.1-format"),
        pytest.param("servers: {s: {}}", "servers.s.url", id="3.1-no-url"),
        pytest.param("profiles: {p: {}}\ndefaults: {store: g}", "binds no scope", id="3.3-none"),
        pytest.param("profiles: {p: {store: g, server: s}}", "binds 2 scopes", id="3.3-two"),
        pytest.param("profiles: {p: {store: g, default_graph: k}}", "does not apply to a store scope", id="3.3-graph"),
        pytest.param("profiles: {p: {cluster: c}}", "not valid for graph data commands", id="3.3-cluster"),
    ],
)
def test_a_config_that_cannot_be_used_is_refused(desk: Desk, text: str, token: str) -> None:
    desk.config(text)
    done = desk.run("query", "--profile", "p", *ALICE)
    assert (done.code, done.stdout) == (1, "")
    assert token in done.stderr, done.stderr


def test_unknown_config_keys_are_warned_about_once(desk: Desk) -> None:
    desk.graph()
    desk.config("nonsense: 1\noperator: {actor: ann, age: 3}\nservers: {s: {url: 'http://h', token: t}}")
    done = desk.run("mutate", "--store", "g", "-e", ADD_PERSON, "-p", "name=Eve", "--json")
    assert (done.code, done.json["actor_id"]) == (0, "ann")
    keys = [text.split("`")[1] for text in done.stderr.splitlines() if text.startswith("warning: unknown key")]
    assert keys == ["nonsense", "operator.age", "servers.s.token"]
    assert (
        desk.run("mutate", "--store", "g", "-e", ADD_PERSON, "-p", "name=Fred", "--json", "--as", "bob").json[
            "actor_id"
        ]
        == "bob"
    )


def test_an_explicit_store_wins_over_a_default(desk: Desk) -> None:
    desk.graph()
    desk.config("defaults: {store: gone}")
    assert desk.query("--json").code == 0
    assert "gone" in desk.run("query", *ALICE).stderr
