"""How much memory this process may use: what the machine has, or what its control group allows if that is less."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

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
    groups = _groups(system)
    for mount in _mounts(system):
        group = groups.get(mount.kind)
        for directory in () if group is None else _upwards(system, mount, group):
            for name in _LIMIT_FILES[mount.kind]:
                limit = _number(directory / name)
                if limit is not None:
                    yield limit


class _Mount(NamedTuple):
    kind: str
    root: str  # the group that is seen at `place`
    place: str


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


def _groups(system: Path) -> dict[str, str]:
    """The group of this process that controls memory, by version."""
    found = {}
    for line in _lines(system / "proc/self/cgroup"):
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" and not controllers:
            found["cgroup2"] = path
        elif "memory" in controllers.split(","):
            found["cgroup"] = path
    return found


def _mounts(system: Path) -> Iterator[_Mount]:
    """Where the control groups of memory are mounted."""
    for line in _lines(system / "proc/self/mountinfo"):
        before, found, after = line.partition(" - ")
        place, kind = before.split(" "), after.split(" ")
        if not found or len(place) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2" or (kind[0] == "cgroup" and "memory" in kind[2].split(",")):
            yield _Mount(kind[0], place[3], place[4])


def _upwards(system: Path, mount: _Mount, group: str) -> Iterator[Path]:
    """The directory of a group and those of the groups around it, as far as they are mounted."""
    top = system / mount.place.lstrip("/")
    # A container often sees its own group as the top of the tree, whatever the path of its process says.
    inside = PurePosixPath(group)
    if inside.is_relative_to(mount.root):
        inside = PurePosixPath("/") / inside.relative_to(mount.root)
    for path in (inside, *inside.parents):
        if ".." not in path.parts:
            yield top.joinpath(*path.parts[1:])


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    """The limit that a file names; "max" is none."""
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdecimal() else None
