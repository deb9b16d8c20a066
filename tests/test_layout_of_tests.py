"""Tests are where one looks for them: unit tests lie as the source lies, and what they share is in conftest files."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from tests.scheduling import SHARED, choose, module_of

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "omnigraph"
MODULES = sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py"))
UNIT = [name for name in MODULES if name.startswith("unit/") and Path(name).name != "conftest.py"]


def stands_for(name: str, source: Path = SOURCE) -> Path | None:
    """What a unit test is about: `unit/p/test_m.py` and `unit/p/test_m_aspect.py` are about `p/m.py` or the package `p/m`."""
    path = Path(name)
    package, words = source.joinpath(*path.parts[1:-1]), path.stem.removeprefix("test_").split("_")
    if not path.name.startswith("test_") or not (package / "__init__.py").exists():
        return None
    for count in range(len(words), 0, -1):
        module = package / "_".join(words[:count])
        for found in (module.with_suffix(".py"), module / "__init__.py"):
            if found.exists():
                return found
    return None


@pytest.mark.parametrize("name", UNIT)
def test_a_unit_test_stands_for_a_module_or_a_package(name: str) -> None:
    assert stands_for(name), f"tests/{name} is about no module of src/omnigraph: move or rename it"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("unit/storage/lance/test_tables.py", "storage/lance/tables.py"),
        ("unit/storage/lance/test_row_changes_merged.py", "storage/lance/row_changes.py"),
        ("unit/storage/test_protocol_refusals.py", "storage/protocol/__init__.py"),
        ("unit/storage/test_tables.py", None),
        ("unit/storage/lance/tables.py", None),
        ("unit/shelves/test_tables.py", None),
    ],
)
def test_the_rule_tells_right_from_wrong(name: str, found: str | None) -> None:
    assert stands_for(name) == (SOURCE / found if found else None)


def _tree(name: str) -> ast.Module:
    return ast.parse((TESTS / name).read_text(encoding="utf-8"))


def _imported(tree: ast.Module) -> set[str]:
    """Names of modules that are imported, and of what is imported from them."""
    names = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def _fixtures(tree: ast.Module) -> list[ast.FunctionDef]:
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any("fixture" in ast.unparse(mark) for mark in node.decorator_list)
    ]


def test_no_module_imports_from_a_test_module_or_a_conftest() -> None:
    tests = {Path(name).stem for name in MODULES if Path(name).name.startswith("test_")} | {"conftest"}
    for name in MODULES:
        imported = {module for module in _imported(_tree(name)) if not module.startswith("omnigraph")}
        assert not {module for module in imported if tests & set(module.split("."))}, (
            f"tests/{name}: what several test modules use belongs in a helper module or a conftest file"
        )


def test_fixtures_are_in_conftest_files_or_in_the_one_module_that_uses_them() -> None:
    homes = defaultdict[str, list[str]](list)
    for name in MODULES:
        fixtures = _fixtures(_tree(name))
        assert not fixtures or Path(name).name.startswith(("test_", "conftest")), (
            f"tests/{name} is imported: its fixtures belong in a conftest file"
        )
        for fixture in fixtures:
            body = fixture.body[1:] if ast.get_docstring(fixture) else fixture.body
            if len(body) > 1:
                homes["\n".join([ast.unparse(fixture.args), *map(ast.unparse, body)])].append(f"{name}::{fixture.name}")
    assert not [where for where in homes.values() if len(where) > 1], "one of these belongs in a conftest file"


def test_what_shares_a_server_stays_with_the_worker_that_has_it() -> None:
    assert not [start for start in SHARED if not (TESTS.parent / start).exists()]
    assert module_of("tests/unit/ids/test_ids.py::test_x[a::b]") == "tests/unit/ids/test_ids.py"
    alone, jvm, bucket = "tests/unit/a.py", "tests/integration/spark/b.py", "tests/integration/s3/c.py"
    one, two = object(), object()
    assert choose([alone, bucket, jvm], one, {}) == jvm, "the longest work begins first"
    assert choose([alone, bucket, jvm], two, {"spark": one}) == bucket
    assert choose([alone, bucket, jvm], one, {"spark": one}) == jvm
    assert choose([alone, jvm], two, {"spark": one}) == alone
    assert choose([jvm], two, {"spark": one}) == jvm
