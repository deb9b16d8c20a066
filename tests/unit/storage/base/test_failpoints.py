"""Failpoints: specs parse, trigger as told, cost nothing unarmed, and every hook in the source is declared."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import BadRequest, StorageError
from omnigraph.storage.base import failpoints

SOURCE = Path(omnigraph.__file__).parent


def hooks_in_source() -> set[str]:
    """Every literal name passed to `hit(...)` or `failpoints.hit(...)` anywhere in the package."""
    names: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
            if called == "hit":
                names.add(node.args[0].value)
    return names


def test_every_hook_in_the_source_is_declared() -> None:
    assert hooks_in_source() - failpoints.NAMES == set()


def test_an_unarmed_hook_does_nothing() -> None:
    failpoints.hit("publish.pre_commit")


def test_an_undeclared_name_fails_as_soon_as_anything_is_armed() -> None:
    with failpoints.armed(""), pytest.raises(AssertionError, match="not declared"):
        failpoints.hit("publish.typo")


def test_raise_on_the_third_hit_only() -> None:
    with failpoints.armed("publish.pre_commit=raise@3") as plan:
        failpoints.hit("publish.pre_commit")
        failpoints.hit("publish.pre_commit")
        with pytest.raises(StorageError, match=r"publish\.pre_commit"):
            failpoints.hit("publish.pre_commit")
        failpoints.hit("publish.pre_commit")
    assert plan.hits["publish.pre_commit"] == 4


def test_hits_of_others_count_where_they_are_told() -> None:
    with failpoints.armed("publish.pre_commit=raise@3", {"publish.pre_commit": 2}):
        with pytest.raises(StorageError, match=r"publish\.pre_commit"):
            failpoints.hit("publish.pre_commit")
        failpoints.hit("publish.pre_commit")


def test_a_star_stands_for_every_hook() -> None:
    with failpoints.armed("*=raise"), pytest.raises(StorageError):
        failpoints.hit("lease.heartbeat")


def test_probability_zero_never_triggers() -> None:
    with failpoints.armed("*=raise~0.0"):
        failpoints.hit("lease.heartbeat")


def test_functions_can_be_armed_and_nesting_restores() -> None:
    seen: list[str] = []
    with failpoints.armed({"publish.pre_commit": lambda: seen.append("outer")}):
        with failpoints.armed({"publish.pre_commit": lambda: seen.append("inner")}):
            failpoints.hit("publish.pre_commit")
        failpoints.hit("publish.pre_commit")
    failpoints.hit("publish.pre_commit")
    assert seen == ["inner", "outer"]


@pytest.mark.parametrize("spec", ["publish.pre_commit", "nowhere=raise", "publish.pre_commit=explode", "*=sleep:long"])
def test_a_bad_spec_is_refused(spec: str) -> None:
    with pytest.raises(BadRequest):
        failpoints.parse(spec)


def test_the_environment_kills_a_child_at_the_hook() -> None:
    code = "from omnigraph.storage.base import failpoints as f; print('before', flush=True); f.hit('publish.pre_commit'); print('after')"
    environment = os.environ | {failpoints.ENVIRONMENT: "publish.pre_commit=kill"}
    child = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (child.returncode, child.stdout) == (-signal.SIGKILL, "before\n")
