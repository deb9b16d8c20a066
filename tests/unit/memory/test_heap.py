"""Freed memory goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Pieces too small to be mapped by themselves, below one that stays: the C library keeps them when they are freed.
KEPT = """
import ctypes
from pathlib import Path
from omnigraph.memory.heap import give_back

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 >> 20

held = [libc.malloc(100 << 10) for _ in range(1000)]
for piece in held:
    ctypes.memset(piece, 1, 100 << 10)
last = libc.malloc(100 << 10)
for piece in held:
    libc.free(piece)
before = resident()
give_back()
print(before - resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="about the C library of Linux")
def test_what_was_freed_between_pieces_in_use_goes_back_to_the_system() -> None:
    found = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True, check=True)
    assert int(found.stdout) >= 80
