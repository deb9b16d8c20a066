"""How much memory this process may use: what the machine has, or what its control group allows if that is less."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from omnigraph.control_groups import directories, number

# For a system that tells nothing; small enough for most machines, large enough to work with.
UNKNOWN = 4 << 30
# The file of a limit by the type of the file system: of control groups of version 2, and of version 1.
_LIMIT_FILES = {"cgroup2": ("memory.max", "memory.high"), "cgroup": ("memory.limit_in_bytes",)}


def allowed_memory(system: Path = Path("/")) -> int:
    """Bytes that this process may use; `system` is the directory below which /proc and /sys are found."""
    known = [size for size in (_physical(), *cgroup_limits(system)) if size is not None]
    return min(known, default=UNKNOWN)


def cgroup_limits(system: Path = Path("/")) -> Iterator[int]:
    """Every limit that holds for the control group of this process: its own and those of the groups around it."""
    for kind, directory in directories("memory", system):
        for name in _LIMIT_FILES[kind]:
            limit = number(directory / name)
            if limit is not None:
                yield limit


def _physical() -> int | None:
    """Not every system has sysconf, and not every sysconf knows."""
    sysconf = getattr(os, "sysconf", None)
    if sysconf is None:
        return None
    try:
        size = int(sysconf("SC_PAGE_SIZE")) * int(sysconf("SC_PHYS_PAGES"))
    except (OSError, ValueError):
        return None
    return size if size > 0 else None
