"""Tutorials run from top to bottom, in a directory of their own, and print what they show.

Blocks of `sh` are run by bash, blocks of `python` in one process for the page; a block of `text` is what the block before it
prints. Ids, instants and durations differ from run to run and are compared by their shape. `--update-goldens` rewrites the blocks of text.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
TUTORIALS = [REPOSITORY / "docs" / "quickstart.md", *sorted((REPOSITORY / "docs" / "learn").glob("*.md"))]
BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARYING = (
    (re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b"), "01ID"),
    (re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{8}\b"), "01ID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?: UTC|Z)?"), "INSTANT"),
    (re.compile(r"\b\d{16}\b"), "MICROS"),
    (re.compile(r"\b[\d.]+ ?(?:ms|s|kB|MB)\b"), "SIZE"),
    (re.compile(r"\b\d+ (?:files|versions|checksums)\b"), "NUMBER"),
    (re.compile(r"(?<=OMNIGRAPH_BEARER_TOKEN=)\S+"), "TOKEN"),
    (re.compile(r"(?<= )/\S+/bin/(?=omnigraph )"), "BIN/"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r" +(?=\n|$)"), ""),
)
# The process of a page's Python: reads the path of a block a line, runs it, and marks the end of what it prints.
INTERPRETER = """
import sys, traceback
names = {"__name__": "__tutorial__"}
for path in sys.stdin:
    try:
        exec(compile(open(path.strip()).read(), "<tutorial>", "exec"), names)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        print("=== failed", flush=True)
    else:
        print("=== done", flush=True)
"""


class Page:
    """One tutorial in the making: a directory, an environment, and a Python that keeps its names."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "examples").symlink_to(REPOSITORY / "examples")
        scripts = str(Path(sys.executable).parent)
        self.environment = os.environ | {
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "COLUMNS": "120",
            "PYTHONPATH": str(REPOSITORY / "examples" / "airline"),
        }
        self.python: subprocess.Popen[str] | None = None

    def sh(self, code: str) -> str:
        """What bash prints for a block, errors included; processes that it leaves in the background go on."""
        log = self.home / ".sh-output"
        with log.open("w+") as output:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", code],
                cwd=self.home,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=300,
                check=False,
            )
        text = log.read_text()
        assert done.returncode == 0, f"{code}\n{text}"
        return text

    def run_python(self, code: str) -> str:
        """What a block prints in the Python of this page."""
        if self.python is None:
            self.python = subprocess.Popen(
                [sys.executable, "-c", INTERPRETER],
                cwd=self.home,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self.python.stdin
        assert self.python.stdout
        block = self.home / ".block.py"
        block.write_text(code)
        self.python.stdin.write(f"{block}\n")
        self.python.stdin.flush()
        said: list[str] = []
        for line in self.python.stdout:
            if line == "=== done\n":
                return "".join(said)
            assert line != "=== failed\n", f"{code}\n{''.join(said)}"
            said.append(line)
        raise AssertionError(f"Python ended:\n{code}\n{''.join(said)}")

    def close(self) -> None:
        if self.python is not None:
            self.python.communicate(timeout=60)


@pytest.fixture
def workplace(tmp_path: Path) -> Iterator[Page]:
    made = Page(tmp_path)
    yield made
    made.close()
    for file in tmp_path.glob("*.pid"):
        os.kill(int(file.read_text()), signal.SIGTERM)


def alike(text: str) -> str:
    for pattern, shape in VARYING:
        text = pattern.sub(shape, text)
    return text.strip()


def _tutorial(path: Path) -> object:
    """Those that start Java or a server take their time."""
    return pytest.param(path, id=path.stem, marks=[] if path.stem in ("quickstart", "analyst") else [pytest.mark.slow])


@pytest.mark.parametrize("path", [_tutorial(path) for path in TUTORIALS])
def test_a_tutorial_prints_what_it_shows(path: Path, workplace: Page, request: pytest.FixtureRequest) -> None:
    page = path.read_text()
    printed = ""
    pieces: list[str] = []
    end = 0
    for block in BLOCK.finditer(page):
        language, code = block.groups()
        shown = code
        if language == "text":
            if request.config.getoption("--update-goldens"):
                shown = printed.replace(str(workplace.home) + "/", "").rstrip() + "\n"
            else:
                assert alike(printed.replace(str(workplace.home) + "/", "")) == alike(code)
        else:
            printed = workplace.sh(code) if language == "sh" else workplace.run_python(code)
        pieces += [page[end : block.start(2)], shown]
        end = block.end(2)
    pieces.append(page[end:])
    if request.config.getoption("--update-goldens"):
        path.write_text("".join(pieces))


def test_there_is_a_tutorial_for_every_role() -> None:
    assert {path.stem for path in TUTORIALS} >= {"analyst", "application-developer", "data-engineer", "operator"}
