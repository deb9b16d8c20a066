"""Memory that was freed goes back to the system, where allocators would keep it for what comes next."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

import pyarrow as pa


def give_back() -> None:
    """Return what Arrow and the C library keep although it was freed; it comes back when it is needed."""
    trim = trimmer()
    if trim is not None:
        trim()


def trimmer() -> Callable[[], None] | None:
    """What gives memory back; None where the C library has no such function."""
    if sys.platform != "linux":
        return None
    try:
        malloc_trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # musl has none
        return None

    def trim() -> None:
        pa.default_memory_pool().release_unused()
        malloc_trim(0)  # ctypes lets other threads run meanwhile

    return trim
