"""The import contracts hold, and each of them notices when it is broken."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

VIOLATIONS = [
    pytest.param(
        "compiler/types.py", "import omnigraph.storage.manifest.snapshot", "layers", id="compiler-knows-storage"
    ),
    pytest.param(
        "storage/manifest/snapshot.py", "import omnigraph.compiler.types", "layers", id="storage-knows-compiler"
    ),
    pytest.param(
        "storage/manifest/snapshot.py", "import omnigraph.engine.api.graph", "layers", id="storage-knows-engine"
    ),
    pytest.param(
        "engine/api/graph.py", "import omnigraph.pipeline.spark.session", "layers", id="engine-knows-pipeline"
    ),
    pytest.param("errors/base.py", "import omnigraph.storage.manifest.snapshot", "layers", id="errors-know-storage"),
    pytest.param("compiler/types.py", "import pyarrow", "the compiler is pure", id="compiler-imports-arrow"),
    pytest.param(
        "engine/api/graph.py",
        "import lance",
        "only storage.lance.tables, its datasets, columns and transactions import lance",
        id="engine-imports-lance",
    ),
    pytest.param(
        "engine/api/graph.py",
        "import omnigraph.storage.lance.transactions",
        "the transactions belong to storage.lance.tables and its datasets",
        id="engine-makes-transactions",
    ),
    pytest.param(
        "engine/api/graph.py",
        "import omnigraph.storage.protocol.publish",
        "one way to publish",
        id="engine-publishes",
    ),
    pytest.param(
        "storage/base/layout.py", "import omnigraph.storage.lance.refs", "storage: base", id="base-knows-lance"
    ),
    pytest.param(
        "storage/protocol/fence.py",
        "import omnigraph.storage.maintenance.drift",
        "storage: base",
        id="protocol-knows-maintenance",
    ),
    pytest.param(
        "engine/views/view.py", "import omnigraph.engine.write.validate", "engine: values", id="views-know-writes"
    ),
    pytest.param(
        "engine/schema/rewrite.py", "import omnigraph.engine.merge.decide", "engine: values", id="schema-knows-merge"
    ),
    pytest.param(
        "engine/read/columns/rowindex.py",
        "import omnigraph.engine.read.match.scan",
        "reads: columns",
        id="columns-know-match",
    ),
    pytest.param(
        "pipeline/tasks/load.py",
        "import omnigraph.engine.views.core",
        "no package above the engine holds the core",
        id="pipeline-holds-a-core",
    ),
    pytest.param(
        "server/routes/writes.py",
        "import omnigraph.engine.write.mutate",
        "the server goes through the facade",
        id="server-mutates-by-itself",
    ),
]


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    program = "import sys; sys.path.insert(0, 'src'); from importlinter.cli import lint_imports_command as run; run()"
    # Wide enough that no contract's name is wrapped.
    wide = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache"],
        cwd=root,
        env=wide,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_every_contract_is_kept() -> None:
    outcome = lint_imports(REPOSITORY)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.fixture(scope="module")
def violated(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report about a copy of the sources with every violation in it; each is named there with its own two modules."""
    copy = tmp_path_factory.mktemp("violated")
    shutil.copy(REPOSITORY / "pyproject.toml", copy)
    shutil.copytree(REPOSITORY / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for violation in VIOLATIONS:
        module, offence, _ = violation.values
        with (copy / "src" / "omnigraph" / str(module)).open("a") as file:
            file.write(f"\n{offence}\n")
    outcome = lint_imports(copy)
    assert outcome.returncode == 1, outcome.stdout + outcome.stderr
    return outcome.stdout


@pytest.mark.parametrize(("module", "offence", "contract"), VIOLATIONS)
def test_a_broken_contract_is_reported(violated: str, module: str, offence: str, contract: str) -> None:
    importer = "omnigraph." + module.removesuffix(".py").replace("/", ".")
    imported = offence.removeprefix("import ")
    assert any(contract in line and "BROKEN" in line for line in violated.splitlines()), violated
    # Each broken contract is a heading, underlined, with its imports below.
    reports = re.split(r"^(.+)\n-{3,}$", violated.partition("Broken contracts")[2], flags=re.MULTILINE)
    (report,) = (text for heading, text in zip(reports[1::2], reports[2::2], strict=True) if contract in heading)
    assert re.search(rf"{re.escape(importer)} -> {re.escape(imported)}\b", report), violated


def test_the_picture_of_the_layers_is_the_one_of_the_contracts() -> None:
    made = runpy.run_path(str(REPOSITORY / "tools" / "layers.py"))["current"]()
    assert (REPOSITORY / "docs" / "layers.svg").read_text(encoding="utf-8") == made, "run `python tools/layers.py`"


def test_the_list_of_modules_is_that_of_their_openings() -> None:
    made = runpy.run_path(str(REPOSITORY / "tools" / "module_index.py"))["current"]()
    found = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert found == made, "run `python tools/module_index.py`"


def test_every_file_named_by_the_architecture_page_exists() -> None:
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_*]+\.py)`", page)) - {
        "tests/test_architecture.py",
        "tools/layers.py",
        "tools/module_index.py",
    }
    missing = [name for name in sorted(named) if not list((REPOSITORY / "src" / "omnigraph").glob(name))]
    assert named
    assert not missing


def test_every_package_is_on_the_architecture_page_and_says_what_it_owns() -> None:
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    source = REPOSITORY / "src" / "omnigraph"
    for package in sorted(path for path in source.iterdir() if (path / "__init__.py").exists()):
        assert f"`{package.name}" in page, package.name
    for sign in source.rglob("__init__.py"):
        docstring = ast.get_docstring(ast.parse(sign.read_text(encoding="utf-8")))
        assert docstring, f"{sign} does not say what lives there"


# --- what import-linter cannot see -----------------------------------------------------------------

SOURCES = sorted((REPOSITORY / "src" / "omnigraph").rglob("*.py"))
# The command line imports the module of the one command it runs, out of its own package, to start fast.
IMPORTS_ITS_OWN_BY_NAME = {"cli/main.py": "omnigraph.cli.verbs."}
_IMPORTERS = {"import_module", "__import__", "resolve_name", "find_loader", "run_module"}


def hidden_imports(place: str, text: str) -> list[str]:
    """Imports of our own modules by a string, which no contract can see."""
    if not any(name in text for name in _IMPORTERS):
        return []  # most modules, without parsing them
    allowed = IMPORTS_ITS_OWN_BY_NAME.get(place)
    return [
        f"{place}:{node.lineno} {ast.unparse(node)}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in _IMPORTERS
        and not (allowed is not None and f"f'{allowed}" in ast.unparse(node))
    ]


def private_names(text: str) -> set[str]:
    """Private attributes and functions that a module defines."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.Assign(targets=targets):
                found.update(each.id for each in targets if isinstance(each, ast.Name))
    return {name for name in found if name.startswith("_")}


def private_uses(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, name and expression of every private attribute of something else than `self`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                continue
            yield node.lineno, node.attr, ast.unparse(node)


def _package(path: Path) -> str:
    place = path.relative_to(REPOSITORY / "src" / "omnigraph")
    return place.parts[0] if len(place.parts) > 1 else place.stem


def foreign_private_uses(texts: dict[Path, str]) -> list[str]:
    """Private attributes that are used in a package and defined, by their name, only in other packages of ours."""
    defined: dict[str, set[str]] = {}
    for path, text in texts.items():
        defined.setdefault(_package(path), set()).update(private_names(text))
    ours = set().union(*defined.values())
    return [
        f"{path.name}:{line} {shown}"
        for path, text in texts.items()
        for line, name, shown in private_uses(text)
        if name in ours and (name not in defined[_package(path)] or (name == "_core" and _package(path) != "engine"))
    ]


def test_no_module_of_ours_is_imported_by_a_string() -> None:
    places = {path.relative_to(REPOSITORY / "src" / "omnigraph").as_posix(): path for path in SOURCES}
    assert [found for place, path in places.items() for found in hidden_imports(place, path.read_text())] == []


def test_no_package_touches_the_private_parts_of_another() -> None:
    assert foreign_private_uses({path: path.read_text() for path in SOURCES}) == []


@pytest.mark.parametrize(
    ("place", "offence"),
    [
        (
            "engine/api/runners.py",
            'from importlib import import_module\nimport_module("omnigraph.pipeline.tasks.load")',
        ),
        ("engine/views/delta.py", 'import importlib\nimportlib.import_module(f"{_PIPELINE}.compare")'),
        ("storage/base/store.py", '__import__("omnigraph.engine")'),
        ("cli/main.py", 'from importlib import import_module\nimport_module("omnigraph.server.app")'),
    ],
)
def test_an_import_by_a_string_is_noticed(place: str, offence: str) -> None:
    assert len(hidden_imports(place, offence)) == 1


@pytest.mark.parametrize("offence", ["graph._core.store", "reader._branch_of_mine", "access(graph)._core"])
def test_a_reach_into_another_package_is_noticed(offence: str) -> None:
    root = REPOSITORY / "src" / "omnigraph"
    engine = "class Graph:\n    def __init__(self):\n        self._core = 1\n        self._branch_of_mine = 2"
    assert foreign_private_uses({root / "engine" / "a.py": engine, root / "pipeline" / "b.py": offence}) != []


def test_decisions_are_numbered_without_holes() -> None:
    numbers = [int(path.name[:4]) for path in sorted((REPOSITORY / "docs" / "decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))
