"""The import contracts hold, and each of them notices when it is broken."""

from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
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
        "only storage.lance.tables and the transactions it stages import lance",
        id="engine-imports-lance",
    ),
    pytest.param(
        "engine/api/graph.py",
        "import omnigraph.storage.lance.transactions",
        "the transactions belong to storage.lance.tables",
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
        "engine/merge/decide.py", "import omnigraph.engine.schema.apply", "engine: values", id="merge-knows-schema"
    ),
    pytest.param(
        "engine/read/columns/rowindex.py",
        "import omnigraph.engine.read.match.scan",
        "reads: columns",
        id="columns-know-match",
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


@pytest.mark.xdist_group("architecture")
def test_every_contract_is_kept() -> None:
    outcome = lint_imports(REPOSITORY)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.xdist_group("architecture")
@pytest.mark.parametrize(("module", "offence", "contract"), VIOLATIONS)
def test_a_broken_contract_is_reported(tmp_path: Path, module: str, offence: str, contract: str) -> None:
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    shutil.copytree(REPOSITORY / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    target = tmp_path / "src" / "omnigraph" / module
    target.write_text(target.read_text() + f"\n{offence}\n")

    outcome = lint_imports(tmp_path)

    assert outcome.returncode == 1, outcome.stdout + outcome.stderr
    assert any(contract in line and "BROKEN" in line for line in outcome.stdout.splitlines()), outcome.stdout


def test_the_picture_of_the_layers_is_the_one_of_the_contracts() -> None:
    made = runpy.run_path(str(REPOSITORY / "tools" / "layers.py"))["current"]()
    assert (REPOSITORY / "docs" / "layers.svg").read_text(encoding="utf-8") == made, "run `python tools/layers.py`"


def test_every_file_named_by_the_architecture_page_exists() -> None:
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_*]+\.py)`", page)) - {"tests/test_architecture.py", "tools/layers.py"}
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
