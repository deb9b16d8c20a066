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


LARGE = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
        "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

libc.mallinfo2.restype = Info
from omnigraph.server.process.heap import choose_allocator
choose_allocator()
libc.free(libc.malloc(24 << 20))  # after which glibc by itself takes pieces of that size from the heap
before = libc.mallinfo2()
held = [libc.malloc(4 << 20) for _ in range(8)]
after = libc.mallinfo2()
print(after.hblks - before.hblks, (after.arena - before.arena) >> 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="about the C library of Linux")
@pytest.mark.parametrize(("named", "mapped"), [("", 8), (str(32 << 20), 0)])
def test_large_pieces_are_mapped_by_themselves_however_many_were_freed(named: str, mapped: int) -> None:
    environ = {**os.environ, "MALLOC_MMAP_THRESHOLD_": named}
    if not named:
        del environ["MALLOC_MMAP_THRESHOLD_"]
    found = subprocess.run([sys.executable, "-c", LARGE], env=environ, capture_output=True, text=True, check=True)
    pieces, grown = map(int, found.stdout.split())
    assert pieces == mapped
    assert (grown == 0) == (mapped == 8)
