"""Memory that was freed goes back to the system: allocators keep what large reads have used, for the next one.

One three-hop read of 20 million rows leaves 800 MiB behind that way, and a machine that counts what a process has would
take it for a leak. And the allocator that Arrow chooses by itself keeps more with every commit that a server makes.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from omnigraph.memory.heap import trimmer
from omnigraph.server.work import Pools

_ALLOCATOR = "ARROW_DEFAULT_MEMORY_POOL"
_MOST_ARENAS = "MALLOC_ARENA_MAX"
_M_ARENA_MAX, _ARENAS = -8, 4  # the first is the name that glibc has for it
_LARGE, _KEPT_FREE = "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"
_M_MMAP_THRESHOLD, _LARGE_BYTES = -3, 128 << 10
_M_TRIM_THRESHOLD, _KEPT_FREE_BYTES = -1, 1 << 20
_OPTIONS = (
    (_MOST_ARENAS, _M_ARENA_MAX, _ARENAS),
    (_LARGE, _M_MMAP_THRESHOLD, _LARGE_BYTES),
    (_KEPT_FREE, _M_TRIM_THRESHOLD, _KEPT_FREE_BYTES),
)
_EVERY_SECONDS = 5.0
_GROWN = 4 << 20  # below that it is not worth looking
_STATM = Path("/proc/self/statm")
_PAGE = resource.getpagesize()
_LOG = logging.getLogger("omnigraph.server")


def choose_allocator() -> None:
    """Let Arrow allocate by jemalloc and threads share a few arenas of the C library; before threads are started.

    By mimalloc, which Arrow takes otherwise, each commit of a served graph left 20 to 30 KiB behind; and what some 50
    threads had freed in 16 arenas was spread so thinly that little of it could be given back. Large pieces are mapped
    by themselves and go back when they are freed: glibc takes ever larger ones from the arenas otherwise, up to 32 MiB,
    and what a commit leaves in caches lands between those of exports and long reads, so that 30 to 60 MiB of the arenas
    were kept and not used (decision 0068). What the environment says goes first.
    """
    if not os.environ.get(_ALLOCATOR):
        with suppress(NotImplementedError):  # not every build has it
            pa.set_memory_pool(pa.jemalloc_memory_pool())
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):  # not every C library has arenas
        mallopt = ctypes.CDLL(None).mallopt
        for name, option, value in _OPTIONS:
            if not os.environ.get(name):
                mallopt(option, value)


async def return_freed(pools: Pools, seconds: float = _EVERY_SECONDS) -> None:
    """Look every few seconds whether the process has grown, and give back what it does not use."""
    trim = trimmer()
    if trim is None:
        return
    kept = resident()
    while True:
        await asyncio.sleep(seconds)
        if resident() > kept + _GROWN:
            before = resident()
            await pools.small(trim)
            kept = resident()
            _LOG.debug("memory given back", extra={"bytes": before - kept})
        else:
            kept = min(kept, resident())


def resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not say."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0
