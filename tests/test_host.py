"""Importing and using the library leaves the process of the program as it was."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph

SOURCE = Path(omnigraph.__file__).parent
USES = """
import sys
before, names = list(sys.meta_path), set(sys.path_hooks)
import tempfile, omnigraph
graph = omnigraph.init(tempfile.mkdtemp() + "/g.omni", "node A { k: String @key }")
graph.load(['{"type":"A","data":{"k":"a"}}'])
assert graph.query("query q() { match { $a: A } return { $a.k } }").rows() == [{"a.k": "a"}]
graph.close()
assert (list(sys.meta_path), set(sys.path_hooks)) == (before, names), sys.meta_path
"""
HIDDEN = """
import sys
from omnigraph.cli.startup import defer_pandas
defer_pandas()
import pyarrow
table = pyarrow.table({"a": [1.0, None]})
assert "pandas" not in sys.modules
"""
FOUND = (
    HIDDEN
    + """
import types
sys.modules["pyspark"] = types.ModuleType("pyspark")  # from now on somebody uses it
import pandas
assert pyarrow.array(pandas.Series([1.0, float("nan")]), from_pandas=True).null_count == 1
assert pyarrow.array(pandas.Series([1, 2])).to_pylist() == [1, 2]
assert table.to_pandas()["a"].count() == 1
assert not any(type(finder).__module__ == "omnigraph.cli.startup" for finder in sys.meta_path)
"""
)


@pytest.mark.parametrize("program", [USES, HIDDEN, FOUND], ids=["the library", "a command", "a command with Spark"])
def test_what_a_process_finds_to_import(program: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_only_the_command_line_changes_how_modules_are_found() -> None:
    users = [path for path in SOURCE.rglob("*.py") if "sys.meta_path" in path.read_text(encoding="utf-8")]
    assert [str(path.relative_to(SOURCE)) for path in users] == ["cli/startup.py"]


def test_no_private_attribute_of_arrow_is_used() -> None:
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                owner = ast.unparse(node.value).split(".")[0]
                if owner in ("pa", "pc", "pq", "pyarrow"):
                    found.append(f"{path.relative_to(SOURCE)}: {ast.unparse(node)}")
    assert found == []


def test_no_limit_is_worked_out_at_import_and_sysconf_is_asked_in_one_place() -> None:
    users = [path for path in SOURCE.rglob("*.py") if "sysconf" in path.read_text(encoding="utf-8")]
    assert [str(path.relative_to(SOURCE)) for path in users] == ["memory/allowance.py"]
