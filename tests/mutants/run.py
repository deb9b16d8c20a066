"""Applies each mutation in a copy of the tree, runs the tests named for it there, and says which were caught."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
_COPIED = ("src", "tests", "pyproject.toml")
_FAILED, _PASSED = 1, 0  # pytest's exit codes; every other one means that it could not run the tests


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of one file: `original` occurs in it exactly once, and one of `tests` fails when it is replaced."""

    name: str
    file: str
    original: str
    replacement: str
    tests: tuple[str, ...]


class Outcome(StrEnum):
    """What became of a mutation; only `KILLED` is good."""

    KILLED = "killed"
    SURVIVED = "SURVIVED"
    INAPPLICABLE = "does not apply"
    BROKEN = "tests did not run"
    TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one mutation, with the test that failed or the reason why none could."""

    mutation: Mutation
    outcome: Outcome
    detail: str
    seconds: float = 0.0


def run(
    mutations: Sequence[Mutation], *, root: Path = REPOSITORY, jobs: int = 2, timeout: float = 900
) -> Iterator[Verdict]:
    """A verdict for each mutation, in order. ValueError when the tests fail without any mutation."""
    chosen = tuple(dict.fromkeys(test for mutation in mutations for test in mutation.tests))
    with _copy(root) as pristine:  # one state for the whole run, whatever is edited meanwhile
        code, output = _pytest(pristine, chosen, None)
        if code != _PASSED:
            raise ValueError(f"the tests do not pass without a mutation:\n{output}")
        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(lambda mutation: _judge(mutation, pristine, timeout), mutations)


def inapplicable(mutation: Mutation, root: Path = REPOSITORY) -> str | None:
    """Why a mutation cannot be applied; None when it can."""
    path = root / mutation.file
    if not path.is_file():
        return f"{mutation.file} does not exist"
    count = path.read_text(encoding="utf-8").count(mutation.original)
    return None if count == 1 else f"the text occurs {count} times in {mutation.file}"


def table(verdicts: Iterable[Verdict]) -> str:
    """The verdicts as aligned text, one line each."""
    rows = [(v.outcome.value, f"{v.seconds:.0f} s", v.mutation.name, v.detail) for v in verdicts]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _judge(mutation: Mutation, root: Path, timeout: float) -> Verdict:
    reason = inapplicable(mutation, root)
    if reason is not None:
        return Verdict(mutation, Outcome.INAPPLICABLE, reason)
    started = time.monotonic()
    with _copy(root) as tree:
        _apply(mutation, tree)
        try:
            code, output = _pytest(tree, mutation.tests, timeout)
        except subprocess.TimeoutExpired:
            return Verdict(mutation, Outcome.TIMED_OUT, f"after {timeout:.0f} s", timeout)
    outcome = {_PASSED: Outcome.SURVIVED, _FAILED: Outcome.KILLED}.get(code, Outcome.BROKEN)
    return Verdict(mutation, outcome, _detail(outcome, output), time.monotonic() - started)


def _apply(mutation: Mutation, tree: Path) -> None:
    path = tree / mutation.file
    path.write_text(path.read_text(encoding="utf-8").replace(mutation.original, mutation.replacement), encoding="utf-8")
    # Bytecode is trusted by the source's time in whole seconds and its size: a quick change of one character has both.
    for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        stale.unlink()


def _detail(outcome: Outcome, output: str) -> str:
    lines = output.splitlines()
    if outcome is Outcome.KILLED:
        failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
        return failed[0].split(" - ")[0].partition(" ")[2] if failed else ""
    return lines[-1] if lines and outcome is Outcome.BROKEN else ""


@contextmanager
def _copy(root: Path) -> Iterator[Path]:
    """A tree of its own for one run: what may be changed is copied, the rest of the repository is linked."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as place:
        tree = Path(place)
        for entry in root.iterdir():
            if entry.name not in _COPIED and not entry.name.startswith("."):
                (tree / entry.name).symlink_to(entry.resolve())
        for name in _COPIED:
            if (root / name).is_dir():
                shutil.copytree(root / name, tree / name)
            else:
                shutil.copy2(root / name, tree / name)
        yield tree


def _pytest(tree: Path, tests: Sequence[str], timeout: float | None) -> tuple[int, str]:
    # The copied sources come before the installed ones, in the tests and in every process that they start.
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", *tests]
    with subprocess.Popen(
        command, cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # a mutant may leave processes behind that wait for ever
    return process.returncode, output
