"""What only a person at a terminal sees: prompts, progress, the shell."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import COMMAND, Desk, desk, template
from omnigraph.cli.verbs.shell import is_open

__all__ = ["desk", "template"]  # fixtures


def at_terminal(desk: Desk, answer: str, *args: str) -> tuple[int, str]:
    """Run a command with a terminal as stdin and stderr; type an answer; return code and what the screen shows."""
    screen, ours = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *args],
        cwd=desk.place,
        env={**os.environ, **desk.env},
        stdin=ours,
        stderr=ours,
        stdout=subprocess.PIPE,
    )
    os.close(ours)
    if answer:
        os.write(screen, answer.encode())
    seen = b""
    try:
        while piece := os.read(screen, 4096):
            seen += piece
    except OSError:
        pass  # Linux reports the end of a terminal as an error
    finally:
        os.close(screen)
    assert process.stdout is not None
    process.stdout.close()
    return process.wait(timeout=60), seen.decode()


@pytest.mark.parametrize(("answer", "goes_on"), [("no\n", False), ("\n", False), (" YES \n", True), ("y\n", True)])
def test_a_remote_delete_asks_first(desk: Desk, answer: str, goes_on: bool) -> None:
    code, screen = at_terminal(desk, answer, "branch", "delete", "f", "--store", "gs://b/g")
    assert code == 1
    assert "branch delete on gs://b/g" in screen
    assert ("error: aborted" in screen) is not goes_on
    assert ("omnigraph branch delete → gs://b/g (direct, remote)" in screen) is goes_on


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
        ("query q() {", True),
        ('match { $p: P { a: "}" } } return { $p.a }', False),
        ('match { $p: P { a: "\\"{" } } return { $p.a }', False),
        ("match { $p: P }", True),
        ("match { $p: P } // return { }", True),
        ('insert P { a: "x" }', False),
    ],
)
def test_an_entry_is_complete_when_its_braces_are(text: str, expected: bool) -> None:
    assert is_open(text) is expected


def test_the_shell_takes_a_script(desk: Desk) -> None:
    desk.graph()
    script = """\
:params {"n": "Alice"}
:format csv
query q($n: String) {
  match { $p: Person { name: $n } }
  return { $p.age }
}
insert Person { name: "Eve" }
match { $p: Person } return { count($p) as n }
match { $p: Nobody } return { $p.x }
:explain
match { $p: Person } return { $p.name }
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
        "changed main: 1 nodes, 0 edges",
        "n",
        "5",
        "explain on",
        "scan $p: Person keeping $p.name",
        "sort ids of $p",
        'project $p.name as "p.name"',
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
