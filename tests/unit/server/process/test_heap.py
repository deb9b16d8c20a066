"""How a server process allocates."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import pyarrow as pa
from omnigraph.server.process.heap import choose_allocator, resident
choose_allocator()
print(pa.default_memory_pool().backend_name, resident() > 0)
"""


@pytest.mark.parametrize(("named", "expected"), [("", "jemalloc"), ("system", "system")])
def test_arrow_allocates_by_jemalloc_unless_the_environment_names_another(named: str, expected: str) -> None:
    environ = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": named}
    found = subprocess.run([sys.executable, "-c", CODE], env=environ, capture_output=True, text=True, check=True)
    assert found.stdout.split() == [expected, str(sys.platform == "linux")]
