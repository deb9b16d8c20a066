"""What the command line tells people: values in diffs and conflicts, names for commits, hints where a word goes astray."""

from __future__ import annotations

import io
import json
import sys

import pytest

from tests.cli_runner import GET_PERSON, SCHEMA, Desk

SET_AGE = "query q($name: String, $age: I32) { update Person set { age: $age } where name = $name }"


def aged(desk: Desk, name: str, age: int, branch: str = "main") -> str:
    done = desk.run(
        "mutate", "--store", "g", "--branch", branch, "-e", SET_AGE, "-p", f"name={name}", "-p", f"age={age}"
    )
    assert done.code == 0, done.stderr
    return done.stderr.removeprefix("commit ").strip()


@pytest.fixture
def forked(desk: Desk) -> Desk:
    """`feature` and `main` disagree about Alice; `feature` also has Eve and lacks Diana."""
    desk.graph()
    desk.run("branch", "create", "feature", "--uri", "g")
    for change in ('insert Person { name: "Eve", age: 5 }', 'delete Person where name = "Diana"'):
        text = f"query q() {{ {change} }}"
        assert desk.run("mutate", "--store", "g", "--branch", "feature", "-e", text).code == 0
    aged(desk, "Alice", 31, "feature")
    aged(desk, "Alice", 32)
    return desk


def test_a_diff_shows_values(forked: Desk) -> None:
    done = forked.run("diff", "main", "feature", "--uri", "g", "--kind", "node")
    assert done.stdout == (
        "~ node Person Alice\n"
        "    age: 32 -> 31\n"
        "- node Person Diana  age: 28\n"
        "+ node Person Eve  age: 5\n"
        "1 inserted, 1 updated, 1 deleted\n"
    )
    edges = forked.run("diff", "main", "feature", "--uri", "g", "--kind", "edge").stdout
    assert edges.endswith("  Bob -> Diana\n0 inserted, 0 updated, 1 deleted\n")
    change = forked.run("diff", "main", "feature", "--uri", "g", "--json").json["changes"][-1]
    assert set(change) == {"kind", "type_name", "id", "op", "published_dataset_version"}


def test_a_value_in_a_diff_is_cut_to_a_line(desk: Desk) -> None:
    desk.graph()
    desk.write("bio.pg", SCHEMA.replace("age: I32?", "age: I32?\n  bio: String?"))
    assert desk.run("schema", "apply", "g", "--schema", "bio.pg").code == 0
    text = 'query q($bio: String) { update Person set { bio: $bio } where name = "Bob" }'
    assert desk.run("mutate", "--store", "g", "-e", text, "-p", f"bio=one\n{'x' * 500}").code == 0
    done = desk.run("diff", "HEAD~1", "HEAD", "--uri", "g")
    assert done.stdout.splitlines()[1] == f"    bio: <null> -> one\\n{'x' * 42}…"


def test_a_conflict_shows_the_base(forked: Desk) -> None:
    refused = forked.run("branch", "merge", "feature", "--uri", "g")
    assert (refused.code, refused.stdout) == (1, "")
    assert "\n      age: base 30, ours 32, theirs 31\n" in refused.stderr
    preview = forked.run("branch", "merge", "feature", "--uri", "g", "--preview")
    assert "would stop at 1 conflict\n" in preview.stdout
    assert "\n    age: base 30, ours 32, theirs 31\n" in preview.stdout
    found = forked.run("branch", "merge", "feature", "--uri", "g", "--preview", "--json").json["conflicts"][0]
    assert (found["base"], found["ours"], found["theirs"]) == ({"age": 30}, {"age": 32}, {"age": 31})


def test_a_merge_says_which_commit_it_became(forked: Desk) -> None:
    done = forked.run("branch", "merge", "feature", "--uri", "g", "--strategy", "theirs")
    assert done.stdout == "merged feature into main: merged\n"
    assert done.stderr.splitlines()[-1] == f"commit {forked.head()}"


@pytest.mark.parametrize(
    ("command", "text", "other"),
    [
        ("query", "query q() { insert Person { age: 3 } }", "mutate"),
        ("mutate", "query q() { match { $p: Person } return { $p.nme } }", "query"),
    ],
)
def test_the_wrong_command_names_the_right_one(desk: Desk, command: str, text: str, other: str) -> None:
    desk.graph()
    done = desk.run(command, "--store", "g", "-e", text)
    assert (done.code, done.stdout) == (1, "")
    assert "R002: query 'q' is a " in done.stderr
    assert f"`omnigraph {other}`" in done.stderr


def test_commits_have_short_names(desk: Desk) -> None:
    desk.graph()
    first, second = aged(desk, "Bob", 1), aged(desk, "Bob", 2)

    def shown(name: str) -> str:
        return str(desk.run("commit", "show", name, "--uri", "g", "--json").json["graph_commit_id"])

    assert [shown(name) for name in ("HEAD", "main", "HEAD~0", second[:-1], second.lower())] == [second] * 5
    assert [shown(name) for name in ("HEAD~1", "HEAD~", f"{second}~1", "main~1", first[:25])] == [first] * 5
    assert desk.run("tag", "create", "then", "HEAD~1", "--uri", "g").stdout == f"created tag then at {first}\n"
    assert shown("then") == first
    listed = desk.run("commit", "list", "g", "--limit", "2", "--json").json["commits"]
    assert [each["graph_commit_id"] for each in listed] == [second, first]
    args = ("--store", "g", "-e", GET_PERSON, "-p", "name=Bob", "--format", "csv")
    assert desk.run("query", *args, "--snapshot", "HEAD~1").stdout == "p.name,p.age\nBob,1\n"
    assert "Bob\n    age: 1 -> 2\n" in desk.run("diff", "then", "HEAD", "--uri", "g").stdout
    assert f"reverted {second} on main" in desk.run("commit", "revert", "HEAD", "--uri", "g").stdout
    polled = desk.run("changes", "poll", "--start", "after:HEAD~1", "--uri", "g", "--json").json
    assert [block["cause"]["graph_commit_id"] for block in polled["blocks"]] == [desk.head()]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("HEAD~99", "commit 'HEAD~99' not found: history begins with "),
        ("HEAD~x", "commit 'HEAD~x' not found"),
        ("nope~1", "commit 'nope~1' not found"),
        ("~1", "commit '~1' not found"),
        ("7ZZZZZ", "commit '7ZZZZZ' not found on any live branch"),
        ("", "commit '' not found"),
    ],
)
def test_what_names_no_commit_is_refused(desk: Desk, name: str, told: str) -> None:
    desk.graph()
    done = desk.run("commit", "show", name, "--uri", "g")
    assert (done.code, done.stdout) == (1, "")
    assert told in done.stderr


def test_a_beginning_that_several_commits_share_lists_them(desk: Desk) -> None:
    desk.graph()
    older, newer = aged(desk, "Bob", 1), aged(desk, "Bob", 2)
    while older[:6] != newer[:6]:  # an id begins with its time, which may just have turned over
        older, newer = newer, aged(desk, "Bob", 3)
    done = desk.run("commit", "show", newer[:6], "--uri", "g", "--json")
    assert done.code == 1
    assert f"commits begin like this ({newer}, {older}" in done.stderr
    assert '"code":"ambiguous_commit"' in done.stderr


def test_head_is_the_head_of_the_named_branch(forked: Desk) -> None:
    branch = forked.run("commit", "list", "g", "--branch", "feature", "--json").json["commits"][0]["graph_commit_id"]
    done = forked.run("commit", "revert", "HEAD", "--uri", "g", "--branch", "feature")
    assert f"reverted {branch} on feature" in done.stdout


@pytest.mark.parametrize(
    ("kind", "given", "bound"),
    [
        ("String", "7", "7"),
        ("String", "true", "true"),
        ("String", "null", "null"),
        ("String", '"7"', "7"),
        ("String", "[1]", "[1]"),
        ("String?", "7", "7"),
    ],
)
def test_a_parameter_declared_as_text_is_text(desk: Desk, kind: str, given: str, bound: str) -> None:
    desk.graph()
    text = f"query q($n: {kind}) {{ match {{ $p: Company }} return {{ $n as n }} limit 1 }}"
    done = desk.run("query", "--store", "g", "-e", text, "-p", f"n={given}", "--json")
    assert done.code == 0, done.stderr
    assert done.json["rows"] == [{"n": bound}]


def test_a_missing_parameter_says_how_to_give_it(desk: Desk) -> None:
    desk.graph()
    done = desk.run("query", "--store", "g", "-e", GET_PERSON)
    assert "param 'name':" in done.stderr
    assert "-p name=VALUE" in done.stderr


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("get", "g", "Alice"), "'g' was taken as TYPE; say which graph with --store g"),
        (("query", "-e", GET_PERSON), "no graph addressed: pass its URI as the last argument, --store <URI>"),
        (("query", "absent.omni", "-e", GET_PERSON), "there is no graph at 'absent.omni', so it was taken as NAME"),
        (("log",), "no graph addressed: pass its URI as the last argument, --store <URI>"),
        (("serve", "--graph", "g"), "a path or URI goes to --store"),
        (("branch", "list", "g", "h"), "unexpected argument 'h' found"),
        (("clone", "g", "copy", "--store", "g2"), "`--store` does not apply when GRAPH is given as an argument"),
        (("query", "http://127.0.0.1:1", "-e", GET_PERSON), "must be addressed with `--server <url>`"),
        (("diff", "g", "main", "feature"), "the graph is the last argument: omnigraph diff main feature g"),
        (("get", "Person", "Alice", "--at", "HEAD"), "use --snapshot <COMMIT_ID>"),
        (("query", "--profile"), "`--analyze` measures a query"),
        (("log", "--graph"), "`log` always draws"),
        (("merge", "feature"), "try `omnigraph branch merge`"),
    ],
)
def test_a_word_in_the_wrong_place_gets_a_hint(desk: Desk, args: tuple[str, ...], told: str) -> None:
    desk.graph()
    done = desk.run(*args)
    assert done.code in (1, 2)
    assert told in done.stderr


def test_lint_shows_the_place(desk: Desk) -> None:
    desk.write("q.gq", "query q() { match { $p: Person } return { $p.nam } }\n")
    done = desk.run("lint", "--query", "q.gq", "--schema", "F.pg")
    assert done.code == 1
    assert "     --> q.gq:1:43\n" in done.stdout
    assert "^^^^^^" in done.stdout
    assert set(desk.run("lint", "--query", "q.gq", "--schema", "F.pg", "--json").json["results"][0]) == {
        "name",
        "kind",
        "status",
        "error",
    }


def test_lines_of_a_csv_file_are_those_of_an_editor(desk: Desk) -> None:
    desk.graph()
    desk.write("m.yaml", "sources: {p: {path: p.csv}}\nnodes: {Person: {from: p}}\n")
    desk.write("p.csv", '\n\nname,age\r\n"Ann\n\n\nB",3\r\n\r\n\nEve,x\n')
    done = desk.run("load", "--store", "g", "--mapping", "m.yaml", "--mode", "append", "--runner", "inline")
    assert "Person 'Eve'" in done.stderr
    assert "(line 10)" in done.stderr


def test_a_broken_record_has_one_line_and_one_column(desk: Desk) -> None:
    desk.graph()
    desk.write("d.jsonl", '\n{"type":"Person","data":{"name":"Q",}}\n')
    done = desk.run("load", "--store", "g", "--data", "d.jsonl", "--mode", "append")
    assert "line 2: " in done.stderr
    assert done.stderr.splitlines()[1].endswith("(column 37)")


class Terminal(io.StringIO):
    """A stderr that a person watches."""

    def isatty(self) -> bool:
        return True


def test_cleanup_draws_the_one_bar(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from omnigraph.cli.main import main

    desk.graph()
    screen = Terminal()
    with monkeypatch.context() as patch:
        patch.chdir(desk.place)
        patch.setattr(sys, "stderr", screen)
        patch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
        assert main(["cleanup", "g", "--keep", "1", "--confirm"]) == 0
    assert "4/4 datasets" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_a_baseline_leaves_no_residue(desk: Desk) -> None:
    desk.graph()
    assert desk.run("changes", "baseline", "--uri", "g", "--out", "b.jsonl").code == 0
    before = (desk.place / "b.jsonl").read_bytes()
    failed = desk.run("changes", "baseline", "--uri", "g", "--out", "b.jsonl", "--branch", "gone")
    assert failed.code == 1
    assert (desk.place / "b.jsonl").read_bytes() == before
    assert sorted(path.name for path in desk.place.glob("*b.jsonl*")) == ["b.jsonl", "b.jsonl.lock"]


def test_a_body_alone_is_run_and_corrected_as_it_was_typed(desk: Desk) -> None:
    desk.graph()
    found = desk.run("query", "--store", "g", "-e", "match { $p: Person } return { count($p) as n }", "--json")
    assert (found.json["query_name"], found.json["rows"]) == ("unnamed", [{"n": 4}])
    gone = desk.run("mutate", "--store", "g", "-e", '// no braces\ndelete Person where name = "Bob"')
    assert gone.stdout == "changed main: 1 node, 3 edges\n"

    wrong = desk.run("query", "--store", "g", "--json", "-e", "match { $p: Person }\nreturn { $p.nam }")
    *_, below, hint, details = wrong.stderr.splitlines()
    assert "  2 | return { $p.nam }" in wrong.stderr
    assert (below, hint) == ("    |          ^^^^^^", "    = help: did you mean 'name'?")
    assert json.loads(details).items() >= {"line": 2, "column": 10, "span": [30, 36]}.items()

    for text, place in (
        ("match { $p: Person }", "<string>:1:21"),
        (" match { $p: Person } return { $p } }", "<string>:1:37"),
    ):
        done = desk.run("query", "--store", "g", "-e", text)
        assert f"--> {place}" in done.stderr, done.stderr
    needy = desk.run(
        "query", "--store", "g", "-p", "who=Bob", "-e", "match { $p: Person { name: $who } } return { $p }"
    )
    assert "<string>:1:28" in needy.stderr
    assert "a head that declares them: query name($who: String) { … }" in needy.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["inti"], "did you mean `init`?"),
        (["init", "--schema", "s.pg", "people.csv"], "people.csv' is a file; a graph is a directory"),
        (
            ["query", "--store", "g", "-e", "match { $p: Zebra } return { $p }"],
            "the types are Company, Person, Knows, WorksAt",
        ),
        (
            ["query", "--store", "g", "-e", "match { $p: Person $p zzz $q } return { $p }"],
            "the edges of Person are knows, worksAt",
        ),
        (
            ["mutate", "--store", "g", "-e", 'insert Person { id: "x", name: "x" }'],
            "an id is made of the @key properties",
        ),
        (
            ["load", "g", "--mode", "append", "--data", "typo.jsonl"],
            "unknown input field 'agee' for 'Person'; did you mean",
        ),
        (["load", "g", "--mode", "append", "--mapping", "m/list.yaml"], "as in nodes: {Person: {from: people}}"),
        (["load", "g", "--mode", "append", "--mapping", "m/cut.yaml"], "m/cut.yaml' is not YAML: expected ',' or '}'"),
        (
            ["load", "g", "--mode", "append", "--mapping", "m/twice.yaml"],
            "error: W015: people.csv: node:Person already",
        ),
        (["load", "g", "--mode", "apend", "--data", "typo.jsonl"], "hint: did you mean `append`?"),
        (
            ["load", "g", "--mode", "append", "--data", "tpyo.jsonl"],
            "'tpyo.jsonl'\n  = help: did you mean 'typo.jsonl'?",
        ),
        (["load", "g", "--mode", "append", "--mapping", "m/ctu.yaml"], "= help: did you mean 'm/cut.yaml'?"),
        (["init", "--schema", "s.gp", "new"], "= help: did you mean 's.pg'?"),
        (["infer", "peple.csv"], "= help: did you mean 'people.csv'?"),
        (["describe", "m/../graf"], "is not a graph; create it with init\n  = help: did you mean 'm/../graph'?"),
        (
            ["query", "g", "--snapshot", "relaese", "-e", "match { $p: Person } return { $p }"],
            "did you mean 'release'?",
        ),
        (["tag", "delete", "relase", "--store", "g"], "tag 'relase' not found\n  = help: did you mean 'release'?"),
        (["draw", "--store", "g", "--from", "Persn:Bob"], "no node type 'Persn'; did you mean 'Person'?"),
        (["query", "--server", "http://", "-e", "match { $p: Person } return { $p }"], "write http://host:port"),
        (["query", "--server", "localhost", "-e", "match { $p: Person } return { $p }"], "is given by its URL"),
    ],
)
def test_a_slip_is_answered_with_what_to_do(desk: Desk, words: list[str], told: str) -> None:
    desk.graph()
    desk.write("graph/notes.txt", "")
    desk.run("tag", "create", "release", "--store", "g")
    desk.write("s.pg", SCHEMA)
    desk.write("people.csv", "name,age\nZoe,1\nBob,2\n")
    desk.write("typo.jsonl", '{"type":"Person","data":{"name":"A","agee":1}}\n')
    desk.write("m/list.yaml", "nodes:\n  - x\n")
    desk.write("m/cut.yaml", "sources: {people: {path: people.csv\n")
    desk.write("m/twice.yaml", "sources: {people: {path: ../people.csv}}\nnodes: {Person: {from: people}}\n")
    done = desk.run(*words)
    assert (done.code != 0, done.stdout) == (True, "")
    assert told in done.stderr, done.stderr


def test_an_entity_is_not_mistaken_for_a_file_beside_it(desk: Desk) -> None:
    desk.graph()
    desk.write("Alise.txt", "")
    done = desk.run("get", "Person", "Alise.tx", "--store", "g")
    assert (done.code, done.stderr) == (1, "error: Person 'Alise.tx' not found\n")


def test_one_refused_row_is_answered_with_what_to_do(desk: Desk) -> None:
    desk.graph()
    desk.write("bad.jsonl", '{"edge":"Knows","from":"Bob","to":"Zed"}\n')
    done = desk.run("load", "g", "--mode", "append", "--data", "bad.jsonl")
    assert done.code == 1
    assert done.stderr.splitlines()[-1].startswith("  = help: --on-error skip loads the other rows; --rejects FILE")


@pytest.mark.parametrize(
    ("given", "file"),
    [
        ("refused.jsonl", "refused.jsonl"),
        ("new/refused.ndjson", "new/refused.ndjson"),
        ("refused", "refused/rejects.jsonl"),
    ],
)
def test_refused_rows_are_kept_where_it_was_said_and_can_be_loaded_again(desk: Desk, given: str, file: str) -> None:
    desk.graph()
    bad = ['{"type":"Person","data":{"name":"Zed","age":"old"}}', '{"edge":"Knows","from":"Bob","to":"Gone"}']
    desk.write("rows.jsonl", "\n".join(['{"type":"Person","data":{"name":"Yan"}}', *bad]) + "\n")
    done = desk.run("load", "g", "--mode", "append", "--data", "rows.jsonl", "--on-error", "skip", "--rejects", given)
    assert done.stdout.splitlines() == [
        "loaded g on branch main with append: 1 entity across 1 node type and 0 edge types",
        "skipped 2 bad records: W002 × 1, W013 × 1",
        f"  with their reasons in {file}",
    ]
    kept = [json.loads(line) for line in (desk.place / file).read_text().splitlines()]
    assert [(each["line"], each["content"]) for each in kept] == [(2, bad[0]), (3, bad[1])]
    again = "\n".join(each["content"] for each in kept).replace('"old"', "99").replace("Gone", "Zed")
    assert desk.run("load", "g", "--mode", "append", "--data", desk.write("again.jsonl", again)).code == 0
