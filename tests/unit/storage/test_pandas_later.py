"""Reading and writing graphs imports no pandas, and whoever uses pandas finds Arrow knowing it."""

from __future__ import annotations

import subprocess
import sys

import pytest

READS = """
import sys, tempfile, omnigraph
graph = omnigraph.init(tempfile.mkdtemp() + "/g.omni", "node A { k: String @key }")
graph.load(['{"type":"A","data":{"k":"a"}}'])
assert graph.query("query q() { match { $a: A } return { $a.k } }").rows() == [{"a.k": "a"}]
assert "pandas" not in sys.modules
"""
IMPORTS = """
import omnigraph.storage.lance.pandas_later, sys
import pyarrow
import pandas
assert pyarrow.array(pandas.Series([1.0, float("nan")])).null_count == 1
assert not any(type(finder).__module__ == "omnigraph.storage.lance.pandas_later" for finder in sys.meta_path)
"""
CONVERTS = """
import omnigraph.storage.lance.pandas_later, sys
import pyarrow
table = pyarrow.table({"a": [1, 2]})
assert "pandas" not in sys.modules
assert list(table.to_pandas()["a"]) == [1, 2]
"""
ALREADY = """
import pandas, pyarrow
import omnigraph.storage.lance.pandas_later
assert pyarrow.array(pandas.Series([1.0, float("nan")])).null_count == 1
"""


@pytest.mark.parametrize(
    "program", [READS, IMPORTS, CONVERTS, ALREADY], ids=["a graph", "imported later", "converted", "imported before"]
)
def test_pandas_comes_when_it_is_used(program: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
