"""What only a person at a terminal sees: prompts, progress, the shell."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.cli.input.entries import entries, is_complete, statements
from omnigraph.cli.input.prompt import fragments, offers
from omnigraph.cli.verbs.data.shell_help import CARD, CARD_SCHEMA, help_text
from omnigraph.compiler.catalog import compile_schema
from omnigraph.compiler.compile import compile_query
from tests.cli_runner import COMMAND, Desk

_PATIENCE = 60


def at_terminal(desk: Desk, answer: str, *args: str, then: Sequence[tuple[str, str]] = ()) -> tuple[int, str]:
    """Run a command with a terminal as stdin and stderr; type an answer; return code and what the screen shows.

    With `then`, stdout is the terminal too, and each text is typed when the screen shows the one before it.
    """
    screen, ours = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *args],
        cwd=desk.place,
        env={**os.environ, **desk.env},
        stdin=ours,
        stderr=ours,
        stdout=ours if then else subprocess.PIPE,
    )
    os.close(ours)
    if answer:
        os.write(screen, answer.encode())
    seen, waiting = b"", list(then)
    # Whoever waits for something that never comes is ended, and the test says what the screen showed.
    patience = threading.Timer(60, process.kill)
    patience.start()
    try:
        while select.select([screen], [], [], _PATIENCE)[0] and (piece := os.read(screen, 4096)):
            seen += piece
            if waiting and waiting[0][0].encode() in seen:
                os.write(screen, waiting.pop(0)[1].encode())
    except OSError:
        pass  # Linux reports the end of a terminal as an error
    finally:
        patience.cancel()
        os.close(screen)
    if process.stdout is not None:
        process.stdout.close()
    try:
        return process.wait(timeout=_PATIENCE), seen.decode()
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError(f"the command waits for ever; the screen shows {seen.decode()!r}") from None


@pytest.mark.parametrize(
    ("words", "label"),
    [
        pytest.param(["export", "g", "--out", "all.jsonl"], "export", id="export"),
        pytest.param(["optimize", "g"], "optimize", id="optimize"),
    ],
)
def test_long_work_shows_a_bar_and_leaves_none(desk: Desk, words: list[str], label: str) -> None:
    desk.graph()
    code, screen = at_terminal(desk, "", *words)
    assert code == 0, screen
    drawn = re.findall(rf"{label} ━+ (\d+)/(\d+) ", screen)
    assert drawn
    assert drawn[-1][0] == drawn[-1][1]
    assert label not in screen.rpartition("\r\x1b[K")[2].replace("omnigraph optimize", "")


@pytest.mark.parametrize(("answer", "goes_on"), [("no\n", False), ("\n", False), (" YES \n", True), ("y\n", True)])
def test_a_remote_delete_asks_first(desk: Desk, answer: str, goes_on: bool) -> None:
    code, screen = at_terminal(desk, answer, "branch", "delete", "f", "--store", "ftp://b/g")
    assert code == 1
    assert "branch delete on ftp://b/g" in screen
    assert ("error: aborted" in screen) is not goes_on
    assert ("omnigraph branch delete → ftp://b/g (direct, remote)" in screen) is goes_on


def test_progress_is_drawn_for_people_only(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = {"dimension": 2, "types": {"T": {"target": "v", "fields": ["a"]}}}
    desk.write("spec.json", json.dumps(spec))
    desk.write("in.jsonl", "".join(f'{{"type":"T","data":{{"a":"{n}"}}}}\n' for n in range(300)))
    desk.env["OMNIGRAPH_EMBED_PROVIDER"] = "mock"
    args = ("embed", "--input", "in.jsonl", "--output", "out.jsonl", "--spec", "spec.json")
    code, screen = at_terminal(desk, "", *args)
    assert code == 0
    assert "300/300 records" in screen
    assert "300/300" not in at_terminal(desk, "", *args, "--quiet")[1]
    assert desk.run(*args).stderr == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("query q() {\n", False),
        ("query q() {\n\n", True),
        ("query q() {;", True),
        ('match { $p: P { a: "}" } } return { $p.a }', False),
        ('match { $p: P { a: "}" } } return { $p.a }\n', True),
        ('match { $p: P { a: "\\"{" } } return { $p.a }\n', True),
        ('match { $p: P { a: ";', False),
        ("match { $p: P } return { $p } // and;", False),
        ("match { $p: P } return { $p };  ", True),
        ("match { $p: P }\nreturn { $p }", False),
        ("", True),
        ("  :help", True),
        ("quit", True),
    ],
)
def test_an_entry_is_complete_with_a_semicolon_or_an_empty_line(text: str, expected: bool) -> None:
    assert is_complete(text) is expected


@given(st.lists(st.sampled_from(["match {", "}", ";", "", '"', "// x", ":help", "a", "\\"]), max_size=12))
def test_nothing_that_is_typed_is_lost(lines: list[str]) -> None:
    left = list(lines)

    def read(_: str) -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    typed = list(entries(read, lambda: "> ", lambda: None))
    assert "".join("".join(typed).split()) == "".join("".join(lines).split())
    for each in typed:
        assert "".join("".join(statements(each)).split()).replace(";", "") == "".join(each.split()).replace(";", "")


def test_a_command_on_a_line_of_its_own_ends_a_query() -> None:
    """Also where the prompt hands over several lines at once."""
    typed = iter(["match { $p: P }\nreturn { $p }\n:help", "match {\n:help\n\n", ":quit"])

    def read(_: str) -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    found = list(entries(read, lambda: "> ", lambda: None))
    assert found == ["match { $p: P }\nreturn { $p }", ":help", "match {\n:help", ":quit"]


def test_the_card_of_the_help_compiles() -> None:
    catalog = compile_schema(CARD_SCHEMA)
    for _, text in CARD:
        mutation = text.startswith(("insert", "update", "delete"))
        assert compile_query(text, catalog, None, mutation=mutation) is not None
        assert max(len(line) for line in help_text().splitlines()) <= 110


PLACES = [
    ("match { $p: Pe", "Pe", ["Person"]),
    ("match { $p: Person $p kn", "kn", ["knows"]),
    ("match { $p: Person $p knows $q } return { $q.a", "a", ["age"]),
    ("match { $p: Person } return { $p.name }\nord", "ord", ["order"]),
    ("query q() { match { $p: Person { na", "na", ["name"]),
    (":ti", ":ti", [":timing"]),
    (":load fi", "fi", []),
    ('match { $p: Person { name: "Per', "", []),
]


@pytest.mark.parametrize(("text", "begun", "words"), PLACES)
def test_completion_offers_what_fits_the_place(text: str, begun: str, words: list[str]) -> None:
    found, offered = offers(text, ["help", "load", "timing"], compile_schema(CARD_SCHEMA))
    assert (found, [each.text for each in offered]) == (begun, words)


def test_the_shell_reads_the_past_loads_files_and_times_queries(desk: Desk) -> None:
    desk.graph()
    desk.write("more people.jsonl", '{"type":"Person","data":{"name":"Zoe","age":7}}\n')
    script = """\
:format csv
:load "more people.jsonl"
match { $p: Person } return { count($p) as n };
:at HEAD~1
match { $p: Person } return { count($p) as n };
insert Person { name: "Yan" };
:load "more people.jsonl" merge
:at version:2
match { $p: Person } return { count($p) as n };
:at nowhere
:at version:x
:at now
:load "more people.jsonl" sideways
:load
:load nothing.jsonl
:timing
match { $p: Person { name: "Zoe" } } return { $p.age };
:timing
:brnch
match { $p: Person } return { $p.age } match { $p: Person } return { $p.age }
:describe
:help
"""
    done = desk.run("shell", "g", stdin=script)
    assert done.code == 0
    assert done.stdout.splitlines()[:16] == [
        "format csv",
        "loaded more people.jsonl into main with merge: 1 node, 0 edges",
        "n",
        "5",
        "at HEAD~1",
        "n",
        "4",
        "at version:2",
        "n",
        "4",
        "at now",
        "timing on",
        "p.age",
        "7",
        "timing off",
        done.stdout.splitlines()[15],
    ]
    assert "Person" in done.stdout.splitlines()[15] or "g" in done.stdout.splitlines()[15]
    assert "several hops" in done.stdout
    said = done.stderr
    for part in (
        "reading at HEAD~1, where nothing can be changed; `:at now` returns",
        "reading at HEAD~1, where nothing can be loaded",
        "'nowhere' not found",
        "'version:x' is not a version; write it as version:3",
        "unknown load mode 'sideways'",
        "say what to load",
        "nothing.jsonl",
        "unknown command ':brnch'; did you mean 'branch'?",
    ):
        assert part in said, (part, said)
    assert re.search(r"^\d+ ms$", said, re.MULTILINE)


PLAN = [
    "scan $p: Person keeping $p.name  [~5 rows]",
    "sort ids of $p  [~5 rows]",
    'project $p.name as "p.name"  [~5 rows]',
]


def test_the_shell_suggests_what_could_stand_there(desk: Desk) -> None:
    desk.graph()
    desk.write("people.jsonl", '{"type":"Person","data":{"name":"Zoe","age":7}}\n')
    assert desk.run("branch", "create", "review", "--store", "g").code == 0
    assert desk.run("tag", "create", "release-1", "--store", "g").code == 0
    done = desk.run(
        "shell", "g", stdin=":load poeple.jsonl\n:format tabel\n:branch reveiw\n:at relase-1\n:load no/where.csv\n"
    )
    for meant in ("people.jsonl", "table", "review", "release-1"):
        assert f"= help: did you mean '{meant}'?" in done.stderr, done.stderr
    assert "No such file: 'poeple.jsonl'" in done.stderr
    assert "No such file: 'no/where.csv'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_shell_takes_a_script(desk: Desk) -> None:
    desk.graph()
    script = """\
:params {"n": "Alice"}
:format csv
query q($n: String) {
  match { $p: Person { name: $n } }

  return { $p.age }
}

insert Person { name: "Eve" };
match { $p: Person } return { count($p) as n };
match { $p: Nobody } return { $p.x };
match { $p: Person } return { $p.name }
order { $p.name desc }
limit 1
:explain
match { $p: Person } return { $p.name }
:explain
:explain match { $p: Person } return { $p.name }
:branch nope
:frob
:quit
match { $p: Person } return { $p.name }
"""
    done = desk.run("shell", "g", stdin=script)
    assert done.code == 0
    assert done.stdout.splitlines() == [
        '{"n":"Alice"}',
        "format csv",
        "p.age",
        "30",
        "changed main: 1 node, 0 edges",
        "n",
        "5",
        "p.name",
        "Eve",
        "explain on",
        *PLAN,
        "explain off",
        *PLAN,
    ]
    assert "there is no node type 'Nobody'" in done.stderr
    assert "nope" in done.stderr
    assert "unknown command ':frob'" in done.stderr


def test_a_command_starts_without_pandas(tmp_path: Path) -> None:
    program = (
        "import sys; sys.argv = ['omnigraph', 'snapshot', sys.argv[1]]; from omnigraph.cli.main import main; main(); "
        "import lance; sys.exit('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@given(st.text())
def test_colouring_a_line_changes_no_letter_of_it(line: str) -> None:
    assert "".join(text for _, text in fragments(line)) == line


def test_the_prompt_completes_from_the_schema_in_colour_and_runs_what_was_typed(desk: Desk) -> None:
    desk.graph()
    desk.env.update({"PROMPT_TOOLKIT_NO_CPR": "1", "TERM": "xterm-256color"})
    typed = [
        ("main>", "match { $p: Per"),
        ("Per", "\t"),  # only now, or both may be drawn at once and nothing tells that it was completed
        ("mson", " }\rreturn { count($p) as people }\r\r"),
        ("1 row", ":quit\r"),
    ]
    code, screen = at_terminal(desk, "", "shell", "--store", "g", then=typed)
    assert code == 0, screen
    assert re.search(r"people\s+------\s+4", screen)
    assert "\x1b[0;38;5;36mPerson" in screen
    assert "match { $p: Person" in (desk.home / "history").read_text()


def test_a_long_table_is_cut_and_paged_at_a_terminal(desk: Desk) -> None:
    desk.graph()
    rows = "".join(f'{{"type":"Person","data":{{"name":"p{number:04}"}}}}\n' for number in range(1200))
    desk.write("more.jsonl", rows)
    assert desk.run("load", "g", "--data", "more.jsonl", "--mode", "append").code == 0
    desk.env["OMNIGRAPH_PAGER"] = "sed s/^/paged:/"
    text = "match { $p: Person } return { $p.name } order { $p.name }"
    code, screen = at_terminal(desk, "", "query", "--store", "g", "-e", text, then=[("paged:", "")])
    assert code == 0, screen
    assert "1204 rows from branch main, the first 1000 shown" in screen
    assert "the first 1000 of 1204 rows; --all prints every one" in screen
    assert re.search(r"\n\d+(\.\d)? m?s\r?\n", screen)
    code, screen = at_terminal(desk, "", "query", "--store", "g", "--all", "-e", text, then=[("paged:", "")])
    assert "paged:p1199" in screen
    whole = desk.run("query", "--store", "g", "-e", text)
    assert (whole.stdout.count("\n"), "paged" in whole.stdout) == (1204 + 3, False)
