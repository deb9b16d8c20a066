"""Runs commands for tests: in this process, or as a user does, in one of their own."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from omnigraph.cli.main import main
from omnigraph.cli.table.parse import Parsed, UsageError, parse

SCHEMA = """\
node Person {
  name: String @key
  age: I32?
}
node Company { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company
"""
PEOPLE = {"Alice": 30, "Bob": 25, "Charlie": 35, "Diana": 28}
RECORDS: list[dict[str, Any]] = [
    *({"type": "Person", "data": {"name": name, "age": age}} for name, age in PEOPLE.items()),
    *({"type": "Company", "data": {"name": name}} for name in ("Acme", "Globex")),
    *({"edge": "Knows", "from": a, "to": b} for a, b in (("Alice", "Bob"), ("Alice", "Charlie"), ("Bob", "Diana"))),
    *({"edge": "WorksAt", "from": a, "to": b} for a, b in (("Alice", "Acme"), ("Bob", "Globex"))),
]
GET_PERSON = "query get_person($name: String) { match { $p: Person { name: $name } } return { $p.name, $p.age } }"
ADD_PERSON = "query add($name: String) { insert Person { name: $name } }"
# The script that installing the package puts beside the interpreter; an environment older than it runs the module.
_SCRIPT = Path(sys.executable).with_name("omnigraph")
COMMAND = [str(_SCRIPT)] if _SCRIPT.exists() else [sys.executable, "-m", "omnigraph.cli"]
# What tests with the mark `script` do: `all` takes every command through the script, `each` takes those of one kind through it
# until one of them has succeeded, in whichever worker, or three have not.
_THROUGH_SCRIPT = os.environ.get("OMNIGRAPH_TEST_SCRIPT", "")
_TRIES = 3
_tried: Counter[str] = Counter()


@dataclass(frozen=True)
class Outcome:
    """What one command did."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


class Desk:
    """A directory to work in, with a config home of its own; `g` in it is a loaded graph once `graph()` was called."""

    def __init__(self, place: Path, template: Path, request: pytest.FixtureRequest) -> None:
        self.place = place
        self.home = place / "home"
        self._template = template
        self._monkeypatch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
        self._script = _THROUGH_SCRIPT if request.node.get_closest_marker("script") else ""
        self._succeeded = _shared_by_workers(request) / "commands that the script has run"
        self.env: dict[str, str] = {"OMNIGRAPH_HOME": str(self.home)}

    def graph(self, name: str = "g") -> str:
        shutil.copytree(self._template, self.place / name)
        return name

    def write(self, name: str, content: str) -> str:
        path = self.place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return name

    def config(self, text: str) -> None:
        self.write("home/config.yaml", text)

    def run(self, *args: str, stdin: str = "") -> Outcome:
        """The command in this process, which is many times faster; as OMNIGRAPH_TEST_SCRIPT says in one of its own."""
        kind = _kind(args) if self._script == "each" else ""
        untried = kind and _tried[kind] < _TRIES and not (self._succeeded / kind).exists()
        if self._script == "all" or untried:
            return self.shell(*args, stdin=stdin)
        out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
        with self._monkeypatch.context() as patch:
            patch.chdir(self.place)
            for name, value in self.env.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = main(args)
            out.flush()
        raw = out.buffer
        assert isinstance(raw, io.BytesIO)
        return Outcome(code, raw.getvalue().decode(), err.getvalue())

    def shell(self, *args: str, stdin: str = "") -> Outcome:
        """The command in a process of its own."""
        done = subprocess.run(
            [*COMMAND, *args],
            cwd=self.place,
            env={**os.environ, **self.env},
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        kind = _kind(args)
        _tried[kind] += 1
        if done.returncode == 0:
            self._succeeded.mkdir(exist_ok=True)
            (self._succeeded / kind).touch()
        return Outcome(done.returncode, done.stdout, done.stderr)

    def query(self, *args: str) -> Outcome:
        """`get_person` on `g`."""
        return self.run("query", "--store", "g", "-e", GET_PERSON, "--params", '{"name":"Alice"}', *args)

    def head(self) -> str:
        """The newest commit of `g`."""
        found = self.run("commit", "list", "g", "--json").json["commits"][0]["graph_commit_id"]
        assert isinstance(found, str)
        return found


def _shared_by_workers(request: pytest.FixtureRequest) -> Path:
    factory: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def _kind(args: Sequence[str]) -> str:
    """The command that is called, or how the parser refuses it."""
    try:
        parsed = parse(args)
    except UsageError:
        return UsageError.__name__
    return " ".join(parsed.command.path) if isinstance(parsed, Parsed) else type(parsed).__name__


def lines(records: list[dict[str, Any]]) -> str:
    """Records as a file to load."""
    return "".join(f"{json.dumps(record)}\n" for record in records)


def build_template(place: Path) -> Path:
    """The graph that every desk copies."""
    import omnigraph as og

    with og.init(place, SCHEMA) as graph:
        graph.load(lines(RECORDS).encode(), mode="overwrite")
    return place
